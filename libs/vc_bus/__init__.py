"""The bus: one interface, Kafka, and an in-memory twin that passes the same contract suite."""

from vc_bus.errors import BusError, BusUnavailableError, OffsetGoneError, TopicMissingError
from vc_bus.interface import Bus, Member, Polled, Reader

__all__ = [
    "Bus",
    "BusError",
    "BusUnavailableError",
    "Member",
    "OffsetGoneError",
    "Polled",
    "Reader",
    "TopicMissingError",
]
