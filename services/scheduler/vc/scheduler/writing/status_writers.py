"""Writes pod group statuses, queue status and events.

Conditions of pods, and events of many objects at once, go through `background_writer.py`. Several
workers share one coalescing queue (`vc/scheduling/status_queue.py`). Their requests come after
those of the writers that bind and evict, except for a number of slots that is reserved for them.
When a write fails, the next session decides again, including everything that was decided on top of
it.
"""

import asyncio
import hashlib
from typing import Final

from vc.messages.effects import RecordEvent
from vc.model.api.kinds import PODGROUPS
from vc.model.api.meta import object_key
from vc.runtime.applying.effects import EffectApplier, Lease, OutcomeStatus
from vc.runtime.applying.slots import Slots
from vc.runtime.hosting.context import Context
from vc.scheduler.writing.background_writer import BackgroundWriter, View
from vc.scheduling.cache.cluster_cache import ClusterCache
from vc.scheduling.effects import queue_effect, refusal_event, status_effect
from vc.scheduling.model.decisions import QueueAllocated, StatusChange
from vc.scheduling.pod_status.effects import gang_scheduled, job_waits
from vc.scheduling.status_queue import StatusQueue, StatusUpdate, Taken, rest_seconds

WRITERS: Final = 8
"""Number of status writers: at most this many concurrent requests."""
OTHERS_FIRST: Final = 2
"""Number of these that prefer updates on which no other service waits, so that those do not starve."""
REST_SECONDS_MIN: Final = 0.001
"""Shortest wait; a clock may not distinguish a shorter one from none."""


class StatusWriters:
    """Workers over the queue of status updates."""

    def __init__(
        self,
        context: Context,
        cache: ClusterCache,
        *,
        lease: Lease,
        slots: Slots,
        wanted: asyncio.Event,
        view: View,
    ) -> None:
        self._context = context
        self._applier = EffectApplier(context, lease=lease, slots=slots)
        self._cache = cache
        self._wanted = wanted
        self._view = view
        self._queue = StatusQueue()
        self._news = asyncio.Event()
        self.background = BackgroundWriter(
            context, cache, applier=self._applier, wanted=wanted, view=view
        )
        self._dropped = 0
        """Events dropped because the queue was full, since the last log line about it."""

    def __len__(self) -> int:
        return len(self._queue)

    def status(self, change: StatusChange, *, awaited: bool = False, epoch: int) -> None:
        """Queue the status of a group.

        An `awaited` status has precedence, because controllers act on it.
        """
        key = _status_key(object_key(change.namespace, change.name))
        self._put(key, change, epoch, rest_seconds=rest_seconds(change), awaited=awaited)

    def queue(self, allocated: QueueAllocated, *, epoch: int) -> None:
        """Queue the allocated amounts of a queue."""
        self._put(f"queue {allocated.queue}", allocated, epoch)

    def event(self, event: RecordEvent, *, epoch: int) -> None:
        """Queue an event, unless too many are queued."""
        # Equal events coalesce; a different message about the same object is a separate event.
        said = f"{event.uid} {event.reason} {event.message}"
        self._put("event " + hashlib.sha256(said.encode()).hexdigest(), event, epoch)

    def _put(
        self,
        key: str,
        update: StatusUpdate,
        epoch: int,
        *,
        rest_seconds: float = 0.0,
        awaited: bool = False,
    ) -> None:
        due = self._context.clock.monotonic() + rest_seconds
        if not self._queue.put(key, update, due=due, awaited=awaited, epoch=epoch):
            self._dropped += 1
        elif self._dropped and isinstance(update, RecordEvent):
            self._context.log.warning("events dropped: queue full dropped=%d", self._dropped)
            self._dropped = 0
        self._news.set()

    async def run(self) -> None:
        """Write status updates, several at once, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.background.run())
            for number in range(WRITERS):
                # Some writers prefer each class of updates, so that neither of the two can starve.
                group.create_task(self._write_all(awaited_first=number >= OTHERS_FIRST))

    async def _write_all(self, *, awaited_first: bool) -> None:
        while True:
            key, update, epoch = await self._next(awaited_first=awaited_first)
            try:
                await self._write(key, update, epoch)
            finally:
                self._queue.done(key)
                self._news.set()

    async def _next(self, *, awaited_first: bool) -> Taken:
        """Return the next update that is due."""
        while True:
            now = self._context.clock.monotonic()
            taken = self._queue.take(now=now, awaited_first=awaited_first)
            if taken is not None:
                return taken
            self._news.clear()
            due = self._queue.next_due()
            try:
                rest = None if due is None else max(REST_SECONDS_MIN, due - now)
                async with asyncio.timeout(rest):
                    await self._news.wait()
            except TimeoutError:
                continue

    async def _write(self, key: str, update: StatusUpdate, epoch: int) -> None:
        match update:
            case StatusChange():
                await self._write_status(key, update, epoch)
            case QueueAllocated():
                outcome = (await self._applier.apply([queue_effect(update)], epoch=epoch))[0]
                if outcome.status is OutcomeStatus.UNAVAILABLE:  # next session decides
                    self._wanted.set()
            case RecordEvent():
                await self._applier.apply([update], epoch=epoch)

    async def _write_status(self, key: str, change: StatusChange, epoch: int) -> None:
        """Write the status of a group, then its events."""
        group = object_key(change.namespace, change.name)
        known = self._view(PODGROUPS, group)
        if known is None or known.metadata.uid != change.uid:
            self._cache.status_failed(group, change.uid, status=change.status)
            return  # the group was deleted: there is no object to write to
        outcome = (await self._applier.apply([status_effect(change)], epoch=epoch))[0]
        if outcome.status is not OutcomeStatus.DONE or outcome.written is None:
            self._not_written(key, group, change)
            return
        version, now = outcome.written["metadata"]["resourceVersion"], self._context.clock.now()
        self._cache.status_written(
            group, change.uid, status=change.status, version=version, now=now
        )
        # A newer status in the queue must carry the version of this write, or it would conflict.
        self._queue.written(key, version)
        if change.refusal:
            await self._applier.apply([refusal_event(change)], epoch=epoch)
            self.background.events(job_waits(known, change.refusal), epoch=epoch)
        if change.scheduled:
            self.background.events(gang_scheduled(known, change.scheduled), epoch=epoch)

    def _not_written(self, key: str, group: str, change: StatusChange) -> None:
        """Drop the failed status, and a queued newer one that was decided on top of it."""
        self._cache.status_failed(group, change.uid, status=change.status)
        # The newer status was computed from the one that failed, so it may be wrong as well.
        newer = self._queue.withdraw(key)
        if isinstance(newer, StatusChange):
            self._cache.status_failed(group, newer.uid, status=newer.status)
        self._wanted.set()


def _status_key(group: str) -> str:
    """Return the key of a group's status in the queue."""
    return f"podgroup {group}"
