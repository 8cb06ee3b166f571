"""What readers and members have in common: a consumer's settings, and its records in our words."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, ConsumerRecord
from aiokafka import TopicPartition as KafkaPartition
from aiokafka.errors import KafkaError

from vc_bus.kafka.config import KafkaConfig
from vc_bus.kafka.ending import end
from vc_bus.kafka.errors import translated
from vc_bus.kafka.lenient_records import read_leniently
from vc_bus.kafka.pacing import pace_metadata
from vc_bus.limits import POLL_BYTES_MAX, TOPIC_MESSAGE_BYTES_MAX
from vc_messages.record import Record, TopicPartition

FETCH_WAIT_MS: Final = 250
"""A broker without news answers after so long; news end the wait at once. Measured with 216 logs:
25 ms cost 7 % of a core when idle, 250 ms cost 1.4 %, at the same latency of some 3 ms."""


POSITION_SECONDS_MAX: Final = 1.0
"""How long the watchdog asks for positions."""


def fetch_settings(config: KafkaConfig) -> dict[str, Any]:
    """Of every consumer that reads."""
    return {
        **config.client_settings(),
        "fetch_max_wait_ms": FETCH_WAIT_MS,
        "fetch_max_bytes": POLL_BYTES_MAX,
        "max_partition_fetch_bytes": TOPIC_MESSAGE_BYTES_MAX,
        "enable_auto_commit": False,
    }


async def start(consumer: AIOKafkaConsumer) -> None:
    """Connect, or leave nothing behind."""
    read_leniently()
    pace_metadata(consumer._client)  # noqa: SLF001 - a consumer shows its client to nobody
    with translated("connecting"):
        try:
            await consumer.start()
            # A consumer that is stopped before its own tasks first ran cancels whoever stops it.
            await asyncio.sleep(0)
        except BaseException:
            await stop(consumer)
            raise


async def stop(consumer: AIOKafkaConsumer) -> None:
    """End it in a bounded time, whatever it throws."""
    await end(_end(consumer))


async def _end(consumer: AIOKafkaConsumer) -> None:
    try:
        await consumer.stop()
    finally:
        await consumer._client.close()  # noqa: SLF001 - stopping may have failed before it got there


async def fetch(
    consumer: AIOKafkaConsumer, *, max_records: int, wait_seconds: float
) -> dict[KafkaPartition, list[ConsumerRecord]]:
    """What has come, or comes in time; others run, however much there is to read.

    aiokafka waits whole milliseconds, and for none it does not even let the loop run. Rounded down,
    whoever polls for less than one would hold the loop until its time is over.
    """
    await asyncio.sleep(0)
    timeout_ms = math.ceil(wait_seconds * 1000)
    got: dict[KafkaPartition, list[ConsumerRecord]] = await consumer.getmany(
        timeout_ms=timeout_ms, max_records=max_records
    )
    return got


async def standing(
    consumer: AIOKafkaConsumer, known: Mapping[TopicPartition, int | None]
) -> dict[TopicPartition, int]:
    """Where a consumer is in each log; one whose position cannot be had counts as not begun.

    It may be further than the records that we know of: what was cleaned away left empty batches.
    """
    places = {at: offset or 0 for at, offset in known.items()}
    with suppress(TimeoutError, KafkaError):
        async with asyncio.timeout(POSITION_SECONDS_MAX):
            for at in places:
                places[at] = max(places[at], await consumer.position(KafkaPartition(*at)))
    return places


def records_of(batches: Mapping[KafkaPartition, Sequence[ConsumerRecord]]) -> list[Record]:
    """In order within each log."""
    return [as_record(got) for batch in batches.values() for got in batch]


def as_record(got: ConsumerRecord) -> Record:
    return Record(
        topic=got.topic,
        partition=got.partition,
        offset=got.offset,
        key=(got.key or b"").decode(errors="replace"),
        value=got.value,
        headers={name: (text or b"").decode(errors="replace") for name, text in got.headers},
    )
