"""Evictions we asked for, over the facts, and whom they were for.

A victim counts as leaving (Releasing) as soon as we ask, so that no session asks twice; it leaves the
overlay when it is gone, or when the API server did not evict it (a disruption budget, say): then it
is spared for `SPARE_SECONDS`. The job it was for is *nominated*: the room of its trial is held for it
(`promises.py`) until it is bound or `NOMINATION_SECONDS` have passed, and it has nobody else evicted for
`EVICTION_COOLDOWN_SECONDS`. A restarted scheduler finds the victims in the pods that are being deleted,
and the promises in the pods that wait for them.
"""

from typing import Final

import msgspec

from vc_scheduler.logic.decisions import Eviction, Takeover
from vc_scheduler.logic.nominations import Nomination, nomination
from vc_scheduler.logic.rows import ALLOCATED, PodRow, Task

EVICTION_COOLDOWN_SECONDS: Final = 10.0
"""A job that had pods evicted has no others evicted for so long: no endless evictions."""

NOMINATION_SECONDS: Final = 600.0
"""How long room is held for a job; longer than the grace that pods usually have to end."""

SPARE_SECONDS: Final = 60.0
"""A pod that could not be evicted is not asked for again for so long."""


class Evictions:
    """Our overlay of evictions."""

    def __init__(self) -> None:
        self._before: dict[str, Task] = {}
        """By uid: what the pod was when we asked."""
        self._spared: dict[str, float] = {}
        """By uid: until when."""
        self._nominated: dict[str, Nomination] = {}
        """By group; bounded by the groups that had pods evicted within `NOMINATION_SECONDS`."""

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

    def unspare(self, uid: str) -> None:
        """It stays because nobody needs its room any more: whoever does may ask for it."""
        self._spared.pop(uid, None)

    def gone(self, uid: str) -> None:
        self._before.pop(uid, None)
        self._spared.pop(uid, None)

    def nominate(self, eviction: Eviction, *, now: float) -> None:
        """Pods were evicted for a job, which was told where it will lie."""
        self._nominated[eviction.group] = nomination(
            eviction.places, uid=eviction.uid, since=now, after=eviction.after
        )

    def take_over(self, takeover: Takeover, *, now: float) -> None:
        """Promises end, and what they spoke of is promised to another, unless it is bound already."""
        for group in takeover.lost:
            self.settled(group)
        if takeover.places:
            self._nominated[takeover.group] = nomination(
                takeover.places, uid=takeover.uid, since=now
            )

    def adopt(self, group: str, told: Nomination) -> None:
        """A predecessor promised this; what we promised ourselves is newer."""
        self._nominated.setdefault(group, told)

    def settled(self, group: str) -> None:
        """The job was bound or is gone, or another has its room."""
        self._nominated.pop(group, None)

    def give_up(self, now: float) -> frozenset[str]:
        """Forget promises whose time has passed; whose they were."""
        over = [g for g, n in self._nominated.items() if n.since + NOMINATION_SECONDS <= now]
        for group in over:
            del self._nominated[group]
        return frozenset(over)

    def nominated(self) -> dict[str, Nomination]:
        """Jobs that were promised room."""
        return dict(sorted(self._nominated.items()))

    def spared(self, now: float) -> frozenset[str]:
        """Uids not to be asked for now."""
        for uid in [uid for uid, until in self._spared.items() if until <= now]:
            del self._spared[uid]
        return frozenset(self._spared)
