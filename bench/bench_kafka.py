"""The Kafka bus alone, on a real broker: how long a message takes, and how many go through a second.

Latency is measured as services feel it: from calling `publish` on one bus until `poll` on another
gives the record, one message at a time. Throughput in the watcher's batches: each batch is
acknowledged before the next goes out, then one reader reads all of it from the beginning. Publisher
and reader share one Python process, and the broker is on the same machine.
"""

import time
from collections.abc import Sequence
from typing import Final

from bench.parts import load_average, run_on
from bench.report import percentile, report
from vc.bus import Reader
from vc.bus.kafka import KafkaBus, KafkaConfig
from vc.clock import LoopClock
from vc.messages.record import Message, TopicPartition
from vc.messages.topics import Split, Topic
from vc.parts import KafkaServer

TOPIC: Final = Topic(
    name="bench.bus",
    key="number",
    split=Split.BY_KEY,
    compacted=False,
    retention_seconds=3600,
    producer="bench",
    consumers=("bench",),
)
WARM_UP_ROUNDS: Final = 100
LATENCY_ROUNDS: Final = 500
BATCHES: Final = 200
BATCH: Final = 500
VALUE_BYTES: Final = 300
POLL_RECORDS_MAX: Final = 5_000
POLL_SECONDS_MAX: Final = 5.0
SECONDS_MAX: Final = 150.0


def message(number: int) -> Message:
    """One of 300 bytes; all partitions get the same number of them."""
    return Message(
        topic=TOPIC.name,
        partition=number % TOPIC.partitions,
        key=str(number),
        value=bytes(VALUE_BYTES),
    )


async def follow(bus: KafkaBus, offsets: Sequence[int]) -> Reader:
    """A reader of the whole topic from there on."""
    return await bus.reader({TopicPartition(TOPIC.name, at): n for at, n in enumerate(offsets)})


async def measure_latency(publishing: KafkaBus, reading: KafkaBus) -> list[float]:
    """Milliseconds from `publish` to the record in hand."""
    reader = await follow(reading, await reading.end_offsets(TOPIC.name))
    samples = []
    for number in range(WARM_UP_ROUNDS + LATENCY_ROUNDS):
        started = time.perf_counter()
        await publishing.publish([message(number)])
        got = await reader.poll(max_records=1, wait_seconds=POLL_SECONDS_MAX)
        if [record.key for record in got] != [str(number)]:
            raise TimeoutError(f"message {number} did not come within {POLL_SECONDS_MAX:.0f} s")
        samples.append((time.perf_counter() - started) * 1000)
    await reader.close()
    return samples[WARM_UP_ROUNDS:]


async def measure_publishing(bus: KafkaBus) -> float:
    """Messages a second, each batch acknowledged before the next."""
    batches = [
        [message(first + number) for number in range(BATCH)]
        for first in range(0, BATCHES * BATCH, BATCH)
    ]
    started = time.perf_counter()
    for batch in batches:
        await bus.publish(batch)
    return BATCHES * BATCH / (time.perf_counter() - started)


async def measure_reading(bus: KafkaBus, offsets: Sequence[int]) -> float:
    """Messages a second of one reader that has them all before it."""
    reader = await follow(bus, offsets)
    left = BATCHES * BATCH
    started = time.perf_counter()
    while left > 0:
        got = await reader.poll(max_records=POLL_RECORDS_MAX, wait_seconds=POLL_SECONDS_MAX)
        if not got:
            raise TimeoutError(f"{left} messages did not come within {POLL_SECONDS_MAX:.0f} s")
        left -= len(got)
    seconds = time.perf_counter() - started
    await reader.close()
    return BATCHES * BATCH / seconds


async def measure() -> None:
    """Start a broker, measure, report."""
    async with KafkaServer() as server:
        config = KafkaConfig(bootstrap_servers=server.bootstrap_servers)
        buses = [await KafkaBus.connect(config, clock=LoopClock()) for _ in range(2)]
        try:
            await buses[0].ensure_topics([TOPIC])
            samples = await measure_latency(*buses)
            before = await buses[1].end_offsets(TOPIC.name)
            published = await measure_publishing(buses[0])
            read = await measure_reading(buses[1], before)
        finally:
            for bus in buses:
                await bus.close()
    report_bus(samples, published=published, read=read)


def report_bus(samples: list[float], *, published: float, read: float) -> None:
    """Print the table, write the JSON file, and print the values as one line."""
    p50, p99 = percentile(samples, 0.5), percentile(samples, 0.99)
    load = load_average()
    size = f"{BATCHES} × {BATCH} × {VALUE_BYTES} B"
    report(
        "kafka",
        header=("WHAT", "VALUE"),
        rows=[
            (f"publish → read, one at a time ({LATENCY_ROUNDS}), p50", f"{p50:.2f} ms"),
            ("publish → read, one at a time, p99", f"{p99:.2f} ms"),
            (f"published, {size}, each batch acknowledged", f"{published:,.0f} msgs/s"),
            (f"read, {size}, one reader", f"{read:,.0f} msgs/s"),
            ("load average of the machine", f"{load:.1f}"),
        ],
        values={
            "kafka_latency_p50_ms": p50,
            "kafka_latency_p99_ms": p99,
            "kafka_published_per_second": published,
            "kafka_read_per_second": read,
            "load_average": load,
        },
    )


def main() -> bool:
    """False when it failed."""
    return run_on(["kafka"], measure, name="kafka", seconds_max=SECONDS_MAX)


if __name__ == "__main__":
    main()
