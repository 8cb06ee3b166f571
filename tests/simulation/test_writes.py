"""What a job costs the API server on the happy path, counted over all services.

Counters are written by the second, so jobs that run longer cost more; these run for a moment. On an API
server that is behind, news about a job become one write, and nothing is said that only the delay made
true.
"""

from collections import Counter
from typing import Any

from tests.simulation.stack import CORE, Stack, gang_job
from vc.clock import run_virtual
from vc.cluster.interface import Preconditions
from vc.model.api.kinds import LEASES, QUEUES, Kind
from vc.model.api.struct import JsonObject
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.verbs.api import Api

SERVICES = (*CORE, "plugin-svc")
JOBS = 10
SLOW_JOBS = 60
WRITE_SECONDS = 0.02
"""Of an API server that takes 50 writes a second."""


class CountingCluster(StoreCluster):
    """Counts writes by verb and kind, and takes its time for each, one after the other."""

    def __init__(self, api: Api, *, write_seconds: float = 0.0) -> None:
        super().__init__(api)
        self.writes: Counter[str] = Counter()
        self._write_seconds = write_seconds
        self._busy_until = 0.0

    async def _take(self, verb: str, kind: str) -> None:
        if kind in (LEASES.short, QUEUES.short):
            return  # these cost by the second
        self.writes[f"{verb} {kind}"] += 1
        clock = self.api.clock
        self._busy_until = max(self._busy_until, clock.monotonic()) + self._write_seconds
        await clock.sleep(self._busy_until - clock.monotonic())

    async def create(self, kind: Kind, body: JsonObject, *, namespace: str = "") -> JsonObject:
        await self._take("create", kind.short)
        return await super().create(kind, body, namespace=namespace)

    async def patch(
        self,
        kind: Kind,
        patch: JsonObject,
        *,
        name: str,
        namespace: str = "",
        subresource: str = "",
        preconditions: Preconditions | None = None,
    ) -> JsonObject:
        await self._take("patch", kind.short)
        return await super().patch(
            kind, patch, name=name, namespace=namespace,
            subresource=subresource, preconditions=preconditions,
        )  # fmt: skip

    async def delete(self, kind: Kind, **others: Any) -> None:
        await self._take("delete", kind.short)
        await super().delete(kind, **others)

    async def bind(self, **binding: Any) -> None:
        await self._take("bind", "pods")
        await super().bind(**binding)


def _counted(jobs: int, *, run_seconds: float, write_seconds: float = 0.0) -> Counter[str]:
    """Jobs of two pods from submission to bound, and to their ends if these come soon."""

    async def main() -> Counter[str]:
        stack = Stack(services=SERVICES)
        cluster = stack.cluster = CountingCluster(stack.api, write_seconds=write_seconds)
        async with stack:
            await stack.clock.sleep(3)
            cluster.writes.clear()
            for number in range(jobs):
                plugins: dict[str, list[str]] = (
                    {"env": [], "svc": []} if number % 2 else {"env": []}
                )
                name = f"job-{number}"
                job = gang_job(
                    name, replicas=2, cpu="100m", run_seconds=run_seconds, plugins=plugins
                )
                await stack.submit(job)
            await stack.until(
                lambda: cluster.writes["bind pods"] == 2 * jobs, seconds=120, what="all bound"
            )
            await stack.clock.sleep(10)
            assert stack.problems == []
            return cluster.writes

    return run_virtual(main())


def test_a_job_costs_seventeen_writes_at_most_and_each_pod_two() -> None:
    writes = _counted(JOBS, run_seconds=1)
    assert writes == {
        "create jobs": JOBS,  # by the user
        "create podgroups": JOBS,
        "create pods": 2 * JOBS,
        "bind pods": 2 * JOBS,
        "delete podgroups": JOBS,
        "patch podgroups": 3 * JOBS,  # let in, scheduled, how many run
        "create events": 2 * JOBS,  # Scheduled, once a gang, on its pod group and its job
        "patch jobs": 3 * JOBS + JOBS // 2,  # Pending, Running, Completed, and what svc took away
        **{
            f"{verb} {kind}": JOBS // 2
            for verb in ("create", "delete")
            for kind in ("services", "configmaps", "networkpolicies")
        },
    }


def test_an_api_server_that_is_behind_is_not_asked_for_more() -> None:
    writes = _counted(SLOW_JOBS, run_seconds=600, write_seconds=WRITE_SECONDS)
    assert writes["create events"] == 2 * SLOW_JOBS, "Scheduled; pods that were only late get none"
    assert writes["patch pods"] == 0
    assert writes["patch podgroups"] <= 3 * SLOW_JOBS
    assert writes["patch jobs"] <= 3 * SLOW_JOBS  # Pending, its pods, Running
