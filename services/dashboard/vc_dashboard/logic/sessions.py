"""What the scheduler said lately: a bounded memory of sessions and of who waits and why.

Records come from several partitions, so they may come out of order and twice; the time a session
started decides whose word on a group is the last.
"""

from collections.abc import Mapping
from typing import Final

from vc_dashboard.logic.answers import SessionList, SessionRow
from vc_messages.sessions import JobReason, SessionRecord

SESSIONS_MAX: Final = 500
"""Sessions that are remembered; the oldest go first."""

GROUPS_MAX: Final = 50_000
"""Groups whose last word is remembered."""


class SessionMemory:
    """Recent sessions, and the last word on each group."""

    def __init__(self) -> None:
        self._sessions: dict[str, SessionRow] = {}
        self._words: dict[str, tuple[float, JobReason | None]] = {}

    def take(self, record: SessionRecord) -> None:
        """Remember a session."""
        self._sessions[record.session_id] = row_of(record)
        if len(self._sessions) > SESSIONS_MAX:
            oldest = min(self._sessions.values(), key=lambda s: (s.started_at, s.session_id))
            del self._sessions[oldest.session_id]
        for group in record.resolved:
            self._hear(group, record.started_at, None)
        for reason in record.reasons:
            self._hear(reason.group, record.started_at, reason)

    def _hear(self, group: str, at: float, reason: JobReason | None) -> None:
        known = self._words.pop(group, None)
        newer = known is None or at >= known[0]
        self._words[group] = (at, reason) if newer or known is None else known
        if len(self._words) > GROUPS_MAX:
            del self._words[next(iter(self._words))]

    def reasons(self) -> Mapping[str, JobReason]:
        """Who waits, and why."""
        return {group: reason for group, (_, reason) in self._words.items() if reason is not None}

    def recent(self, *, limit: int, stale: str) -> SessionList:
        """The newest sessions first."""
        rows = sorted(self._sessions.values(), key=lambda s: (-s.started_at, s.session_id))
        return SessionList(sessions=rows[:limit], total=len(rows), stale=stale)


def row_of(record: SessionRecord) -> SessionRow:
    """A session in a list."""
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
    )
