"""The bus: one interface, Kafka, and an in-memory twin that passes the same contract tests.

`vc.bus.memory.MemoryBus` and `vc.bus.kafka.KafkaBus` are imported where the adapters are built, so
that a process loads only the client library that it uses.
"""

from vc.bus.errors import (
    BusClosedError,
    BusError,
    BusForbiddenError,
    BusUnavailableError,
    OffsetGoneError,
    OversizeError,
    TopicMismatchError,
    TopicMissingError,
)
from vc.bus.interface import Bus, GroupMember, Polled, Reader

__all__ = [
    "Bus",
    "BusClosedError",
    "BusError",
    "BusForbiddenError",
    "BusUnavailableError",
    "GroupMember",
    "OffsetGoneError",
    "OversizeError",
    "Polled",
    "Reader",
    "TopicMismatchError",
    "TopicMissingError",
]
