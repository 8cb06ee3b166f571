"""Many jobs through the whole real stack while every service is restarted, one after the other.

A rolling update is this and no more: SIGTERM, a graceful end, the next process of the same service,
and the next service when that one is ready. Jobs are submitted in step with the restarts, so that
each restart has fresh ones to lose. A full run (`PYROCLAST_E2E=full`) takes 200 jobs of 10 pods.
"""

import asyncio

import pytest

from tests.e2e.deployment import READY_SECONDS_MAX, Deployment
from tests.e2e.load_metrics import LoadMetrics
from tests.e2e.scenario import FULL, MARKS, on_kubernetes
from tests.e2e.workload import PLUGIN_SETS, gang
from vc.cli.pyroclast.services import SERVICES

pytestmark = MARKS

JOBS = 200 if FULL else 42
PODS = 10
CPU = "100m"
"""Of a pod; the ground has 32 CPUs, so about thirty jobs run at a time and the others wait."""
DRAIN_SECONDS_MAX = 480.0
LAG_SECONDS_MAX = 60.0


@pytest.mark.timeout(1200)
@on_kubernetes
async def test_a_rolling_restart_under_load_loses_nothing(deployment: Deployment) -> None:
    since = deployment.clock.monotonic()
    metrics = LoadMetrics(deployment)
    await metrics.start()
    try:
        restarted = await restart_each_under_load(deployment)
        await deployment.completed(seconds_max=DRAIN_SECONDS_MAX)
        took = deployment.clock.monotonic() - since
        await deployment.until(metrics.late, seconds_max=LAG_SECONDS_MAX)
    finally:
        await metrics.stop()
    print(
        f"\n{JOBS} jobs x {PODS} pods completed in {took:.0f} s ({JOBS * PODS / took:.1f} pods/s)"
    )
    print(metrics.table(restarted))
    assert set(restarted) == set(SERVICES)
    await deployment.verdict(
        "Rolling restart under load",
        faults=f"{len(restarted)} services restarted by SIGTERM",
        since=since,
    )


async def restart_each_under_load(deployment: Deployment) -> dict[str, str]:
    """Submit a share of the jobs, restart a service among them, and so on; how each went."""
    went: dict[str, str] = {}
    submitting: list[asyncio.Task[None]] = []
    for place, name in enumerate(SERVICES):
        first, last = (JOBS * n // len(SERVICES) for n in (place, place + 1))
        submitting.append(asyncio.create_task(submit(deployment, range(first, last))))
        await asyncio.sleep(0)
        went[name] = await restart(deployment, name)
    await asyncio.gather(*submitting)
    return went


async def submit(deployment: Deployment, numbers: range) -> None:
    """Patiently, since admission is among those that are restarted."""
    for number in numbers:
        plugins = PLUGIN_SETS[number % len(PLUGIN_SETS)]
        await deployment.submit(gang(f"load-{number}", pods=PODS, cpu=CPU, plugins=plugins))


async def restart(deployment: Deployment, name: str) -> str:
    """End it in order and wait for the next process to be ready."""
    lives = deployment.services[name]
    old, begun = lives.pid, deployment.clock.monotonic()
    lives.terminate()

    async def same() -> str:
        return f"{name} still runs" if lives.pid == old else ""

    ended = await deployment.until(same, seconds_max=READY_SECONDS_MAX)
    assert lives.last_end == "ended with code 0", f"{name} {lives.last_end}; {lives.log}"
    await deployment.until(lives.unready, seconds_max=READY_SECONDS_MAX)
    ready = deployment.clock.monotonic() - begun
    return f"ended after {ended:.1f} s, ready after {ready:.1f} s"
