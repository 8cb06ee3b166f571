"""The scheduler dies after bind k of 8, for every k from none to all: the gang is completed.

Bound pods keep running while nobody schedules; the next life finds them, binds the others, and no
policy takes any of it for a failure. On a real API server, where a new leader also waits for the
next bookmark of every kind, the default run takes three k and the full run all of them.
"""

import asyncio

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.gate import Gate
from tests.e2e.scenario import FULL, MARKS, on_both
from tests.e2e.workload import gang

pytestmark = MARKS

PODS = 8
EVERY_K = tuple(range(PODS + 1))
SOME_K = (1, 4, 7)
PLUGINS: dict[str, list[str]] = {"env": []}
RUN_SECONDS = 20.0
"""Longer than a new leader needs, so that bound members still run when the others join them."""
BIND_SECONDS_MAX = 90.0
DEAD_SECONDS = 0.5
"""For so long the gate drops what the dead process had sent."""
COMPLETE_SECONDS_MAX = 120.0


@pytest.mark.timeout(900)
@on_both
@pytest.mark.gate
async def test_a_gang_is_completed_whenever_its_scheduler_dies(deployment: Deployment) -> None:
    since = deployment.clock.monotonic()
    wanted = SOME_K if deployment.ground.real and not FULL else EVERY_K
    gate = Gate(deployment.kubeconfig_of("scheduler"), folder=deployment.home, name="gate")
    await gate.start()
    await deployment.stop_service("scheduler")
    deployment.run_service("scheduler", kubeconfig=gate.kubeconfig)
    try:
        await deployment.ready()
        hit = [await kill_after(deployment, gate, binds=k) for k in wanted]
        await deployment.completed(seconds_max=COMPLETE_SECONDS_MAX)
    finally:
        await deployment.stop_service("scheduler")
        await gate.stop()
        deployment.run_service("scheduler")
    await deployment.verdict(
        "SIGKILL of the scheduler after bind k of 8",
        faults=f"{len(hit)} kills, pods bound at the moment of death: {hit}",
        since=since,
    )
    assert tuple(hit) == wanted


async def kill_after(deployment: Deployment, gate: Gate, *, binds: int) -> int:
    """Kill the scheduler after so many binds of a new gang; how many the witness saw then."""
    gate.cut_after(binds, deployment.services["scheduler"].kill)
    manifest = gang(f"gang-{binds}", pods=PODS, cpu="1", run_seconds=RUN_SECONDS, plugins=PLUGINS)
    uid = await deployment.submit(manifest)
    async with asyncio.timeout(BIND_SECONDS_MAX):
        await gate.cut.wait()
    await asyncio.sleep(DEAD_SECONDS)
    seen = deployment.audit.bound_of(uid)
    gate.open()

    async def partial() -> str:
        bound = deployment.audit.bound_of(uid)
        return f"{bound} of {PODS} pods of gang-{binds} are bound" if bound < PODS else ""

    await deployment.until(partial, seconds_max=BIND_SECONDS_MAX)
    return seen
