"""The interface of the snapshot cache.

A checkpoint has the facts of a view, in chunks, with the offsets they correspond to. It is stored
completely or not at all, and is useless without its incarnation, epoch and digest (docs/protocol.md
10). Sessions are kept in a bounded ring. All of this is a cache: losing it costs a cold start,
never a decision.
"""

import hashlib
from collections.abc import Mapping
from typing import Final, Protocol

import msgspec

SESSION_RING_COUNT_MAX: Final = 1_000
"""Number of session records that are kept; the oldest are removed first."""

SESSION_RING_BYTES_MAX: Final = 64 * 1024 * 1024
"""Limit of their total size in bytes."""


class SnapshotUnavailableError(Exception):
    """Temporary: the cache does not answer. Continue without it."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of a view, and their offsets on the bus."""

    incarnation: str
    epoch: int
    offsets: dict[str, list[int]]
    """The next offset of each partition, by topic."""
    row_counts: dict[str, int]
    chunks: dict[str, bytes]
    """Chunks by name; together they hold all rows."""
    digest: str
    """Digest of everything above; see `digest_of`."""
    written_at: float
    """The writer's wall clock. It is a hint: it can only make a reader reject the checkpoint."""

    @property
    def valid(self) -> bool:
        """Whether the checkpoint is complete and its parts belong together."""
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
    """The digest of one chunk; a writer can keep it for chunks that do not change."""
    return hashlib.sha256(chunk).hexdigest()


def digest_of_digests(
    *,
    incarnation: str,
    epoch: int,
    offsets: Mapping[str, list[int]],
    digests: Mapping[str, str],
) -> str:
    """The digest of a checkpoint whose chunks have these digests."""
    # The identity is covered too: chunks must not be accepted under the head of other topics.
    whole = hashlib.sha256(f"{incarnation}/{epoch}".encode())
    # Sorted, because dictionaries of equal content may have another order.
    for topic in sorted(offsets):
        whole.update(f"|{topic}:{','.join(map(str, offsets[topic]))}".encode())
    for name in sorted(digests):
        whole.update(f"|{name}:{digests[name]}".encode())
    return whole.hexdigest()


class SnapshotStore(Protocol):
    """Checkpoints by name, and a ring of sessions."""

    async def save(self, name: str, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint, completely or not at all."""
        ...

    async def load(self, name: str) -> Checkpoint | None:
        """The last complete checkpoint; None if there is none or it is damaged."""
        ...

    async def digest(self, name: str) -> str | None:
        """The digest of the checkpoint that `load` would return, without reading its chunks;
        None if it is lost.
        """
        ...

    async def append_session(self, session_id: str, record: bytes) -> None:
        """Store a session's record;
        the oldest are removed when the ring is full (count and bytes).
        """
        ...

    async def session(self, session_id: str) -> bytes | None:
        """A session's record; None if it is not in the ring."""
        ...

    async def session_ids(self, *, limit: int) -> list[str]:
        """The ids of the newest sessions, newest first."""
        ...

    async def close(self) -> None:
        """Close all connections. No method may be called afterwards."""
        ...
