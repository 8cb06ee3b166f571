"""Which of many jobs one session tries: a bounded number of them, and over time everybody.

A trial costs, so a session makes so many and no more, in the order of the jobs. When too many of them were
in vain, or those took too many pods off nodes and put them back, the last few go to those behind, from another
place in the row each time (the number of the session says which): jobs that never succeed cannot hide
the others for ever, nor keep sessions long. Those that succeed do not ask again. Equal questions are asked
once: what does not help one job does not help the next that asks for the same, as long as nothing has
changed.
"""

from collections.abc import Callable, Iterable, Iterator
from math import gcd
from typing import Final

from vc_model.bounded import read_version
from vc_scheduler.logic.rows import GroupRow
from vc_scheduler.logic.session import Session

TRIED_MAX: Final = 50
"""Trials per action and session."""

VAIN_MAX: Final = 40
"""Trials in vain before the others are for those behind."""

BEHIND_MAX: Final = TRIED_MAX - VAIN_MAX
"""How far, about, the place in the row moves on from one session to the next."""

VAIN_MOVES_MAX: Final = 50_000
"""Pods taken off nodes by trials in vain, likewise: on large clusters a single job's trials take tens of
thousands of them, at some microseconds each."""

BEHIND_MOVES_MAX: Final = 12_500
"""By trials of those behind; one of them is tried in any case."""

UNTRIED_SECONDS: Final = 5.0
"""After which a session goes on with those that had no trial, even if nothing happens."""

Question = Callable[[GroupRow], tuple[object, ...]]
"""What the answer for a job depends on."""


class Trials:
    """Counts the trials of an action, and remembers which questions were answered with no."""

    def __init__(self, session: Session, question: Question) -> None:
        self._session = session
        self._question = question
        self._tried = 0
        self._vain = 0
        self._vain_moves = 0
        self._moves_seen = session.moves
        self._failed: dict[tuple[object, ...], None] = {}
        self._questions: dict[str, tuple[int, tuple[object, ...]]] = {}
        """By job, with the state of the rooms in which that is its question."""

    def among(self, groups: Iterable[GroupRow]) -> Iterator[GroupRow]:
        """Those to be tried; whoever tries one says so with `tried`."""
        behind: list[GroupRow] = []
        for group in groups:
            if self.answered(group):
                continue
            if self._enough():
                behind.append(group)
            else:
                yield group
        moves_max = self._vain_moves + BEHIND_MOVES_MAX
        start = _start(_number(self._session), len(behind))
        for group in [*behind[start:], *behind[:start]]:
            if self.answered(group):
                continue
            if self._tried >= TRIED_MAX or self._vain_moves >= moves_max:
                self._session.wake(self._session.now + UNTRIED_SECONDS)
                return
            yield group

    def _enough(self) -> bool:
        """The others are for those behind."""
        return (
            self._vain >= VAIN_MAX or self._tried >= TRIED_MAX or self._vain_moves >= VAIN_MOVES_MAX
        )

    def answered(self, group: GroupRow) -> bool:
        """Whether one that asks the same was tried in vain."""
        return bool(self._failed) and self._asked(group) in self._failed

    def tried(self, group: GroupRow, *, helped: bool) -> None:
        """A trial was made."""
        self._tried += 1
        moves, self._moves_seen = self._session.moves - self._moves_seen, self._session.moves
        if not helped:
            self._vain += 1
            self._vain_moves += moves
            self.in_vain(group)

    def in_vain(self, group: GroupRow) -> None:
        """A trial would be in vain, so none was made."""
        self._failed[self._asked(group)] = None

    def _asked(self, group: GroupRow) -> tuple[object, ...]:
        known, state = self._questions.get(group.key), self._session.rooms.state
        if known is None or known[0] != state:
            known = self._questions[group.key] = (state, self._question(group))
        return known[1]

    def forget(self) -> None:
        """Something has changed that the questions do not tell."""
        self._failed.clear()


def _number(session: Session) -> int:
    """Of the session among those of its leader; 0 where its id has none."""
    last = session.snapshot.session_id.rpartition("-")[2]
    return read_version(last)


def _start(number: int, count: int) -> int:
    """Where a session begins among so many: far from the one before, and in `count` sessions everywhere."""
    step = BEHIND_MAX
    while gcd(step, max(1, count)) > 1:
        step += 1
    return number * step % max(1, count)
