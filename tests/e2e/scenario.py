"""What all scenarios share: their marks, on which API server they run, and the size of a full run.

The default numbers are those of a run in CI; `PYROCLAST_E2E=full` gives the numbers of the promise.
"""

import os

import pytest

FULL = os.environ.get("PYROCLAST_E2E", "") == "full"

MARKS = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.kafka,
    pytest.mark.redis,
    pytest.mark.slow,
    pytest.mark.xdist_group("e2e"),
]

on_embedded = pytest.mark.parametrize("deployment", ["embedded"], indirect=True)
on_kubernetes = pytest.mark.parametrize(
    "deployment", [pytest.param("kubernetes", marks=pytest.mark.kubernetes)], indirect=True
)
on_both = pytest.mark.parametrize(
    "deployment",
    ["embedded", pytest.param("kubernetes", marks=pytest.mark.kubernetes)],
    indirect=True,
)
