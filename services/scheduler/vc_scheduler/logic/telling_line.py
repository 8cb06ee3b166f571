"""What waits to be told: one word an object, the newest.

Statuses, queue figures and events stand in a line of their own, so that no bind ever waits behind
them. A word about an object that already stands in line takes the older one's place there: what was
decided since is written with it, in one request, and no word is put off twice. Words that others wait
for (a pod group is let in, and its pods are made then) go before the rest, except with the teller who
serves the rest first: neither sort can starve the other. An object is told one word at a time.

The line is bounded by the objects it speaks of; events, which are about anything, have a bound.
"""

import heapq
from typing import Final, NamedTuple

import msgspec

from vc_messages.effects import RecordEvent
from vc_scheduler.logic.decisions import QueueAllocated, StatusChange
from vc_scheduler.logic.phases import UNSCHEDULABLE, says_scheduled
from vc_scheduler.logic.rows import COMPLETED

EVENTS_WAITING_MAX: Final = 1_000
COMPLETED_REST_SECONDS: Final = 0.5
"""A job's pod group is deleted when its pods have finished, and then needs no last status. Groups that
stay say so half a second later; nobody acts on it."""

Word = StatusChange | QueueAllocated | RecordEvent


class _Waiting(msgspec.Struct):
    word: Word
    due: float
    awaited: bool
    epoch: int
    """Of the lease under which it was decided; the older one of words that were merged."""


class Taken(NamedTuple):
    """A word that is being told, and the lease epoch it was decided under."""

    key: str
    word: Word
    epoch: int


class TellingLine:
    """Words in the order they were first said, by object."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}
        """All that is not being told. Invariant: what is in no line below is busy or rests."""
        self._awaited: dict[str, None] = {}
        self._rest: dict[str, None] = {}
        self._resting: list[tuple[float, int, str]] = []
        """A heap; an entry counts only while its word has that time."""
        self._busy: set[str] = set()
        self._events = 0
        self._lined_up = 0
        """Keeps the order of words that are due at the same time."""

    def __len__(self) -> int:
        return len(self._waiting)

    def put(
        self, key: str, word: Word, *, due: float, awaited: bool = False, epoch: int = 0
    ) -> bool:
        """Say this of an object, not before `due`; False when too many events wait already."""
        older = self._waiting.get(key)
        if older is None and isinstance(word, RecordEvent):
            if self._events >= EVENTS_WAITING_MAX:
                return False
            self._events += 1
        if older is not None:
            word = _merged(older.word, word)
            due, awaited = min(older.due, due), older.awaited or awaited
            epoch = min(older.epoch, epoch)
        self._waiting[key] = _Waiting(word, due, awaited, epoch)
        if key not in self._busy:
            self._line_up(key)
        return True

    def take(self, *, now: float, awaited_first: bool) -> Taken | None:
        """The next word, which is being told from now on until it is `done`."""
        while self._resting and self._resting[0][0] <= now:
            due, _, key = heapq.heappop(self._resting)
            waiting = self._waiting.get(key)
            if waiting is not None and waiting.due == due and key not in self._busy:
                self._rest.setdefault(key)
        lines = (self._awaited, self._rest) if awaited_first else (self._rest, self._awaited)
        line = lines[0] or lines[1]
        if not line:
            return None
        key = next(iter(line))
        self._awaited.pop(key, None)
        self._rest.pop(key, None)
        self._busy.add(key)
        taken = self._waiting.pop(key)
        self._events -= isinstance(taken.word, RecordEvent)
        return Taken(key, taken.word, taken.epoch)

    def next_due(self) -> float | None:
        """When a word that rests may be told."""
        return self._resting[0][0] if self._resting else None

    def written(self, key: str, version: str) -> None:
        """The object has this version now: what was decided while it was not known holds for it."""
        waiting = self._waiting.get(key)
        if waiting is not None and isinstance(waiting.word, StatusChange):
            seen = waiting.word.seen_version or version
            waiting.word = msgspec.structs.replace(waiting.word, seen_version=seen)

    def done(self, key: str) -> None:
        """The word was told, or cannot be: the next one about the object may follow."""
        self._busy.discard(key)
        if key in self._waiting:
            self._line_up(key)

    def withdraw(self, key: str) -> Word | None:
        """Take the waiting word back: it rests on one that could not be told."""
        self._awaited.pop(key, None)
        self._rest.pop(key, None)
        waiting = self._waiting.pop(key, None)
        if waiting is None:
            return None
        self._events -= isinstance(waiting.word, RecordEvent)
        return waiting.word

    def _line_up(self, key: str) -> None:
        waiting = self._waiting[key]
        if waiting.awaited:
            self._rest.pop(key, None)
            self._awaited.setdefault(key)
        elif key not in self._rest:
            self._lined_up += 1
            heapq.heappush(self._resting, (waiting.due, self._lined_up, key))


def rest_seconds(change: StatusChange) -> float:
    """How long a status may wait for a newer one before it is told."""
    return COMPLETED_REST_SECONDS if change.status.phase == COMPLETED else 0.0


def _merged(older: Word, newer: Word) -> Word:
    """The newer word, with what it needs of the one that was never told."""
    if not isinstance(older, StatusChange) or not isinstance(newer, StatusChange):
        return newer
    if older.uid != newer.uid:
        return newer
    still = _is_refused(newer)
    return msgspec.structs.replace(
        newer,
        changes_conditions=older.changes_conditions or newer.changes_conditions,
        seen_version=older.seen_version or newer.seen_version,
        refusal=newer.refusal or (older.refusal if still else ""),
        scheduled=newer.scheduled or (older.scheduled if says_scheduled(newer.status) else 0),
    )


def _is_refused(change: StatusChange) -> bool:
    """Whether the status still says that there is no place; else nobody is to be told of it."""
    return any(c.type == UNSCHEDULABLE and c.status == "True" for c in change.status.conditions)
