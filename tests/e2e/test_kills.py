"""SIGKILL of every service, many times, at random moments, while 50 jobs are under way.

A full run (`PYROCLAST_E2E=full`) kills each service 20 times; the default run kills less often, to
keep this folder within its minutes. On a real kube-apiserver, where a start costs more, it is less
again. The moments are drawn from a seed that is printed; processes and their timing are real, so a
seed gives the same order of victims and pauses, not the same interleaving. Nobody is killed while fewer
jobs than promised are under way: right before each kill the jobs that are not completed are counted.
"""

import asyncio
import os
import random

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.scenario import FULL, MARKS, on_both
from tests.e2e.workload import numbered
from vc.cli.pyroclast.services import SERVICES
from vc.cluster import ClusterError

pytestmark = MARKS

KILLS_PER_SERVICE = int(os.environ.get("PYROCLAST_E2E_KILLS", "20" if FULL else "3"))
SEED = int(os.environ.get("PYROCLAST_E2E_SEED", "4"))
JOBS_UNDER_WAY = 50
"""At every kill."""
JOBS_KEPT = 60
"""What the load aims at, so that kills seldom have to wait for it."""
PAUSE_SECONDS_MAX = 2.4
"""Between two kills, uniformly from nothing: 1.2 s on average, which is 280 kills in under six minutes."""
JOBS_MAX = 4_000
"""The load ends with an error rather than quietly, should it ever need more."""
LOAD_SECONDS_MAX = 120.0
"""For the load to be whole again; admission may be dead, and nothing is submitted meanwhile."""
DRAIN_SECONDS_MAX = 300.0


@pytest.mark.timeout(1500)
@on_both
async def test_every_service_is_killed_again_and_again(deployment: Deployment) -> None:
    since = deployment.clock.monotonic()
    rng = random.Random(SEED)
    victims = [name for name in SERVICES for _ in range(KILLS_PER_SERVICE)]
    rng.shuffle(victims)
    before = {name: deployment.services[name].kills for name in SERVICES}
    load = asyncio.create_task(keep_jobs_under_way(deployment))
    counted: list[int] = []
    try:
        for victim in victims:
            await asyncio.sleep(rng.uniform(0, PAUSE_SECONDS_MAX))
            counted.append(await enough_under_way(deployment, load))
            while not deployment.services[victim].kill():  # noqa: ASYNC110 - a process has no event
                await asyncio.sleep(0.05)
        look_at(load)
    finally:
        load.cancel()
        await asyncio.gather(load, return_exceptions=True)
    assert len(counted) == len(victims)
    assert min(counted) >= JOBS_UNDER_WAY
    await deployment.completed(seconds_max=DRAIN_SECONDS_MAX)
    kills = {name: deployment.services[name].kills - before[name] for name in SERVICES}
    assert set(kills.values()) == {KILLS_PER_SERVICE}
    await deployment.verdict(
        "SIGKILL of services",
        faults=f"{sum(kills.values())} kills, {KILLS_PER_SERVICE} of each of {len(kills)} services, "
        f"at least {min(counted)} jobs under way at each, seed {SEED}",
        since=since,
    )


async def enough_under_way(deployment: Deployment, load: asyncio.Task[None]) -> int:
    """Wait until the promised number of jobs is under way; how many are."""
    found = 0

    async def too_few() -> str:
        nonlocal found
        look_at(load)
        found = len(await deployment.unfinished()) if deployment.submitted else 0
        return f"{found} jobs are under way" if found < JOBS_UNDER_WAY else ""

    await deployment.until(too_few, seconds_max=LOAD_SECONDS_MAX)
    return found


def look_at(load: asyncio.Task[None]) -> None:
    """Kills without load prove nothing: whatever ended it ends the test."""
    if load.done():
        load.result()
        pytest.fail("the load has ended by itself")


async def keep_jobs_under_way(deployment: Deployment) -> None:
    """Whenever fewer jobs are unfinished than wanted, submit more."""
    number = 0
    while True:
        try:
            missing = JOBS_KEPT - len(await deployment.unfinished() if number else [])
        except ClusterError:
            missing = 0
        for _ in range(missing):
            assert number < JOBS_MAX, f"{JOBS_MAX} jobs were not enough"
            await deployment.submit(numbered("load", number))
            number += 1
        await asyncio.sleep(1.0)
