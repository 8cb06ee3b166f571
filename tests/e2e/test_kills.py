"""SIGKILL of every service, many times, at random moments, while 50 jobs are under way.

A full run (`PYROCLAST_E2E=full`) kills each service 20 times; the default run kills less often, to
keep this folder within its minutes. On a real kube-apiserver, where a start costs more, it is less
again. The moments are drawn from a seed that is printed; processes and their timing are real, so a
seed gives the same order of victims and pauses, not the same interleaving.
"""

import asyncio
import os
import random

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.scenario import FULL, MARKS, on_both
from tests.e2e.workload import numbered
from vc_cli.services import SERVICES
from vc_cluster import ClusterError

pytestmark = MARKS

KILLS_PER_SERVICE = int(os.environ.get("PYROCLAST_E2E_KILLS", "20" if FULL else "3"))
SEED = int(os.environ.get("PYROCLAST_E2E_SEED", "4"))
JOBS_UNDER_WAY = 50
PAUSE_SECONDS_MAX = 2.4
"""Between two kills, uniformly from nothing: 1.2 s on average, which is 280 kills in under six minutes."""
JOBS_MAX = 400
DRAIN_SECONDS_MAX = 300.0


@pytest.mark.timeout(1500)
@on_both
async def test_every_service_is_killed_again_and_again(deployment: Deployment) -> None:
    since = deployment.clock.monotonic()
    chance = random.Random(SEED)
    victims = [name for name in SERVICES for _ in range(KILLS_PER_SERVICE)]
    chance.shuffle(victims)
    before = {name: deployment.services[name].kills for name in SERVICES}
    load = asyncio.create_task(keep_jobs_under_way(deployment))
    try:
        for victim in victims:
            await asyncio.sleep(chance.uniform(0, PAUSE_SECONDS_MAX))
            while not deployment.services[victim].kill():  # noqa: ASYNC110 - a process has no event
                await asyncio.sleep(0.05)
    finally:
        load.cancel()
        await asyncio.gather(load, return_exceptions=True)
    await deployment.completed(seconds_max=DRAIN_SECONDS_MAX)
    kills = {name: deployment.services[name].kills - before[name] for name in SERVICES}
    assert set(kills.values()) == {KILLS_PER_SERVICE}
    await deployment.verdict(
        "SIGKILL of services",
        faults=f"{sum(kills.values())} kills, {KILLS_PER_SERVICE} of each of {len(kills)} services, seed {SEED}",
        since=since,
    )


async def keep_jobs_under_way(deployment: Deployment) -> None:
    """Whenever fewer than 50 jobs are unfinished, submit more."""
    number = 0
    while number < JOBS_MAX:
        try:
            missing = JOBS_UNDER_WAY - len(await deployment.unfinished() if number else [])
        except ClusterError:
            missing = 0
        for _ in range(min(missing, JOBS_MAX - number)):
            await deployment.submit(numbered("load", number))
            number += 1
        await asyncio.sleep(1.0)
