"""What the scheduler said lately: a bounded memory of sessions and of who waits and why.

Records come from several partitions, so they may come out of order and twice; of one leader the time a
session started decides whose word on a group is the last. A new leader knows nothing of what the one
before it said, and so never takes it back: its word counts more, and when it has spoken of everybody who
waits, what is left of older leaders is forgotten.

Whoever shows a word asks the view too (`jobs.true_words`): a group may have started, or be gone, with
nobody left to say so.
"""

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from vc_dashboard.logic.answers import SessionList, SessionRow
from vc_messages.sessions import JobReason, SessionRecord

SESSIONS_MAX: Final = 1_000
"""Sessions that are remembered, as many as the ring holds; the oldest go first."""

GROUPS_MAX: Final = 50_000
"""Groups that wait whose last word is remembered."""

RESOLVED_MAX: Final = 10_000
"""Groups that no longer wait, remembered so that an older word that comes late does not count; they have
a bound of their own, because none of them is worth a word on somebody who waits."""

SKEW_SECONDS_MAX: Final = 60.0
"""Clocks of two leaders differ by less. A leader of a lower epoch that speaks so much later than all
others is no straggler: the Lease was deleted, and epochs begin at 1 again."""


class _Word(msgspec.Struct, frozen=True):
    leader: int
    at: float
    reason: JobReason | None
    """None: it no longer waits."""


class SessionMemory:
    """Recent sessions, and the last word on each group."""

    def __init__(self) -> None:
        self._sessions: dict[str, SessionRow] = {}
        self._words: dict[str, _Word] = {}
        """Of those that wait."""
        self._resolved: dict[str, _Word] = {}
        """Of those that do not. Invariant: no group is in both."""
        self._leader = 0
        """The epoch of the one that leads."""
        self._spoke_at = float("-inf")
        self._own = 0
        """Words that the leader said. Invariant: as many of `_words` are its."""
        self._alone = False
        """The leader has spoken of everybody who waits: nobody else's word counts any more."""

    def take(self, record: SessionRecord) -> None:
        """Remember a session."""
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
            return  # a straggler
        for group in record.resolved:
            self._hear(group, _Word(leader, at, None))
        for reason in record.reasons:
            self._hear(reason.group, _Word(leader, at, reason))
        if leader == self._leader and not self._alone and self._own >= record.waiting:
            self._alone = True
            said = self._words.items()
            self._words = {group: word for group, word in said if word.leader == leader}

    def _hear(self, group: str, word: _Word) -> None:
        known = self._words.get(group) or self._resolved.get(group)
        if known is not None and self._weight(known) > self._weight(word):
            return
        self._drop(group)
        if word.reason is None:
            self._resolved[group] = word
            if len(self._resolved) > RESOLVED_MAX:
                del self._resolved[next(iter(self._resolved))]
            return
        self._words[group] = word
        self._own += word.leader == self._leader
        if len(self._words) > GROUPS_MAX:
            self._drop(next(iter(self._words)))

    def _weight(self, word: _Word) -> tuple[bool, float]:
        return (word.leader == self._leader, word.at)

    def _drop(self, group: str) -> None:
        self._resolved.pop(group, None)
        gone = self._words.pop(group, None)
        self._own -= gone is not None and gone.leader == self._leader

    def reasons(self) -> Mapping[str, JobReason]:
        """Who waits, and why, as it was last said."""
        return {group: w.reason for group, w in self._words.items() if w.reason is not None}

    def recent(self, *, limit: int, stale: str, kept: Collection[str] = ()) -> SessionList:
        """The newest sessions first, marked with whether they are in the ring."""
        rows = sorted(self._sessions.values(), key=lambda s: (-s.started_at, s.session_id))
        marked = [msgspec.structs.replace(row, kept=row.session_id in kept) for row in rows[:limit]]
        return SessionList(sessions=marked, total=len(rows), stale=stale)


def leader_of(session_id: str) -> int:
    """The epoch of the leader whose session it was (ids are `epoch-number`); 0 of any other id."""
    epoch = session_id.partition("-")[0]
    return int(epoch) if epoch.isascii() and epoch.isdecimal() and len(epoch) <= 18 else 0


def row_of(record: SessionRecord, *, kept: bool = False) -> SessionRow:
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
        kept=kept,
    )
