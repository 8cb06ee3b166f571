"""What dies is started again with growing pauses; what is stopped stays stopped."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from vc.cli.pyroclast.processes import Child
from vc.cli.pyroclast.stack.members import OwnMember
from vc.cli.pyroclast.stack.supervision import Supervisor
from vc.clock import LoopClock

WAIT_SECONDS_MAX = 20.0
SLEEPS = "import time; time.sleep(60)"
DIES = "raise SystemExit(3)"


class Scene:
    """A supervisor with what it said."""

    def __init__(self, folder: Path) -> None:
        self.said: list[str] = []
        self.changes = 0
        self._folder = folder
        self.supervisor = Supervisor(clock=LoopClock(), say=self.said.append, changed=self._count)

    def _count(self) -> None:
        self.changes += 1

    def member(self, name: str, code: str) -> OwnMember:
        command = [sys.executable, "-c", code]
        child = Child(name, command, env={}, log=self._folder / f"{name}.log")
        return OwnMember(child, role="service", port=0)


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.02)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


async def test_a_process_that_dies_is_started_again_and_again(scene: Scene) -> None:
    await scene.supervisor.start(scene.member("mayfly", DIES))
    await eventually(lambda: scene.supervisor.restarts["mayfly"] >= 2)
    await scene.supervisor.stop()
    assert scene.said[0].startswith("mayfly ended with code 3; started again in 0.")
    assert "mayfly.log" in scene.said[0]
    assert scene.changes >= 3  # the first start and two more


async def test_a_neighbour_does_not_notice(scene: Scene) -> None:
    steady = scene.member("steady", SLEEPS)
    await scene.supervisor.start(steady)
    pid = steady.pid
    await scene.supervisor.start(scene.member("mayfly", DIES))
    await eventually(lambda: scene.supervisor.restarts["mayfly"] >= 1)
    assert steady.pid == pid
    assert pid.is_running
    await scene.supervisor.stop()


async def test_stop_ends_all_and_starts_nothing_again(scene: Scene) -> None:
    members = [scene.member(f"steady-{number}", SLEEPS) for number in range(3)]
    for member in members:
        await scene.supervisor.start(member)
    await scene.supervisor.stop()
    assert not any(member.pid.is_running for member in members)
    assert scene.said == []


async def test_a_program_that_cannot_be_started_is_tried_again(scene: Scene) -> None:
    member = scene.member("lost", DIES)
    await scene.supervisor.start(member)
    member._child.command[0] = "/nowhere/python"
    await eventually(lambda: any("did not start" in line for line in scene.said))
    member._child.command[0] = sys.executable
    await eventually(lambda: scene.supervisor.restarts["lost"] >= 1)
    await scene.supervisor.stop()
