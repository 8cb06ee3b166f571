"""Replicas whose machines' clocks are wrong, or are set while they run, change nothing.

Deadlines count by the API server's clock, which each process follows by the `Date` of its answers
(docs/adr/0042). Here the machines are an hour ahead or behind; the API server's clock is the true one.
"""

from typing import Any, Final

import msgspec
import pytest

from tests.simulation.history import digest_of
from tests.simulation.stack import CORE, Stack, gang_job
from tests.simulation.test_replay import replay_all
from vc.clock import run_virtual
from vc.cluster import NotFoundError, ServerError
from vc.model.api.kinds import CONFIGMAPS, PODGROUPS
from vc.model.api.struct import JsonObject
from vc.model.values.times import parse_time
from vc.scheduling.actions.inqueue_timeout import INQUEUE_SECONDS
from vc.scheduling.conf.model import CONF_KEY, CONF_MAP
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.kubelet.node_pools import NodePool

HOUR: Final = 3600.0
LATE_SECONDS_MAX: Final = 3.0
"""Times are written to the second, and decisions take a moment."""

REPLICAS: Final = ("job-controller", "job-controller@2")
ONE_NODE: Final = (
    NodePool(count=1, name_prefix="n-", capacity={"cpu": "8", "memory": "64Gi", "pods": "110"}),
)


def there(stack: Stack, name: str) -> bool:
    try:
        stack.job(name)
    except NotFoundError:
        return False
    return True


def group_of(stack: Stack, name: str) -> JsonObject:
    resource = stack.api.registry.for_kind(PODGROUPS)
    return stack.api.get(resource, name=name, namespace="default")


def phase_of(stack: Stack, name: str) -> str:
    try:
        return str(group_of(stack, name).get("status", {}).get("phase", ""))
    except NotFoundError:
        return ""


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_a_ttl_lasts_as_long_whichever_replica_has_the_job(ahead: float) -> None:
    names = [f"job-{number}" for number in range(6)]
    ttl = 200

    async def main() -> None:
        skew = {REPLICAS[1]: ahead}
        async with Stack(services=(*CORE, REPLICAS[1]), ahead_seconds=skew) as stack:
            await stack.clock.sleep(5)
            for name in names:
                job = gang_job(name, replicas=1, run_seconds=2)
                job["spec"]["ttlSecondsAfterFinished"] = ttl
                await stack.submit(job)
            await stack.until(
                lambda: all(stack.job(n).status.state.phase == "Completed" for n in names),
                seconds=60,
                what="all completed",
            )
            ends = [parse_time(stack.job(n).status.state.last_transition_time) for n in names]
            assert max(end for end in ends if end is not None) <= stack.clock.now()
            over = min(end for end in ends if end is not None) + ttl
            await stack.clock.sleep(over - stack.clock.now() - 0.1)
            assert [name for name in names if not there(stack, name)] == [], "ended early"
            await stack.until(
                lambda: not any(there(stack, n) for n in names),
                seconds=10 + LATE_SECONDS_MAX,
                what="all deleted",
            )
            assert stack.problems == []

    run_virtual(main())


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_a_pending_time_out_is_neither_early_nor_late(ahead: float) -> None:
    async def main() -> None:
        async with Stack(pools=ONE_NODE, ahead_seconds={"job-controller": ahead}) as stack:
            await stack.clock.sleep(5)
            job = gang_job("wide", replicas=2, min_available=1, cpu="6", run_seconds=9999)
            policy = {"event": "PodPending", "action": "AbortJob", "timeout": "2m"}
            job["spec"]["policies"] = [policy]
            await stack.submit(job)
            await stack.until(lambda: len(stack.pods()) == 2, seconds=30, what="its pods are there")
            created = [parse_time(pod.metadata.creation_timestamp) for pod in stack.pods()]
            due = min(at for at in created if at is not None) + 120
            await stack.clock.sleep(due - stack.clock.now() - 0.1)
            assert stack.job("wide").status.state.phase == "Running"
            await stack.clock.sleep(0.1 + LATE_SECONDS_MAX)
            assert stack.job("wide").status.state.phase in {"Aborting", "Aborted"}
            assert stack.problems == []

    run_virtual(main())


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_a_gang_goes_back_to_pending_in_time_though_another_machine_leads_meanwhile(
    ahead: float,
) -> None:
    async def main() -> None:
        async with Stack(pools=ONE_NODE) as stack:
            await stack.clock.sleep(5)
            await stack.submit(gang_job("wide", replicas=2, cpu="4500m", run_seconds=9999))

            def since() -> float | None:
                if phase_of(stack, "wide") != "Inqueue":
                    return None
                conditions = group_of(stack, "wide")["status"].get("conditions", [])
                said = [c for c in conditions if c["type"] == "Unschedulable"]
                return parse_time(said[-1]["lastTransitionTime"]) if said else None

            await stack.until(lambda: since() is not None, seconds=60, what="it has no room")
            due = (since() or 0.0) + INQUEUE_SECONDS
            stack.machines["scheduler"].ahead_seconds = ahead
            stack.kill("scheduler")
            await stack.clock.sleep(due - stack.clock.now() - 0.1)
            assert phase_of(stack, "wide") == "Inqueue"
            await stack.clock.sleep(0.1 + LATE_SECONDS_MAX)
            assert phase_of(stack, "wide") == "Pending"
            assert stack.problems == []

    run_virtual(main())


