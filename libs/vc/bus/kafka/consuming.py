"""Shared code of readers and members: consumer settings, lifecycle, and conversion of records."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, ConsumerRecord
from aiokafka import TopicPartition as KafkaPartition
from aiokafka.errors import KafkaError

from vc.bus.kafka.config import KafkaConfig
from vc.bus.kafka.ending import end
from vc.bus.kafka.errors import translated
from vc.bus.kafka.lenient_records import read_leniently
from vc.bus.kafka.pacing import pace_metadata
from vc.bus.limits import POLL_BYTES_MAX, TOPIC_MESSAGE_BYTES_MAX
from vc.messages.record import Record, TopicPartition

FETCH_WAIT_MS: Final = 250
"""How long a broker without new records delays its answer; new records end the wait at once.
Measured with 216 logs: 25 ms cost 7 % of a core when idle, 250 ms cost 1.4 %, at the same latency
of about 3 ms.
"""


POSITION_SECONDS_MAX: Final = 1.0
"""Time limit for the watchdog's query of positions."""


def fetch_settings(config: KafkaConfig) -> dict[str, Any]:
    """The settings of every consumer that reads records."""
    return {
        **config.client_settings(),
        "fetch_max_wait_ms": FETCH_WAIT_MS,
        "fetch_max_bytes": POLL_BYTES_MAX,
        "max_partition_fetch_bytes": TOPIC_MESSAGE_BYTES_MAX,
        # It would commit records whose effect is still pending, and a crash would lose them
        # (docs/protocol.md 9).
        "enable_auto_commit": False,
    }


async def start(consumer: AIOKafkaConsumer) -> None:
    """Connect; on failure the consumer is closed."""
    # Before the first fetch: one damaged header name would otherwise stop this consumer for good.
    read_leniently()
    pace_metadata(consumer._client)  # noqa: SLF001 - a consumer has no public access to its client
    with translated("connecting"):
        try:
            await consumer.start()
            # A consumer that is stopped before its own tasks ran cancels its caller.
            await asyncio.sleep(0)
        except BaseException:
            await stop(consumer)
            raise


async def stop(consumer: AIOKafkaConsumer) -> None:
    """Close within a bounded time, whatever it raises."""
    await end(_end(consumer))


async def _end(consumer: AIOKafkaConsumer) -> None:
    try:
        await consumer.stop()
    finally:
        await consumer._client.close()  # noqa: SLF001 - stopping may have failed before it got there


async def fetch(
    consumer: AIOKafkaConsumer, *, max_records: int, wait_seconds: float
) -> dict[KafkaPartition, list[ConsumerRecord]]:
    """The records that have arrived, or arrive in time; other tasks always get to run.

    aiokafka's timeout is in whole milliseconds, and with a timeout of 0 it does not yield to the
    loop. The timeout is rounded up, because a poll for less than a millisecond would otherwise
    block the loop.
    """
    await asyncio.sleep(0)
    timeout_ms = math.ceil(wait_seconds * 1000)
    got: dict[KafkaPartition, list[ConsumerRecord]] = await consumer.getmany(
        timeout_ms=timeout_ms, max_records=max_records
    )
    return got


async def current_positions(
    consumer: AIOKafkaConsumer, known: Mapping[TopicPartition, int | None]
) -> dict[TopicPartition, int]:
    """The consumer's position in each log; 0 if it is unknown.

    It may be beyond the last record that we read, because cleaned records leave empty batches.
    """
    positions = {at: offset or 0 for at, offset in known.items()}
    # A consumer that does not answer is judged by the positions that we know ourselves.
    with suppress(TimeoutError, KafkaError):
        async with asyncio.timeout(POSITION_SECONDS_MAX):
            for at in positions:
                positions[at] = max(positions[at], await consumer.position(KafkaPartition(*at)))
    return positions


def records_of(batches: Mapping[KafkaPartition, Sequence[ConsumerRecord]]) -> list[Record]:
    """The records, in order within each log."""
    return [as_record(got) for batch in batches.values() for got in batch]


def as_record(got: ConsumerRecord) -> Record:
    return Record(
        topic=got.topic,
        partition=got.partition,
        offset=got.offset,
        # Never raises, because an exception here would lose the other records of the poll. A record
        # that its consumer cannot use becomes a dead letter there.
        key=(got.key or b"").decode(errors="replace"),
        value=got.value,
        headers={name: (text or b"").decode(errors="replace") for name, text in got.headers},
    )
