"""The session snapshot cache: one interface, Redis, and an in-memory twin."""

from vc_snapshot.interface import Checkpoint, SnapshotStore, SnapshotUnavailableError, digest_of

__all__ = ["Checkpoint", "SnapshotStore", "SnapshotUnavailableError", "digest_of"]
