"""Questions to the broker: which topics are there, with which settings, from where to where.

Whether topics exist is asked at most once a second for the whole bus, however many readers want to
know, and whether the answer is a list or that nobody answers. To ask makes nothing: brokers that make
whatever topic a client names are told not to, and refused if they do it all the same (`policy`).
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Any, Final

from aiokafka import TopicPartition as KafkaPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    LeaderNotAvailableError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    for_code,
)
from aiokafka.protocol.metadata import MetadataRequest

from vc_bus.errors import BusUnavailableError, TopicMissingError
from vc_bus.kafka.config import KafkaConfig
from vc_bus.kafka.connections import Connections
from vc_bus.kafka.errors import KAFKA_FAULTS, translated
from vc_bus.kafka.policy import AUTOMATIC_CREATION, settings_of, verify, verify_broker
from vc_clock import Clock
from vc_messages.record import TopicPartition
from vc_messages.topics import Topic

KNOWN_TOPICS_SECONDS: Final = 1.0
"""How old an answer about the existence of topics may be."""
CREATION_SECONDS_MAX: Final = 20.0
"""From a topic's creation until all of its partitions have leaders."""
SETTINGS_SECONDS_MAX: Final = 5.0
"""For one broker to say how it is set."""
_LOOK_AGAIN_SECONDS: Final = 0.05
_log = logging.getLogger("pyroclast.bus")


