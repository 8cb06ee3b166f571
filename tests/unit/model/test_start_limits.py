"""A start is waited for as long as it moves, within limits that the environment chooses."""

import sys
from pathlib import Path

import pytest

from vc.model.start_limits import Patience, Wait
from vc.parts.errors import StartFailedError
from vc.parts.process import Process

SHORT = Patience(stall_seconds_max=10.0, seconds_max=60.0)


def test_progress_moves_the_end_but_not_beyond_the_limit() -> None:
    wait = Wait(SHORT, now=0.0)
    for second in range(0, 60, 9):
        assert wait.over(second, now=float(second)) == ""
    assert wait.over("more", now=60.5) == "60 s are over (PYROCLAST_START_SECONDS_MAX)"


def test_what_shows_nothing_new_is_given_up() -> None:
    wait = Wait(SHORT, now=0.0)
    assert wait.over("same", now=1.0) == ""
    assert wait.over("same", now=11.0) == ""
    assert wait.over("same", now=11.5) == "nothing new for 10 s (PYROCLAST_STALL_SECONDS_MAX)"


def test_the_environment_chooses_both() -> None:
    told = {"PYROCLAST_STALL_SECONDS_MAX": "300", "PYROCLAST_START_SECONDS_MAX": "1800"}
    assert Patience.from_env(told) == Patience(stall_seconds_max=300.0, seconds_max=1800.0)
    assert Patience.from_env({}) == Patience()
    with pytest.raises(ValueError, match="PYROCLAST_START_SECONDS_MAX='soon': write seconds from"):
        Patience.from_env({"PYROCLAST_START_SECONDS_MAX": "soon"})


async def never() -> bool:
    return False


def process(tmp_path: Path, script: str, patience: Patience) -> Process:
    return Process(
        "server",
        [sys.executable, "-u", "-c", script],
        log=tmp_path / "log",
        ready=never,
        patience=patience,
    )


async def test_a_server_that_writes_nothing_is_given_up_with_the_reason(tmp_path: Path) -> None:
    patience = Patience(stall_seconds_max=0.3, seconds_max=60.0)
    silent = process(tmp_path, "import time; time.sleep(60)", patience)
    with pytest.raises(StartFailedError, match=r"did not answer, nothing new for 0.3 s \(PYRO"):
        await silent.start()


async def test_a_server_that_writes_is_waited_for_until_the_limit(tmp_path: Path) -> None:
    script = "import time\nwhile True: print('loading'); time.sleep(0.05)"
    patience = Patience(stall_seconds_max=1.5, seconds_max=3.0)
    slow = process(tmp_path, script, patience)
    with pytest.raises(StartFailedError, match="3 s are over"):
        await slow.start()
