"""`pyroclast stack --detach`: the same stack, its supervisor in the background.

The background process is an ordinary `pyroclast stack` in a session of its own. Its lines go to a
log, and are shown here until it says in `stack.json` that everything is ready.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import BinaryIO, Final

from vc_cli import stack_file
from vc_cli.processes import Child, Pid
from vc_parts.patience import Patience

LOG_NAME: Final = "stack.log"
STEPS: Final = 3
"""Of a start, each within the limit: servers, services, and a third for stopping what was started: the
background process gives up first."""
_LOOK_SECONDS: Final = 0.1


async def run_detached(home: Path, arguments: list[str]) -> int:
    """Start it and follow it until it is up; 1 when it ends before."""
    log = home / "logs" / LOG_NAME
    command = [sys.executable, "-m", "vc_cli.pyroclast", "stack", *arguments]
    env = {**os.environ, "PYROCLAST_HOME": str(home)}
    child = Child("stack", command, env=env, log=log)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.touch()
    with log.open("rb") as lines:
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
    return stack.supervisor == supervisor and stack.state == "ready"


def _show(lines: BinaryIO) -> None:
    text = lines.read().decode(errors="replace")
    if text:
        print(text, end="", flush=True)
