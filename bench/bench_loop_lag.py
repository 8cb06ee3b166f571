"""How long the scheduler's event loop is blocked while sessions run, and what session records cost.

The real service (follower, sessions in a worker thread, writers, recorder) runs on an in-memory bus with 5,000
nodes and 50,000 pods in gangs of 50, and an API server that accepts every write at once; binds return as facts.
A timer measures how late it fires, without the time in which other processes used the cores: first while the view
is read and all pods are placed, then while ten gangs a second arrive, every second one with a pod affinity term
for its own label. The second run writes no session records; the difference in session time is their cost. Run it
with `python -m bench.bench_loop_lag [nodes]`.
"""

import asyncio
import gc
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from tests.builders.contexts import memory_context, our_registry
from tests.unit.scheduling.objects import gang, queue

from bench.bench_scheduler import GANG_PODS, PODS_PER_NODE, QUEUES, some_gangs, some_nodes
from bench.report import percentile, report
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock
from vc.messages.facts import Stamp, fact_message
from vc.messages.progress import Progress, progress_message
from vc.messages.topics import ALL
from vc.model.api.kinds import NAMESPACES, PODS
from vc.model.api.meta import ApiObject, object_key
from vc.model.api.pod import Pod
from vc.model.api.struct import JsonObject
from vc.scheduler.recorder import RecordedSession
from vc.scheduler.service import FOLLOWED, Scheduler, build
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.verbs.api import Api

NODES: Final = 5_000
TICK_SECONDS: Final = 0.002
LAG_MS_BAR: Final = 50.0
ARRIVALS: Final = 40
ARRIVAL_SECONDS: Final = 0.1
SECONDS_MAX: Final = 300.0
STAMP: Final = Stamp(incarnation="bench", epoch=1)
FAR: Final = "1000000000"
"""A resource version above that of every object."""


class Willing(StoreCluster):
    """An API server that accepts every write and publishes bound pods as facts."""

    def __init__(self, api: Api, bus: MemoryBus) -> None:
        super().__init__(api)
        self._bus = bus
        self.pods: dict[str, Pod] = {}
        self.bound = 0

    async def bind(
        self,
        *,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: dict[str, str] | None = None,
    ) -> None:
        del uid, annotations
        pod = self.pods[object_key(namespace, name)]
        self.bound += 1
        running = msgspec.structs.replace(
            pod,
            metadata=msgspec.structs.replace(pod.metadata, resource_version=f"9{self.bound}"),
            spec=msgspec.structs.replace(pod.spec, node_name=node),
            status=msgspec.structs.replace(pod.status, phase="Running"),
        )
        await self._bus.publish([fact_message(PODS, running, stamp=STAMP)])

    async def patch(self, *args: Any, **kwargs: Any) -> JsonObject:
        del args, kwargs
        return {"metadata": {"resourceVersion": FAR}}


class Run:
    """The bus and the API server of one run, and the lag that was measured."""

    def __init__(self) -> None:
        self.clock = LoopClock()
        self.bus = MemoryBus(self.clock)
        api = Api(clock=self.clock, registry=our_registry())
        self.cluster = Willing(api, self.bus)
        self.late_ms: list[float] = []
        self._version = 0

    async def publish(self, objects: list[ApiObject]) -> None:
        kind_of = {kind.type: kind for kind in FOLLOWED}
        for obj in objects:
            self._version += 1
            metadata = msgspec.structs.replace(obj.metadata, resource_version=str(self._version))
            numbered = msgspec.structs.replace(obj, metadata=metadata)
            if isinstance(numbered, Pod):
                self.cluster.pods[numbered.key] = numbered
            await self.bus.publish([fact_message(kind_of[type(obj)], numbered, stamp=STAMP)])

    async def publish_progress(self) -> None:
        sequence = 0
        while True:
            sequence += 1
            for kind in FOLLOWED:
                ends = await self.bus.end_offsets(kind.topic)
                progress = Progress(
                    kind=kind.short, stamp=STAMP, sequence=sequence, synced=True,
                    resource_version=FAR, end_offsets=ends,
                )  # fmt: skip
                await self.bus.publish([progress_message(progress)])
            await asyncio.sleep(1.0)

    async def tick(self) -> None:
        while True:
            wanted, used = time.perf_counter() + TICK_SECONDS, time.process_time()
            await asyncio.sleep(TICK_SECONDS)
            late = time.perf_counter() - wanted
            self.late_ms.append(min(late, time.process_time() - used) * 1e3)

    def taken(self) -> list[float]:
        """The lag samples since the previous call."""
        late, self.late_ms = self.late_ms, []
        return late

    async def until_bound(self, count: int) -> None:
        async with asyncio.timeout(SECONDS_MAX):
            while self.cluster.bound < count:  # noqa: ASYNC110 - the API server has no event for it
                await asyncio.sleep(0.01)


