"""Quarantined groups: groups that a session failed on. They wait with the reason until they change.

A session that failed on one group was run again without it (`cycle.py`). The group is
recorded with everything that sessions read of it, so that the next session does not fail the same
way. Once that changes, the group is tried again.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from vc.scheduling.model.rows import GroupRow

QUARANTINED_MAX: Final = 10_000
"""The maximum number of quarantined groups. Beyond it, the oldest are tried again."""

_State = tuple[object, ...]


class Quarantine:
    """By group; bounded by the number of groups."""

    def __init__(self, mark_dirty: Callable[[str], None]) -> None:
        self._mark_dirty = mark_dirty
        self._why: dict[str, tuple[_State, str]] = {}

    def put(self, row: GroupRow, why: str) -> None:
        """Quarantine a group in its current state."""
        self._why.pop(row.key, None)
        self._why[row.key] = (_state(row), why)
        while len(self._why) > QUARANTINED_MAX:
            oldest = next(iter(self._why))
            del self._why[oldest]
            self._mark_dirty(oldest)
        self._mark_dirty(row.key)

    def over(self, row: GroupRow) -> GroupRow:
        """The row with its problem. A group that changed leaves quarantine."""
        known = self._why.get(row.key)
        if known is None:
            return row
        # The state is compared and not only its hash or version: our own status writes must not
        # end the quarantine, or every second session would fail again.
        if known[0] != _state(row):
            del self._why[row.key]
            return row
        return msgspec.structs.replace(row, problem=row.problem or known[1])

    def __contains__(self, key: str) -> bool:
        return key in self._why

    def drop(self, key: str) -> None:
        """The group is deleted."""
        self._why.pop(key, None)


def _state(row: GroupRow) -> _State:
    """What a change of the spec or of pods alters. Our own status writes do not alter it."""
    pods = tuple((pod.uid, pod.shape.key) for run in row.runs for pod in run.pods)
    return (row.uid, row.queue, row.min_member, row.task_minimums, row.min_resources, pods)
