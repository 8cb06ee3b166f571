"""Every service killed at every adapter call, before and after it.

A first run counts the calls each service makes on the way of one gang job. Then each of these
points gets a run of its own in which the service dies there and starts anew. Nothing may be lost,
doubled, partial or over-committed, and no policy may take a crash for a failure of the job.
"""

import os

import pytest

from tests.simulation.stack import CORE, Stack, gang_job
from vc.bus.memory import Faults
from vc.clock import run_virtual

SEEDS = int(os.environ.get("PYROCLAST_SEEDS", "200"))
JOB_SECONDS_MAX = 240.0
REPLICAS = 3


async def _run_job(stack: Stack) -> None:
    """One gang job to its end, with everything that must hold."""
    await stack.submit(gang_job("train", replicas=REPLICAS, run_seconds=2))
    await stack.until(
        lambda: stack.job("train").status.state.phase == "Completed",
        seconds=JOB_SECONDS_MAX,
        what="the job is completed",
    )
    status = stack.job("train").status
    assert status.succeeded == REPLICAS
    assert status.retry_count == 0
    assert stack.created.total() == REPLICAS, f"doubled: {stack.created}"
    assert stack.problems == []


def _points(service: str) -> list[str]:
    """The calls a service makes on the way of one job."""

    async def main() -> list[str]:
        async with Stack() as stack:
            await _run_job(stack)
            return list(stack.lives[service][0].points)

    return run_virtual(main())


@pytest.mark.parametrize("service", CORE)
@pytest.mark.timeout(600)
def test_a_service_may_die_at_every_call(service: str) -> None:
    points = _points(service)
    assert len(points) > 10
    failures: list[str] = []
    for number, point in enumerate(points):

        async def main(at: int = number) -> None:
            async with Stack(die_at=(service, at)) as stack:
                await _run_job(stack)

        try:
            run_virtual(main())
        except AssertionError as error:
            failures.append(f"{service} dead at point {number} ({point}): {error}")
    print(f"{service}: {len(points)} crash points, {len(failures)} failures")
    assert failures == []


@pytest.mark.timeout(900)
def test_duplicates_delays_and_random_deaths_converge_for_every_seed() -> None:
    failures: list[str] = []
    deaths = 0
    for seed in range(SEEDS):

        async def main(seed: int = seed) -> int:
            service = CORE[seed % len(CORE)]
            faults = Faults(
                duplicate_rate=0.2,
                delay_rate=0.3,
                delay_seconds_max=0.5,
                acknowledge_seconds_max=0.05,
                lost_acknowledgement_rate=0.02,
            )
            async with Stack(seed=seed, faults=faults, die_at=(service, seed * 7 % 90)) as stack:
                await _run_job(stack)
                return len(stack.lives[service]) - 1

        try:
            deaths += run_virtual(main())
        except AssertionError as error:
            failures.append(f"seed {seed}: {error}")
    print(f"{SEEDS} seeds, {deaths} deaths, {len(failures)} failures")
    assert failures == []
