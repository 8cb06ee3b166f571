"""What the scheduler may ask of the snapshot cache.

A checkpoint is the facts a view believes, in chunks, with the offsets they stand for: whole or not at all, and
worthless without its incarnation, epoch and digest (protocol 10). Sessions are a bounded ring.
Everything here is a cache: losing it costs a cold start, never a decision.
"""

import hashlib
from collections.abc import Mapping
from typing import Final, Protocol

import msgspec

SESSION_RING_COUNT_MAX: Final = 1_000
"""Session records that are kept; the oldest go first."""

SESSION_RING_BYTES_MAX: Final = 64 * 1024 * 1024
"""And their sum in bytes."""


class SnapshotUnavailableError(Exception):
    """Temporary: the cache does not answer. Go on without it."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Rows and where on the bus they stand."""

    incarnation: str
    epoch: int
    offsets: dict[str, list[int]]
    """Topic to the next offset of each partition."""
    row_counts: dict[str, int]
    chunks: dict[str, bytes]
    """By name; together they are all rows."""
    digest: str
    """Of everything above; see `digest_of`."""
    written_at: float
    """The writer's wall clock: a hint that may only make a reader refuse."""

    @property
    def valid(self) -> bool:
        """Whether nothing is missing or mixed."""
        return self.digest == digest_of(
            incarnation=self.incarnation,
            epoch=self.epoch,
            offsets=self.offsets,
            chunks=self.chunks,
        )


def digest_of(
    *,
    incarnation: str,
    epoch: int,
    offsets: Mapping[str, list[int]],
    chunks: Mapping[str, bytes],
) -> str:
    """A digest over identity and content, independent of the order of chunks."""
    digests = {name: chunk_digest(chunk) for name, chunk in chunks.items()}
    return digest_of_digests(incarnation=incarnation, epoch=epoch, offsets=offsets, digests=digests)


def chunk_digest(chunk: bytes) -> str:
    """Of one chunk: who writes the same chunk again need not read it again."""
    return hashlib.sha256(chunk).hexdigest()


def digest_of_digests(
    *,
    incarnation: str,
    epoch: int,
    offsets: Mapping[str, list[int]],
    digests: Mapping[str, str],
) -> str:
    """The digest of a checkpoint whose chunks have these digests."""
    whole = hashlib.sha256(f"{incarnation}/{epoch}".encode())
    for topic in sorted(offsets):
        whole.update(f"|{topic}:{','.join(map(str, offsets[topic]))}".encode())
    for name in sorted(digests):
        whole.update(f"|{name}:{digests[name]}".encode())
    return whole.hexdigest()


class SnapshotStore(Protocol):
    """Checkpoints by name, and a ring of sessions."""

    async def save(self, name: str, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint, whole or not at all."""
        ...

    async def load(self, name: str) -> Checkpoint | None:
        """The last whole checkpoint, or None; one that was damaged counts as none."""
        ...

    async def digest(self, name: str) -> str | None:
        """Of the checkpoint that `load` would read, without reading it; None when it was lost."""
        ...

    async def append_session(self, session_id: str, record: bytes) -> None:
        """Keep a session's record; the oldest go when the ring is full (count and bytes)."""
        ...

    async def session(self, session_id: str) -> bytes | None:
        """A session's record."""
        ...

    async def session_ids(self, *, limit: int) -> list[str]:
        """The newest first."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
