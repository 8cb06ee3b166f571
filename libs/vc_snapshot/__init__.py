"""The session snapshot cache: one interface, Redis, and an in-memory twin."""

from vc_snapshot.interface import (
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
