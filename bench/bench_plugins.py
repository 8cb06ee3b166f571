"""Round trip of a request to a job plugin: on the memory bus, and over a real Kafka.

The env plugin runs as a service with its own connection to the bus. The benchmark sends requests as the
job-controller does, one at a time, and measures from `publish` of the request until `poll` of `plugin.replies`
returns the reply. The broker, if any, runs on the same machine. Bar over Kafka: p50 of 15 ms.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec
from tests.builders.contexts import memory_context

from bench.bench_embedded import job as manifest
from bench.parts import load_average, run_on
from bench.report import percentile, report
from vc.bus import Bus, Reader
from vc.bus.kafka import KafkaBus, KafkaConfig
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock
from vc.messages.plugins import APPLY, PluginRequest, request_message
from vc.messages.record import TopicPartition
from vc.messages.topics import ALL, PLUGIN_REPLIES
from vc.model.api.job import Job
from vc.parts import KafkaServer
from vc.parts.probe import wait_until
from vc.plugin_env.service import build
from vc.runtime.hosting.context import Service

PLUGIN: Final = "env"
PODS: Final = 1000
"""Pods of the job in a request; the reply has the same size as for a job of one pod."""

WARM_UP_ROUNDS: Final = 50
ROUNDS: Final = 300
REPLY_SECONDS_MAX: Final = 10.0
SECONDS_MAX: Final = 90.0
BAR_P50_MS: Final = 15


def request_for(number: int) -> PluginRequest:
    """Each request has a job of its own, so that requests spread over partitions."""
    made = msgspec.convert(manifest(f"job-{number}", replicas=PODS), type=Job)
    metadata = msgspec.structs.replace(made.metadata, namespace="default", uid=str(number))
    about = msgspec.structs.replace(made, metadata=metadata)
    return PluginRequest(verb=APPLY, plugin=PLUGIN, arguments=[], job=about, spec_hash=str(number))


@asynccontextmanager
async def plugin_on(bus: Bus) -> AsyncIterator[None]:
    """The plugin service, ready and consuming its requests."""
    context = memory_context(f"plugin-{PLUGIN}", bus=bus)
    service = build(context)
    running = asyncio.create_task(service.run())
    try:
        await wait_until(
            lambda: _is_ready(service),
            seconds_max=SECONDS_MAX,
            otherwise=lambda: f"the plugin is not ready: {service.unready()}",
        )
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _is_ready(service: Service) -> bool:
    return not service.unready()


async def replies_on(bus: Bus) -> Reader:
    ends = await bus.end_offsets(PLUGIN_REPLIES.name)
    return await bus.reader({TopicPartition(PLUGIN_REPLIES.name, p): n for p, n in enumerate(ends)})


async def measure_rounds(bus: Bus) -> list[float]:
    """Milliseconds from request to reply."""
    reader, samples = await replies_on(bus), []
    for number in range(WARM_UP_ROUNDS + ROUNDS):
        request = request_for(number)
        started = time.perf_counter()
        await bus.publish([request_message(request)])
        got = await reader.poll(max_records=1, wait_seconds=REPLY_SECONDS_MAX)
        samples.append((time.perf_counter() - started) * 1000)
        if [record.key for record in got] != [request.job.key]:
            raise TimeoutError(f"no reply to request {number} within {REPLY_SECONDS_MAX:.0f} s")
    await reader.close()
    return samples[WARM_UP_ROUNDS:]


async def measure_memory() -> None:
    bus = MemoryBus(LoopClock())
    await bus.ensure_topics(ALL)
    async with plugin_on(bus):
        report_round_trips("plugins_memory", await measure_rounds(bus))


async def measure_kafka() -> None:
    async with KafkaServer() as server:
        config = KafkaConfig(bootstrap_servers=server.bootstrap_servers)
        ours, theirs = [await KafkaBus.connect(config, clock=LoopClock()) for _ in range(2)]
        try:
            await ours.ensure_topics(ALL)
            async with plugin_on(theirs):
                samples = await measure_rounds(ours)
        finally:
            await ours.close()
            await theirs.close()
    report_round_trips("plugins_kafka", samples, bar_ms=BAR_P50_MS)


def report_round_trips(name: str, samples: list[float], *, bar_ms: float | None = None) -> None:
    """Print the table, write the JSON file, and print the values as one line."""
    p50, p99, load = percentile(samples, 0.5), percentile(samples, 0.99), load_average()
    bar = f" (bar {bar_ms:.0f} ms)" if bar_ms else ""
    report(
        name,
        header=("WHAT", "VALUE"),
        rows=[
            (f"request → reply, one at a time ({ROUNDS}), p50{bar}", f"{p50:.2f} ms"),
            ("request → reply, p99", f"{p99:.2f} ms"),
            ("request → reply, fastest", f"{min(samples):.2f} ms"),
            ("load average of the machine", f"{load:.1f}"),
        ],
        values={"round_trip_p50_ms": p50, "round_trip_p99_ms": p99, "load_average": load},
    )


def main() -> bool:
    """Both buses; False when one failed."""
    logging.disable(logging.ERROR)  # aiokafka logs an error while a group is created
    memory = run_on([], measure_memory, name="plugins_memory", seconds_max=SECONDS_MAX)
    kafka = run_on(["kafka"], measure_kafka, name="plugins_kafka", seconds_max=SECONDS_MAX)
    return memory and kafka


if __name__ == "__main__":
    main()
