"""Queries to the broker: existing topics, their settings, and the offsets of logs.

The existence of topics is queried at most once a second for the whole bus, however many readers
need it, and a failure is cached as well. A query creates nothing: requests forbid automatic topic
creation, and brokers that are configured for it are rejected (`policy`).
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

from vc.bus.errors import BusUnavailableError, TopicMissingError
from vc.bus.kafka.config import KafkaConfig
from vc.bus.kafka.connections import Connections
from vc.bus.kafka.errors import KAFKA_FAULTS, translated
from vc.bus.kafka.policy import AUTOMATIC_CREATION, settings_of, verify, verify_broker
from vc.clock import Clock
from vc.messages.record import TopicPartition
from vc.messages.topics import Topic

KNOWN_TOPICS_SECONDS: Final = 1.0
"""Maximum age of a cached answer about the existence of topics."""
CREATION_SECONDS_MAX: Final = 20.0
"""Time limit from a topic's creation until all partitions have leaders."""
SETTINGS_SECONDS_MAX: Final = 5.0
"""Time limit for one broker to describe its settings."""
_LOOK_AGAIN_SECONDS: Final = 0.05
_log = logging.getLogger("pyroclast.bus")


class Broker:
    """Queries and creates topics, and queries offsets."""

    def __init__(self, config: KafkaConfig, *, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._connections = Connections(config)
        self._querying = asyncio.Lock()
        self._queried: set[str] = set()
        self._partitions: dict[str, int] = {}
        self._known_at = float("-inf")
        self._away = ""
        """Why the last query failed; cached as long as a successful answer."""

    # -- topics ----------------------------------------------------------------------------------

    async def ensure_topics(self, topics: Sequence[Topic]) -> list[str]:
        """Create missing topics, then verify all of them; returns the created names."""
        # Rejected before any topic is created: such a broker would hide a later wipe.
        await self._check_brokers()
        found = await self.partitions_now(topic.name for topic in topics)
        missing = [topic for topic in topics if topic.name not in found]
        created = await self._create(missing) if missing else []
        # The creation is acknowledged before metadata shows the topics on all brokers.
        found = await self._until_there([topic.name for topic in topics])
        self._partitions.update(found)
        settings = await self._settings([topic.name for topic in topics])
        for topic in topics:
            verify(topic, partitions=found[topic.name], settings=settings[topic.name])
        return created

    async def _create(self, topics: Sequence[Topic]) -> list[str]:
        """Create topics; those that another client created meanwhile are not returned."""
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
                # Another replica of the watcher may create topics at the same time.
                elif code != TopicAlreadyExistsError.errno:
                    raise for_code(code)(name)
        # The cached answer still says that these topics are missing.
        self._known_at = float("-inf")
        return created

    async def _until_there(self, names: Sequence[str]) -> dict[str, int]:
        """Wait until all topics exist and have leaders, after their creation was acknowledged."""
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
        """Raises TopicMismatchError if a broker creates topics automatically.

        An unreachable broker is skipped, because brokers are expected to have equal settings. If
        the user may not read a broker's settings, a warning is logged.
        """
        async with self._connections.admin("looking for brokers") as admin:
            nodes = [node for node, *_ in (await _metadata(admin, [])).brokers]
            answers = await asyncio.gather(*(_creation_settings(admin, node) for node in nodes))
        for code, settings, node in [answer for answer in answers if answer is not None]:
            if code:
                _log.warning(
                    "broker setting not readable, it must be false setting=%s broker=%s error=%s",
                    AUTOMATIC_CREATION,
                    node,
                    for_code(code).message,
                )
            verify_broker(node, settings=settings)

    async def _settings(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        if not names:
            return {}
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        found: dict[str, dict[str, str]] = {}
        async with self._connections.admin("describing topics") as admin:
            for response in await admin.describe_configs(resources):
                for code, _, _, name, entries, *_ in response.resources:
                    if code:
                        raise for_code(code)(name)
                    found[name] = {entry[0]: entry[1] for entry in entries}
        return found

    # -- what is there ---------------------------------------------------------------------------

    async def partitions_now(self, names: Iterable[str]) -> dict[str, int]:
        """The partition counts of existing topics; missing topics are left out.

        Raises BusUnavailableError if a topic exists but has no leaders. A restarted broker answers
        before its partitions have leaders, and that must not look like a wipe.
        """
        found, denied = await self._described(set(names))
        if denied:
            with translated("looking for topics"):
                raise TopicAuthorizationFailedError(denied)
        return found

    async def _described(self, names: set[str]) -> tuple[dict[str, int], set[str]]:
        """The existing topics with their partition counts, and the topics that we may not see."""
        if not names:
            return {}, set()
        async with self._connections.admin("looking for topics") as admin:
            described = (await _metadata(admin, sorted(names))).to_object()["topics"]
            denied = {topic["topic"] for topic in described if _is_denied(topic)}
            there = [t for t in described if t["topic"] not in denied and _is_there(t)]
        # A broker that just started knows its topics before their leaders are elected.
        leaderless = [topic["topic"] for topic in there if not _has_leaders(topic)]
        if leaderless:
            raise BusUnavailableError(f"{', '.join(leaderless)}: there, but without leaders")
        return {topic["topic"]: len(topic["partitions"]) for topic in there}, denied

    async def partitions(self, names: Iterable[str]) -> dict[str, int]:
        """The partition counts of existing topics, at most a second old."""
        wanted = set(names)
        async with self._querying:
            now = self._clock.monotonic()
            # The lock makes concurrent callers share one query.
            if now - self._known_at > KNOWN_TOPICS_SECONDS or not wanted <= self._queried:
                await self._query(wanted)
            if self._away:
                raise BusUnavailableError(self._away)
        return self.last_known(wanted)

    async def _query(self, wanted: set[str]) -> None:
        """Query all topics of interest. A failure is cached too;
        otherwise each waiting caller would query again.
        """
        # One query for all topics of interest, so that all readers share the answer.
        self._queried |= wanted
        try:
            self._partitions, denied = await self._described(self._queried)
            # A denied topic must not make the queries for other topics fail.
            self._queried -= denied
            self._away = ""
            if denied & wanted:
                with translated("looking for topics"):
                    raise TopicAuthorizationFailedError(denied & wanted)
        except BusUnavailableError as error:
            self._away = str(error)
        self._known_at = self._clock.monotonic()

    def last_known(self, names: Iterable[str]) -> dict[str, int]:
        """The last answer, whatever its age."""
        return {name: self._partitions[name] for name in names if name in self._partitions}

    def forget_known(self) -> None:
        """Drop the cached answer, so that the next query reaches the broker."""
        self._known_at = float("-inf")

    async def check_there(self, names: Iterable[str]) -> dict[str, int]:
        """The partition counts of the topics; raises TopicMissingError if one does not exist."""
        wanted = set(names)
        found = await self.partitions(wanted)
        missing = sorted(wanted - found.keys())
        if missing:
            raise TopicMissingError(f"there is no topic {', '.join(missing)}")
        return found

    # -- offsets ---------------------------------------------------------------------------------

    async def starts(self, logs: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        async with self._connections.offsets("reading the starts of logs") as consumer:
            found = await consumer.beginning_offsets([KafkaPartition(*at) for at in logs])
        return {TopicPartition(*at): offset for at, offset in found.items()}

    async def ends(self, logs: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        async with self._connections.offsets("reading the ends of logs") as consumer:
            found = await consumer.end_offsets([KafkaPartition(*at) for at in logs])
        return {TopicPartition(*at): offset for at, offset in found.items()}

    async def committed(self, group: str) -> dict[TopicPartition, int]:
        """The committed offsets of a group; logs without a commit are left out."""
        async with self._connections.admin(f"reading the commits of {group}") as admin:
            found = await admin.list_consumer_group_offsets(group)
        # Kafka reports -1 for a log without a commit, which must not count as a position.
        return {TopicPartition(*at): kept.offset for at, kept in found.items() if kept.offset >= 0}

    async def close(self) -> None:
        await self._connections.close()


async def _metadata(admin: AIOKafkaAdminClient, topics: list[str]) -> Any:
    """Metadata of the brokers and of these topics.
    aiokafka's own request would create missing topics.
    """
    request = MetadataRequest(topics, allow_auto_topic_creation=False)
    return await admin._send_request(request)  # noqa: SLF001 - aiokafka has no parameter for the flag


async def _creation_settings(
    admin: AIOKafkaAdminClient, node: int
) -> tuple[int, dict[str, str], int] | None:
    """Whether a broker creates topics: error code, settings and node id;
    None if it is unreachable.
    """
    resource = ConfigResource(ConfigResourceType.BROKER, str(node), {AUTOMATIC_CREATION: ""})
    try:
        async with asyncio.timeout(SETTINGS_SECONDS_MAX):
            (response,) = await admin.describe_configs([resource])
    except KAFKA_FAULTS:
        return None
    ((code, _, _, _, entries, *_),) = response.resources
    return code, {entry[0]: entry[1] for entry in entries}, node


def _is_there(described: dict[str, Any]) -> bool:
    """Whether the topic exists; raises if the broker returned another error."""
    code = described["error_code"]
    if code == UnknownTopicOrPartitionError.errno:
        return False
    # A topic without a leader exists. Counted as missing, an election would look like a wipe.
    if code not in (0, LeaderNotAvailableError.errno):
        raise for_code(code)(described["topic"])
    return True


def _is_denied(described: dict[str, Any]) -> bool:
    return bool(described["error_code"] == TopicAuthorizationFailedError.errno)


def _has_leaders(described: dict[str, Any]) -> bool:
    """Whether every partition has a leader."""
    partitions = described["partitions"]
    return described["error_code"] == 0 and all(p["leader"] >= 0 for p in partitions)
