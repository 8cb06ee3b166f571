"""Carries decisions out, beside the sessions.

Work of one group goes to one writer, so its writes keep their order. What the API server makes of a
write goes back into the columns; `wanted` asks for a session when that changes the outcome. A bind
whose fate is unknown is settled by a live read, never by a timer (protocol 13).
"""

import asyncio
import zlib
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from vc_cluster import ClusterError, NotFoundError
from vc_messages.effects import BindPod, RecordEvent
from vc_model.kinds import PODS
from vc_model.meta import ApiObject, object_key
from vc_runtime.backoff import delay_seconds
from vc_runtime.context import Context
from vc_runtime.effects import EffectApplier, Outcome, OutcomeStatus
from vc_scheduler.logic.columns import Assumed, Columns
from vc_scheduler.logic.commands import (
    GroupWork,
    claim_effect,
    eviction_effects,
    eviction_events,
    nomination_effects,
    queue_effect,
    release_effects,
    status_effect,
    telling_effects,
    withdrawal_effects,
)
from vc_scheduler.logic.decisions import (
    Eviction,
    GangBind,
    PodRef,
    QueueAllocated,
    StatusChange,
)
from vc_scheduler.logic.volume_rows import ClaimChoice
from vc_scheduler.observing import Observer
from vc_scheduler.spans import GangSpans, SessionTimes

WRITERS: Final = 8
WORK_QUEUED_MAX: Final = 1_000
"""Per writer; a session waits when its writer is that far behind."""


class SessionWork(NamedTuple):
    """A group's work, and the session that wants it."""

    work: GroupWork
    session: SessionTimes


Work = SessionWork | QueueAllocated | RecordEvent


