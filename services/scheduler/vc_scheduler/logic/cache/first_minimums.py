"""When each pod group got its minimum for the first time, as far as this process has seen it.

A group is noted in every snapshot in which it is short of its minimum. The time of the last such snapshot is the
time of the session that gave it the minimum. One that loses members later is not noted again.
"""

from vc_scheduler.logic.phases import was_whole
from vc_scheduler.logic.rows import GroupRow


class FirstMinimums:
    """Groups short of their first minimum, and those that have it since and still have pods that wait."""

    def __init__(self) -> None:
        self._short: dict[str, float] = {}
        """When a session last saw it so."""
        self._met_at: dict[str, float] = {}

    def refresh(self, row: GroupRow, now: float) -> None:
        """A group was counted again."""
        if not row.foreign and row.lacks_members and not was_whole(row):
            self._short.setdefault(row.key, now)
            self._met_at.pop(row.key, None)
            return
        seen_at = self._short.pop(row.key, None)
        if row.settled:
            self._met_at.pop(row.key, None)
        elif seen_at is not None:
            self._met_at[row.key] = seen_at

    def drop(self, key: str) -> None:
        """The group is gone."""
        self._short.pop(key, None)
        self._met_at.pop(key, None)

    def seen(self, now: float) -> None:
        """A session opens."""
        for key in self._short:
            self._short[key] = now

    def met_at(self) -> dict[str, float]:
        """By group, in the order of keys."""
        return dict(sorted(self._met_at.items()))
