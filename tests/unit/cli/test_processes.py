"""Processes are told apart by more than their number, and end in a bounded time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vc.cli.pyroclast.processes import Child, Pid, resident_bytes, start_id_of, stop

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
OBEDIENT = "import time; time.sleep(60)"


def child(code: str, folder: Path, env: dict[str, str] | None = None) -> Child:
    return Child("child", [sys.executable, "-c", code], env=env or {}, log=folder / "child.log")


def test_a_process_has_a_birth_and_memory() -> None:
    assert start_id_of(os.getpid())
    assert Pid(number=os.getpid(), start_id=start_id_of(os.getpid())).is_running
    assert resident_bytes(os.getpid()) > 1_000_000


def test_the_same_number_with_another_birth_is_another_process() -> None:
    assert not Pid(number=os.getpid(), start_id="another boot/1").is_running


def test_a_process_that_ended_has_neither() -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    start_id = start_id_of(done.pid)
    done.wait()
    assert not Pid(number=done.pid, start_id=start_id).is_running
    assert resident_bytes(done.pid) == 0


def test_a_zombie_counts_as_ended() -> None:
    ended = subprocess.Popen([sys.executable, "-c", "pass"], stdout=subprocess.PIPE)
    pid = Pid(number=ended.pid, start_id=start_id_of(ended.pid))
    assert ended.stdout is not None
    ended.stdout.read()  # the end of its output is the end of the process
    ended.stdout.close()
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert not pid.is_running
    finally:
        ended.wait()


async def test_nothing_is_signalled_when_the_birth_differs(tmp_path: Path) -> None:
    running = child(OBEDIENT, tmp_path)
    real = running.start()
    try:
        assert await stop(Pid(number=real.number, start_id="another boot/1"), seconds_max=1.0)
        assert running.end() == ""
    finally:
        await running.stop(seconds_max=5.0)


@pytest.mark.parametrize(
    ("code", "how"), [(OBEDIENT, "was killed by SIGTERM"), (STUBBORN, "was killed by SIGKILL")]
)
async def test_a_process_ends_by_sigterm_or_at_last_by_sigkill(
    code: str, how: str, tmp_path: Path
) -> None:
    running = child(code, tmp_path)
    running.start()
    while code == STUBBORN and "up" not in running.log.read_text():
        assert running.end() == ""
    await running.stop(seconds_max=0.5)
    assert running.end() == how
    assert not running.pid.is_running


async def test_a_child_has_exactly_the_environment_it_is_given(tmp_path: Path) -> None:
    running = child("import os; print(sorted(os.environ))", tmp_path, {"ONLY": "this"})
    running.start()
    assert await running.ended() == "ended with code 0"
    assert "ONLY" in running.log.read_text()
    assert "PATH" not in running.log.read_text()
