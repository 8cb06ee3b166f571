"""A sample of the proof; `make prove-overload` runs it for two minutes and then measures real servers under load.

`tests/simulation/test_slow_api_server.py` holds the three named cases of an API server that answers in seconds.
"""

from typing import Final

import pytest

from tests.proofs.overload.proof import prove

HISTORIES: Final = 40
PARTS: Final = 4
FIRST: Final = 1_000_000
"""Other slow times than those the full proof begins with."""


@pytest.mark.parametrize("part", range(PARTS))
def test_a_slow_api_server_loses_rebuilds_and_releases_nothing(part: int) -> None:
    failures: list[str] = []
    pods = 0
    for seed in range(FIRST + part, FIRST + HISTORIES, PARTS):
        outcome = prove(seed)
        pods += outcome.counts["pods"]
        failures += [f"seed {seed}: {failure}" for failure in outcome.failures]
    assert failures == []
    assert pods >= HISTORIES
