"""A broker that hangs: connections stay open and nothing answers; only real Kafka has those."""

import asyncio

import pytest

from tests.contracts.bus.kafka_backend import Broker, kafka_backend
from tests.contracts.bus.steps import message, new_topic
from tests.contracts.bus.test_outage import publish_patiently
from vc.bus import BusUnavailableError
from vc.bus.kafka.config import REQUEST_SECONDS_MAX
from vc.bus.kafka.publisher import ACKNOWLEDGED_SECONDS_MAX

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

BOUND_SECONDS = ACKNOWLEDGED_SECONDS_MAX + 4 * REQUEST_SECONDS_MAX
"""The acknowledgement, a question about the topics before and after it, and letting go of who asked."""


async def test_a_publish_to_a_broker_that_hangs_is_given_up(kafka_broker: Broker) -> None:
    if kafka_broker.server is None:
        pytest.skip("the broker was given: it is not ours to pause")
    async with kafka_backend(kafka_broker) as backend:
        name = await new_topic(backend.bus)
        await backend.bus.publish([message(name)])
        kafka_broker.server.process.pause()
        try:
            with pytest.raises(BusUnavailableError):
                await asyncio.wait_for(backend.bus.publish([message(name)]), BOUND_SECONDS)
        finally:
            kafka_broker.server.process.resume()
        await publish_patiently(backend, name, b"after")
