"""The in-memory twin of the snapshot cache, including the ways in which Redis loses data.

Checkpoints are stored as bytes and decoded when loaded, so nothing is shared by reference. `flush`
is Redis's FLUSHALL, `damage` a lost chunk, `stop` and `start` an outage.
"""

from collections import OrderedDict

import msgspec

from vc.snapshot.interface import (
    SESSION_RING_BYTES_MAX,
    SESSION_RING_COUNT_MAX,
    Checkpoint,
    SnapshotUnavailableError,
)


class MemorySnapshot:
    """The in-memory twin, with the contract of `vc.snapshot.interface.SnapshotStore`."""

    def __init__(
        self,
        *,
        sessions_max: int = SESSION_RING_COUNT_MAX,
        session_bytes_max: int = SESSION_RING_BYTES_MAX,
    ) -> None:
        self._sessions_max = sessions_max
        self._session_bytes_max = session_bytes_max
        self._checkpoints: dict[str, bytes] = {}
        self._sessions: OrderedDict[str, bytes] = OrderedDict()
        self._session_bytes = 0
        """Invariant: the total size of the ring, within the limit."""
        self._stopped = False

    async def save(self, name: str, checkpoint: Checkpoint) -> None:
        self._answer()
        self._checkpoints[name] = msgspec.msgpack.encode(checkpoint)

    async def load(self, name: str) -> Checkpoint | None:
        self._answer()
        packed = self._checkpoints.get(name)
        if packed is None:
            return None
        checkpoint = msgspec.msgpack.decode(packed, type=Checkpoint)
        # As with Redis, a damaged checkpoint is none at all, never a part of one.
        return checkpoint if checkpoint.valid else None

    async def digest(self, name: str) -> str | None:
        checkpoint = await self.load(name)
        return None if checkpoint is None else checkpoint.digest

    async def append_session(self, session_id: str, record: bytes) -> None:
        self._answer()
        # A session that is appended again replaces its record and becomes the newest, as in Redis.
        self._forget(session_id)
        self._sessions[session_id] = bytes(record)
        self._session_bytes += len(record)
        # A record that exceeds the bytes alone is dropped as well, because the limit always holds.
        while (
            len(self._sessions) > self._sessions_max
            or self._session_bytes > self._session_bytes_max
        ):
            self._forget(next(iter(self._sessions)))

    async def session(self, session_id: str) -> bytes | None:
        self._answer()
        return self._sessions.get(session_id)

    async def session_ids(self, *, limit: int) -> list[str]:
        self._answer()
        return list(reversed(self._sessions))[:limit]

    async def close(self) -> None:
        self._stopped = True

    def _answer(self) -> None:
        if self._stopped:
            raise SnapshotUnavailableError("the snapshot cache does not answer")

    def _forget(self, session_id: str) -> None:
        gone = self._sessions.pop(session_id, None)
        self._session_bytes -= len(gone or b"")

    # -- for tests and simulations ---------------------------------------------------------------

    def flush(self) -> None:
        """Lose all data, like a Redis without persistence that was restarted."""
        self._checkpoints.clear()
        self._sessions.clear()
        self._session_bytes = 0

    def damage(self, name: str) -> None:
        """Lose a chunk of a checkpoint."""
        checkpoint = msgspec.msgpack.decode(self._checkpoints[name], type=Checkpoint)
        # Without its first chunk the digest no longer matches, as after an eviction in Redis.
        chunks = dict(list(checkpoint.chunks.items())[1:])
        self._checkpoints[name] = msgspec.msgpack.encode(
            msgspec.structs.replace(checkpoint, chunks=chunks)
        )

    def stop(self) -> None:
        """Begin an outage: every call fails until `start`."""
        self._stopped = True

    def start(self) -> None:
        """End the outage; the data is still there."""
        self._stopped = False
