"""A sample of the proof; `make prove-tenant` runs as much of it as there is time for."""

from typing import Final

import pytest

from tests.proofs.tenant.proof import prove

TENANTS: Final = 16
PARTS: Final = 4
FIRST: Final = 1_000_000
"""Other tenants than those the full proof begins with. Even seeds have our webhooks, odd ones have not."""


@pytest.mark.parametrize("part", range(PARTS))
def test_jobs_of_others_start_whatever_a_tenant_writes(part: int) -> None:
    failures: list[str] = []
    jobs = written = 0
    for seed in range(FIRST + part, FIRST + TENANTS, PARTS):
        outcome = prove(seed)
        jobs += outcome.counts["jobs of others"]
        written += outcome.counts["objects written"]
        failures += [f"seed {seed}: {failure}" for failure in outcome.failures]
    assert failures == []
    assert jobs >= 1
    assert written >= 10
