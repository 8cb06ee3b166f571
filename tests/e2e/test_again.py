"""The same job deleted and created again in one line, 50 times, at every stage of its life.

Names are equal and uids are not: pods, pod group, service and secret of the old job must never count
for the new one.
"""

import asyncio
import random
from collections import Counter

import pytest

from tests.e2e.deployment import NAMESPACE, SUBMIT_SECONDS_MAX, Deployment
from tests.e2e.scenario import MARKS, on_embedded
from tests.e2e.workload import gang, pods_in
from vc.cluster import AlreadyExistsError
from vc.model.api.kinds import JOBS

pytestmark = MARKS

TIMES = 50
PAUSE_SECONDS_MAX = 1.5
"""From before its pod group is made until its pods run. Most of that happens in the first tenth of a
second, so short pauses are drawn most often."""
COMPLETE_SECONDS_MAX = 120.0
MANIFEST = gang("again", plugins={"env": [], "svc": [], "ssh": []})


@pytest.mark.timeout(600)
@on_embedded
@pytest.mark.gate
async def test_a_job_is_deleted_and_created_again(deployment: Deployment) -> None:
    since = deployment.clock.monotonic()
    rng = random.Random(TIMES)
    await deployment.submit(MANIFEST)
    stages: Counter[str] = Counter()
    for _ in range(TIMES):
        await asyncio.sleep(PAUSE_SECONDS_MAX * rng.random() ** 4)
        stages[stage(deployment)] += 1
        await deployment.delete("again")
        await create(deployment)
    await deployment.completed(seconds_max=COMPLETE_SECONDS_MAX)
    await deployment.verdict(
        "The same job deleted and created again",
        faults=f"{TIMES} times, its pods at that moment: {dict(sorted(stages.items()))}",
        since=since,
    )


def stage(deployment: Deployment) -> str:
    """How far the job has come, as the witness sees it."""
    uid = deployment.submitted["again"]
    if deployment.audit.bound_of(uid):
        return "bound"
    return "made" if any(owner == uid for _, owner in deployment.audit.made) else "none"


async def create(deployment: Deployment) -> None:
    """As soon as the API server lets us; the uid is a new one."""

    async def refused() -> str:
        try:
            made = await deployment.cluster.create(JOBS, MANIFEST, namespace=NAMESPACE)
        except AlreadyExistsError as error:
            return str(error)
        uid = made["metadata"]["uid"]
        deployment.submitted["again"] = uid
        deployment.audit.sizes[uid] = pods_in(MANIFEST)
        return ""

    await deployment.until(refused, seconds_max=SUBMIT_SECONDS_MAX)
