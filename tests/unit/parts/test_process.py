"""The life of a process: ready, paused, killed, restarted, and what is said when it does not start.

The child is a few lines of Python: real signals and pids, no server.
"""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from vc.model.start_limits import Patience
from vc.parts.errors import StartFailedError
from vc.parts.process import Process
from vc.parts.server import Server

PATIENCE = Patience(stall_seconds_max=10.0, seconds_max=10.0)
IDLE = "import os, time; print('up', os.getpid(), flush=True); time.sleep(60)"
BUSY = (
    "import threading; threading.Thread(target=exec, args=('while 1: 1',), daemon=True).start(); "
)
"""A thread that never rests: it would run on after the signal."""
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + IDLE


def python_process(folder: Path, script: str) -> Process:
    """A child that is ready once it has logged its pid."""
    log = folder / "child.log"

    async def ready() -> bool:
        return f"up {process.pid}" in log.read_text()

    command = [sys.executable, "-u", "-c", script]
    process = Process(
        "child", command, log=log, ready=ready, patience=PATIENCE, stop_seconds_max=0.3
    )
    return process


def is_stopped(pid: int) -> bool:
    """T is the kernel's letter for a thread that SIGSTOP holds."""
    states = [
        stat.read_text().rsplit(")", 1)[1].split()[0]
        for stat in Path(f"/proc/{pid}/task").glob("*/stat")
    ]
    return set(states) == {"T"}


async def goes_on(pid: int) -> bool:
    """The kernel acts on a signal a moment after it was sent."""
    for _ in range(100):
        if not is_stopped(pid):
            return True
        await asyncio.sleep(0.02)
    return False


async def test_start_waits_until_ready_and_stop_ends_it(tmp_path: Path) -> None:
    process = python_process(tmp_path, IDLE)
    await process.start()
    assert process.is_running()
    assert process.start_seconds > 0
    pid = process.pid
    await process.start()
    assert process.pid == pid, "a second start is harmless"
    await process.stop()
    assert not process.is_running()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_process_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    process = python_process(tmp_path, STUBBORN)
    await process.start()
    await process.stop()
    assert not process.is_running()


async def test_pause_stops_the_process_and_resume_lets_it_go_on(tmp_path: Path) -> None:
    process = python_process(tmp_path, BUSY + IDLE)
    await process.start()
    for _ in range(2):
        process.pause()
        assert is_stopped(process.pid)
        process.resume()
        assert await goes_on(process.pid)
    process.pause()
    await process.stop()
    assert not process.is_running(), "a paused process can be stopped"


async def test_restart_after_kill_is_another_process_with_the_same_command(tmp_path: Path) -> None:
    process = python_process(tmp_path, IDLE)
    await process.start()
    before = process.pid
    await process.kill()
    await process.restart()
    assert process.pid != before
    assert process.log.read_text().count("up") == 2
    await process.stop()


async def test_a_process_that_ends_at_once_shows_the_end_of_its_log(tmp_path: Path) -> None:
    process = python_process(tmp_path, "print('port in use'); raise SystemExit(7)")
    with pytest.raises(StartFailedError) as caught:
        await process.start()
    assert "child ended with exit code 7" in str(caught.value)
    assert str(caught.value).endswith("  port in use")


async def test_a_program_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    process = python_process(tmp_path, IDLE)
    process.command = ["/no/such/server"]
    with pytest.raises(StartFailedError, match="child cannot be started"):
        await process.start()


class IdleServer(Server):
    """A server of one idle process."""

    def __init__(self, folder: Path | None = None, *, script: str = IDLE) -> None:
        super().__init__("idle", folder=folder)
        self._script = script

    async def prepare(self) -> None:
        self.processes = [python_process(self.folder, self._script)]


async def test_a_folder_of_our_own_goes_after_a_clean_stop_and_stays_after_a_failure() -> None:
    async with IdleServer() as server:
        folder = server.folder
        assert folder.is_dir()
    assert not folder.exists()
    with pytest.raises(ZeroDivisionError):
        async with IdleServer() as server:
            raise ZeroDivisionError
    assert not server.processes[0].is_running()
    assert (server.folder / "child.log").exists()
    await server.stop()
    assert not server.folder.exists()


async def test_a_folder_of_the_caller_always_stays(tmp_path: Path) -> None:
    async with IdleServer(tmp_path / "mine") as server:
        pass
    assert (server.folder / "child.log").exists()


async def test_a_server_that_does_not_start_keeps_its_log() -> None:
    server = IdleServer(script="raise SystemExit('broken')")
    with pytest.raises(StartFailedError, match="broken"):
        async with server:
            pytest.fail("it must not start")
    assert (server.folder / "child.log").read_text().strip() == "broken"
    await server.stop()


def test_logs_go_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYROCLAST_PARTS_LOGS", str(tmp_path / "kept"))
    server = IdleServer(tmp_path / "mine")
    assert server.log_of("child") == tmp_path / "kept" / "mine-child.log"
