"""A sample of the proof; `make prove-remedies` runs all of it."""

import os
from typing import Final

import pytest

from tests.proofs.remedies.proof import NONE_KNOWN, prove

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
