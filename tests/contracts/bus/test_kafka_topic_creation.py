"""A broker that makes topics by itself, which is Kafka's default: it is refused, and made nothing.

Only real Kafka has those, and it must be a broker of its own: all others run with the setting off.
"""

from collections.abc import AsyncIterator

import pytest

from tests.contracts.bus.steps import at_start, message, topic
from vc.bus import TopicMismatchError, TopicMissingError
from vc.bus.kafka import KafkaBus, KafkaConfig
from vc.clock import LoopClock
from vc.parts import KafkaServer, require_or_skip_reason

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.fixture
async def bus() -> AsyncIterator[KafkaBus]:
    reason = require_or_skip_reason("kafka")
    if reason:
        pytest.skip(reason)
    async with KafkaServer(settings={"auto.create.topics.enable": "true"}) as server:
        config = KafkaConfig(bootstrap_servers=server.bootstrap_servers)
        bus = await KafkaBus.connect(config, clock=LoopClock())
        yield bus
        await bus.close()


async def test_it_is_refused_by_name_and_asking_makes_nothing(bus: KafkaBus) -> None:
    wanted = [topic(compacted=True), topic(single=True)]
    names = [each.name for each in wanted]
    for _ in range(2):
        said = r"broker 1: auto\.create\.topics\.enable is true.* set .*=false .* every broker"
        with pytest.raises(TopicMismatchError, match=said):
            await bus.ensure_topics(wanted)
        assert await bus.missing_topics(wanted) == names, "neither by us nor by the broker"
    with pytest.raises(TopicMissingError):
        await bus.publish([message(names[0])])
    with pytest.raises(TopicMissingError):
        await bus.reader(at_start(names[0]))
    async with bus._broker._connections.admin("listing") as admin:
        assert await admin.list_topics() == []
