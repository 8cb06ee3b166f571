"""How fast a scheduler writes its checkpoint and starts from it.

A view of 5,000 nodes and 50,000 pods in gangs of 50 is read from an in-memory bus, written down to
real Redis when it can be had (else to the in-memory twin; the table says which), and restored by a
new follower; then the cluster cache is filled and a snapshot taken, which is the first moment a session
could open. While the checkpoint is written, a ticker watches how long the event loop was held.
Loading (cache to restored view) may take one second. Run by `python -m bench.bench_checkpoint`.
"""

import asyncio
import dataclasses
import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import msgspec
from prometheus_client import CollectorRegistry
from tests.builders.contexts import memory_context
from tests.unit.scheduling.objects import queue

from bench.bench_scheduler import QUEUES, some_gangs, some_nodes
from bench.parts import load_average, run_on
from bench.report import report
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock
from vc.messages.checkpoints import Chunker
from vc.messages.facts import Stamp, fact_message
from vc.messages.progress import Progress, progress_message
from vc.messages.topics import ALL
from vc.messages.view import Change, View, ViewEntry, ViewState
from vc.model.api.kinds import PODS
from vc.model.api.meta import ApiObject
from vc.parts import RedisServer, require_or_skip_reason
from vc.runtime.consuming.checkpoint_writer import CheckpointWriter
from vc.runtime.consuming.follower import Follower
from vc.runtime.consuming.warm_start import WarmStart
from vc.runtime.hosting.context import Context
from vc.scheduler.service import YIELD_GROUPS
from vc.scheduling.cache.cluster_cache import KINDS, ClusterCache
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.schema.registry import Registry
from vc.simcluster.verbs.api import Api
from vc.snapshot import SnapshotStore
from vc.snapshot.memory import MemorySnapshot
from vc.snapshot.redis import RedisSnapshot

NODES: Final = 5_000
PODS_COUNT: Final = 50_000
CHANGED: Final = PODS_COUNT // 100
NAME: Final = "bench"
LOAD_MS_BAR: Final = 1_000.0
REPEATS: Final = 3
"""Of each measurement; the best counts, since two cores are shared with others."""
SECONDS_MAX: Final = 180.0

T = TypeVar("T")


async def timed(measured: Callable[[], Awaitable[T]]) -> tuple[float, T]:
    """Milliseconds, and what it gave."""
    gc.collect()
    began = time.perf_counter()
    given = await measured()
    return (time.perf_counter() - began) * 1e3, given


async def best(measured: Callable[[], Awaitable[T]]) -> tuple[float, T]:
    """The shortest of some."""
    return min([await timed(measured) for _ in range(REPEATS)], key=lambda run: run[0])


# -- the world -------------------------------------------------------------------------------------


def world() -> list[ApiObject]:
    gangs = some_gangs(PODS_COUNT, cpu=("500m", "1", "1500m", "2"))
    queues = [queue(f"queue-{number}") for number in range(QUEUES)]
    return [*queues, *some_nodes(NODES), *(obj for gang in gangs for obj in gang)]


async def publish(bus: MemoryBus, objects: list[ApiObject]) -> None:
    """The facts, and progress that stands for them."""
    kind_of = {kind.type: kind for kind in KINDS}
    stamp = Stamp(incarnation="bench", epoch=1)
    await bus.ensure_topics(ALL)
    for n, obj in enumerate(objects, start=1):
        metadata = msgspec.structs.replace(obj.metadata, resource_version=str(n))
        numbered = msgspec.structs.replace(obj, metadata=metadata)
        await bus.publish([fact_message(kind_of[type(obj)], numbered, stamp=stamp)])
    for kind in KINDS:
        progress = Progress(
            kind=kind.short,
            stamp=stamp,
            sequence=1,
            synced=True,
            resource_version=str(len(objects)),
            end_offsets=await bus.end_offsets(kind.topic),
        )
        await bus.publish([progress_message(progress)])


@asynccontextmanager
async def some_store() -> AsyncIterator[tuple[str, SnapshotStore]]:
    """Redis, or the twin with the reason."""
    reason = require_or_skip_reason("redis", own=True)
    if reason:
        print(f"checkpoint: in memory, not on Redis: {reason}")
        yield "memory", MemorySnapshot()
        return
    async with RedisServer() as server:
        store = RedisSnapshot.from_url(server.url)
        yield "Redis", store
        await store.close()


# -- measurements ----------------------------------------------------------------------------------


async def follow(follower: Follower, count: int) -> list[Change]:
    """Until all objects are there."""
    changes: list[Change] = []
    while len(changes) < count:
        batch = await follower.poll(wait_seconds=0.0)
        changes = batch.changes if batch.rebuilt else changes + batch.changes
    return changes


async def dump(chunker: Chunker, state: ViewState) -> int:
    """All chunks; their bytes."""
    return sum(len(chunk) for _, chunk in chunker.chunks(state))


