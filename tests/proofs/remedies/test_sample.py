"""A sample of the proof; `make prove-remedies` runs as much of it as there is time for."""

import os
from typing import Final

import pytest

from tests.proofs.remedies.proof import NONE_KNOWN, Verdict, counted, prove

WORLDS: Final = 80
PARTS: Final = 8
FIRST: Final = int.from_bytes(os.urandom(3)) if os.environ.get("PYROCLAST_EXPLORE") else 5_000_000
"""Other worlds than those the full proof begins with."""


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_proposed_for_a_waiting_job_starts_it(part: int) -> None:
    verdicts = [
        verdict for seed in range(FIRST + part, FIRST + WORLDS, PARTS) for verdict in prove(seed)
    ]
    assert len(verdicts) >= WORLDS // PARTS
    wrong = [
        f"seed {verdict.seed} {verdict.group} {verdict.kind}: {verdict.wrong}"
        for verdict in verdicts
        if verdict.wrong
    ]
    assert wrong == []
    unknown = sum(verdict.kind == NONE_KNOWN for verdict in verdicts)
    assert unknown * 50 <= len(verdicts), "hardly any job has no remedy"


def test_verdicts_are_counted_and_a_wrong_remedy_is_a_failure() -> None:
    right = Verdict(
        seed=1, group="ns/a", stage="gang", kind="add-room", simulations=2, proposed_at_once=True
    )
    wrong = Verdict(
        seed=1, group="ns/b", stage="gang", kind=NONE_KNOWN, simulations=5, wrong="add-room helps"
    )
    outcome = counted([right, wrong])
    assert outcome.counts == {
        "waiting jobs": 2,
        "simulations": 7,
        "own proposals of the session": 1,
    }
    assert outcome.details == {
        "remedy: add-room": 1,
        "remedy: none known": 1,
        "waited at stage: gang": 2,
    }
    assert outcome.failures == ("ns/b none known: add-room helps",)
