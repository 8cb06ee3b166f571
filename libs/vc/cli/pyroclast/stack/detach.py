"""`pyroclast stack --detach`: the same stack with its supervisor in the background.

The background process is an ordinary `pyroclast stack` in its own session. Its output goes to a
log, which is shown here until `stack.json` says that everything is ready.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import BinaryIO, Final

from vc.cli.pyroclast.processes import Child, Pid
from vc.cli.pyroclast.stack import stack_file
from vc.model.start_limits import Patience

LOG_NAME: Final = "stack.log"
STEPS: Final = 3
"""Steps of a start, each within the time limit: servers, services, and stopping what was started.

The third step makes the background process give up before this one.
"""
_LOOK_SECONDS: Final = 0.1


async def run_detached(home: Path, arguments: list[str]) -> int:
    """Start the stack and follow it until it is ready. Returns 1 if it ends before."""
    log = home / "logs" / LOG_NAME
    command = [sys.executable, "-m", "vc.cli.pyroclast.main", "stack", *arguments]
    # The background process must use the same home folder as this one.
    env = {**os.environ, "PYROCLAST_HOME": str(home)}
    child = Child("stack", command, env=env, log=log)
    log.parent.mkdir(parents=True, exist_ok=True)
    # The child creates the log only at its start, but its end has to be known before that.
    log.touch()
    with log.open("rb") as lines:
        # The log may have lines of an earlier stack; only new lines are shown.
        lines.seek(0, os.SEEK_END)
        child.start()
        try:
            return await _follow(home, child, lines)
        except asyncio.CancelledError:
            print("it goes on starting in the background; `pyroclast stack-down` stops it")
            raise


async def _follow(home: Path, child: Child, lines: BinaryIO) -> int:
    seconds_max = STEPS * Patience.from_env(os.environ).seconds_max
    for _ in range(round(seconds_max / _LOOK_SECONDS)):
        # The state is read before the log, so that the last lines are always shown.
        is_up, is_over = _is_up(home, child.pid), bool(child.end())
        _show(lines)
        if is_up or is_over:
            return 0 if is_up else 1
        await asyncio.sleep(_LOOK_SECONDS)
    print(f"pyroclast: the stack is not up after {seconds_max:.0f} s; log: {child.log}")
    return 1


def _is_up(home: Path, supervisor: Pid) -> bool:
    try:
        stack = stack_file.read(home)
    except stack_file.NoStackError:
        return False
    # A stack.json of an earlier stack has another supervisor.
    return stack.supervisor == supervisor and stack.state == "ready"


def _show(lines: BinaryIO) -> None:
    text = lines.read().decode(errors="replace")
    if text:
        print(text, end="", flush=True)
