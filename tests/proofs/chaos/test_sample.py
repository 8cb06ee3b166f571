"""A sample of the proof; `make prove-chaos` runs as much of it as there is time for."""

from typing import Final

import pytest

from tests.proofs.chaos.proof import prove

HISTORIES: Final = 320
PARTS: Final = 16
FIRST: Final = 1_000_000
"""Other histories than those the full proof begins with."""


@pytest.mark.parametrize("part", range(PARTS))
def test_every_job_completes_once_whatever_happens(part: int) -> None:
    failures: list[str] = []
    deaths = jobs = 0
    for seed in range(FIRST + part, FIRST + HISTORIES, PARTS):
        outcome = prove(seed)
        deaths += outcome.counts["deaths"]
        jobs += outcome.counts["jobs"]
        failures += [f"seed {seed}: {failure}" for failure in outcome.failures]
    assert failures == []
    assert jobs >= HISTORIES // PARTS
    assert deaths >= 5
