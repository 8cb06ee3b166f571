"""Statuses of pod groups that were decided and that no fact shows yet.

A note overrides the fact from the moment a status is decided, so that the next session does not
decide it again. It is valid until a fact arrives that is at least as new as the accepted write.
While a write is under way, a newer status may be decided. The note then holds the newer status, and
the result of the older write does not affect it.
"""

import msgspec

from vc.model.api.scheduling import PodGroup, PodGroupStatus
from vc.scheduling.cache.pod_groups import GroupSpec, StatusNote, version_number


class StatusNotes:
    """One note per group, by key."""

    def __init__(self) -> None:
        self._notes: dict[str, StatusNote] = {}

    def get(self, key: str) -> StatusNote | None:
        return self._notes.get(key)

    def drop(self, key: str) -> None:
        """The group is deleted."""
        self._notes.pop(key, None)

    def put(self, key: str, uid: str, *, status: PodGroupStatus, now: float) -> None:
        """Record a status that is going to be written."""
        self._notes[key] = StatusNote(uid=uid, status=status, written_at=now)

    def written(
        self, key: str, uid: str, *, status: PodGroupStatus, version: str, now: float
    ) -> bool:
        """The API server accepted the status. Returns False if a newer one was decided since, whose
        note stays."""
        note = self._of(key, uid, status)
        if note is None:
            return False
        at = version_number(version)
        self._notes[key] = msgspec.structs.replace(note, version=at, written_at=now)
        return True

    def failed(self, key: str, uid: str, *, status: PodGroupStatus) -> bool:
        """The status was not written; that of the fact counts again. Returns False as in `written`."""
        if self._of(key, uid, status) is None:
            return False
        del self._notes[key]
        return True

    def settle(self, key: str, group: PodGroup) -> StatusNote | None:
        """Use the status of the fact if it is as new as our write. Returns the note as it was before."""
        note = self._notes.get(key)
        if note is None:
            return None
        # Another group of the same name has been created.
        if note.uid != group.metadata.uid:
            del self._notes[key]
            return None
        version = version_number(group.metadata.resource_version)
        if note.version is not None and version >= note.version:
            # The note itself is kept, because its time limits the rate of further writes.
            self._notes[key] = msgspec.structs.replace(note, status=group.status)
        return note

    def _of(self, key: str, uid: str, status: PodGroupStatus) -> StatusNote | None:
        """The note of exactly this write."""
        note = self._notes.get(key)
        same = note is not None and note.uid == uid and note.status == status
        return note if same else None


def same_status(before: GroupSpec | None, note: StatusNote | None, group: PodGroup) -> bool:
    """Whether the status of the fact is what we wrote, what we are overwriting, or unchanged."""
    if note is not None and (note.version is None or note.status.phase == group.status.phase):
        return True
    return before is not None and before.group.status == group.status
