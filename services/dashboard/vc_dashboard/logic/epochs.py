"""Epochs never go back: the watcher's within an incarnation, the scheduler's over all its sessions.

The watcher's is told with its progress, in order. The scheduler's is in the ids of its sessions, which
come from many partitions in any order; so what counts is that an id stands for one session. A leader
whose epoch was given before counts its sessions from the beginning and meets the ids of the other.
"""

from typing import Final

from vc_messages.sessions import SessionRecord

SESSIONS_REMEMBERED_MAX: Final = 10_000
"""The oldest are forgotten first."""
TOLD_MAX: Final = 100
"""What went wrong that is remembered, the oldest first: it is what explains the rest."""


class EpochMemory:
    """What was seen of epochs since the topics were last read from their beginning."""

    def __init__(self) -> None:
        self._sessions: dict[str, float] = {}
        """Id to when the session began, by its scheduler's clock; only compared for being the same."""
        self._incarnation = ""
        self._epoch = -1
        self.went_back: list[str] = []
        """One sentence each."""

    @property
    def checked(self) -> int:
        """How many epochs were looked at, each time they were told."""
        return len(self._sessions) + (self._epoch >= 0)

    def take_session(self, record: SessionRecord) -> None:
        """A session that was told; the same one may come again."""
        known = self._sessions.setdefault(record.session_id, record.started_at)
        if known != record.started_at:
            epoch = record.session_id.partition("-")[0]
            self._note(
                f"scheduler: session {record.session_id} was held twice, so epoch {epoch} was"
            )
        if len(self._sessions) > SESSIONS_REMEMBERED_MAX:
            del self._sessions[next(iter(self._sessions))]

    def take_progress(self, incarnation: str, epoch: int) -> None:
        """How far the newest progress is; a new incarnation begins anew."""
        if incarnation == self._incarnation and epoch < self._epoch:
            self._note(f"watcher: epoch {epoch} came after {self._epoch}")
            return
        self._incarnation, self._epoch = incarnation, epoch

    def forget_sessions(self) -> None:
        """They are read again from the beginning."""
        self._sessions.clear()

    def _note(self, sentence: str) -> None:
        if sentence not in self.went_back and len(self.went_back) < TOLD_MAX:
            self.went_back.append(sentence)
