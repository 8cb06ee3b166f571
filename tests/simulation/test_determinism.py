"""The same log and configuration give the same decisions, byte for byte."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def history(seed: int, *, hash_seed: int) -> str:
    """The digest of a run in a process with its own hash seed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation.history", str(seed)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("seed", [1, 2])
def test_two_hash_seeds_give_one_history(seed: int) -> None:
    assert history(seed, hash_seed=1) == history(seed, hash_seed=2)


def test_two_seeds_give_two_histories() -> None:
    assert history(1, hash_seed=1) != history(2, hash_seed=1)
