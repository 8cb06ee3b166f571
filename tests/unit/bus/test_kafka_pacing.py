"""A producer whose broker refuses connections requests metadata at a bounded rate."""

import asyncio

from aiokafka import AIOKafkaProducer

from vc.bus.kafka.pacing import PAUSE_SECONDS, pace_metadata
from vc.parts.ports import LOOPBACK, free_port

ATTEMPTS = 3


async def test_a_failed_metadata_update_lasts_as_long_as_a_pause() -> None:
    producer = AIOKafkaProducer(bootstrap_servers=f"{LOOPBACK}:{free_port()}")
    pace_metadata(producer.client)
    loop = asyncio.get_running_loop()
    began = loop.time()
    for _ in range(ATTEMPTS):
        assert not await producer.client._metadata_update(producer.client.cluster, None)
    assert loop.time() - began >= ATTEMPTS * PAUSE_SECONDS
    await producer.stop()
