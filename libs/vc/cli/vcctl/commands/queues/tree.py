"""`vcctl queue tree`: the queue hierarchy and the use of each queue.

A bar shows what the queue and its descendants use, as a part of its capability, or that of its
nearest ancestor with one, or the whole cluster. A mark shows the deserved share. The resource shown
is the one with the highest share.
"""

import argparse
from typing import Final

from vc.cli.tables import Column, TextTable
from vc.cli.vcctl.api.dashboard import dashboard_of
from vc.cli.vcctl.api.errors import EXIT_OK
from vc.cli.vcctl.api.resources import JsonObject
from vc.cli.vcctl.output.listing import NOTHING_FOUND
from vc.cli.vcctl.output.output import WIDE, print_answer

QUEUES_MAX: Final = "1000"
BAR_CELLS: Final = 20
FULL: Final = "█"
EMPTY: Final = "░"
MARK: Final = "┃"
NONE: Final = "-"
FALLBACK_RESOURCE: Final = "cpu"
_FIELDS: Final = ("guarantee", "deserved", "used", "requested", "capability")
TITLES: Final = (
    "Queue", "State", "Weight", "Resource", f"Share ({MARK} deserved)", "Guarantee", "Deserved",
    "Allocated", "Requested", "Capability",
)  # fmt: skip
_NOT_SHARED: Final = ("pods", "ephemeral-storage")
"""Resources that no quota plans with and every pod uses."""


def tree(arguments: argparse.Namespace) -> int:
    """Print the queues as a tree, with their shares as the dashboard reports them."""
    found = dashboard_of(arguments).query("/api/v1/queues", query={"limit": QUEUES_MAX})
    if arguments.output and arguments.output != WIDE:
        print_answer(found, arguments.output)
        return EXIT_OK
    rows = rows_of(found, wide=arguments.output == WIDE)
    if not rows:
        print(NOTHING_FOUND)
        return EXIT_OK
    table = TextTable([Column(title) for title in TITLES], rows)
    print(table.header())
    for row in rows:
        print(table.line(row))
    left = int(found.get("total", 0)) - len(found.get("queues") or [])
    if left > 0:
        print(f"… and {left} more queues")
    if found.get("stale"):
        print(f"note: this may be old: {found['stale']}")
    return EXIT_OK


def rows_of(found: JsonObject, *, wide: bool) -> list[list[str]]:
    """One row per queue. With `wide`, one row per resource of each queue."""
    queues: list[JsonObject] = found.get("queues") or []
    limits = _limits(queues, found.get("capacity") or {})
    drawn = _branches(queues)
    rows: list[list[str]] = []
    for queue, branch in zip(queues, drawn, strict=True):
        limit = limits[str(queue["name"])]
        resources = _resources(queue, limit)
        chosen = resources if wide else resources[:1]
        for number, resource in enumerate(chosen):
            rows.append(_row(queue, resource, limit=limit, label="" if number else branch))
    return rows


def _row(queue: JsonObject, resource: str, *, limit: JsonObject, label: str) -> list[str]:
    from vc.model.values.human_amounts import human_quantity

    written = [(queue.get(field) or {}).get(resource) for field in _FIELDS]
    amounts = [NONE if text is None else human_quantity(resource, text) for text in written]
    first = [label, str(queue["state"]), str(queue["weight"])] if label else ["", "", ""]
    deserved = share(queue, resource, limit, of="deserved")
    return [*first, resource, bar(share(queue, resource, limit), deserved), *amounts]


def _limits(queues: list[JsonObject], capacity: JsonObject) -> dict[str, JsonObject]:
    """The upper limit of each queue. Parents come before their children."""
    limits: dict[str, JsonObject] = {}
    for queue in queues:
        above = limits.get(str(queue.get("parent", "")), capacity)
        # A resource without a capability of its own is limited by the nearest ancestor.
        limits[str(queue["name"])] = {**above, **(queue.get("capability") or {})}
    return limits


def _resources(queue: JsonObject, limit: JsonObject) -> list[str]:
    """The resources of the queue, those with the highest share first."""
    named = {name for field in _FIELDS for name in queue.get(field) or {}} - set(_NOT_SHARED)
    # By name among equal shares, so that the output is stable.
    order = sorted(named, key=lambda name: (-(share(queue, name, limit) or 0.0), name))
    return order or [FALLBACK_RESOURCE]


def share(queue: JsonObject, resource: str, limit: JsonObject, *, of: str = "used") -> float | None:
    """The used (or deserved) part of the queue's limit. None if the limit is unknown."""
    from vc.model.values.quantity import QuantityError, decimals_of, parse_quantity

    decimals = decimals_of(resource)
    try:
        most = parse_quantity(limit.get(resource, 0), decimals=decimals)
        has = parse_quantity((queue.get(of) or {}).get(resource, 0), decimals=decimals)
    except QuantityError:
        return None
    return has / most if most else None


def bar(part: float | None, deserved: float | None = None) -> str:
    """A bar such as `██████░░┃░  60%`: 60 % used, 90 % deserved.

    Only the number shows more than 100 %.
    """
    if part is None:
        return NONE
    filled = min(BAR_CELLS, round(part * BAR_CELLS))
    cells = FULL * filled + EMPTY * (BAR_CELLS - filled)
    if deserved:
        # The mark is kept inside of the bar, even for a share of 0 or more than 100 %.
        at = max(1, min(BAR_CELLS, round(deserved * BAR_CELLS))) - 1
        cells = f"{cells[:at]}{MARK}{cells[at + 1 :]}"
    return f"{cells} {part:>4.0%}"


def _branches(queues: list[JsonObject]) -> list[str]:
    """Names of queues with the lines of a tree before them."""
    drawn: list[str] = []
    for index, queue in enumerate(queues):
        depth = int(queue["depth"])
        text = ""
        for level in range(1, depth + 1):
            more = _has_sibling(queues, index, level)
            if level == depth:
                text += "├─ " if more else "└─ "
            else:
                text += "│  " if more else "   "
        drawn.append(text + str(queue["name"]))
    return drawn


def _has_sibling(queues: list[JsonObject], index: int, level: int) -> bool:
    """Whether another queue of this level follows before the branch ends."""
    for queue in queues[index + 1 :]:
        if int(queue["depth"]) <= level:
            return int(queue["depth"]) == level
    return False
