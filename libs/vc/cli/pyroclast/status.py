"""`pyroclast status`: one line per process, and the reasons of processes that are not ready.

LAG is the number of records that a service still has to read (its views) and to process (its
consumer group). AGE is the time since its view last received progress from the watcher; normally a
few seconds at most.
"""

import shutil
import sys
from pathlib import Path
from typing import Final

import msgspec

from vc.cli.pyroclast.stack import stack_file
from vc.cli.pyroclast.status_probe import Seen, look
from vc.cli.tables import RED, Column, TextTable
from vc.clock import LoopClock

HEADER: Final = ("PROCESS", "PID", "UP", "READY", "RSS", "LAG", "AGE", "PORT")
NAME_LENGTH_MAX: Final = 19
WIDTH_DEFAULT: Final = 80
_MEGABYTE: Final = 1_000_000
_THOUSAND: Final = 1_000


async def run_status(home: Path, *, output: str) -> int:
    """Print the status. The exit code is 1 if a process is not ready."""
    stack = stack_file.read(home)
    seen = await look(stack)
    if output == "json":
        print(msgspec.json.format(msgspec.json.encode(seen), indent=2).decode())
    else:
        terminal = sys.stdout.isatty()
        width = shutil.get_terminal_size((WIDTH_DEFAULT, 24)).columns if terminal else WIDTH_DEFAULT
        print(table(seen, now=LoopClock().now(), width=width, colour=terminal))
    # An empty stack is not ready either.
    return 0 if seen and all(each.ready for each in seen) else 1


def table(seen: list[Seen], *, now: float, width: int = WIDTH_DEFAULT, colour: bool = False) -> str:
    """The table of processes, then the reasons.

    Processes that are not ready are red on a terminal.
    """
    rows = [row(each, now=now) for each in seen]
    printer = TextTable([Column(title) for title in HEADER], rows, line_width=width, colour=colour)
    lines = [printer.header()]
    for each, cells in zip(seen, rows, strict=True):
        lines.append(printer.line(cells, colour="" if each.ready else RED))
    reasons = [f"{each.process}: {each.reason}"[:width] for each in seen if not each.ready]
    return "\n".join(lines + ([""] + reasons if reasons else []))


def row(seen: Seen, *, now: float) -> tuple[str, ...]:
    """The cells of one process."""
    return (
        seen.process[:NAME_LENGTH_MAX],
        str(seen.pid),
        _span(now - seen.started_at),
        "yes" if seen.ready else "no",
        f"{seen.resident_bytes / _MEGABYTE:.0f} MB" if seen.resident_bytes else "-",
        "-" if seen.lag_records is None else _count(seen.lag_records),
        "-" if seen.event_age_seconds is None else _span(seen.event_age_seconds, exact=True),
        str(seen.port) if seen.port else "-",
    )


def _span(seconds: float, *, exact: bool = False) -> str:
    """At most five characters: 0.3s, 42s, 3m12s, 5h, 3d."""
    if exact and seconds < 10:
        return f"{seconds:.1f}s"
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 7_200:
        return f"{whole // 60}m"
    return f"{whole // 3_600}h" if whole < 172_800 else f"{whole // 86_400}d"


def _count(records: int) -> str:
    return str(records) if records < 10 * _THOUSAND else f"{records // _THOUSAND}k"
