"""Since when gangs are half-bound, and when they first reached their minimum.

Both are as observed by this process. A group is recorded in every snapshot in which it lacks its
minimum. The time of the last such snapshot is the time of the session that completed it. A group
that loses members later is not recorded again.
"""

from vc.scheduling.model.pod_group_status import in_doubt, is_partial, was_whole
from vc.scheduling.model.rows import GroupRow


class GangTimes:
    """Times by group; bounded by the number of groups."""

    def __init__(self) -> None:
        self._partial_since: dict[str, float] = {}
        self._short: dict[str, float] = {}
        """Groups that never had their minimum: when a session last saw them so."""
        self._met_at: dict[str, float] = {}
        """Groups that reached their minimum since then, and still have waiting pods."""

    def refresh(self, row: GroupRow, now: float) -> None:
        """A group was counted again."""
        if is_partial(row):
            self._partial_since.setdefault(row.key, now)
        elif not in_doubt(row):  # a repeated bind must not restart the time
            self._partial_since.pop(row.key, None)
        self._refresh_minimum(row, now)

    def _refresh_minimum(self, row: GroupRow, now: float) -> None:
        if not row.foreign and row.lacks_members and not was_whole(row):
            self._short.setdefault(row.key, now)
            self._met_at.pop(row.key, None)
            return
        seen_at = self._short.pop(row.key, None)
        if row.up_to_date:
            self._met_at.pop(row.key, None)
        elif seen_at is not None:
            self._met_at[row.key] = seen_at

    def drop(self, key: str) -> None:
        """The group is deleted."""
        for times in (self._partial_since, self._short, self._met_at):
            times.pop(key, None)

    def shift(self, seconds: float) -> None:
        """The clock was changed."""
        for times in (self._partial_since, self._short, self._met_at):
            for key, at in times.items():
                times[key] = at + seconds

    def seen(self, now: float) -> None:
        """A session opens: it sees the groups that have never had their minimum as short."""
        for key in self._short:
            self._short[key] = now

    def partial_since(self) -> dict[str, float]:
        """Half-bound gangs, sorted by key."""
        return dict(sorted(self._partial_since.items()))

    def minimum_met_at(self) -> dict[str, float]:
        """Groups that reached their minimum, sorted by key."""
        return dict(sorted(self._met_at.items()))
