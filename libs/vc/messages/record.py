"""Messages before they are published, and records as they are read."""

from typing import NamedTuple

import msgspec


class TopicPartition(NamedTuple):
    """A log: records are ordered within it, and not across logs."""

    topic: str
    partition: int


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message to be published. A value of None is a tombstone."""

    topic: str
    partition: int
    key: str
    value: bytes | None
    headers: dict[str, str] = {}


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A message that was read, with its position in the log."""

    topic: str
    partition: int
    offset: int
    key: str
    value: bytes | None
    headers: dict[str, str] = {}

    @property
    def log(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)
