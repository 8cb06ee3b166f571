"""Writes on which no decision depends: conditions of waiting pods, then events of many objects.

They share the requests of the status writers, use few of them, and have a bounded rate
(`vc/scheduling/pod_status/background_queue.py`), so that they delay neither binds nor statuses. The
pod is checked again before each write: a pod that was bound or deleted meanwhile is left alone. A
write that failed is decided again by a later session from the pod itself.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from vc.messages.effects import BindPod, RecordEvent
from vc.model.api.kinds import PODS, Kind
from vc.model.api.meta import ApiObject, object_key
from vc.model.api.pod import Pod
from vc.runtime.applying.effects import EffectApplier, OutcomeStatus
from vc.runtime.hosting.context import Context
from vc.scheduling.cache.cluster_cache import ClusterCache
from vc.scheduling.model.decisions import PodRef, WaitingPods
from vc.scheduling.pod_status.background_queue import (
    BackgroundQueue,
    BackgroundWrite,
    PodCondition,
    PodEvent,
)
from vc.scheduling.pod_status.effects import assigned, condition_patch, failed_scheduling, job_waits

REQUESTS: Final = 2
"""Maximum number of concurrent requests, out of those of the status writers."""
REST_SECONDS_MIN: Final = 0.001
"""Shortest wait; a clock may not distinguish a shorter one from none."""

View = Callable[[Kind, str], ApiObject | None]
"""Returns the object of a kind and key as the facts have it."""


class BackgroundWriter:
    """A few workers over one queue."""

    def __init__(
        self,
        context: Context,
        cache: ClusterCache,
        *,
        applier: EffectApplier,
        wanted: asyncio.Event,
        view: View,
    ) -> None:
        self._context = context
        self._cache = cache
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
        """Queue the condition of each pod, and with `pod_events` an event that users see."""
        for pod in waiting.pods:
            key = object_key(pod.namespace, pod.name)
            # Condition and event have the same key in separate lanes, so each coalesces on its own.
            self._queue.put(key, PodCondition(pod=pod, message=waiting.message), epoch)
            if pod_events:
                self._queue.put(key, PodEvent(pod=pod, message=waiting.message), epoch)
        if waiting.beyond and group is not None:
            self.events(job_waits(group, waiting.message), epoch=epoch)
        self._news.set()

    def assigned(self, binds: Iterable[BindPod], *, epoch: int) -> None:
        """Queue the event Scheduled for each bound pod."""
        self.events((assigned(bind) for bind in binds), epoch=epoch)

    def events(self, events: Iterable[RecordEvent], *, epoch: int) -> None:
        """Queue events; the latest one per object and reason is kept."""
        for event in events:
            self._queue.put(f"{event.uid} {event.reason}", event, epoch)
        self._news.set()

    async def run(self) -> None:
        """Write pod conditions and events, several at once, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(REQUESTS):
                group.create_task(self._write_all())

    async def _write_all(self) -> None:
        while True:
            write, epoch = await self._next()
            await self._write(write, epoch)

    async def _next(self) -> tuple[BackgroundWrite, int]:
        """Return the next write, as soon as the rate limit permits it."""
        while True:
            now = self._context.clock.monotonic()
            taken = self._queue.take(now)
            if taken is not None:
                return taken
            self._news.clear()
            # Sleep until the next token or a new entry, whichever is first.
            rest = self._queue.rest_seconds(now)
            try:
                async with asyncio.timeout(None if rest is None else max(REST_SECONDS_MIN, rest)):
                    await self._news.wait()
            except TimeoutError:
                continue

    async def _write(self, write: BackgroundWrite, epoch: int) -> None:
        """Apply one write; an event about waiting only while the pod still waits."""
        match write:
            case PodCondition():
                await self._write_condition(write, epoch)
            case PodEvent(pod=pod, message=message):
                if self._waits(pod):
                    await self._applier.apply([failed_scheduling(pod, message)], epoch=epoch)
            case RecordEvent():
                await self._applier.apply([write], epoch=epoch)

    async def _write_condition(self, condition: PodCondition, epoch: int) -> None:
        """Write the condition, and record the result in the overlay of conditions."""
        conditions, uid = self._cache.overlays.conditions, condition.pod.uid
        pod = self._view(PODS, object_key(condition.pod.namespace, condition.pod.name))
        if not self._waits(condition.pod) or not isinstance(pod, Pod):
            conditions.drop(uid)
            return
        now = self._context.clock.now()
        # The patch is built from the newest fact, because the pod may have changed while it was
        # queued.
        patch = condition_patch(pod, condition.message, now=now)
        if patch is None:
            conditions.drop(uid)
            return
        outcome = (await self._applier.apply([patch], epoch=epoch))[0]
        if outcome.status is OutcomeStatus.DONE and outcome.written is not None:
            # The overlay ends when a fact of at least this version arrives.
            conditions.written(uid, outcome.written["metadata"]["resourceVersion"])
            return
        conditions.failed(uid, now=self._context.clock.now())
        self._wanted.set()  # the next session registers the time of the next attempt

    def _waits(self, pod: PodRef) -> bool:
        """Whether the pod exists and is not bound."""
        return self._cache.bindable(object_key(pod.namespace, pod.name), pod.uid)
