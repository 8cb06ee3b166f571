"""The overlay of evictions that we requested, and the nominations of the jobs they are for.

A victim counts as terminating (Releasing) as soon as its eviction is requested, so that no session
requests it twice. The entry is removed when the pod is gone, or when the API server refused the
eviction, for example because of a disruption budget. A refused victim is exempt for
`EXEMPT_SECONDS`, or until a budget that covers it allows more. A write that was dropped because of
lost leadership is no refusal.

The job that a victim was evicted for is *nominated*: the nodes of its simulated placement are
reserved for it (`reservations/redeem.py`) until it is bound or `NOMINATION_SECONDS` have passed. No
other pods are evicted for it for `EVICTION_COOLDOWN_SECONDS`. If only some of the victims
terminated, the nomination is *incomplete*: the resources that they freed stay reserved, and other
victims may be chosen at once. A restarted scheduler finds the victims among the pods being deleted,
and the nominations on the waiting pods.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from vc.model.values.backoff import exponential_seconds
from vc.scheduling.cache.quotas_and_budgets import BudgetRow
from vc.scheduling.model.decisions import Eviction, Takeover
from vc.scheduling.model.nominations import Nomination, nomination, nomination_on_pods
from vc.scheduling.model.rows import ALLOCATED, GroupRow, PodRow, TaskStatus

EVICTION_COOLDOWN_SECONDS: Final = 10.0
"""For how long no other pods are evicted for a job after an eviction; it prevents endless evictions."""

NOMINATION_SECONDS: Final = 600.0
"""How long a reservation lasts. It is longer than the usual grace period of pods."""

EXEMPT_SECONDS: Final = 60.0
"""For how long a pod is exempt after its eviction was refused."""


REPLAN_SECONDS_FIRST: Final = 1.0
"""The delay until other victims are requested for a job after a refusal. It doubles with each
refusal, up to `EVICTION_COOLDOWN_SECONDS`, so that the protected pods of a cluster are not all
tried in quick succession."""


class Replan(NamedTuple):
    """The backoff of a job whose victims were refused."""

    failures: int
    until: float


class RefusedVictim(NamedTuple):
    """A pod that the API server did not evict."""

    key: str
    until: float


class Evictions:
    """Requested evictions, refused victims and nominations."""

    def __init__(self) -> None:
        self._before: dict[str, TaskStatus] = {}
        """By uid: the status of the pod when its eviction was requested."""
        self._refused: dict[str, RefusedVictim] = {}
        """By uid."""
        self._release_backoff: dict[str, float] = {}
        """By half-bound gang whose members the API server did not evict: when their release is
        tried again."""
        self._replans: dict[str, Replan] = {}
        """By group, until it is bound or deleted."""
        self._nominated: dict[str, Nomination] = {}
        """By group; bounded by the groups that had pods evicted within `NOMINATION_SECONDS`."""

    def over(self, row: PodRow) -> PodRow:
        """The row with the overlay. It has no effect once the fact itself shows the deletion."""
        # Only an allocated pod can be terminating because of us. A pod that has finished by itself
        # frees its node anyway.
        if row.uid in self._before and row.status in ALLOCATED:
            return msgspec.structs.replace(row, status=TaskStatus.RELEASING)
        return row

    def begin(self, row: PodRow) -> PodRow:
        """The eviction of a pod is requested."""
        # A pod that is terminating already needs no overlay.
        if row.status in ALLOCATED:
            self._before[row.uid] = row.status
        return self.over(row)

    def undo(self, row: PodRow, *, now: float | None) -> PodRow:
        """The pod was not evicted; with `now` the API server refused, and the pod becomes exempt."""
        if now is not None:
            self._refused[row.uid] = RefusedVictim(row.key, now + EXEMPT_SECONDS)
        before = self._before.pop(row.uid, None)
        # The fact may have changed meanwhile, and then counts as it is.
        if before is None or row.status is not TaskStatus.RELEASING:
            return row
        return msgspec.structs.replace(row, status=before)

    def release_refused(self, group: str, *, now: float) -> None:
        """Members of a half-bound gang were not evicted."""
        self._release_backoff[group] = now + EXEMPT_SECONDS

    def budget_loosened(self, budget: BudgetRow, pods: Mapping[str, PodRow]) -> None:
        """Pods that the budget covered are no longer exempt."""
        for uid, victim in list(self._refused.items()):
            pod = pods.get(victim.key)
            if pod is None or budget.covers(pod):
                del self._refused[uid]
        # A budget names pods, not gangs. Within its namespace any gang may profit, and a needless
        # attempt costs one refused request.
        for group in [g for g in self._release_backoff if _namespace(g) == budget.namespace]:
            del self._release_backoff[group]
        # Any job may find victims among these pods, so no job waits longer.
        self._replans.clear()

    def pod_deleted(self, uid: str) -> None:
        self._before.pop(uid, None)
        self._refused.pop(uid, None)

    def nominate(self, eviction: Eviction, *, now: float) -> None:
        """Record the nomination of a job for which pods are evicted."""
        known = self._nominated.get(eviction.group)
        made = nomination(
            eviction.reserved_nodes, uid=eviction.uid, since=now, after=eviction.after
        )
        if known is not None and known.uid == made.uid:  # resources freed before stay reserved
            made = msgspec.structs.replace(made, incomplete_since=known.incomplete_since)
        self._nominated[eviction.group] = made

    def evictions_refused(self, group: str, *, now: float) -> None:
        """The API server kept victims of a job. The job waits before other victims are requested."""
        known = self._replans.get(group)
        failures = known.failures + 1 if known else 1
        until = now + exponential_seconds(
            failures, first_seconds=REPLAN_SECONDS_FIRST, longest_seconds=EVICTION_COOLDOWN_SECONDS
        )
        self._replans[group] = Replan(failures, until)

    def victims_not_evicted(self, group: str, *, some_evicted: bool, now: float) -> bool:
        """Victims were not evicted. Returns whether the nomination continues, for what other
        victims freed."""
        known = self._nominated.get(group)
        if known is None:
            return False
        # Nothing was freed for the job, so nothing is reserved.
        if not some_evicted and known.incomplete_since is None:
            del self._nominated[group]
            return False
        # The time of an incomplete nomination starts only once; see `Nomination.begun`.
        since = now if known.incomplete_since is None else known.incomplete_since
        self._nominated[group] = msgspec.structs.replace(
            known, incomplete=True, incomplete_since=since
        )
        return True

    def take_over(self, takeover: Takeover, *, now: float) -> None:
        """End nominations, and transfer their nodes to another job unless it is bound already."""
        for group in takeover.lost:
            self.nomination_ended(group)
        # Without reserved nodes the group is bound in the same session and needs no reservation.
        if takeover.reserved_nodes:
            self._nominated[takeover.group] = nomination(
                takeover.reserved_nodes, uid=takeover.uid, since=now
            )

    def adopt(self, group: GroupRow, *, now: float) -> None:
        """Take over the nomination that the previous leader wrote on pods. A nomination of this
        process is newer, and is kept."""
        pods = [pod for run in group.runs for pod in run.pods]
        found = nomination_on_pods(pods, uid=group.uid, since=now)
        if found is not None:
            self._nominated.setdefault(group.key, found)

    def nomination_ended(self, group: str) -> None:
        """The nomination ends: the job was bound or deleted, or another job has its nodes."""
        self._nominated.pop(group, None)
        self._replans.pop(group, None)

    def expire_nominations(self, now: float) -> frozenset[str]:
        """Drop expired nominations, and return their groups."""
        # The groups are returned once, so that exactly one session withdraws the nominated nodes
        # from their pods.
        over = [g for g, n in self._nominated.items() if n.begun + NOMINATION_SECONDS <= now]
        for group in over:
            del self._nominated[group]
        return frozenset(over)

    def nominated(self) -> dict[str, Nomination]:
        """Nominations by group, sorted."""
        return dict(sorted(self._nominated.items()))

    def refused_victims(self, now: float) -> frozenset[str]:
        """Uids of pods that are exempt now."""
        self._refused = {uid: victim for uid, victim in self._refused.items() if victim.until > now}
        return frozenset(self._refused)

    def eviction_backoff(self, now: float) -> frozenset[str]:
        """Jobs for which no other victims are requested now. The number of failures is kept."""
        return frozenset(group for group, replan in self._replans.items() if replan.until > now)

    def release_backoff(self, now: float) -> frozenset[str]:
        """Gangs whose members are not released now."""
        self._release_backoff = {g: at for g, at in self._release_backoff.items() if at > now}
        return frozenset(self._release_backoff)

    def shift(self, seconds: float) -> None:
        """The clock was changed: all remaining times stay the same."""
        for uid, victim in self._refused.items():
            self._refused[uid] = victim._replace(until=victim.until + seconds)
        for group, until in self._release_backoff.items():
            self._release_backoff[group] = until + seconds
        for group, replan in self._replans.items():
            self._replans[group] = replan._replace(until=replan.until + seconds)
        for group, known in self._nominated.items():
            self._nominated[group] = known.shifted(seconds)

    def expiries(self) -> list[float]:
        """When a victim may be requested again, or a nomination changes its effect."""
        return [
            *(victim.until for victim in self._refused.values()),
            *self._release_backoff.values(),
            *(replan.until for replan in self._replans.values()),
            *(known.since + EVICTION_COOLDOWN_SECONDS for known in self._nominated.values()),
            *(known.begun + NOMINATION_SECONDS for known in self._nominated.values()),
        ]


def _namespace(group: str) -> str:
    return group.partition("/")[0]