@asynccontextmanager
async def scheduler_of(run: Run, took_ms: list[float], *, records: bool) -> AsyncIterator[None]:
    context = memory_context("scheduler", clock=run.clock, bus=run.bus, cluster=run.cluster)
    scheduler: Scheduler = build(context)
    keep = scheduler._recorder.keep  # noqa: SLF001 - to see each session without a second reader

    async def noted(session: RecordedSession) -> None:
        took_ms.append(session.record.took_ms)
        if records:
            await keep(session)

    scheduler._recorder.keep = noted  # type: ignore[method-assign]  # noqa: SLF001 - see above
    tasks = [asyncio.create_task(t) for t in (run.publish_progress(), scheduler.run(), run.tick())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds."""

    placing_lag_p99: float
    placing_lag_max: float
    placing_session: float
    """The largest session."""
    arriving_lag_p99: float
    arriving_lag_max: float
    arriving_session: float
    """The median."""


def _freeze_fixtures() -> None:
    """Exclude the objects of the API server and the bus from garbage collection.

    In production they are in other processes. Here the collector would traverse 0.6 million of them, and its
    100 ms would count as lag of the scheduler.
    """
    gc.collect()
    gc.freeze()


def late_gang(number: int) -> list[ApiObject]:
    """Every second gang selects its own label: the scheduler has no counts for that selector yet."""
    members = gang(f"late-{number}", GANG_PODS, queue="queue-0", cpu="50m")
    return [_apart(obj, number) for obj in members] if number % 2 else members


def _apart(obj: ApiObject, number: int) -> ApiObject:
    if not isinstance(obj, Pod):
        return obj
    own = {"bench/job": f"late-{number}"}
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": own}}
    preferred = {"weight": 1, "podAffinityTerm": term}
    affinity = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}}
    labels = {**obj.metadata.labels, **own}
    return msgspec.structs.replace(
        obj,
        metadata=msgspec.structs.replace(obj.metadata, labels=labels),
        spec=msgspec.structs.replace(obj.spec, affinity=affinity),
    )


async def measure(nodes: int, *, records: bool) -> Measured:
    run = Run()
    took: list[float] = []
    await run.bus.ensure_topics(ALL)
    namespace: JsonObject = {"metadata": {"name": "volcano-system"}}
    body = {"apiVersion": "v1", "kind": NAMESPACES.kind, **namespace}
    await run.cluster.create(NAMESPACES, body)
    gangs = some_gangs(nodes * PODS_PER_NODE, cpu=("500m", "1", "1500m", "2"))
    await run.publish([queue(f"queue-{number}") for number in range(QUEUES)])
    await run.publish(some_nodes(nodes))
    for one in gangs:
        await run.publish(one)
    count = len(gangs) * GANG_PODS
    _freeze_fixtures()
    async with scheduler_of(run, took, records=records):
        await run.until_bound(count)
        placing, sessions = run.taken(), list(took)
        took.clear()
        for number in range(ARRIVALS):
            await run.publish(late_gang(number))
            await asyncio.sleep(ARRIVAL_SECONDS)
        await run.until_bound(count + ARRIVALS * GANG_PODS)
        arriving = run.taken()
    return Measured(
        placing_lag_p99=percentile(placing, 0.99),
        placing_lag_max=max(placing),
        placing_session=max(sessions, default=0.0),
        arriving_lag_p99=percentile(arriving, 0.99),
        arriving_lag_max=max(arriving),
        arriving_session=percentile(took, 0.5),
    )


def main(nodes: int = NODES) -> bool:
    """Measure with and without records and report; False when the loop was blocked for too long."""
    rows = {
        "with records": asyncio.run(measure(nodes, records=True)),
        "without": asyncio.run(measure(nodes, records=False)),
    }
    with_records = msgspec.structs.asdict(rows["with records"])
    lag = max(rows["with records"].placing_lag_max, rows["with records"].arriving_lag_max)
    kept = lag <= LAG_MS_BAR
    said = "kept" if kept else "MISSED"
    print(f"the loop was blocked for {lag:.1f} ms at most, bar at most {LAG_MS_BAR:g}: {said}")
    report(
        "loop_lag",
        header=[f"{nodes} nodes, ms", *[name.replace("_", " ") for name in with_records]],
        rows=[
            [name, *[f"{value:,.1f}" for value in msgspec.structs.astuple(row)]]
            for name, row in rows.items()
        ],
        values={f"loop_lag_{name}_ms": value for name, value in with_records.items()},
    )
    return kept


if __name__ == "__main__":
    sys.exit(not main(*[int(given) for given in sys.argv[1:]]))
