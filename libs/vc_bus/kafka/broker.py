"""Questions to the broker: which topics are there, with which settings, from where to where.

One admin client and one consumer without an assignment, made when first needed. Whether topics
exist is asked at most once a second for the whole bus, however many readers want to know.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as KafkaPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import TopicAlreadyExistsError, for_code

from vc_bus.errors import BusUnavailableError, TopicMissingError
from vc_bus.kafka.config import REQUEST_SECONDS_MAX, KafkaConfig
from vc_bus.kafka.consuming import start
from vc_bus.kafka.errors import translated
from vc_bus.kafka.policy import settings_of, verify
from vc_clock import Clock
from vc_messages.record import TopicPartition
from vc_messages.topics import Topic

KNOWN_TOPICS_SECONDS: Final = 1.0
"""How old an answer about the existence of topics may be."""
CREATION_SECONDS_MAX: Final = 20.0
"""From a topic's creation until all of its partitions have leaders."""
_LOOK_AGAIN_SECONDS: Final = 0.05


class Broker:
    """Topics and offsets."""

    def __init__(self, config: KafkaConfig, *, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._connecting = asyncio.Lock()
        self._admin: AIOKafkaAdminClient | None = None
        self._offsets: AIOKafkaConsumer | None = None
        self._asking = asyncio.Lock()
        self._asked: set[str] = set()
        self._partitions: dict[str, int] = {}
        self._known_at = float("-inf")

    # -- topics ----------------------------------------------------------------------------------

    async def ensure_topics(self, topics: Sequence[Topic]) -> list[str]:
        """Create what is missing, then verify all of them; names of the created."""
        found = await self.partitions_now(topic.name for topic in topics)
        missing = [topic for topic in topics if topic.name not in found]
        created = await self._create(missing) if missing else []
        found = await self._until_there([topic.name for topic in topics])
        self._partitions.update(found)
        settings = await self._settings([topic.name for topic in topics])
        for topic in topics:
            verify(topic, partitions=found[topic.name], settings=settings[topic.name])
        return created

    async def _create(self, topics: Sequence[Topic]) -> list[str]:
        """Somebody else may have made them meanwhile: those are not ours to count."""
        admin = await self._admin_client()
        new = [
            NewTopic(
                topic.name,
                topic.partitions,
                self._config.replication_factor,
                replica_assignments=None if self._config.replication_factor > 0 else {},
                topic_configs=settings_of(topic),
            )
            for topic in topics
        ]
        created: list[str] = []
        with translated("creating topics"):
            response = await admin.create_topics(new)
            for name, code, *_ in response.topic_errors:
                if code == 0:
                    created.append(name)
                elif code != TopicAlreadyExistsError.errno:
                    raise for_code(code)(name)
        self._known_at = float("-inf")
        return created

    async def _until_there(self, names: Sequence[str]) -> dict[str, int]:
        deadline = self._clock.monotonic() + CREATION_SECONDS_MAX
        while True:
            found = await self.partitions_now(names)
            missing = [name for name in names if name not in found]
            if not missing:
                return found
            if self._clock.monotonic() > deadline:
                raise BusUnavailableError(f"{', '.join(missing)}: created, but without leaders")
            await self._clock.sleep(_LOOK_AGAIN_SECONDS)

    async def _settings(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        if not names:
            return {}
        admin = await self._admin_client()
        asked = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        found: dict[str, dict[str, str]] = {}
        with translated("describing topics"):
            for response in await admin.describe_configs(asked):
                for code, _, _, name, entries, *_ in response.resources:
                    if code:
                        raise for_code(code)(name)
                    found[name] = {entry[0]: entry[1] for entry in entries}
        return found

    # -- what is there ---------------------------------------------------------------------------

    async def partitions_now(self, names: Iterable[str]) -> dict[str, int]:
        """Topic to its number of partitions; those that are not there are left out."""
        wanted = sorted(set(names))
        if not wanted:
            return {}
        admin = await self._admin_client()
        with translated("looking for topics"):
            async with asyncio.timeout(REQUEST_SECONDS_MAX):
                described = await admin.describe_topics(wanted)
        return {t["topic"]: len(t["partitions"]) for t in described if _is_usable(t)}

    async def partitions(self, names: Iterable[str]) -> dict[str, int]:
        """The same, at most a second old."""
        wanted = set(names)
        async with self._asking:
            now = self._clock.monotonic()
            if now - self._known_at > KNOWN_TOPICS_SECONDS or not wanted <= self._asked:
                self._asked |= wanted
                self._partitions = await self.partitions_now(self._asked)
                self._known_at = self._clock.monotonic()
        return self.last_known(wanted)

    def last_known(self, names: Iterable[str]) -> dict[str, int]:
        """What the last answer said, however old it is."""
        return {name: self._partitions[name] for name in names if name in self._partitions}

    def forget_known(self) -> None:
        """The next question goes to the broker."""
        self._known_at = float("-inf")

    async def check_there(self, names: Iterable[str]) -> dict[str, int]:
        """Their partitions; TopicMissingError when one of them is gone."""
        wanted = set(names)
        found = await self.partitions(wanted)
        missing = sorted(wanted - found.keys())
        if missing:
            raise TopicMissingError(f"there is no topic {', '.join(missing)}")
        return found

    # -- offsets ---------------------------------------------------------------------------------

    async def starts(self, logs: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        consumer = await self._offsets_client()
        with translated("asking for the starts of logs"):
            async with asyncio.timeout(REQUEST_SECONDS_MAX):
                found = await consumer.beginning_offsets([KafkaPartition(*at) for at in logs])
        return {TopicPartition(*at): offset for at, offset in found.items()}

    async def ends(self, logs: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        consumer = await self._offsets_client()
        with translated("asking for the ends of logs"):
            async with asyncio.timeout(REQUEST_SECONDS_MAX):
                found = await consumer.end_offsets([KafkaPartition(*at) for at in logs])
        return {TopicPartition(*at): offset for at, offset in found.items()}

    async def committed(self, group: str) -> dict[TopicPartition, int]:
        """What a group has committed; logs without a commit are left out."""
        admin = await self._admin_client()
        with translated(f"asking for the commits of {group}"):
            async with asyncio.timeout(REQUEST_SECONDS_MAX):
                found = await admin.list_consumer_group_offsets(group)
        return {TopicPartition(*at): kept.offset for at, kept in found.items() if kept.offset >= 0}

    # -- connections -----------------------------------------------------------------------------

    async def _admin_client(self) -> AIOKafkaAdminClient:
        async with self._connecting:
            if self._admin is None:
                admin = AIOKafkaAdminClient(**self._config.client_settings())
                with translated("connecting"):
                    try:
                        await admin.start()
                    except BaseException:
                        await admin.close()
                        raise
                self._admin = admin
            return self._admin

    async def _offsets_client(self) -> AIOKafkaConsumer:
        async with self._connecting:
            if self._offsets is None:
                consumer = AIOKafkaConsumer(**self._config.client_settings())
                await start(consumer)
                self._offsets = consumer
            return self._offsets

    async def close(self) -> None:
        if self._admin is not None:
            await self._admin.close()
        if self._offsets is not None:
            await self._offsets.stop()
        self._admin = self._offsets = None


def _is_usable(described: dict[str, Any]) -> bool:
    """It exists and every partition has a leader."""
    partitions = described["partitions"]
    return described["error_code"] == 0 and all(p["leader"] >= 0 for p in partitions)
