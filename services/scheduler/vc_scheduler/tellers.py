"""Tells people: pod group statuses, pods' conditions, queue figures, events.

A few tellers share one line (`logic/telling_line.py`) and requests of their own at the API server,
beside those of the writers who bind and evict. What could not be told is decided anew, together with
whatever was decided on it since.
"""

import asyncio
import hashlib
from collections.abc import Callable
from typing import Final

import msgspec

from vc_messages.effects import RecordEvent
from vc_model.meta import ApiObject, object_key
from vc_runtime.context import Context
from vc_runtime.effects import EffectApplier, OutcomeStatus
from vc_scheduler.logic.columns import Columns
from vc_scheduler.logic.commands import queue_effect, status_effect, telling_effects
from vc_scheduler.logic.decisions import QueueAllocated, StatusChange
from vc_scheduler.logic.telling_line import TellingLine, Word, rest_seconds

TELLERS: Final = 8
"""Requests under way at a time."""
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
        may_write: Callable[[], bool],
        wanted: asyncio.Event,
        group_of: Callable[[str], ApiObject | None],
    ) -> None:
        self._context = context
        self._applier = EffectApplier(context, may_write=may_write, concurrency=TELLERS)
        self._columns = columns
        self._wanted = wanted
        self._group_of = group_of
        self._line = TellingLine()
        self._news = asyncio.Event()
        self._at_pods: set[str] = set()
        """Groups of which a pod is just being told that it waits."""
        self._pod_told = asyncio.Event()
        """Set for a moment whenever one was."""
        self._unsaid = 0
        """Events that found no room in the line, since it was last said."""

    def __len__(self) -> int:
        return len(self._line)

    def status(self, change: StatusChange, *, let_in: bool = False) -> None:
        """Write a group's status; others wait for one that lets it in."""
        key = _group_line(object_key(change.namespace, change.name))
        self._put(key, change, rest_seconds=rest_seconds(change), awaited=let_in)

    def queue(self, allocated: QueueAllocated) -> None:
        """Write what a queue has."""
        self._put(f"queue {allocated.queue}", allocated)

    def event(self, event: RecordEvent) -> None:
        """Record it, unless too many wait."""
        said = f"{event.uid} {event.reason} {event.message}"
        self._put("event " + hashlib.sha256(said.encode()).hexdigest(), event)

    async def silent_about(self, group: str) -> None:
        """Until no pod of a group is just being told that it waits: whoever binds it must have the last
        word on its conditions. What stands in line looks at the pod again before it is told."""
        while group in self._at_pods:
            await self._pod_told.wait()

    def _put(
        self, key: str, word: Word, *, rest_seconds: float = 0.0, awaited: bool = False
    ) -> None:
        due = self._context.clock.monotonic() + rest_seconds
        if not self._line.put(key, word, due=due, awaited=awaited):
            self._unsaid += 1
        elif self._unsaid and isinstance(word, RecordEvent):
            self._context.log.warning("%d events were not told: too many wait", self._unsaid)
            self._unsaid = 0
        self._news.set()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(TELLERS):
                group.create_task(self._tell_all(awaited_first=number >= OTHERS_FIRST))

    async def _tell_all(self, *, awaited_first: bool) -> None:
        while True:
            key, word = await self._next(awaited_first=awaited_first)
            try:
                await self._tell(key, word)
            finally:
                self._line.done(key)
                self._news.set()

    async def _next(self, *, awaited_first: bool) -> tuple[str, Word]:
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

    async def _tell(self, key: str, word: Word) -> None:
        match word:
            case StatusChange():
                await self._write_status(key, word)
            case QueueAllocated():
                outcome = (await self._applier.apply([queue_effect(word)]))[0]
                if outcome.status is OutcomeStatus.UNAVAILABLE:  # decided again, at its own pace
                    self._wanted.set()
            case RecordEvent():
                await self._applier.apply([word])

    async def _write_status(self, key: str, change: StatusChange) -> None:
        group = object_key(change.namespace, change.name)
        known = self._group_of(group)
        if known is None or known.metadata.uid != change.uid:
            self._columns.status_failed(group, change.uid, status=change.status)
            return  # it is gone: there is nobody left to tell
        outcome = (await self._applier.apply([status_effect(change)]))[0]
        if outcome.status is not OutcomeStatus.DONE or outcome.written is None:
            self._not_written(key, group, change)
            return
        version, now = outcome.written["metadata"]["resourceVersion"], self._context.clock.now()
        self._columns.status_written(
            group, change.uid, status=change.status, version=version, now=now
        )
        self._line.written(key, version)
        await self._tell_refusal(group, self._still_waiting(change))

    async def _tell_refusal(self, group: str, change: StatusChange) -> None:
        if change.told is not None:
            self._at_pods.add(group)
        try:
            for effect in telling_effects(change):
                await self._applier.apply([effect])
        finally:
            self._at_pods.discard(group)
            self._pod_told.set()
            self._pod_told.clear()

    def _still_waiting(self, change: StatusChange) -> StatusChange:
        """Without the pod that stands for the gang, when it is no longer one that waits."""
        pod = change.told.pod if change.told is not None else None
        if pod is None or self._columns.bindable(object_key(pod.namespace, pod.name), pod.uid):
            return change
        return msgspec.structs.replace(change, told=None)

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
