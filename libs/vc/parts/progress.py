"""Progress messages for users, and commands that run with them.

A build of ten minutes without output looks like a hang, and its full output hides the important
line. The output therefore goes to a log, and the terminal gets a line with the elapsed time every
few seconds.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from vc.parts.errors import BuildFailedError

Say = Callable[[str], None]
"""Receives one line for the user."""

LINE_SECONDS = 10.0
POLL_SECONDS = 0.2
BUILD_SECONDS_MAX = 45 * 60.0
TAIL_LINES = 12
TAIL_BYTES = 8_192


class Progress:
    """Prints lines to standard error, each with the seconds since the start."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def __call__(self, line: str) -> None:
        """Print and flush, because the reader may be a pipe."""
        elapsed_seconds = time.monotonic() - self._started
        print(f"{elapsed_seconds:6.1f} s  {line}", file=sys.stderr, flush=True)


def silent(_line: str) -> None:
    """Ignore progress, for callers without a user."""


def log_tail(log: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log, indented."""
    if not log.exists():
        return "  (no log)"
    with log.open("rb") as file:
        # Only the end of the file is read: a build log may be large.
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - TAIL_BYTES))
        text = file.read().decode(errors="replace")
    return "\n".join("  " + line for line in text.splitlines()[-lines:]) or "  (empty log)"


def run_logged(
    command: Sequence[str],
    *,
    cwd: Path,
    log: Path,
    what: str,
    say: Say,
    env: Mapping[str, str] | None = None,
) -> None:
    """Run a command with its output in the log. On failure, the error names the log.

    The progress line has the number of log lines. Maven and `go build -v` write one per artefact,
    so the user sees that the build makes progress.
    """
    started = time.monotonic()
    next_line = started + LINE_SECONDS
    with log.open("ab") as output, _child(command, cwd=cwd, output=output, env=env) as child:
        while child.poll() is None:
            now = time.monotonic()
            # A build that hangs must not block a CI run for ever.
            if now - started > BUILD_SECONDS_MAX:
                child.kill()
                raise BuildFailedError(
                    f"Gave up {what} after {BUILD_SECONDS_MAX:.0f} s; the log is {log}."
                )
            if now >= next_line:
                next_line = now + LINE_SECONDS
                say(f"{what} ({_line_count(log)} lines in {log})")
            time.sleep(POLL_SECONDS)
    if child.returncode != 0:
        raise BuildFailedError(
            f"{what} failed with exit code {child.returncode}; the log is {log}, and its end is:\n"
            f"{log_tail(log)}"
        )


def _child(
    command: Sequence[str], *, cwd: Path, output: IO[bytes], env: Mapping[str, str] | None
) -> subprocess.Popen[bytes]:
    merged = {**os.environ, **(env or {})}
    try:
        return subprocess.Popen(
            list(command),
            cwd=cwd,
            env=merged,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:
        raise BuildFailedError(f"Cannot run {command[0]}: {error.strerror}.") from error


def _line_count(log: Path) -> int:
    with log.open("rb") as file:
        return sum(1 for _ in file)
