"""A bounded memory of recent sessions, and of the reasons of waiting PodGroups.

Records come from several partitions, possibly out of order and twice. Among records of one leader
the start time of the session decides which reason is the latest. A new leader does not know what
the previous one reported and never withdraws it. Its reports take precedence, and when it has
reported every waiting PodGroup, reports of older leaders are dropped.

Readers must also check the view (`jobs.current_reasons`): a PodGroup may have started or be
gone without a further report.
"""

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from vc.dashboard.logic.answers.shapes import SessionList, SessionRow
from vc.messages.sessions import JobReason, SessionRecord

SESSIONS_MAX: Final = 1_000
"""Limit of remembered sessions, the size of the ring. The oldest are dropped first."""

GROUPS_MAX: Final = 50_000
"""Limit of waiting PodGroups whose latest report is remembered."""

RESOLVED_MAX: Final = 10_000
"""Limit of PodGroups that no longer wait.

They are remembered so that an older report that arrives late does not count. They have their own
limit, so that they do not displace reports of waiting PodGroups.
"""

SKEW_SECONDS_MAX: Final = 60.0
"""Upper bound of the clock difference of two leaders.

If a leader of a lower epoch reports later than this, it is not a late record: the Lease was
deleted, and epochs start at 1 again.
"""


class _RecordedReason(msgspec.Struct, frozen=True):
    leader: int
    at: float
    reason: JobReason | None
    """None: the PodGroup no longer waits."""


class SessionMemory:
    """Recent sessions, and the latest report of each PodGroup."""

    def __init__(self) -> None:
        self._sessions: dict[str, SessionRow] = {}
        self._reasons: dict[str, _RecordedReason] = {}
        """Reports of waiting PodGroups."""
        self._resolved: dict[str, _RecordedReason] = {}
        """Reports of PodGroups that no longer wait. Invariant: no PodGroup is in both."""
        self._leader = 0
        """The epoch of the current leader."""
        self._spoke_at = float("-inf")
        self._own = 0
        """Reports of the current leader. Invariant: the number of its entries in `_reasons`."""
        self._alone = False
        """The leader has reported every waiting PodGroup, so reports of others no longer count."""

    def take(self, record: SessionRecord) -> None:
        """Store a session, and the waiting groups of the leader that it is from."""
        self._sessions[record.session_id] = row_of(record)
        if len(self._sessions) > SESSIONS_MAX:
            oldest = min(self._sessions.values(), key=lambda s: (s.started_at, s.session_id))
            del self._sessions[oldest.session_id]
        leader, at = leader_of(record.session_id), record.started_at
        if leader > self._leader or (
            leader < self._leader and at > self._spoke_at + SKEW_SECONDS_MAX
        ):
            self._leader, self._own, self._alone = leader, 0, False
        self._spoke_at = max(self._spoke_at, at)
        if leader != self._leader and self._alone:
            return  # a late record of an earlier leader
        for group in record.resolved:
            self._hear(group, _RecordedReason(leader, at, None))
        for reason in record.reasons:
            self._hear(reason.group, _RecordedReason(leader, at, reason))
        # The record names how many wait, so the leader's own reports are complete at that number.
        if leader == self._leader and not self._alone and self._own >= record.waiting:
            self._alone = True
            said = self._reasons.items()
            self._reasons = {
                group: job_reason for group, job_reason in said if job_reason.leader == leader
            }

    def _hear(self, group: str, job_reason: _RecordedReason) -> None:
        known = self._reasons.get(group) or self._resolved.get(group)
        if known is not None and self._weight(known) > self._weight(job_reason):
            return
        self._drop(group)
        if job_reason.reason is None:
            self._resolved[group] = job_reason
            if len(self._resolved) > RESOLVED_MAX:
                del self._resolved[next(iter(self._resolved))]
            return
        self._reasons[group] = job_reason
        self._own += job_reason.leader == self._leader
        if len(self._reasons) > GROUPS_MAX:
            self._drop(next(iter(self._reasons)))

    def _weight(self, job_reason: _RecordedReason) -> tuple[bool, float]:
        return (job_reason.leader == self._leader, job_reason.at)

    def _drop(self, group: str) -> None:
        self._resolved.pop(group, None)
        gone = self._reasons.pop(group, None)
        self._own -= gone is not None and gone.leader == self._leader

    def reasons(self) -> Mapping[str, JobReason]:
        """The latest reason of each waiting PodGroup."""
        return {group: w.reason for group, w in self._reasons.items() if w.reason is not None}

    def recent(self, *, limit: int, stale: str, kept: Collection[str] = ()) -> SessionList:
        """The newest sessions first, with whether they are in the ring."""
        rows = sorted(self._sessions.values(), key=lambda s: (-s.started_at, s.session_id))
        marked = [msgspec.structs.replace(row, kept=row.session_id in kept) for row in rows[:limit]]
        return SessionList(sessions=marked, total=len(rows), stale=stale)


def leader_of(session_id: str) -> int:
    """The leader's epoch in a session id (`epoch-number`), or 0 for any other id."""
    epoch = session_id.partition("-")[0]
    return int(epoch) if epoch.isascii() and epoch.isdecimal() and len(epoch) <= 18 else 0


def row_of(record: SessionRecord, *, kept: bool = False) -> SessionRow:
    """A session as a row of a list."""
    return SessionRow(
        session_id=record.session_id,
        started_at=record.started_at,
        took_ms=record.took_ms,
        nodes=record.nodes,
        groups=record.groups,
        enqueued=len(record.enqueued),
        bound_pods=record.bound_pods,
        evicted=len(record.evicted),
        released=len(record.released),
        waiting=record.waiting,
        kept=kept,
    )
