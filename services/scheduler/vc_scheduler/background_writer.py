"""Writes that no decision waits for: conditions of waiting pods, then events about many objects.

They share the requests of the status writers and take few of them, at a bounded rate
(`logic/pod_status/background_queue.py`), so neither a bind nor a status waits for them. Each write looks at the
pod again first: one that has a node or is gone by then is left alone. What could not be written is
decided again by a later session, from the pod itself.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from vc_messages.effects import BindPod, RecordEvent
from vc_model.kinds import PODS, Kind
from vc_model.meta import ApiObject, object_key
from vc_model.pod import Pod
from vc_runtime.context import Context
from vc_runtime.effects import EffectApplier, OutcomeStatus
from vc_scheduler.logic.columns import Columns
from vc_scheduler.logic.decisions import PodRef, WaitingPods
from vc_scheduler.logic.pod_status.background_queue import (
    BackgroundQueue,
    BackgroundWrite,
    PodCondition,
    PodEvent,
)
from vc_scheduler.logic.pod_status.effects import (
    assigned,
    condition_patch,
    failed_scheduling,
    job_waits,
)

REQUESTS: Final = 2
"""Under way at a time, of those of the status writers."""
REST_SECONDS_MIN: Final = 0.001
"""A shorter wait may be none at all to a clock."""

View = Callable[[Kind, str], ApiObject | None]
"""The object of a kind and key as the facts have it."""


class BackgroundWriter:
    """Two workers over one queue."""

    def __init__(
        self,
        context: Context,
        columns: Columns,
        *,
        applier: EffectApplier,
        wanted: asyncio.Event,
        view: View,
    ) -> None:
        self._context = context
        self._columns = columns
        self._applier = applier
        self._wanted = wanted
        self._view = view
        self._queue = BackgroundQueue()
        self._news = asyncio.Event()

    def __len__(self) -> int:
        return len(self._queue)

    def waiting(
        self, waiting: WaitingPods, group: ApiObject | None, *, pod_events: bool, epoch: int
    ) -> None:
        """Write the condition of each pod, and with `pod_events` the event that shows it to people."""
        for pod in waiting.pods:
            key = object_key(pod.namespace, pod.name)
            self._queue.put(key, PodCondition(pod=pod, message=waiting.message), epoch)
            if pod_events:
                self._queue.put(key, PodEvent(pod=pod, message=waiting.message), epoch)
        if waiting.beyond and group is not None:
            self.events(job_waits(group, waiting.message), epoch=epoch)
        self._news.set()

    def assigned(self, binds: Iterable[BindPod], *, epoch: int) -> None:
        """Tell of each pod that it has a node."""
        self.events((assigned(bind) for bind in binds), epoch=epoch)

    def events(self, events: Iterable[RecordEvent], *, epoch: int) -> None:
        """Record these, of each object and reason the newest."""
        for event in events:
            self._queue.put(f"{event.uid} {event.reason}", event, epoch)
        self._news.set()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(REQUESTS):
                group.create_task(self._write_all())

    async def _write_all(self) -> None:
        while True:
            write, epoch = await self._next()
            await self._write(write, epoch)

    async def _next(self) -> tuple[BackgroundWrite, int]:
        while True:
            now = self._context.clock.monotonic()
            taken = self._queue.take(now)
            if taken is not None:
                return taken
            self._news.clear()
            rest = self._queue.rest_seconds(now)
            try:
                async with asyncio.timeout(None if rest is None else max(REST_SECONDS_MIN, rest)):
                    await self._news.wait()
            except TimeoutError:
                continue

    async def _write(self, write: BackgroundWrite, epoch: int) -> None:
        match write:
            case PodCondition():
                await self._write_condition(write, epoch)
            case PodEvent(pod=pod, message=message):
                if self._waits(pod):
                    await self._applier.apply([failed_scheduling(pod, message)], epoch=epoch)
            case RecordEvent():
                await self._applier.apply([write], epoch=epoch)

    async def _write_condition(self, condition: PodCondition, epoch: int) -> None:
        conditions, uid = self._columns.conditions, condition.pod.uid
        pod = self._view(PODS, object_key(condition.pod.namespace, condition.pod.name))
        if not self._waits(condition.pod) or not isinstance(pod, Pod):
            conditions.drop(uid)
            return
        now = self._context.clock.now()
        patch = condition_patch(pod, condition.message, now=now)
        if patch is None:
            conditions.drop(uid)
            return
        outcome = (await self._applier.apply([patch], epoch=epoch))[0]
        if outcome.status is OutcomeStatus.DONE and outcome.written is not None:
            conditions.written(uid, outcome.written["metadata"]["resourceVersion"])
            return
        conditions.failed(uid, now=self._context.clock.now())
        self._wanted.set()  # a session names the time of the next attempt

    def _waits(self, pod: PodRef) -> bool:
        return self._columns.bindable(object_key(pod.namespace, pod.name), pod.uid)
