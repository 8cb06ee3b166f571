"""Evictions we asked for, over the facts, and whom they were for.

A victim counts as leaving (Releasing) as soon as we ask, so that no session asks twice; it leaves the
overlay when it is gone, or when the API server did not evict it (a disruption budget, say): then it
is spared for `SPARE_SECONDS`, or until a budget that covers it allows more. A write that was dropped
because we no longer lead is no refusal. The job it was for is *nominated*: the room of its trial is held for it
(`promises.py`) until it is bound or `NOMINATION_SECONDS` have passed, and it has nobody else evicted for
`EVICTION_COOLDOWN_SECONDS`. Where only some of the victims left, the nomination is *incomplete*: what they
freed stays reserved, and other victims may be chosen at once. A restarted scheduler finds the victims in
the pods that are being deleted, and the promises in the pods that wait for them.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from vc_scheduler.logic.decisions import Eviction, Takeover
from vc_scheduler.logic.nominations import Nomination, nomination, told_nomination
from vc_scheduler.logic.policies import BudgetRow
from vc_scheduler.logic.rows import ALLOCATED, GroupRow, PodRow, Task

EVICTION_COOLDOWN_SECONDS: Final = 10.0
"""A job that had pods evicted has no others evicted for so long: no endless evictions."""

NOMINATION_SECONDS: Final = 600.0
"""How long room is held for a job; longer than the grace that pods usually have to end."""

SPARE_SECONDS: Final = 60.0
"""A pod that could not be evicted is not asked for again for so long."""


REPLAN_SECONDS_FIRST: Final = 1.0
"""After a refusal a job has other victims asked for so much later, each time twice as long, at most
`EVICTION_COOLDOWN_SECONDS`: a cluster full of protected pods is not asked for one after the other."""

_DOUBLINGS_MAX: Final = 8


class Replan(NamedTuple):
    """A job whose victims were refused."""

    failures: int
    until: float


class Spared(NamedTuple):
    """A pod that the API server did not evict."""

    key: str
    until: float


class Evictions:
    """Our overlay of evictions."""

    def __init__(self) -> None:
        self._before: dict[str, Task] = {}
        """By uid: what the pod was when we asked."""
        self._spared: dict[str, Spared] = {}
        """By uid."""
        self._release_backoff: dict[str, float] = {}
        """By half-bound gang whose members the API server kept: when their release is tried again."""
        self._replans: dict[str, Replan] = {}
        """By group, until it is bound or gone."""
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

    def undo(self, row: PodRow, *, now: float | None) -> PodRow:
        """It was not evicted; with `now` the API server refused, and it is spared."""
        if now is not None:
            self._spared[row.uid] = Spared(row.key, now + SPARE_SECONDS)
        before = self._before.pop(row.uid, None)
        if before is None or row.status is not Task.RELEASING:
            return row
        return msgspec.structs.replace(row, status=before)

    def release_refused(self, group: str, *, now: float) -> None:
        """Members of a half-bound gang were not evicted."""
        self._release_backoff[group] = now + SPARE_SECONDS

    def budget_loosened(self, budget: BudgetRow, pods: Mapping[str, PodRow]) -> None:
        """Pods that the budget covered may be asked for at once."""
        for uid, spared in list(self._spared.items()):
            pod = pods.get(spared.key)
            if pod is None or budget.covers(pod):
                del self._spared[uid]
        for group in [g for g in self._release_backoff if _namespace(g) == budget.namespace]:
            del self._release_backoff[group]
        self._replans.clear()

    def gone(self, uid: str) -> None:
        self._before.pop(uid, None)
        self._spared.pop(uid, None)

    def nominate(self, eviction: Eviction, *, now: float) -> None:
        """Pods are evicted for a job, which is told where it will lie."""
        known = self._nominated.get(eviction.group)
        made = nomination(eviction.places, uid=eviction.uid, since=now, after=eviction.after)
        if known is not None and known.uid == made.uid:  # what was freed before is still owed to it
            made = msgspec.structs.replace(made, incomplete_since=known.incomplete_since)
        self._nominated[eviction.group] = made

    def evictions_refused(self, group: str, *, now: float) -> None:
        """The API server kept victims of a job, which waits before others are asked for."""
        known = self._replans.get(group)
        failures = known.failures + 1 if known else 1
        rest = REPLAN_SECONDS_FIRST * (1 << min(failures - 1, _DOUBLINGS_MAX))
        until = now + min(rest, EVICTION_COOLDOWN_SECONDS)
        self._replans[group] = Replan(failures, until)

    def victims_stay(self, group: str, *, some_left: bool, now: float) -> bool:
        """Victims were not evicted; whether the nomination goes on, for what others of them freed."""
        known = self._nominated.get(group)
        if known is None:
            return False
        if not some_left and known.incomplete_since is None:
            del self._nominated[group]
            return False
        since = now if known.incomplete_since is None else known.incomplete_since
        self._nominated[group] = msgspec.structs.replace(
            known, incomplete=True, incomplete_since=since
        )
        return True

    def take_over(self, takeover: Takeover, *, now: float) -> None:
        """Promises end, and what they spoke of is promised to another, unless it is bound already."""
        for group in takeover.lost:
            self.settled(group)
        if takeover.places:
            self._nominated[takeover.group] = nomination(
                takeover.places, uid=takeover.uid, since=now
            )

    def adopt(self, group: GroupRow, *, now: float) -> None:
        """What a predecessor told the pods of; what we promised ourselves is newer."""
        pods = [pod for run in group.runs for pod in run.pods]
        told = told_nomination(pods, uid=group.uid, since=now)
        if told is not None:
            self._nominated.setdefault(group.key, told)

    def settled(self, group: str) -> None:
        """The job was bound or is gone, or another has its room."""
        self._nominated.pop(group, None)
        self._replans.pop(group, None)

    def give_up(self, now: float) -> frozenset[str]:
        """Forget promises whose time has passed; whose they were."""
        over = [g for g, n in self._nominated.items() if n.begun + NOMINATION_SECONDS <= now]
        for group in over:
            del self._nominated[group]
        return frozenset(over)

    def nominated(self) -> dict[str, Nomination]:
        """Jobs that were promised room."""
        return dict(sorted(self._nominated.items()))

    def spared(self, now: float) -> frozenset[str]:
        """Uids not to be asked for now."""
        self._spared = {uid: spared for uid, spared in self._spared.items() if spared.until > now}
        return frozenset(self._spared)

    def eviction_backoff(self, now: float) -> frozenset[str]:
        """Jobs for which no other victims are to be asked for now; how often they failed stays known."""
        return frozenset(group for group, replan in self._replans.items() if replan.until > now)

    def release_backoff(self, now: float) -> frozenset[str]:
        """Gangs whose members are not to be released now."""
        self._release_backoff = {g: at for g, at in self._release_backoff.items() if at > now}
        return frozenset(self._release_backoff)

    def shift(self, seconds: float) -> None:
        """The clock was set: nothing waits longer or shorter for that."""
        for uid, spared in self._spared.items():
            self._spared[uid] = spared._replace(until=spared.until + seconds)
        for group, until in self._release_backoff.items():
            self._release_backoff[group] = until + seconds
        for group, replan in self._replans.items():
            self._replans[group] = replan._replace(until=replan.until + seconds)
        for group, known in self._nominated.items():
            self._nominated[group] = known.shifted(seconds)

    def expiries(self) -> list[float]:
        """When a victim may be asked for again, or a nomination counts for less."""
        return [
            *(spared.until for spared in self._spared.values()),
            *self._release_backoff.values(),
            *(replan.until for replan in self._replans.values()),
            *(known.since + EVICTION_COOLDOWN_SECONDS for known in self._nominated.values()),
            *(known.begun + NOMINATION_SECONDS for known in self._nominated.values()),
        ]


def _namespace(group: str) -> str:
    return group.partition("/")[0]
