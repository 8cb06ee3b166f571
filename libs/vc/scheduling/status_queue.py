"""The status queue: pending status writes, coalesced per object. The latest value wins.

Statuses, queue amounts and events have a queue of their own, so that no bind waits behind them. An
update for an object that is already in the queue replaces the older update at its position. So
later changes are written in the same request, and no update is delayed twice. Awaited updates, on
which other controllers wait (a pod group becomes Inqueue, and its pods are created then), come
before the others. Some status writers serve the other updates first, so that neither sort starves.
At most one update per object is being written at a time.

The length of the queue is bounded by the number of objects. Events have a limit of their own.
"""

import heapq
from typing import Final, NamedTuple

import msgspec

from vc.messages.effects import RecordEvent
from vc.scheduling.model.decisions import QueueAllocated, StatusChange
from vc.scheduling.model.pod_group_status import UNSCHEDULABLE, says_scheduled
from vc.scheduling.model.rows import COMPLETED

EVENTS_WAITING_MAX: Final = 1_000
COMPLETED_REST_SECONDS: Final = 0.5
"""Delay of a Completed status.

A vcjob's pod group is deleted when its pods have finished, so the write is usually not needed. No
controller acts on this status, so the delay does no harm for groups that remain.
"""

StatusUpdate = StatusChange | QueueAllocated | RecordEvent
"""One write about one object."""


class _Waiting(msgspec.Struct):
    """An update in the queue."""

    update: StatusUpdate
    due: float
    awaited: bool
    epoch: int
    """The epoch of the Lease under which it was decided; for merged updates the older epoch."""


class Taken(NamedTuple):
    """An update that is being written, and the epoch of the Lease under which it was decided."""

    key: str
    update: StatusUpdate
    epoch: int


class StatusQueue:
    """Status updates by object, in the order in which they were first put."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}
        """All updates that are not being written.

        Invariant: a key that is neither in `_awaited` nor in `_rest` is in `_busy` or `_resting`.
        """
        self._awaited: dict[str, None] = {}
        """Keys of awaited updates, in FIFO order."""
        self._rest: dict[str, None] = {}
        """Keys of other updates that are due, in FIFO order."""
        self._resting: list[tuple[float, int, str]] = []
        """A heap of updates by due time. An entry is valid only while its update has that time."""
        self._busy: set[str] = set()
        """Keys of objects with an update that is being written."""
        self._events = 0
        self._sequence = 0
        """A counter that keeps the order of updates with the same due time."""

    def __len__(self) -> int:
        return len(self._waiting)

    def put(
        self, key: str, update: StatusUpdate, *, due: float, awaited: bool = False, epoch: int = 0
    ) -> bool:
        """Put an update for an object, to be written not before `due`.

        It is merged with an update of the same key that waits. Returns False, and drops the update,
        if it is an event and too many events wait already.
        """
        older = self._waiting.get(key)
        if older is None and isinstance(update, RecordEvent):
            if self._events >= EVENTS_WAITING_MAX:
                return False
            self._events += 1
        if older is not None:
            # The merged update keeps the earlier due time, the awaited flag and the older epoch. So
            # repeated updates cannot delay a write, and a write decided under a lost Lease is not
            # applied.
            update = _merged(older.update, update)
            due, awaited = min(older.due, due), older.awaited or awaited
            epoch = min(older.epoch, epoch)
        self._waiting[key] = _Waiting(update, due, awaited, epoch)
        # A busy key is put in order by `done`, so that two writes of one object never overlap.
        if key not in self._busy:
            self._schedule(key)
        return True

    def take(self, *, now: float, awaited_first: bool) -> Taken | None:
        """The next update that is due. Its key is busy until the caller calls `done`."""
        while self._resting and self._resting[0][0] <= now:
            due, _, key = heapq.heappop(self._resting)
            waiting = self._waiting.get(key)
            # The heap is not searched when an update is merged or withdrawn. An entry whose update
            # has another due time by now is stale, and is dropped here.
            if waiting is not None and waiting.due == due and key not in self._busy:
                self._rest.setdefault(key)
        # Each writer prefers one of the two orders, but takes from the other if its own is empty.
        orders = (self._awaited, self._rest) if awaited_first else (self._rest, self._awaited)
        order = orders[0] or orders[1]
        if not order:
            return None
        key = next(iter(order))
        # The key may be in both orders, and must not be taken a second time.
        self._awaited.pop(key, None)
        self._rest.pop(key, None)
        self._busy.add(key)
        taken = self._waiting.pop(key)
        self._events -= isinstance(taken.update, RecordEvent)
        return Taken(key, taken.update, taken.epoch)

    def next_due(self) -> float | None:
        """The earliest time at which a delayed update may be due; None if there is none."""
        return self._resting[0][0] if self._resting else None

    def written(self, key: str, version: str) -> None:
        """Record the resourceVersion of a written object for the update that waits for it.

        That update was decided while the write was under way, so it had no version yet.
        """
        waiting = self._waiting.get(key)
        if waiting is not None and isinstance(waiting.update, StatusChange):
            seen = waiting.update.seen_version or version
            waiting.update = msgspec.structs.replace(waiting.update, seen_version=seen)

    def done(self, key: str) -> None:
        """End the write of an object, successful or not, so that its next update may follow."""
        self._busy.discard(key)
        if key in self._waiting:
            self._schedule(key)

    def withdraw(self, key: str) -> StatusUpdate | None:
        """Remove and return the waiting update of a key; None if there is none.

        Called when a write failed on which the waiting update is based.
        """
        self._awaited.pop(key, None)
        self._rest.pop(key, None)
        waiting = self._waiting.pop(key, None)
        if waiting is None:
            return None
        self._events -= isinstance(waiting.update, RecordEvent)
        return waiting.update

    def _schedule(self, key: str) -> None:
        """Put a waiting key in order: awaited keys at once, others when they are due."""
        waiting = self._waiting[key]
        if waiting.awaited:
            self._rest.pop(key, None)
            self._awaited.setdefault(key)
        elif key not in self._rest:
            self._sequence += 1
            heapq.heappush(self._resting, (waiting.due, self._sequence, key))


def rest_seconds(change: StatusChange) -> float:
    """How long a status waits for a newer one before it is written."""
    return COMPLETED_REST_SECONDS if change.status.phase == COMPLETED else 0.0


def _merged(older: StatusUpdate, newer: StatusUpdate) -> StatusUpdate:
    """The newer update, with the parts of the unwritten older one that still have to be written."""
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
    """Whether the status still has the condition Unschedulable. Otherwise no event is needed."""
    return any(c.type == UNSCHEDULABLE and c.status == "True" for c in change.status.conditions)
