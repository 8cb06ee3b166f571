"""A bus with administrative access to its broker: what tests ask for, and the in-memory one."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

from vc.bus import Bus
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock
from vc.messages.record import TopicPartition

TAIL_KEY = "tail"
"""Key of records that a backend may append to make its broker clean a log."""


OUTAGE_SECONDS_MAX = 1.0
"""Of the twin, which need not wait as long for its broker as a real client must."""


class Backend(Protocol):
    """A bus under test and its broker."""

    @property
    def bus(self) -> Bus: ...

    async def delete_topics(self, names: Iterable[str]) -> None:
        """Wipe topics behind everyone's back."""
        ...

    async def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        """Move the starts of logs."""
        ...

    async def compact(self, at: TopicPartition, *, left: int) -> None:
        """Make the broker clean a log until so many records are left beside the tail's."""
        ...

    async def stop_broker(self) -> None:
        """Begin an outage."""
        ...

    async def start_broker(self) -> None:
        """End it."""
        ...


class MemoryBackend:
    """The in-memory twin."""

    def __init__(self) -> None:
        self.bus = MemoryBus(LoopClock(), unavailable_after_seconds=OUTAGE_SECONDS_MAX)

    async def delete_topics(self, names: Iterable[str]) -> None:
        self.bus.delete_topics(names)

    async def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        self.bus.delete_records(before)

    async def compact(self, at: TopicPartition, *, left: int) -> None:
        self.bus.compact()

    async def stop_broker(self) -> None:
        self.bus.stop()

    async def start_broker(self) -> None:
        self.bus.start()


@asynccontextmanager
async def memory_backend() -> AsyncIterator[Backend]:
    backend = MemoryBackend()
    yield backend
    await backend.bus.close()