class Broker:
    """Topics and offsets."""

    def __init__(self, config: KafkaConfig, *, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._connections = Connections(config)
        self._asking = asyncio.Lock()
        self._asked: set[str] = set()
        self._partitions: dict[str, int] = {}
        self._known_at = float("-inf")
        self._away = ""
        """Why the last question had no answer; as old as what is known."""

    # -- topics ----------------------------------------------------------------------------------

    async def ensure_topics(self, topics: Sequence[Topic]) -> list[str]:
        """Create what is missing, then verify all of them; names of the created."""
        await self._check_brokers()
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
        async with self._connections.admin(
            "creating topics", seconds=CREATION_SECONDS_MAX
        ) as admin:
            response = await admin.create_topics(new)
            for name, code, *_ in response.topic_errors:
                if code == 0:
                    created.append(name)
                elif code != TopicAlreadyExistsError.errno:
                    raise for_code(code)(name)
        self._known_at = float("-inf")
        return created

    async def _until_there(self, names: Sequence[str]) -> dict[str, int]:
        """All of them, with leaders; the creation has been answered, so none is missing for long."""
        deadline = self._clock.monotonic() + CREATION_SECONDS_MAX
        while True:
            try:
                found = await self.partitions_now(names)
                missing = [name for name in names if name not in found]
                why = f"{', '.join(missing)}: created, but not there"
            except BusUnavailableError as error:
                missing, why = list(names), str(error)
            if not missing:
                return found
            if self._clock.monotonic() > deadline:
                raise BusUnavailableError(why)
            await self._clock.sleep(_LOOK_AGAIN_SECONDS)

    async def _check_brokers(self) -> None:
        """TopicMismatchError when one of them makes topics that nobody declared.

        A broker that cannot be reached now is passed over: those that can be are set alike. A user
        that may not see a broker's settings is believed to have been told of this one.
        """
        async with self._connections.admin("looking for brokers") as admin:
            nodes = [node for node, *_ in (await _metadata(admin, [])).brokers]
            answers = await asyncio.gather(*(_creation_settings(admin, node) for node in nodes))
        for code, settings, node in [answer for answer in answers if answer is not None]:
            if code:
                _log.warning(
                    "%s of broker %s cannot be seen (%s); it must be false",
                    AUTOMATIC_CREATION,
                    node,
                    for_code(code).message,
                )
            verify_broker(node, settings=settings)

    async def _settings(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        if not names:
            return {}
        asked = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        found: dict[str, dict[str, str]] = {}
        async with self._connections.admin("describing topics") as admin:
            for response in await admin.describe_configs(asked):
                for code, _, _, name, entries, *_ in response.resources:
                    if code:
                        raise for_code(code)(name)
                    found[name] = {entry[0]: entry[1] for entry in entries}
        return found

    # -- what is there ---------------------------------------------------------------------------

    async def partitions_now(self, names: Iterable[str]) -> dict[str, int]:
        """Topic to its number of partitions; those that are not there are left out.

        BusUnavailableError when one is there and cannot be used. A broker that has just come back
        answers before its partitions have leaders: nobody is to take that for a wipe.
        """
        found, denied = await self._described(set(names))
        if denied:
            with translated("looking for topics"):
                raise TopicAuthorizationFailedError(denied)
        return found

    async def _described(self, names: set[str]) -> tuple[dict[str, int], set[str]]:
        """Those that are there with their partitions, and those that we may not see."""
        if not names:
            return {}, set()
        async with self._connections.admin("looking for topics") as admin:
            described = (await _metadata(admin, sorted(names))).to_object()["topics"]
            denied = {topic["topic"] for topic in described if _is_denied(topic)}
            there = [t for t in described if t["topic"] not in denied and _is_there(t)]
        leaderless = [topic["topic"] for topic in there if not _has_leaders(topic)]
        if leaderless:
            raise BusUnavailableError(f"{', '.join(leaderless)}: there, but without leaders")
        return {topic["topic"]: len(topic["partitions"]) for topic in there}, denied

    async def partitions(self, names: Iterable[str]) -> dict[str, int]:
        """The same, at most a second old."""
        wanted = set(names)
        async with self._asking:
            now = self._clock.monotonic()
            if now - self._known_at > KNOWN_TOPICS_SECONDS or not wanted <= self._asked:
                await self._ask(wanted)
            if self._away:
                raise BusUnavailableError(self._away)
        return self.last_known(wanted)

    async def _ask(self, wanted: set[str]) -> None:
        """That nobody answers is known as long as an answer is: else each who waits would ask."""
        self._asked |= wanted
        try:
            self._partitions, denied = await self._described(self._asked)
            self._asked -= denied  # nobody else is to be denied for their sake
            self._away = ""
            if denied & wanted:
                with translated("looking for topics"):
                    raise TopicAuthorizationFailedError(denied & wanted)
        except BusUnavailableError as error:
            self._away = str(error)
        self._known_at = self._clock.monotonic()

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
        async with self._connections.offsets("asking for the starts of logs") as consumer:
            found = await consumer.beginning_offsets([KafkaPartition(*at) for at in logs])
        return {TopicPartition(*at): offset for at, offset in found.items()}

    async def ends(self, logs: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        async with self._connections.offsets("asking for the ends of logs") as consumer:
            found = await consumer.end_offsets([KafkaPartition(*at) for at in logs])
        return {TopicPartition(*at): offset for at, offset in found.items()}

    async def committed(self, group: str) -> dict[TopicPartition, int]:
        """What a group has committed; logs without a commit are left out."""
        async with self._connections.admin(f"asking for the commits of {group}") as admin:
            found = await admin.list_consumer_group_offsets(group)
        return {TopicPartition(*at): kept.offset for at, kept in found.items() if kept.offset >= 0}

    async def close(self) -> None:
        await self._connections.close()


async def _metadata(admin: AIOKafkaAdminClient, topics: list[str]) -> Any:
    """The brokers, and these topics; aiokafka's own question would have missing ones made."""
    request = MetadataRequest(topics, allow_auto_topic_creation=False)
    return await admin._send_request(request)  # noqa: SLF001 - it takes the flag from nobody


async def _creation_settings(
    admin: AIOKafkaAdminClient, node: int
) -> tuple[int, dict[str, str], int] | None:
    """Whether a broker makes topics: an error or its settings, and whose; None when it is away."""
    asked = ConfigResource(ConfigResourceType.BROKER, str(node), {AUTOMATIC_CREATION: ""})
    try:
        async with asyncio.timeout(SETTINGS_SECONDS_MAX):
            (response,) = await admin.describe_configs([asked])
    except KAFKA_FAULTS:
        return None
    ((code, _, _, _, entries, *_),) = response.resources
    return code, {entry[0]: entry[1] for entry in entries}, node


def _is_there(described: dict[str, Any]) -> bool:
    """Whether the broker knows it; raises when it does not say (we may not see it, for one)."""
    code = described["error_code"]
    if code == UnknownTopicOrPartitionError.errno:
        return False
    if code not in (0, LeaderNotAvailableError.errno):
        raise for_code(code)(described["topic"])
    return True


def _is_denied(described: dict[str, Any]) -> bool:
    return bool(described["error_code"] == TopicAuthorizationFailedError.errno)


def _has_leaders(described: dict[str, Any]) -> bool:
    """Whether every partition can be used."""
    partitions = described["partitions"]
    return described["error_code"] == 0 and all(p["leader"] >= 0 for p in partitions)
