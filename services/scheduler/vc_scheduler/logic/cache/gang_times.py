"""Since when gangs are partly bound, and when they got their minimum for the first time.

Both as far as this process has seen it. A group is noted in every snapshot in which it is short of its minimum; the
time of the last such snapshot is the time of the session that gave it the minimum. One that loses
members later is not noted again.
"""

from vc_scheduler.logic.phases import in_doubt, is_partial, was_whole
from vc_scheduler.logic.rows import GroupRow


class GangTimes:
    """By group; bounded by the groups that there are."""

    def __init__(self) -> None:
        self._partial_since: dict[str, float] = {}
        self._short: dict[str, float] = {}
        """Groups short of their first minimum: when a session last saw them so."""
        self._met_at: dict[str, float] = {}
        """Groups that have it since, and still have pods that wait."""

    def refresh(self, row: GroupRow, now: float) -> None:
        """A group was counted again."""
        if is_partial(row):
            self._partial_since.setdefault(row.key, now)
        elif not in_doubt(row):  # a bind that is tried again does not give it another minute
            self._partial_since.pop(row.key, None)
        self._refresh_minimum(row, now)

    def _refresh_minimum(self, row: GroupRow, now: float) -> None:
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
        for times in (self._partial_since, self._short, self._met_at):
            times.pop(key, None)

    def shift(self, seconds: float) -> None:
        """The clock was set."""
        for times in (self._partial_since, self._short, self._met_at):
            for key, at in times.items():
                times[key] = at + seconds

    def seen(self, now: float) -> None:
        """A session opens."""
        for key in self._short:
            self._short[key] = now

    def partial_since(self) -> dict[str, float]:
        """Gangs some of whose members are bound, in the order of keys."""
        return dict(sorted(self._partial_since.items()))

    def minimum_met_at(self) -> dict[str, float]:
        """Groups that got their minimum, in the order of keys."""
        return dict(sorted(self._met_at.items()))
