"""Statuses of pod groups that were decided and that no fact shows yet.

An entry overrides the fact from the moment a status is decided, so that the next session does not
decide it again. It is valid until a fact arrives that is at least as new as the accepted write.
While a write is under way, a newer status may be decided. The entry then holds the newer status, and
the result of the older write does not affect it.
"""

import msgspec

from vc.model.api.scheduling import PodGroup, PodGroupStatus
from vc.scheduling.cache.pod_groups import GroupSpec, PendingStatus, version_number


class StatusOverlay:
    """One entry per group, by key."""

    def __init__(self) -> None:
        self._entries: dict[str, PendingStatus] = {}

    def get(self, key: str) -> PendingStatus | None:
        return self._entries.get(key)

    def drop(self, key: str) -> None:
        """The group is deleted."""
        self._entries.pop(key, None)

    def put(self, key: str, uid: str, *, status: PodGroupStatus, now: float) -> None:
        """Record a status that is going to be written."""
        self._entries[key] = PendingStatus(uid=uid, status=status, written_at=now)

    def written(
        self, key: str, uid: str, *, status: PodGroupStatus, version: str, now: float
    ) -> bool:
        """The API server accepted the status. Returns False if a newer one was decided since, whose
        entry stays."""
        entry = self._of(key, uid, status)
        if entry is None:
            return False
        at = version_number(version)
        self._entries[key] = msgspec.structs.replace(entry, version=at, written_at=now)
        return True

    def failed(self, key: str, uid: str, *, status: PodGroupStatus) -> bool:
        """The status was not written; that of the fact counts again. Returns False as in `written`."""
        if self._of(key, uid, status) is None:
            return False
        del self._entries[key]
        return True

    def observe(self, key: str, group: PodGroup) -> PendingStatus | None:
        """Use the status of the fact if it is as new as our write. Returns the entry as it was before."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        # Another group of the same name has been created.
        if entry.uid != group.metadata.uid:
            del self._entries[key]
            return None
        version = version_number(group.metadata.resource_version)
        if entry.version is not None and version >= entry.version:
            # The entry itself is kept, because its time limits the rate of further writes.
            self._entries[key] = msgspec.structs.replace(entry, status=group.status)
        return entry

    def _of(self, key: str, uid: str, status: PodGroupStatus) -> PendingStatus | None:
        """The entry of exactly this write."""
        entry = self._entries.get(key)
        same = entry is not None and entry.uid == uid and entry.status == status
        return entry if same else None


def same_status(before: GroupSpec | None, entry: PendingStatus | None, group: PodGroup) -> bool:
    """Whether the status of the fact is what we wrote, what we are overwriting, or unchanged."""
    if entry is not None and (entry.version is None or entry.status.phase == group.status.phase):
        return True
    return before is not None and before.group.status == group.status
