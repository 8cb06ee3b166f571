"""Epochs never go back: the watcher's within an incarnation, the scheduler's over all its sessions.

The watcher's epoch is part of its progress and arrives in order. The scheduler's epoch is part of
the ids of its sessions, which come from many partitions in any order. So the check is that an id
stands for one session: a leader with an epoch that was used before numbers its sessions from the
beginning and repeats the ids of the other leader.
"""

from typing import Final

from vc.messages.sessions import SessionRecord

SESSIONS_REMEMBERED_MAX: Final = 10_000
"""Limit of remembered sessions. The oldest are dropped first."""
REPORTED_MAX: Final = 100
"""Limit of remembered violations. The oldest are kept, because they explain the others."""


class EpochMemory:
    """Observed epochs since the topics were last read from their beginning."""

    def __init__(self) -> None:
        self._sessions: dict[str, float] = {}
        """Start time by session id, of the scheduler's clock. It is only compared for equality."""
        self._incarnation = ""
        self._epoch = -1
        self.went_back: list[str] = []
        """One sentence per violation."""

    @property
    def checked(self) -> int:
        """Number of epochs that were checked."""
        return len(self._sessions) + (self._epoch >= 0)

    def take_session(self, record: SessionRecord) -> None:
        """Check a session record. The same record may arrive again."""
        known = self._sessions.setdefault(record.session_id, record.started_at)
        # The same id with another start time means that two leaders used one epoch.
        if known != record.started_at:
            epoch = record.session_id.partition("-")[0]
            self._note(
                f"scheduler: session {record.session_id} was held twice, so epoch {epoch} was"
            )
        if len(self._sessions) > SESSIONS_REMEMBERED_MAX:
            del self._sessions[next(iter(self._sessions))]

    def take_progress(self, incarnation: str, epoch: int) -> None:
        """Check the newest progress. A new incarnation starts a new sequence."""
        # A new incarnation starts its own sequence of epochs.
        if incarnation == self._incarnation and epoch < self._epoch:
            self._note(f"watcher: epoch {epoch} came after {self._epoch}")
            return
        self._incarnation, self._epoch = incarnation, epoch

    def forget_sessions(self) -> None:
        """Drop the sessions, because they are read again from the beginning."""
        self._sessions.clear()

    def _note(self, sentence: str) -> None:
        # The first sentences are kept, because they explain the others.
        if sentence not in self.went_back and len(self.went_back) < REPORTED_MAX:
            self.went_back.append(sentence)
