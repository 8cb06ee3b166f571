"""Processes that stop for a minute and then go on as if nothing had been.

A stopped scheduler holds decisions of the past; a stopped watcher lets everybody's view grow old.
"""

import asyncio

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.gate import Gate
from tests.e2e.scenario import MARKS, on_embedded
from tests.e2e.workload import gang, numbered
from vc.messages.progress import PROGRESS_STALE_SECONDS
from vc.model.api.keys import SYSTEM_NAMESPACE
from vc.model.api.kinds import LEASES

pytestmark = MARKS

STOPPED_SECONDS = 60.0
PODS = 8
BOUND_BEFORE = 3
"""The leader is stopped in the middle of a gang, after this many binds."""
JOBS_MEANWHILE = 12
JOBS_AFTER = 12
BIND_SECONDS_MAX = 90.0
COMPLETE_SECONDS_MAX = 120.0
SESSIONS = "volcano_e2e_scheduling_latency_milliseconds_count"
DRAIN_SECONDS = PROGRESS_STALE_SECONDS + 3.0
"""After so long every view must have noticed that nobody tells progress."""


@pytest.mark.timeout(600)
@on_embedded
async def test_a_scheduler_that_was_stopped_does_no_harm(deployment: Deployment) -> None:
    since = deployment.clock.monotonic()
    first, second = [
        Gate(deployment.kubeconfig_of("scheduler"), folder=deployment.home, name=name)
        for name in ("first", "second")
    ]
    await first.start()
    await second.start()
    await deployment.stop_service("scheduler")
    leader = deployment.run_service("scheduler", kubeconfig=first.kubeconfig)
    try:
        await holder_is(deployment, leader.pid)
        standby = deployment.run_service(
            "scheduler", instance="scheduler-standby", kubeconfig=second.kubeconfig
        )
        await deployment.ready()
        took_over = await stop_in_a_gang(deployment, first, standby_pid=standby.pid)
        accepted, asked = first.written.total(), first.seen
        leader.resume()
        for number in range(JOBS_AFTER):
            await deployment.submit(numbered("after", number))
        await deployment.completed(seconds_max=COMPLETE_SECONDS_MAX)
        await holder_is(deployment, standby.pid)
        assert first.seen > asked, "the one that was stopped did not go on"
        assert first.written.total() == accepted, "the stale one wrote"
    finally:
        await deployment.stop_service("scheduler")
        await deployment.stop_service("scheduler-standby")
        await first.stop()
        await second.stop()
        deployment.run_service("scheduler")
    await deployment.verdict(
        "SIGSTOP of the scheduler leader",
        faults=f"1 stop of {STOPPED_SECONDS:.0f} s after bind {BOUND_BEFORE} of {PODS}, gang whole "
        f"by the standby after {took_over:.1f} s, 0 writes of the stale one",
        since=since,
    )


async def stop_in_a_gang(deployment: Deployment, gate: Gate, *, standby_pid: int) -> float:
    """Stop the leader while it binds; load meanwhile. Seconds until the standby has the gang whole."""
    leader = deployment.services["scheduler"]
    gate.cut_after(BOUND_BEFORE, leader.pause)
    uid = await deployment.submit(gang("victim", pods=PODS, cpu="1", plugins={"env": []}))
    async with asyncio.timeout(BIND_SECONDS_MAX):
        await gate.cut.wait()
    stopped_at = deployment.clock.monotonic()
    assert deployment.audit.bound_of(uid) <= BOUND_BEFORE
    for number in range(JOBS_MEANWHILE):
        await deployment.submit(numbered("meanwhile", number))

    async def partial() -> str:
        bound = deployment.audit.bound_of(uid)
        return f"{bound} of {PODS} pods are bound" if bound < PODS else ""

    whole_after = await deployment.until(partial, seconds_max=STOPPED_SECONDS)
    await holder_is(deployment, standby_pid)
    await asyncio.sleep(STOPPED_SECONDS - (deployment.clock.monotonic() - stopped_at))
    gate.open()
    return whole_after


async def holder_is(deployment: Deployment, pid: int) -> None:
    """Wait until the process with that pid holds the scheduler's lease."""

    async def other() -> str:
        lease = await deployment.cluster.get(
            LEASES, name="vc-scheduler", namespace=SYSTEM_NAMESPACE
        )
        holder: str = lease["spec"].get("holderIdentity", "")
        return "" if f"-{pid}-" in holder else f"the lease is held by {holder!r}"

    await deployment.until(other, seconds_max=BIND_SECONDS_MAX)


@pytest.mark.timeout(600)
@on_embedded
async def test_no_session_opens_while_the_watcher_is_stopped(deployment: Deployment) -> None:
    since = deployment.clock.monotonic()
    scheduler = deployment.services["scheduler"]
    for number in range(JOBS_MEANWHILE):
        await deployment.submit(numbered("before", number))

    async def idle() -> str:
        return "" if await scheduler.meter(SESSIONS) else "the scheduler has opened no session"

    await deployment.until(idle, seconds_max=BIND_SECONDS_MAX)
    deployment.services["watcher"].pause()
    await asyncio.sleep(DRAIN_SECONDS)
    sessions, bound = await scheduler.meter(SESSIONS), len(deployment.audit.bound)
    for number in range(JOBS_MEANWHILE):
        await deployment.submit(numbered("meanwhile", number))
    await asyncio.sleep(STOPPED_SECONDS - DRAIN_SECONDS)
    opened = await scheduler.meter(SESSIONS) - sessions
    assert "progress" in await scheduler.unready()
    assert (opened, len(deployment.audit.bound) - bound) == (0, 0)
    deployment.services["watcher"].resume()
    for number in range(JOBS_AFTER):
        await deployment.submit(numbered("after", number))
    await deployment.completed(seconds_max=COMPLETE_SECONDS_MAX)
    await deployment.verdict(
        "SIGSTOP of the watcher",
        faults=f"1 stop of {STOPPED_SECONDS:.0f} s, {opened:.0f} sessions opened in its last "
        f"{STOPPED_SECONDS - DRAIN_SECONDS:.0f} s",
        since=since,
    )
