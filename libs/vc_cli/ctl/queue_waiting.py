"""`vcctl queue waiting [NAME]`: who waits in a queue, in the order in which they are tried, and for what.

The order and the reasons are the scheduler's own, from its last sessions; the headroom is what the queue,
those above it and the cluster still leave.
"""

import argparse
import json
from collections.abc import Iterator
from typing import Final

from vc_cli.ctl.dashboard import Dashboard, dashboard_of
from vc_cli.ctl.errors import EXIT_OK, CtlError
from vc_cli.ctl.reasons import table_lines
from vc_cli.ctl.resources import JsonObject, word
from vc_cli.ctl.tables import printable

NOBODY: Final = "nobody waits"
JOBS_ASKED: Final = "1000"
QUEUES_ASKED: Final = 1000
TITLES: Final = ("Place", "Job", "Stage", "Pods", "Waits because")
_NOT_SHARED: Final = ("pods", "ephemeral-storage")
"""Nobody plans with them."""


def waiting(arguments: argparse.Namespace) -> int:
    """Print it."""
    dashboard = dashboard_of(arguments)
    name = arguments.words or arguments.name
    tree, trouble = _tree(dashboard, needed=not name)
    found = [_asked(dashboard, queue) for queue in ([name] if name else _names(tree))]
    shown = [one for one in found if name or one.get("waiting")]
    rooms = {str(one["queue"]): headroom(tree, str(one["queue"])) for one in shown if tree}
    if arguments.output:
        queues = [{**one, "headroom": rooms.get(str(one["queue"]))} for one in shown]
        print(json.dumps({"queues": queues}, indent=2, ensure_ascii=False))
        return EXIT_OK
    for number, one in enumerate(shown):
        if number:
            print()
        for line in lines(one, rooms.get(str(one["queue"]))):
            print(line)
    if not shown:
        print(NOBODY)
    old = {f"this may be old: {one['stale']}" for one in shown if one.get("stale")}
    for note in filter(None, (trouble, *old)):
        print(f"note: {note}")
    return EXIT_OK


def _asked(dashboard: Dashboard, queue: str) -> JsonObject:
    path = f"/api/v1/queues/{word(queue)}/waiting"
    return dashboard.ask(path, query={"limit": JOBS_ASKED})


def _tree(dashboard: Dashboard, *, needed: bool) -> tuple[JsonObject, str]:
    """All queues, or why they are not known: the list of one queue is worth showing without them."""
    try:
        return dashboard.ask("/api/v1/queues", query={"limit": str(QUEUES_ASKED)}), ""
    except CtlError as error:
        if needed:
            raise
        return {}, f"the headroom is not known: {error}"


def _names(tree: JsonObject) -> list[str]:
    """Those in which something is asked for, in the order of the tree."""
    queues: list[JsonObject] = tree.get("queues") or []
    return [str(queue["name"]) for queue in queues if queue.get("requested") != queue.get("used")]


def lines(one: JsonObject, room: dict[str, str] | None) -> Iterator[str]:
    """A queue, what it may still take, and who waits in it."""
    jobs: list[JsonObject] = one.get("waiting") or []
    total = int(one.get("total", len(jobs)))
    count = "1 job waits" if total == 1 else f"{total} jobs wait"
    yield f"queue:     {one['queue']}, {count if total else NOBODY}"
    if room is not None:
        left = ", ".join(f"{name} {amount}" for name, amount in room.items())
        yield f"headroom:  {left or 'there are no nodes'}"
    if not jobs:
        return
    rows = [
        [
            str(job["position"]),
            str(job["group"]),
            str(job["stage"]),
            str(job["neededPods"]),
            printable(str(job["reason"])),
        ]
        for job in jobs
    ]
    yield ""
    yield from table_lines(TITLES, rows)
    if total > len(rows):
        yield f"… and {total - len(rows)} more jobs"


def headroom(tree: JsonObject, name: str) -> dict[str, str]:
    """What a queue may still take of each resource: what it, those above it and the cluster leave.

    Never less than nothing; whether a gang finds that room on the nodes is another question.
    """
    from vc_model.quantity import decimals_of, format_quantity, parse_quantity

    queues = {str(queue["name"]): queue for queue in tree.get("queues") or []}
    left: dict[str, int] = {}
    for queue in _line(queues, name):
        most = queue.get("capability") or {}
        if not queue.get("parent"):
            most = {**(tree.get("capacity") or {}), **most}
        for resource, amount in most.items():
            decimals = decimals_of(resource)
            used = parse_quantity((queue.get("used") or {}).get(resource, 0), decimals=decimals)
            room = max(0, parse_quantity(amount, decimals=decimals) - used)
            left[resource] = min(left.get(resource, room), room)
    return {
        resource: format_quantity(units, decimals=decimals_of(resource))
        for resource, units in sorted(left.items())
        if resource not in _NOT_SHARED
    }


def _line(queues: dict[str, JsonObject], name: str) -> list[JsonObject]:
    """The queue and those above it; a circle ends where it began."""
    line: list[JsonObject] = []
    while name in queues and queues[name] not in line:
        line.append(queues[name])
        name = str(queues[name].get("parent") or "")
    return line
