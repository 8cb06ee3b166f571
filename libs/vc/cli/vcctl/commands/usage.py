"""`vcctl usage`: used GPU-hours, CPU-hours and GiB-hours of memory.

The dashboard aggregates the ledger of the usage-ledger service; this module only prints it. Times
without a zone are UTC, and hours count as a whole. An incomplete account is useless, so all pages
are read. If some could not be read, a message says so and the exit code is 1.
"""

import argparse
import csv
import re
import sys
from typing import Final

from vc.cli.tables import Column, TextTable
from vc.cli.vcctl.api.dashboard import Dashboard, dashboard_of
from vc.cli.vcctl.api.errors import EXIT_FAILED, EXIT_OK, CtlError
from vc.cli.vcctl.api.resources import JsonObject
from vc.cli.vcctl.output.listing import NOTHING_FOUND
from vc.cli.vcctl.output.output import CSV, OBJECT_FORMS, print_answer

PAGE_LINES: Final = 1000
"""Lines that the dashboard returns per page."""
PAGES_MAX: Final = 1000
SMALL_JOBS: Final = "(small jobs)"
_AGO: Final = re.compile(r"(\d{1,5})([dh])", re.ASCII)
_HOURS: Final = {"h": 1, "d": 24}


def usage(arguments: argparse.Namespace) -> int:
    """Print recorded usage, grouped by the requested fields."""
    query = {
        "by": arguments.by,
        "from": moment(arguments.begin),
        "to": moment(arguments.end),
        "queue": arguments.queue,
        "namespace": arguments.namespace,
        "job": arguments.job,
    }
    filters = {name: text for name, text in query.items() if text}
    found, missing = read_all(dashboard_of(arguments), filters)
    if arguments.output in OBJECT_FORMS:
        print_answer(found, arguments.output)
    else:
        _show(found, arguments.output)
    if not missing:
        return EXIT_OK
    print(f"vcctl: lines are missing: {missing}", file=sys.stderr)
    return EXIT_FAILED


def read_all(
    dashboard: Dashboard, query: dict[str, str], *, pages_max: int = PAGES_MAX
) -> tuple[JsonObject, str]:
    """All lines, the largest use first, and the reason if lines are missing."""
    lines: list[JsonObject] = []
    after: list[str] = []
    missing = (
        f"there are more than {pages_max * PAGE_LINES}; narrow the query with --queue or --from"
    )
    found: JsonObject = {}
    for _ in range(pages_max):
        place = {"limit": str(PAGE_LINES), "after": ",".join(after)}
        found = dashboard.query("/api/v1/usage", query={**query, **place})
        page: list[JsonObject] = found.get("lines") or []
        by = [str(cell) for cell in found.get("by") or []]
        keys = [[str(line.get(cell, "")) for cell in by] for line in page]
        # A dashboard without paging ignores `after` and returns the first page again.
        if after and keys and min(keys) <= after:
            missing = f"this dashboard gives no more than {PAGE_LINES}; it is older than vcctl"
            break
        lines += page
        # A page that is not full is the last one.
        if len(page) < PAGE_LINES:
            missing = ""
            break
        # The last key of a page is the position from which the next one continues.
        after = keys[-1]
    # Pages come in key order; the sort is done here, after all of them were read.
    lines.sort(key=lambda line: (-_devices(line), -float(line.get("cpuHours", 0))))
    return {**found, "lines": lines, "total": len(lines)}, missing


def _devices(line: JsonObject) -> float:
    return sum(float(hours) for hours in (line.get("deviceHours") or {}).values())


def _show(found: JsonObject, form: str) -> None:
    titles, rows = table_of(found)
    if form == CSV:
        csv.writer(sys.stdout, lineterminator="\n").writerows([titles, *rows])
    elif rows:
        _print(found, titles, rows)
    else:
        print(NOTHING_FOUND)


def _print(found: JsonObject, titles: list[str], rows: list[list[str]]) -> None:
    table = TextTable([Column(title) for title in titles], rows)
    print(table.header())
    for row in rows:
        print(table.line(row))
    if found.get("closedUntil"):
        print(f"hours before {found['closedUntil']} are closed")
    if found.get("stale"):
        print(f"note: this may be old: {found['stale']}")


def moment(text: str) -> str:
    """A time in the dashboard's format. `7d` and `24h` mean that long ago."""
    ago = _AGO.fullmatch(text)
    if ago is None:
        if text and not re.match(r"\d{4}-\d\d-\d\d", text):
            raise CtlError(f"{text!r} is no time: write a day (2026-11-16), a time or 7d, 24h")
        return text
    from time import time  # noqa: TID251 - the clock's module brings asyncio, which costs a start

    from vc.model.values.times import format_time

    return format_time(time() - int(ago[1]) * _HOURS[ago[2]] * 3600)


def table_of(found: JsonObject) -> tuple[list[str], list[list[str]]]:
    """Titles and rows: the requested cells, one column per device, then CPU and memory hours."""
    by = [str(cell) for cell in found.get("by") or []]
    lines: list[JsonObject] = found.get("lines") or []
    devices = sorted({name for line in lines for name in line.get("deviceHours") or {}})
    titles = [cell.capitalize() for cell in by]
    titles += [_device_title(name, devices) for name in devices]
    titles += ["CPU-hours", "Memory GiB-hours"]
    rows = [
        [
            *(_cell(line, cell) for cell in by),
            *(_number((line.get("deviceHours") or {}).get(name, 0)) for name in devices),
            _number(line.get("cpuHours", 0)),
            _number(line.get("memoryGibHours", 0)),
        ]
        for line in lines
    ]
    return titles, rows


def _cell(line: JsonObject, cell: str) -> str:
    text = str(line.get(cell, ""))
    return SMALL_JOBS if cell == "job" and not text else text


def _device_title(name: str, devices: list[str]) -> str:
    """The short name, such as `GPU-hours`, if it is unique among the devices, else the full
    name.
    """
    short = name.rpartition("/")[2]
    alike = [device for device in devices if device.rpartition("/")[2] == short]
    return f"{short.upper() if len(alike) == 1 else name}-hours"


def _number(hours: object) -> str:
    return f"{float(str(hours)):.3f}"
