"""Evictions we asked for, over the facts, and whom they were for.

A victim counts as leaving (Releasing) as soon as we ask, so that no session asks twice; it leaves the
overlay when it is gone, or when the API server did not evict it (a disruption budget, say): then it
is spared for `SPARE_SECONDS`. The job it was for is *nominated*: it is placed before others while the
room it was promised becomes free, and has nobody else evicted for `EVICTION_COOLDOWN_SECONDS`. This
lives in memory only: a restarted scheduler finds the same room in the pods that are being deleted.
"""

from typing import Final

import msgspec

from vc_scheduler.logic.rows import ALLOCATED, PodRow, Task

EVICTION_COOLDOWN_SECONDS: Final = 10.0
"""A job that had pods evicted has no others evicted for so long: no endless evictions."""

NOMINATION_SECONDS: Final = 120.0
"""How long the job goes first; longer than pods usually take to end."""

SPARE_SECONDS: Final = 60.0
"""A pod that could not be evicted is not asked for again for so long."""


class Evictions:
    """Our overlay of evictions."""

    def __init__(self) -> None:
        self._before: dict[str, Task] = {}
        """By uid: what the pod was when we asked."""
        self._spared: dict[str, float] = {}
        """By uid: until when."""
        self._nominated: dict[str, float] = {}
        """By group: since when."""

    def over(self, row: PodRow) -> PodRow:
        """The row with the overlay; once the fact says so itself the overlay is of no more use."""
        if row.uid in self._before and row.status in ALLOCATED:
            return msgspec.structs.replace(row, status=Task.RELEASING)
        return row

    def begin(self, row: PodRow) -> PodRow:
        """The pod is being evicted."""
        if row.status in ALLOCATED:
            self._before[row.uid] = row.status
        return self.over(row)

    def undo(self, row: PodRow, *, now: float) -> PodRow:
        """It was not evicted."""
        self._spared[row.uid] = now + SPARE_SECONDS
        before = self._before.pop(row.uid, None)
        if before is None or row.status is not Task.RELEASING:
            return row
        return msgspec.structs.replace(row, status=before)

    def gone(self, uid: str) -> None:
        self._before.pop(uid, None)
        self._spared.pop(uid, None)

    def nominate(self, group: str, *, now: float) -> None:
        """Pods were evicted for this job."""
        self._nominated[group] = now

    def settled(self, group: str) -> None:
        """The job was bound."""
        self._nominated.pop(group, None)

    def nominated(self, now: float) -> dict[str, float]:
        """Jobs that go first, and since when."""
        over = [g for g, since in self._nominated.items() if since + NOMINATION_SECONDS <= now]
        for group in over:
            del self._nominated[group]
        return dict(sorted(self._nominated.items()))

    def spared(self, now: float) -> frozenset[str]:
        """Uids not to be asked for now."""
        for uid in [uid for uid, until in self._spared.items() if until <= now]:
            del self._spared[uid]
        return frozenset(self._spared)