SLA_CONF: Final = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: sla
    arguments:
      sla-waiting-time: 3m
  - name: gang
- plugins:
  - name: overcommit
    arguments:
      overcommit-factor: 1.0
  - name: predicates
  - name: proportion
"""


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_sla_counts_from_the_creation_by_the_api_servers_clock(ahead: float) -> None:
    async def main() -> None:
        async with Stack(pools=ONE_NODE, ahead_seconds={"scheduler": ahead}) as stack:
            body: JsonObject = {
                "metadata": {"name": CONF_MAP, "namespace": "volcano-system"},
                "data": {CONF_KEY: SLA_CONF},
            }
            await stack.cluster.create(CONFIGMAPS, body, namespace="volcano-system")
            await stack.clock.sleep(5)
            await stack.submit(gang_job("first", replicas=1, cpu="6", run_seconds=9999))
            await stack.until(
                lambda: phase_of(stack, "first") == "Running", seconds=30, what="runs"
            )
            await stack.submit(gang_job("second", replicas=1, cpu="6", run_seconds=9999))
            await stack.until(lambda: phase_of(stack, "second") != "", seconds=30, what="a group")
            created = parse_time(group_of(stack, "second")["metadata"]["creationTimestamp"]) or 0.0
            await stack.clock.sleep(created + 180 - stack.clock.now() - 0.1)
            assert phase_of(stack, "second") == "Pending"
            await stack.clock.sleep(0.1 + LATE_SECONDS_MAX)
            assert phase_of(stack, "second") == "Inqueue"
            assert stack.problems == []

    run_virtual(main())


class RefusingBinds(StoreCluster):
    """An API server that refuses so many binds."""

    refusals = 0

    async def bind(self, **named: Any) -> None:
        if self.refusals:
            self.refusals -= 1
            raise ServerError("not now")
        await super().bind(**named)


@pytest.mark.parametrize("step", [-HOUR, HOUR])
def test_a_step_of_the_machines_clock_holds_no_bind(step: float) -> None:
    async def main() -> None:
        stack = Stack()
        stack.cluster = cluster = RefusingBinds(stack.api)
        async with stack:
            await stack.clock.sleep(5)
            cluster.refusals = 40
            await stack.submit(gang_job("job", replicas=4, run_seconds=9999))
            await stack.until(lambda: cluster.refusals == 0, seconds=120, what="binds were refused")
            stack.machines["scheduler"].ahead_seconds = step
            await stack.until(
                lambda: stack.job("job").status.running == 4, seconds=60, what="all pods run"
            )
            assert stack.problems == []

    run_virtual(main())


def test_a_step_back_of_the_api_servers_own_clock_holds_no_bind() -> None:
    async def main() -> None:
        stack = Stack()
        stack.cluster = cluster = RefusingBinds(stack.api)
        async with stack:
            await stack.clock.sleep(40)
            cluster.refusals = 40
            await stack.submit(gang_job("job", replicas=4, run_seconds=9999))
            await stack.until(lambda: cluster.refusals == 0, seconds=120, what="binds were refused")
            stack.clock._wall_at_zero = (stack.clock._wall_at_zero or 0.0) - HOUR
            await stack.until(
                lambda: stack.job("job").status.running == 4, seconds=120, what="all pods run"
            )
            assert stack.problems == []

    run_virtual(main())


def test_no_decision_is_made_before_the_time_is_known() -> None:
    class Mute(StoreCluster):
        mute = True

        async def date(self) -> float:
            if self.mute:
                raise ServerError("the API server does not answer")
            return await super().date()

    async def main() -> None:
        stack = Stack(ahead_seconds=dict.fromkeys(CORE, HOUR))
        stack.cluster = cluster = Mute(stack.api)
        async with stack:
            await stack.submit(gang_job("job", replicas=2, run_seconds=2))
            await stack.clock.sleep(60)
            assert stack.pods() == []
            for name in ("job-controller", "scheduler", "queue-controller", "usage-ledger"):
                assert "time is not known yet" in stack.running[name].unready()
            cluster.mute = False
            await stack.until(
                lambda: stack.job("job").status.state.phase == "Completed",
                seconds=30,
                what="completed",
            )
            assert stack.problems == []

    run_virtual(main())


async def _busy_run(steps: dict[float, dict[str, float]]) -> str:
    """Jobs with time-outs; machines' clocks are set at the given moments. A digest of all that was
    written, to the bus and to the cluster."""
    async with Stack(seed=3, pools=ONE_NODE) as stack:
        moments = sorted(steps)
        for number in range(6):
            job = gang_job(f"job-{number}", replicas=2, cpu="2", run_seconds=20 + number)
            job["spec"]["ttlSecondsAfterFinished"] = 60
            policy = {"event": "PodPending", "action": "RestartJob", "timeout": "40s"}
            job["spec"]["policies"] = [policy]
            await stack.submit(job)
            await stack.clock.sleep(1.7)
        while moments:
            await stack.clock.sleep(moments[0] - stack.clock.monotonic())
            for name, ahead in steps[moments.pop(0)].items():
                stack.machines[name].ahead_seconds = ahead
        stack.kill("scheduler")
        stack.kill("job-controller")
        await stack.clock.sleep(300 - stack.clock.monotonic())
        assert stack.problems == []
        await replay_all(stack)
        return await digest_of(stack)


def test_steps_of_an_hour_on_any_replica_change_no_byte() -> None:
    quiet: dict[float, dict[str, float]] = {30.0: {}, 35.0: {}, 41.5: {}, 50.0: {}}
    steps: dict[float, dict[str, float]] = {
        30.0: {"scheduler": -HOUR, "job-controller": HOUR},
        35.0: {"watcher": HOUR, "usage-ledger": HOUR, "plugin-env": -HOUR},
        41.5: {"scheduler": HOUR, "job-controller": -HOUR},
        50.0: {"queue-controller": -HOUR, "usage-ledger": -HOUR, "watcher": 0.0},
    }
    assert run_virtual(_busy_run(steps)) == run_virtual(_busy_run(quiet))


def test_times_that_are_written_are_the_api_servers() -> None:
    async def main() -> None:
        async with Stack(ahead_seconds=dict.fromkeys(CORE, HOUR)) as stack:
            await stack.submit(gang_job("job", replicas=2, run_seconds=5))
            await stack.until(
                lambda: stack.job("job").status.state.phase == "Completed", seconds=60, what="end"
            )
            now = stack.clock.now()
            for resource in stack.api.registry.stored():
                for raw in stack.api.list(resource).items:
                    for path, at in times_in(msgspec.json.decode(raw)):
                        assert now - 120 < at <= now, f"{resource}: {path}"

    run_virtual(main())


def times_in(body: object, path: str = "") -> list[tuple[str, float]]:
    """Everything in an object that looks like a time."""
    if isinstance(body, dict):
        return [found for key, value in body.items() for found in times_in(value, f"{path}.{key}")]
    if isinstance(body, list):
        return [found for value in body for found in times_in(value, path)]
    at = parse_time(body) if isinstance(body, str) and body[10:11] == "T" else None
    return [] if at is None else [(path, at)]
