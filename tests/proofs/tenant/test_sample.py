"""A sample of the proof; `make prove-tenant` runs as much of it as there is time for."""

from typing import Final

import pytest

from tests.proofs.tenant.proof import prove

FIRST: Final = 1_000_000
"""Other seeds than those the full proof begins with; even ones have webhooks."""
SEEDS: Final = 6


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_jobs_of_others_start_whatever_a_tenant_writes(seed: int) -> None:
    outcome = prove(seed)
    assert outcome.failures == ()
    assert outcome.counts["jobs of others"] >= 1
    assert outcome.counts["objects written"] >= 10
