"""The bus: one interface, Kafka, and an in-memory twin that passes the same contract suite.

`vc_bus.memory.MemoryBus` and `vc_bus.kafka.KafkaBus` are imported by whoever builds the adapters,
so that nobody pays for a client library it does not use.
"""

from vc_bus.errors import (
    BusClosedError,
    BusError,
    BusForbiddenError,
    BusUnavailableError,
    OffsetGoneError,
    OversizeError,
    TopicMismatchError,
    TopicMissingError,
)
from vc_bus.interface import Bus, Member, Polled, Reader

__all__ = [
    "Bus",
    "BusClosedError",
    "BusError",
    "BusForbiddenError",
    "BusUnavailableError",
    "Member",
    "OffsetGoneError",
    "OversizeError",
    "Polled",
    "Reader",
    "TopicMismatchError",
    "TopicMissingError",
]
