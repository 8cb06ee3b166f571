"""A message before and after it was on the bus."""

from typing import NamedTuple

import msgspec


class TopicPartition(NamedTuple):
    """A log: order holds within it and nowhere else."""

    topic: str
    partition: int


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """To be published. A value of None is a tombstone."""

    topic: str
    partition: int
    key: str
    value: bytes | None
    headers: dict[str, str] = {}


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """As read: a message with its place in the log."""

    topic: str
    partition: int
    offset: int
    key: str
    value: bytes | None
    headers: dict[str, str] = {}

    @property
    def log(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)
