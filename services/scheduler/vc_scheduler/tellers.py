"""Tells people: pod group statuses, queue figures, events.

Conditions of pods and events that many objects get at once go through `background_writer.py`. A few tellers share one line (`logic/telling_line.py`). Their requests at the API server stand behind those
of the writers who bind and evict, except for a share that is kept for them. What could not be told is decided anew, together with
whatever was decided on it since.
"""

import asyncio
import hashlib
from typing import Final

from vc_messages.effects import RecordEvent
from vc_model.kinds import PODGROUPS
from vc_model.meta import object_key
from vc_runtime.applying.slots import Slots
from vc_runtime.context import Context
from vc_runtime.effects import EffectApplier, Lease, OutcomeStatus
from vc_scheduler.background_writer import BackgroundWriter, View
from vc_scheduler.logic.columns import Columns
from vc_scheduler.logic.commands import queue_effect, refusal_event, status_effect
from vc_scheduler.logic.decisions import QueueAllocated, StatusChange
from vc_scheduler.logic.pod_status.effects import gang_scheduled, job_waits
from vc_scheduler.logic.telling_line import Taken, TellingLine, Word, rest_seconds

TELLERS: Final = 8
"""Requests under way at a time, at most."""
OTHERS_FIRST: Final = 2
"""Of these, tellers who serve words that nobody waits for first."""
REST_SECONDS_MIN: Final = 0.001
"""A shorter wait may be none at all to a clock."""


class Tellers:
    """The mouth of the scheduler."""

    def __init__(
        self,
        context: Context,
        columns: Columns,
        *,
        lease: Lease,
        slots: Slots,
        wanted: asyncio.Event,
        view: View,
    ) -> None:
        self._context = context
        self._applier = EffectApplier(context, lease=lease, slots=slots)
        self._columns = columns
        self._wanted = wanted
        self._view = view
        self._line = TellingLine()
        self._news = asyncio.Event()
        self.background = BackgroundWriter(
            context, columns, applier=self._applier, wanted=wanted, view=view
        )
        self._unsaid = 0
        """Events that found no room in the line, since it was last said."""

    def __len__(self) -> int:
        return len(self._line)

    def status(self, change: StatusChange, *, let_in: bool = False, epoch: int) -> None:
        """Write a group's status; others wait for one that lets it in."""
        key = _group_line(object_key(change.namespace, change.name))
        self._put(key, change, epoch, rest_seconds=rest_seconds(change), awaited=let_in)

    def queue(self, allocated: QueueAllocated, *, epoch: int) -> None:
        """Write what a queue has."""
        self._put(f"queue {allocated.queue}", allocated, epoch)

    def event(self, event: RecordEvent, *, epoch: int) -> None:
        """Record it, unless too many wait."""
        said = f"{event.uid} {event.reason} {event.message}"
        self._put("event " + hashlib.sha256(said.encode()).hexdigest(), event, epoch)

    def _put(
        self,
        key: str,
        word: Word,
        epoch: int,
        *,
        rest_seconds: float = 0.0,
        awaited: bool = False,
    ) -> None:
        due = self._context.clock.monotonic() + rest_seconds
        if not self._line.put(key, word, due=due, awaited=awaited, epoch=epoch):
            self._unsaid += 1
        elif self._unsaid and isinstance(word, RecordEvent):
            self._context.log.warning("%d events were not told: too many wait", self._unsaid)
            self._unsaid = 0
        self._news.set()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.background.run())
            for number in range(TELLERS):
                group.create_task(self._tell_all(awaited_first=number >= OTHERS_FIRST))

    async def _tell_all(self, *, awaited_first: bool) -> None:
        while True:
            key, word, epoch = await self._next(awaited_first=awaited_first)
            try:
                await self._tell(key, word, epoch)
            finally:
                self._line.done(key)
                self._news.set()

    async def _next(self, *, awaited_first: bool) -> Taken:
        while True:
            now = self._context.clock.monotonic()
            taken = self._line.take(now=now, awaited_first=awaited_first)
            if taken is not None:
                return taken
            self._news.clear()
            due = self._line.next_due()
            try:
                rest = None if due is None else max(REST_SECONDS_MIN, due - now)
                async with asyncio.timeout(rest):
                    await self._news.wait()
            except TimeoutError:
                continue

    async def _tell(self, key: str, word: Word, epoch: int) -> None:
        match word:
            case StatusChange():
                await self._write_status(key, word, epoch)
            case QueueAllocated():
                outcome = (await self._applier.apply([queue_effect(word)], epoch=epoch))[0]
                if outcome.status is OutcomeStatus.UNAVAILABLE:  # decided again, at its own pace
                    self._wanted.set()
            case RecordEvent():
                await self._applier.apply([word], epoch=epoch)

    async def _write_status(self, key: str, change: StatusChange, epoch: int) -> None:
        group = object_key(change.namespace, change.name)
        known = self._view(PODGROUPS, group)
        if known is None or known.metadata.uid != change.uid:
            self._columns.status_failed(group, change.uid, status=change.status)
            return  # it is gone: there is nobody left to tell
        outcome = (await self._applier.apply([status_effect(change)], epoch=epoch))[0]
        if outcome.status is not OutcomeStatus.DONE or outcome.written is None:
            self._not_written(key, group, change)
            return
        version, now = outcome.written["metadata"]["resourceVersion"], self._context.clock.now()
        self._columns.status_written(
            group, change.uid, status=change.status, version=version, now=now
        )
        self._line.written(key, version)
        if change.refusal:
            await self._applier.apply([refusal_event(change)], epoch=epoch)
            self.background.events(job_waits(known, change.refusal), epoch=epoch)
        if change.scheduled:
            self.background.events(gang_scheduled(known, change.scheduled), epoch=epoch)

    def _not_written(self, key: str, group: str, change: StatusChange) -> None:
        """What was decided on a status that is not there is decided anew."""
        self._columns.status_failed(group, change.uid, status=change.status)
        newer = self._line.withdraw(key)
        if isinstance(newer, StatusChange):
            self._columns.status_failed(group, newer.uid, status=newer.status)
        self._wanted.set()


def _group_line(group: str) -> str:
    """Where a group's status stands in line."""
    return f"podgroup {group}"
