"""The snapshot cache for checkpoints and sessions: one interface, Redis, and an in-memory twin."""

from vc.snapshot.interface import (
    Checkpoint,
    SnapshotStore,
    SnapshotUnavailableError,
    chunk_digest,
    digest_of,
    digest_of_digests,
)

__all__ = [
    "Checkpoint",
    "SnapshotStore",
    "SnapshotUnavailableError",
    "chunk_digest",
    "digest_of",
    "digest_of_digests",
]
