"""A snapshot cache with administrative access to it: what tests ask for, and the in-memory one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from vc.snapshot import SnapshotStore
from vc.snapshot.memory import MemorySnapshot

SESSIONS_MAX = 5
SESSION_BYTES_MAX = 1000
"""Small rings, so that tests fill them."""


class Backend(Protocol):
    """A cache under test and the server behind it."""

    @property
    def store(self) -> SnapshotStore: ...

    async def flush(self) -> None:
        """Lose everything."""
        ...

    async def damage(self, name: str) -> None:
        """Lose one piece of a checkpoint."""
        ...

    async def evict(self, part: str) -> None:
        """Lose one part of the ring of sessions: its ids, records, sizes or the sum of bytes."""
        ...

    async def stop_server(self) -> None:
        """Begin an outage."""
        ...

    async def start_server(self) -> None:
        """End it."""
        ...


class MemoryBackend:
    """The in-memory twin."""

    def __init__(self) -> None:
        self.store = MemorySnapshot(sessions_max=SESSIONS_MAX, session_bytes_max=SESSION_BYTES_MAX)

    async def flush(self) -> None:
        self.store.flush()

    async def damage(self, name: str) -> None:
        self.store.damage(name)

    async def evict(self, part: str) -> None:
        """The sum is counted again at once, since it is kept nowhere; without the rest nothing is left."""
        if part != "bytes":
            self.store.flush()

    async def stop_server(self) -> None:
        self.store.stop()

    async def start_server(self) -> None:
        self.store.start()


@asynccontextmanager
async def memory_backend() -> AsyncIterator[Backend]:
    backend = MemoryBackend()
    yield backend
    await backend.store.close()
