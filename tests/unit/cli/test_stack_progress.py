"""Waiting for a stack: as long as anything moves, and with reasons when it does not."""

from pathlib import Path

import pytest

from vc.cli.pyroclast.processes import Pid
from vc.cli.pyroclast.stack import progress
from vc.cli.pyroclast.stack.members import Member
from vc.cli.pyroclast.stack.progress import Progress, Readiness
from vc.cli.pyroclast.stack.stack_file import Role
from vc.cli.pyroclast.stack.supervision import Supervisor
from vc.clock import Clock, LoopClock
from vc.clock.virtual import run_virtual
from vc.model.start_limits import Patience

PATIENCE = Patience(stall_seconds_max=60.0, seconds_max=300.0)


class Slow:
    """A process that is ready after a while, and writes lines on the way, or does not."""

    role: Role = "service"
    port = 1
    health_url = "http://127.0.0.1:1"
    pid = Pid(number=1, start_id="now")

    def __init__(self, log: Path, clock: Clock, *, ready_at: float, writes: bool) -> None:
        self.name = "scheduler"
        self.log = log
        self._clock = clock
        self._ready_at = ready_at
        self._writes = writes

    async def start(self) -> None:
        """It runs already."""

    async def ended(self) -> str:
        await self._clock.sleep(1e9)
        return ""

    async def stop(self) -> None:
        """Nothing runs."""

    def unready(self) -> str:
        if self._writes:
            with self.log.open("a") as lines:
                lines.write("reading the facts\n")
        return "" if self._clock.monotonic() >= self._ready_at else "no answer yet"


async def waited(
    monkeypatch: pytest.MonkeyPatch, log: Path, *, ready_at: float, writes: bool
) -> tuple[str, float]:
    clock = LoopClock()
    began = clock.monotonic()
    slow = Slow(log, clock, ready_at=began + ready_at, writes=writes)

    async def ask(members: list[Member]) -> list[str]:
        return [slow.unready() for _ in members]

    monkeypatch.setattr(progress, "_ask", ask)
    supervisor = Supervisor(clock=clock, say=lambda _: None, changed=lambda: None)
    supervisor.take(slow)
    readiness = Readiness(supervisor, Progress(clock), clock, patience=PATIENCE)
    said = await readiness.wait()
    await supervisor.stop()
    return said, clock.monotonic() - began


@pytest.mark.parametrize(
    ("ready_at", "writes", "said", "until"),
    [
        (250.0, True, "", 250.0),
        (30.0, False, "", 30.0),
        (250.0, False, "nothing new for 60 s (PYROCLAST_STALL_SECONDS_MAX): scheduler: no answer yet", 60.0),
        (400.0, True, "300 s are over (PYROCLAST_START_SECONDS_MAX): scheduler: no answer yet", 300.0),
    ],
)  # fmt: skip
def test_a_start_is_waited_for_while_it_moves(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    ready_at: float,
    writes: bool,
    said: str,
    until: float,
) -> None:
    log = tmp_path / "log"
    answer, seconds = run_virtual(waited(monkeypatch, log, ready_at=ready_at, writes=writes))
    assert answer == said
    assert until <= seconds < until + 2.0