def changed(state: ViewState, *, every: int) -> ViewState:
    """One pod in a hundred: neighbours, or one here and one there."""
    pods = dict(state.tables[PODS.topic])
    for key in sorted(pods)[: CHANGED * every : every]:
        entry = pods[key]
        newer = msgspec.structs.replace(entry.identity, resource_version="999999")
        pods[key] = ViewEntry(object=entry.object, identity=newer, partition=entry.partition)
    return msgspec.structs.replace(state, tables={**state.tables, PODS.topic: pods})


async def dump_changed(state: ViewState, *, every: int) -> float:
    """Milliseconds of a second dump."""
    chunker = Chunker(KINDS)
    await dump(chunker, state)
    return (await timed(lambda: dump(chunker, changed(state, every=every))))[0]


async def longest_block_ms(measured: Callable[[], Awaitable[None]]) -> tuple[float, float]:
    """Milliseconds that it took, and the longest time for which it blocked the event loop.

    The second is CPU time of the thread: waits for a core depend on other processes only.
    """
    worst = 0.0

    async def tick() -> None:
        nonlocal worst
        while True:
            began = time.thread_time()
            await asyncio.sleep(0)
            worst = max(worst, time.thread_time() - began)

    ticking = asyncio.create_task(tick())
    took, _ = await timed(measured)
    ticking.cancel()
    return took, worst * 1e3


async def fill_cache(changes: list[Change]) -> ClusterCache:
    """What the scheduler does before its first session."""
    cache = ClusterCache(("volcano",))
    for change in changes:
        cache.apply(change)
    while cache.refresh(now=0.0, groups_max=YIELD_GROUPS):
        pass
    cache.snapshot("bench", now=0.0)
    return cache


async def measure() -> None:
    """Measure all steps in the order in which a scheduler runs them."""
    async with some_store() as (where, store):
        clock = LoopClock()
        bus, cluster = MemoryBus(clock, seed=1), StoreCluster(Api(clock=clock, registry=Registry()))
        context = memory_context(NAME, clock=clock, bus=bus, cluster=cluster, snapshot=store)
        objects = world()
        count = len(objects)
        await publish(bus, objects)
        cold = Follower(context, KINDS)
        cold_ms, _ = await timed(lambda: follow(cold, count))
        state = cold.view.state()
        assert state is not None

        values = {
            "dump_first_ms": (await best(lambda: dump(Chunker(KINDS), state)))[0],
            "dump_gangs_changed_ms": await dump_changed(state, every=1),
            "dump_scattered_changed_ms": await dump_changed(state, every=100),
            "bytes_mb": await dump(Chunker(KINDS), state) / 1e6,
        }
        blocks: list[tuple[float, float]] = []
        for _ in range(REPEATS):
            writer = CheckpointWriter(context, NAME, view=lambda: cold.view, may_write=lambda: True)
            blocks.append(await longest_block_ms(writer.write_if_due))
        values["write_ms"], values["write_holds_loop_ms"] = min(blocks)
        values |= await measure_start(context, cold.view, count=count)
        values |= {"cold_view_ms": cold_ms, "bar_load_ms": LOAD_MS_BAR}
        report_steps(where, count, values)


async def measure_start(context: Context, view: View, *, count: int) -> dict[str, float]:
    """From the cache to the first possible session."""
    load_ms, _ = await best(lambda: WarmStart(context, NAME).load(view))

    async def start() -> list[Change]:
        own = dataclasses.replace(context, metrics=CollectorRegistry())
        return await follow(Follower(own, KINDS, warm_start=WarmStart(own, NAME)), count)

    view_ms, changes = await best(start)
    columns_ms, _ = await best(lambda: fill_cache(changes))
    return {
        "load_ms": load_ms,
        "warm_view_ms": view_ms,
        "columns_ms": columns_ms,
        "first_session_ms": view_ms + columns_ms,
    }


def report_steps(where: str, count: int, values: dict[str, float]) -> None:
    """Report the values, one row per step."""
    rows_of = {
        "dump_first_ms": "all rows to chunks, first time",
        "dump_gangs_changed_ms": "again, 1 % of the pods changed, whole gangs",
        "dump_scattered_changed_ms": "again, 1 % changed, one here and one there",
        "write_ms": f"dump and save to {where}",
        "load_ms": f"{where} to restored state (bar {LOAD_MS_BAR:,.0f} ms)",
        "warm_view_ms": "a follower's start, warm: progress, load, view",
        "cold_view_ms": "the same, cold, from a bus in memory",
        "columns_ms": "cluster cache filled, groups counted, snapshot taken",
        "first_session_ms": "warm view and cluster cache: a session may open",
    }
    report(
        "checkpoint",
        header=["step", "ms", "rows/s"],
        rows=[
            [what, f"{values[name]:,.0f}", f"{count / values[name] * 1e3:,.0f}"]
            for name, what in rows_of.items()
        ],
        values={
            **{f"checkpoint_{name}": value for name, value in values.items()},
            "checkpoint_rows": count,
            "checkpoint_on_redis": float(where == "Redis"),
            "load_average": load_average(),
        },
    )


def main() -> bool:
    """Measure; False when it failed."""
    return run_on([], measure, name="checkpoint", seconds_max=SECONDS_MAX)


if __name__ == "__main__":
    main()