class Writers:
    """The hands of the scheduler."""

    def __init__(
        self,
        context: Context,
        applier: EffectApplier,
        columns: Columns,
        *,
        observer: Observer,
        spans: GangSpans,
        wanted: asyncio.Event,
        group_of: Callable[[str], ApiObject | None],
    ) -> None:
        self._context = context
        self._applier = applier
        self._columns = columns
        self._observer = observer
        observer.meters.watch_work("write", lambda: sum(q.qsize() for q in self._queues))
        self._spans = spans
        self._wanted = wanted
        self._group_of = group_of
        self._queues: list[asyncio.Queue[Work]] = [
            asyncio.Queue(WORK_QUEUED_MAX) for _ in range(WRITERS)
        ]
        self._doubts: asyncio.Queue[BindPod] = asyncio.Queue()
        """Binds whose fate is unknown; bounded by the pods we assumed."""

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._settle_doubts())
            for queue in self._queues:
                group.create_task(self._write_all(queue))

    async def hand_over(self, key: str, work: Work) -> None:
        """Waits when the writer of that key is far behind."""
        await self._queues[zlib.crc32(key.encode()) % WRITERS].put(work)

    async def _write_all(self, queue: asyncio.Queue[Work]) -> None:
        while True:
            match await queue.get():
                case SessionWork(work, session):
                    await self._write_group(work, session)
                case QueueAllocated() as allocated:
                    await self._applier.apply([queue_effect(allocated)])
                case RecordEvent() as event:
                    await self._applier.apply([event])

    async def _write_group(self, work: GroupWork, session: SessionTimes) -> None:
        """Binds, then the status that speaks of them, then who is to be told."""
        began = self._context.clock.now()
        await self._give_claims(work.claims)
        bound = work.gang is None or await self._bind(work.gang)
        if bound:
            self._observer.bound(work, session, began=began)
        if work.status is not None:
            if bound:
                self._spans.bound(work, self._group_of(work.group), times=session, began=began)
                await self._write_status(work.group, work.status)
            else:
                self._columns.status_failed(work.group, work.uid)
        if work.release is not None:
            self._context.log.warning("releasing %s: its gang is not complete", work.group)
            await self._applier.apply(release_effects(work.release))
            self._wanted.set()
        if work.withdrawal is not None:
            await self._applier.apply(withdrawal_effects(work.withdrawal))
        if work.takeover is not None:
            lost = ", ".join(work.takeover.lost)
            self._context.log.info("%s takes over the room promised to %s", work.group, lost)
            await self._applier.apply(nomination_effects(work.takeover.places))
        if work.eviction is not None:
            self._observer.evicting(work, session)
            await self._evict(work.eviction)

    async def _give_claims(self, choices: Sequence[ClaimChoice]) -> None:
        """What the API server does not take is chosen anew after a rest."""
        outcomes = await self._applier.apply([claim_effect(choice) for choice in choices])
        for choice, outcome in zip(choices, outcomes, strict=True):
            if outcome.status is not OutcomeStatus.DONE:
                why = outcome.error or outcome.status.value
                self._context.log.info("claim %s gets no place: %s", choice.claim, why)
                self._columns.volumes.refused(choice, now=self._context.clock.now())
                self._wanted.set()

    async def _evict(self, eviction: Eviction) -> None:
        """Victims that the API server keeps (a disruption budget) stay, and others are looked for."""
        await self._applier.apply(nomination_effects(eviction.places))
        outcomes = await self._applier.apply(eviction_effects(eviction))
        stay: list[Outcome] = []
        gone: list[PodRef] = []
        for pod, outcome in zip(eviction.pods, outcomes, strict=True):
            if outcome.status is OutcomeStatus.DONE:
                gone.append(pod)
            else:
                key, now = object_key(pod.namespace, pod.name), self._context.clock.now()
                stay.append(outcome)
                self._columns.unevict(key, pod.uid, now=now)
                self._wanted.set()
        self._observer.victims_stay(eviction, stay)
        told = msgspec.structs.replace(eviction, pods=tuple(gone))
        await self._applier.apply(eviction_events(told))

    async def _bind(self, gang: GangBind) -> bool:
        """Whether the whole gang was bound."""
        outcomes = await self._applier.apply(gang.binds)
        failed = [outcome for outcome in outcomes if outcome.status is not OutcomeStatus.DONE]
        for outcome in failed:
            self._doubt(outcome)
        if failed:
            self._observer.bind_failed(gang, failed)
        return not failed

    def _doubt(self, outcome: Outcome) -> None:
        assert isinstance(outcome.effect, BindPod)
        self._doubts.put_nowait(outcome.effect)

    async def _write_status(self, key: str, change: StatusChange) -> None:
        outcome = (await self._applier.apply([status_effect(change)]))[0]
        if outcome.status is OutcomeStatus.DONE and outcome.written is not None:
            version = outcome.written["metadata"].get("resourceVersion", "")
            self._columns.status_written(key, change.uid, version=version)
        else:
            self._columns.status_failed(key, change.uid)
            self._wanted.set()
        for effect in telling_effects(change):
            await self._applier.apply([effect])

    # -- binds whose fate is unknown -------------------------------------------------------------

    async def _settle_doubts(self) -> None:
        while True:
            bind = await self._doubts.get()
            attempt = 0
            while not await self._settle(bind):
                attempt += 1
                await self._context.clock.sleep(delay_seconds(attempt, self._context.chance))
            self._wanted.set()

    async def _settle(self, bind: BindPod) -> bool:
        """Ask the API server; False when it does not answer, and then the bind stays assumed."""
        key = pod_key(bind)
        try:
            pod = await self._context.cluster.get(PODS, name=bind.name, namespace=bind.namespace)
        except NotFoundError:
            pod = {}
        except ClusterError as error:
            self._context.log.info("cannot look at %s: %s", key, error)
            return False
        same = pod.get("metadata", {}).get("uid") == bind.uid
        node = pod.get("spec", {}).get("nodeName", "") if same else ""
        if node:
            self._columns.assume(Assumed(key=key, uid=bind.uid, node=node))
        else:
            self._columns.unassume(key, bind.uid, now=self._context.clock.now())
        return True


def pod_key(bind: BindPod) -> str:
    """Of the pod that is bound."""
    return object_key(bind.namespace, bind.name)
