"""Statuses of pod groups that we decided and that no fact shows yet.

A note stands over the fact from the moment a status is decided, so that the next session does not
decide it again, until a fact at least as new as what the API server took has come. While a write is
under way a newer status may be decided; then the note is of the newer one, and what becomes of the
older write says nothing about it.
"""

import msgspec

from vc_model.scheduling import PodGroup, PodGroupStatus
from vc_scheduler.logic.groups import GroupSpec, StatusNote, version_number


class StatusNotes:
    """One note a group, by key."""

    def __init__(self) -> None:
        self._notes: dict[str, StatusNote] = {}

    def get(self, key: str) -> StatusNote | None:
        return self._notes.get(key)

    def drop(self, key: str) -> None:
        """The group is gone."""
        self._notes.pop(key, None)

    def put(self, key: str, uid: str, *, status: PodGroupStatus, now: float) -> None:
        """We are going to write this status."""
        self._notes[key] = StatusNote(uid=uid, status=status, written_at=now)

    def written(
        self, key: str, uid: str, *, status: PodGroupStatus, version: str, now: float
    ) -> bool:
        """The API server took it; False when a newer one was decided since, whose note stays."""
        note = self._of(key, uid, status)
        if note is None:
            return False
        at = version_number(version)
        self._notes[key] = msgspec.structs.replace(note, version=at, written_at=now)
        return True

    def failed(self, key: str, uid: str, *, status: PodGroupStatus) -> bool:
        """It was not written: what the fact says counts again. False as in `written`."""
        if self._of(key, uid, status) is None:
            return False
        del self._notes[key]
        return True

    def settle(self, key: str, group: PodGroup) -> StatusNote | None:
        """Take the fact's word when it is as new as what we wrote; the note as it was."""
        note = self._notes.get(key)
        if note is None:
            return None
        if note.uid != group.metadata.uid:
            del self._notes[key]
            return None
        version = version_number(group.metadata.resource_version)
        if note.version is not None and version >= note.version:
            self._notes[key] = msgspec.structs.replace(note, status=group.status)
        return note

    def _of(self, key: str, uid: str, status: PodGroupStatus) -> StatusNote | None:
        """The note of this very write."""
        note = self._notes.get(key)
        same = note is not None and note.uid == uid and note.status == status
        return note if same else None


def same_status(before: GroupSpec | None, note: StatusNote | None, group: PodGroup) -> bool:
    """Whether the fact's status is what we wrote, or what we are writing over, or what it was."""
    if note is not None and (note.version is None or note.status.phase == group.status.phase):
        return True
    return before is not None and before.group.status == group.status
