"""Kafka's settings for a declared topic, and the check that an existing topic matches.

Compaction is configured so that reading a topic from the beginning stays cheap (docs/protocol.md
8): segments are closed after minutes, and no record waits longer than that for compaction.
Retention must be exactly ours, because correctness depends on it. Sizes and times that only cost
memory may be better than ours.

Brokers must not create topics automatically, which is their default (docs/protocol.md 3). Every
reader and producer names its topics to them, so after a wipe the first one would create the topics
again, with the brokers' partitions and settings, and hide the wipe.
"""

from collections.abc import Mapping
from typing import Final

from vc.bus.errors import TopicMismatchError
from vc.bus.limits import TOPIC_MESSAGE_BYTES_MAX
from vc.messages.topics import Topic

CLEANUP_POLICY: Final = "cleanup.policy"
MESSAGE_BYTES: Final = "max.message.bytes"
RETENTION: Final = "retention.ms"
TOMBSTONE_RETENTION: Final = "delete.retention.ms"
SEGMENT: Final = "segment.ms"
COMPACTION_LAG: Final = "max.compaction.lag.ms"
AUTOMATIC_CREATION: Final = "auto.create.topics.enable"

SEGMENT_SECONDS: Final = 600
"""A segment is closed after this time; only closed segments are compacted or deleted."""
COMPACTION_LAG_SECONDS_MAX: Final = 600
"""An outdated record of a key stays no longer than this plus the segment time."""

_AT_LEAST: Final = frozenset({MESSAGE_BYTES})
_AT_MOST: Final = frozenset({SEGMENT, COMPACTION_LAG})


def settings_of(topic: Topic) -> dict[str, str]:
    """The settings with which a topic is created and against which it is verified."""
    retention_ms = str(topic.retention_seconds * 1000)
    settings = {MESSAGE_BYTES: str(TOPIC_MESSAGE_BYTES_MAX), SEGMENT: str(SEGMENT_SECONDS * 1000)}
    if not topic.compacted:
        return {**settings, CLEANUP_POLICY: "delete", RETENTION: retention_ms}
    return {
        **settings,
        CLEANUP_POLICY: "compact",
        TOMBSTONE_RETENTION: retention_ms,
        COMPACTION_LAG: str(COMPACTION_LAG_SECONDS_MAX * 1000),
    }


def verify(topic: Topic, *, partitions: int, settings: Mapping[str, str]) -> None:
    """Raises TopicMismatchError that names the difference."""
    # The partition decides which member owns a job. With another count, records of one job would be
    # spread over two owners (docs/protocol.md 1).
    if partitions != topic.partitions:
        raise TopicMismatchError(
            f"{topic.name}: it has {partitions} partitions, declared are {topic.partitions}; "
            f"the partition owns a job, so it must be deleted and created again"
        )
    for name, wanted in settings_of(topic).items():
        found = settings.get(name, "")
        if not _fits(name, wanted=wanted, found=found):
            raise TopicMismatchError(
                f"{topic.name}: {name} is {found or 'unknown'}, declared is {wanted}; "
                f"change it with kafka-configs or delete the topic"
            )


def verify_broker(node: int, *, settings: Mapping[str, str]) -> None:
    """Raises TopicMismatchError if the broker creates topics;
    a broker without the setting does not.
    """
    found = settings.get(AUTOMATIC_CREATION) or ""
    if found.lower() == "true":
        raise TopicMismatchError(
            f"broker {node}: {AUTOMATIC_CREATION} is {found}, so it makes topics with its own "
            f"partitions and policy, and hides a wipe; set {AUTOMATIC_CREATION}=false in the "
            f"settings of every broker and restart them"
        )


def _fits(name: str, *, wanted: str, found: str) -> bool:
    # Settings that only cost memory or disk may be more generous than ours.
    if name in _AT_LEAST and found.isdecimal():
        return int(found) >= int(wanted)
    if name in _AT_MOST and found.isdecimal():
        return int(found) <= int(wanted)
    return found == wanted
