"""Pod events through the watcher into real Kafka: from the bytes of a watch to acknowledged facts.

What runs is the watcher's own `KindWatch` on the real bus, with both of its halves (reading and
publishing side by side) and its own bounds. Only the API server is replaced: its answer lies in
memory as the bytes of a watch, in chunks of the size in which they come from a socket. So this is
what the watcher can take, whatever the API server can give. Bar: 5,000 pod events a second.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Final

from tests.builders.contexts import memory_context
from tests.builders.watching import watch_of

from bench.bench_watch import pod_bytes
from bench.parts import load_average, run_on
from bench.processes import cpu_seconds
from bench.report import report
from vc.bus.kafka import KafkaBus, KafkaConfig
from vc.clock import LoopClock
from vc.cluster import WatchEvent
from vc.cluster.kubernetes_watch import EventReader
from vc.messages.topics import BY_NAME
from vc.model.api.kinds import PODS, Kind
from vc.parts import KafkaServer
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.schema.registry import Registry
from vc.simcluster.verbs.api import Api

EVENTS: Final = 40_000
CHUNK_BYTES: Final = 64 * 1024
"""What one read of a socket gives at the most."""
BAR_EVENTS_PER_SECOND: Final = 5_000
LOOK_SECONDS: Final = 0.002
SECONDS_MAX: Final = 120.0


def stream() -> bytes:
    """What an API server sends in a watch of pods, all of it."""
    line = b'{"type":"ADDED","object":%b}\n'
    return b"".join(line % pod_bytes(number) for number in range(1, EVENTS + 1))


class ReplayedWatch(StoreCluster):
    """An empty cluster, but the watch of pods is what was recorded."""

    def __init__(self, api: Api, recorded: bytes) -> None:
        super().__init__(api)
        self._recorded = recorded
        self.opened_at = 0.0

    async def watch(
        self,
        kind: Kind,
        *,
        resource_version: str,  # noqa: ARG002 - the recording has one beginning
        namespace: str = "",  # noqa: ARG002 - and one namespace
        timeout_seconds: float = 300.0,
    ) -> AsyncIterator[WatchEvent]:
        reader = EventReader(doing=f"watch {kind.short}", timeout_seconds=timeout_seconds)
        self.opened_at = time.perf_counter()
        for begin in range(0, len(self._recorded), CHUNK_BYTES):
            for event in reader.feed(self._recorded[begin : begin + CHUNK_BYTES]):
                yield event
            await asyncio.sleep(0)  # as a read of a socket does
        await asyncio.Event().wait()  # an API server with no more news


async def through(bus: KafkaBus, recorded: bytes) -> float:
    """Seconds from opening the watch until the bus has acknowledged every event."""
    clock = LoopClock()
    cluster = ReplayedWatch(Api(clock=clock, registry=Registry()), recorded)
    context = memory_context("watcher", clock=clock, bus=bus, cluster=cluster)
    watch = await watch_of(context, PODS)
    running = asyncio.create_task(watch.run())
    try:
        while watch.published < EVENTS and not running.done():  # noqa: ASYNC110 - it only counts
            await asyncio.sleep(LOOK_SECONDS)
        seconds = time.perf_counter() - cluster.opened_at
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    if watch.published < EVENTS:
        raise TimeoutError(f"the watch ended after {watch.published} of {EVENTS} events")
    return seconds


async def measure() -> None:
    """Start a broker, measure, report."""
    recorded = stream()
    async with KafkaServer() as server:
        config = KafkaConfig(bootstrap_servers=server.bootstrap_servers)
        bus = await KafkaBus.connect(config, clock=LoopClock())
        try:
            await bus.ensure_topics([BY_NAME[PODS.topic]])
            broker, own = cpu_seconds(server.processes[0].pid), time.process_time()
            seconds = await through(bus, recorded)
            broker, own = (
                cpu_seconds(server.processes[0].pid) - broker,
                time.process_time() - own,
            )
        finally:
            await bus.close()
    report_rate(seconds, size=len(recorded) // EVENTS, own=own, broker=broker)


def report_rate(seconds: float, *, size: int, own: float, broker: float) -> None:
    """Print the table, write the JSON file, and print the values as one line."""
    rate, load = EVENTS / seconds, load_average()
    report(
        "watcher_kafka",
        header=(
            "EVENTS",
            "BYTES EACH",
            "SECONDS",
            "EVENTS/S",
            "BAR",
            "CPU WATCHER",
            "KAFKA",
            "LOAD",
        ),
        rows=[
            (
                f"{EVENTS:,}",
                f"{size:,}",
                f"{seconds:.2f}",
                f"{rate:,.0f}",
                f"{BAR_EVENTS_PER_SECOND:,}",
                f"{own:.1f} s",
                f"{broker:.1f} s",
                f"{load:.1f}",
            )
        ],
        values={
            "watcher_kafka_events_per_second": rate,
            "bar": BAR_EVENTS_PER_SECOND,
            "watcher_cpu_seconds": own,
            "kafka_cpu_seconds": broker,
            "load_average": load,
        },
    )


def main() -> bool:
    """False when it failed."""
    return run_on(["kafka"], measure, name="watcher_kafka", seconds_max=SECONDS_MAX)


if __name__ == "__main__":
    main()
