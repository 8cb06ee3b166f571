"""A sample of the proof; `make prove-tenant` runs as much of it as there is time for."""

from typing import Final

import pytest

from tests.proofs.tenant.proof import prove

SEEDS: Final = (0, 2)
"""With webhooks; a seed without them takes minutes of virtual time, and is for the full proof."""


@pytest.mark.parametrize("seed", SEEDS)
def test_jobs_of_others_start_whatever_a_tenant_writes(seed: int) -> None:
    outcome = prove(seed)
    assert outcome.failures == ()
    assert outcome.counts["jobs of others"] >= 1
    assert outcome.counts["objects written"] >= 10
