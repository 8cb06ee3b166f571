"""Usage reports: rows of the ledger, summed by queue, namespace, job and day.

Rows are stored by their key as in the topic: a newer row replaces an older one and nothing is added
to a row. So the order and the number of deliveries do not matter. Rows cover whole hours of UTC.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from vc.dashboard.logic.answers.query_parameters import QueryError, text_of
from vc.dashboard.logic.answers.shapes import UsageLine, UsageReport
from vc.messages.usage import HOUR_SECONDS, UsageRow
from vc.model.values.quantity import decimals_of
from vc.model.values.resources import Resources
from vc.model.values.times import format_time

ROWS_MAX: Final = 2_000_000
"""Limit of rows. The oldest hours are dropped first. The
usage-ledger's own limits are far below."""
CELLS: Final = ("queue", "namespace", "job", "day")
BY_DEFAULT: Final = "queue"
_GIB: Final = 1 << 30
_MEMORY: Final = "memory"
_CPU: Final = "cpu"
_DECIMALS: Final = 3

Key = tuple[str, ...]


class UsageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Filter, grouping and page of a usage report."""

    by: tuple[str, ...] = (BY_DEFAULT,)
    begin: int = 0
    end: int | None = None
    """End of the time range, exclusive."""
    queue: str = ""
    namespace: str = ""
    job: str = ""
    limit: int = 100
    after: Key | None = None
    """The last line of the previous page. Pages are in the order of
    cells, which is stable over time."""


class UsageMemory:
    """The rows of the ledger."""

    def __init__(self, *, rows_max: int = ROWS_MAX) -> None:
        self._rows: dict[str, UsageRow] = {}
        self._rows_max = rows_max

    def take(self, key: str, row: UsageRow | None) -> None:
        """Store the current state of a row. None removes it."""
        if row is None:
            self._rows.pop(key, None)
            return
        self._rows[key] = row
        # Whole hours are dropped, so that a report never shows a part of an hour.
        if len(self._rows) > self._rows_max:
            self._drop_oldest()

    def forget(self) -> None:
        """Drop all rows, because the topic is read again from its beginning."""
        self._rows.clear()

    def rows(self) -> list[UsageRow]:
        """A copy of the rows, for use in another thread."""
        return list(self._rows.values())

    def _drop_oldest(self) -> None:
        oldest = min(row.hour for row in self._rows.values())
        self._rows = {key: row for key, row in self._rows.items() if row.hour != oldest}


def query_of(query: Mapping[str, str], *, limit: int) -> UsageQuery:
    """Parse the query parameters. QueryError names the invalid one."""
    by = tuple(cell for cell in text_of(query, "by").split(",") if cell) or (BY_DEFAULT,)
    # The names become attributes of rows, so unknown ones are refused.
    for cell in by:
        if cell not in CELLS:
            raise QueryError(f"by={cell[:40]!r}: write any of {', '.join(CELLS)}, with commas")
    begin, end = time_of(query, "from"), time_of(query, "to", through=True)
    if begin is not None and end is not None and end <= begin:
        raise QueryError("to: must be after from")
    # The order of cells is fixed, so that equal requests have equal pages.
    cells = tuple(cell for cell in CELLS if cell in by)
    return UsageQuery(
        by=cells,
        begin=begin or 0,
        end=end,
        queue=text_of(query, "queue"),
        namespace=text_of(query, "namespace"),
        job=text_of(query, "job"),
        limit=limit,
        after=_after(text_of(query, "after"), cells) if "after" in query else None,
    )


def _after(text: str, cells: tuple[str, ...]) -> Key:
    """The cells of the line after which the page starts, or empty for the first page."""
    key = tuple(text.split(",")) if text else ()
    if key and len(key) != len(cells):
        raise QueryError(f"after={text[:40]!r}: write {', '.join(cells)} of a line, with commas")
    return key


def time_of(query: Mapping[str, str], name: str, *, through: bool = False) -> int | None:
    """A day or an hour of UTC. `through` means to the end of a day that is given without a time."""
    text = text_of(query, name)
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise QueryError(
            f"{name}={text[:40]!r}: write a day (2026-11-16) or a time (2026-11-16T14:00:00Z)"
        ) from None
    # A time without a zone is UTC, like all hours of the ledger.
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    try:
        if through and len(text) == len("2026-11-16"):
            moment += timedelta(days=1)
        seconds = int(moment.timestamp())
    except OverflowError:
        raise QueryError(f"{name}={text[:40]!r}: no calendar goes that far") from None
    # Rows cover whole hours, so an end within an hour includes that hour.
    return -(-seconds // HOUR_SECONDS) * HOUR_SECONDS if through else seconds


def report(rows: list[UsageRow], query: UsageQuery, *, stale: str) -> UsageReport:
    """Sum the rows in exact integers. The largest use of devices, then of CPU, comes first.

    Pages are in the order of cells instead, because the order by use may change between two pages.
    """
    sums: dict[Key, Resources] = {}
    until = 0
    for row in rows:
        # Even rows that the filter excludes show how far hours are closed.
        until = max(until, row.hour + HOUR_SECONDS) if row.closed else until
        if not _is_selected(row, query):
            continue
        held = sums.setdefault(tuple(_cell(row, cell) for cell in query.by), Resources())
        held.add({resource: int(units) for resource, units in row.held.items()})
    after = query.after
    # Keys are sorted, and the page continues after the last one.
    keys = [key for key in sorted(sums) if not after or key > after]
    if after is not None:
        keys = keys[: query.limit]
    lines = [_line(query.by, key, sums[key]) for key in keys]
    if after is None:
        # Devices are the scarcest resource, so they decide first.
        lines.sort(key=lambda line: (-sum(line.device_hours.values()), -line.cpu_hours))
    return UsageReport(
        by=list(query.by),
        lines=lines[: query.limit],
        total=len(sums),
        closed_until=format_time(until) if until else "",
        stale=stale,
    )


def _is_selected(row: UsageRow, query: UsageQuery) -> bool:
    return (
        # A begin within an hour includes that hour.
        row.hour >= query.begin // HOUR_SECONDS * HOUR_SECONDS
        and (query.end is None or row.hour < query.end)
        and query.queue in ("", row.queue)
        and query.namespace in ("", row.namespace)
        and query.job in ("", row.job)
    )


def _cell(row: UsageRow, cell: str) -> str:
    if cell == "day":
        return format_time(row.hour)[: len("2026-11-16")]
    return str(getattr(row, cell))


def _line(by: tuple[str, ...], key: Key, held: dict[str, int]) -> UsageLine:
    cells = dict(zip(by, key, strict=True))
    return UsageLine(
        queue=cells.get("queue", ""),
        namespace=cells.get("namespace", ""),
        job=cells.get("job", ""),
        day=cells.get("day", ""),
        cpu_hours=_hours(_CPU, held.get(_CPU, 0)),
        memory_gib_hours=round(held.get(_MEMORY, 0) / _GIB / HOUR_SECONDS, _DECIMALS),
        device_hours={
            name: _hours(name, held[name]) for name in sorted(held) if name not in (_CPU, _MEMORY)
        },
        unit_seconds={name: str(held[name]) for name in sorted(held)},
    )


def _hours(resource: str, units: int) -> float:
    return round(units / float(10 ** decimals_of(resource)) / HOUR_SECONDS, _DECIMALS)
