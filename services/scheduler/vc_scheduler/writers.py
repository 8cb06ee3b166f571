"""Carries decisions out, beside the sessions.

What is done (claims, binds, releases, evictions) and what is only told (`tellers.py`) go different ways,
and share requests at the API server of which binds get the next one: no bind waits behind statuses. Work of one group
goes to one writer, so its writes keep their order; a status goes to the tellers after the binds it
speaks of, and so does any later one. What the API server makes of a write goes back into the columns;
`wanted` asks for a session when that changes the outcome. A bind whose fate is unknown is settled by a
live read, never by a timer (protocol 13).
"""

import asyncio
import functools
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from vc_cluster import ClusterError, NotFoundError
from vc_messages.effects import BindPod, Effect, PatchObject
from vc_model.kinds import PODGROUPS, PODS
from vc_model.meta import ApiObject, object_key
from vc_runtime.applying.slots import Slots
from vc_runtime.backoff import delay_seconds
from vc_runtime.context import Context
from vc_runtime.effects import CONCURRENCY_MAX, EffectApplier, Lease, Outcome, OutcomeStatus
from vc_scheduler.background_writer import View
from vc_scheduler.config import PodEvents
from vc_scheduler.logic.cache.assumed import Assumed
from vc_scheduler.logic.columns import Columns
from vc_scheduler.logic.commands import (
    GroupWork,
    claim_effect,
    eviction_effects,
    eviction_events,
    gate_effects,
    nomination_effects,
    release_effects,
    withdrawal_effects,
)
from vc_scheduler.logic.decisions import (
    Eviction,
    GangBind,
    GateLift,
    PodRef,
    Release,
    WaitingPods,
    Withdrawal,
)
from vc_scheduler.observing import Observer
from vc_scheduler.spans import GangSpans, SessionTimes
from vc_scheduler.tellers import Tellers

WRITERS: Final = 16
WORK_QUEUED_MAX: Final = 1_000
"""Per writer; a session waits when its writer is that far behind."""


class SessionWork(NamedTuple):
    """A group's work, and the session that wants it."""

    work: GroupWork
    session: SessionTimes


class Writers:
    """The hands of the scheduler."""

    def __init__(
        self,
        context: Context,
        columns: Columns,
        *,
        lease: Lease,
        observer: Observer,
        spans: GangSpans,
        wanted: asyncio.Event,
        view: View,
        pod_events: PodEvents,
    ) -> None:
        self._context = context
        slots = Slots(context.clock.monotonic, requests_max=CONCURRENCY_MAX)
        self._applier = EffectApplier(context, lease=lease, slots=slots)
        self._columns = columns
        self._observer = observer
        self._spans = spans
        self._wanted = wanted
        self._group_of: Callable[[str], ApiObject | None] = functools.partial(view, PODGROUPS)
        self.tellers = Tellers(context, columns, lease=lease, slots=slots, wanted=wanted, view=view)
        self._pod_events = pod_events
        self._queues: list[asyncio.Queue[SessionWork]] = [
            asyncio.Queue(WORK_QUEUED_MAX) for _ in range(WRITERS)
        ]
        self._at_work: Counter[str] = Counter()
        """Groups whose work is queued or under way: what else they get follows it."""
        self._in_doubt: set[str] = set()
        """Of these, groups with a bind that failed: no status that was decided on it is told."""
        self._doubts: asyncio.Queue[BindPod] = asyncio.Queue()
        """Binds whose fate is unknown; bounded by the pods we assumed."""
        observer.meters.watch_work("write", self._waiting)

    def _waiting(self) -> int:
        queued = sum(queue.qsize() for queue in self._queues)
        return queued + len(self.tellers) + len(self.tellers.background)

    def pods_wait(self, waiting: WaitingPods, *, epoch: int) -> None:
        """Have the pods say why they wait, when nothing else is to be written."""
        group = self._group_of(waiting.group)
        on_wait = self._pod_events.on_wait
        self.tellers.background.waiting(waiting, group, pod_events=on_wait, epoch=epoch)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._settle_doubts())
            group.create_task(self.tellers.run())
            for queue in self._queues:
                group.create_task(self._write_all(queue))

    async def hand_over(self, work: GroupWork, session: SessionTimes) -> None:
        """Waits when the group's writer is far behind; never for what is only to be told."""
        if not work.acts and work.group not in self._at_work:
            self._tell(work, session, began=self._context.clock.wall())
            return
        self._at_work[work.group] += 1
        number = zlib.crc32(work.group.encode()) % WRITERS
        await self._queues[number].put(SessionWork(work, session))

    async def _write_all(self, queue: asyncio.Queue[SessionWork]) -> None:
        while True:
            work, session = await queue.get()
            await self._write_group(work, session)
            self._at_work[work.group] -= 1
            if not self._at_work[work.group]:
                del self._at_work[work.group]
                self._in_doubt.discard(work.group)

    async def _apply(self, effects: Sequence[Effect], session: SessionTimes) -> list[Outcome]:
        """Under the lease of the session that wants them, or not at all."""
        return await self._applier.apply(effects, epoch=session.epoch)

    async def _write_group(self, work: GroupWork, session: SessionTimes) -> None:
        """Binds, then the status that speaks of them, then who else is to be told."""
        began = self._context.clock.wall()
        await self._give_claims(work, session)
        if work.gang is None or await self._bind(work.gang, session):
            self._observer.bound(work, session, began=began)
        else:
            self._in_doubt.add(work.group)
        if work.group not in self._in_doubt:
            self._tell(work, session, began=began)
        elif work.status is not None:
            self._columns.status_failed(work.group, work.uid, status=work.status.status)
        if work.gates is not None:
            await self._lift_gates(work.gates, session)
        if work.release is not None:
            await self._release(work.release, session)
        if work.withdrawal is not None:
            await self._apply(withdrawal_effects(work.withdrawal), session)
        if work.takeover is not None:
            self._observer.takes_over(work.group, work.takeover.lost, session)
            await self._apply(nomination_effects(work.takeover.places), session)
        if work.eviction is not None:
            self._observer.evicting(work, session)
            await self._evict(work.eviction, session)

    def _tell(self, work: GroupWork, session: SessionTimes, *, began: float) -> None:
        """All that the status speaks of is done: people may read it."""
        if work.status is not None:
            self._observer.let_in(work, session)
            self._spans.bound(work, self._group_of(work.group), times=session, began=began)
            self.tellers.status(work.status, let_in=work.let_in, epoch=session.epoch)

    async def _give_claims(self, work: GroupWork, session: SessionTimes) -> None:
        """What the API server does not take is chosen anew after a rest."""
        outcomes = await self._apply([claim_effect(choice) for choice in work.claims], session)
        refused: list[tuple[str, str]] = []
        for choice, outcome in zip(work.claims, outcomes, strict=True):
            if outcome.status is not OutcomeStatus.DONE:
                refused.append((choice.claim, outcome.error or outcome.status.value))
                self._columns.volumes.refused(choice, now=self._context.clock.now())
                self._wanted.set()
        self._observer.claims_refused(work.group, refused, session)

    async def _lift_gates(self, lift: GateLift, session: SessionTimes) -> None:
        """Pods whose gate stays rest before it is tried again."""
        outcomes = await self._apply(gate_effects(lift), session)
        for pod, outcome in zip(lift.pods, outcomes, strict=True):
            if outcome.status is not OutcomeStatus.DONE:
                key, now = object_key(pod.namespace, pod.name), self._context.clock.now()
                self._columns.lift_gate(key, pod.uid, failed_at=now)
                self._wanted.set()

    async def _release(self, release: Release, session: SessionTimes) -> None:
        """Members that the API server keeps (a disruption budget) are asked for again after a rest."""
        self._observer.releasing(release.group, session)
        outcomes = await self._apply(release_effects(release), session)
        kept = [outcome for outcome in outcomes if outcome.status is not OutcomeStatus.DONE]
        if kept:
            self._observer.members_stay(release.group, kept, session)
        if any(_refused(outcome) for outcome in kept):
            self._columns.evictions.release_refused(release.group, now=self._context.clock.now())
        self._wanted.set()

    async def _evict(self, eviction: Eviction, session: SessionTimes) -> None:
        """Victims that the API server keeps (a disruption budget) stay, and others are looked for."""
        told = await self._apply(nomination_effects(eviction.places), session)
        if any(outcome.status is OutcomeStatus.STALE for outcome in told):
            await self._keep_victims(eviction, told, session)
            return
        outcomes = await self._apply(eviction_effects(eviction), session)
        stay: list[Outcome] = []
        gone: list[PodRef] = []
        now = self._context.clock.now()
        for pod, outcome in zip(eviction.pods, outcomes, strict=True):
            if outcome.status is OutcomeStatus.DONE:
                gone.append(pod)
            else:
                stay.append(outcome)
                spared_from = now if _refused(outcome) else None
                self._columns.unevict(object_key(pod.namespace, pod.name), pod.uid, now=spared_from)
        if any(_refused(outcome) for outcome in stay):
            self._columns.evictions.evictions_refused(eviction.group, now=now)
        if stay:
            await self._victims_stay(eviction, told, session, some_left=bool(gone))
            self._wanted.set()
        self._observer.victims_stay(eviction, stay, session)
        for event in eviction_events(msgspec.structs.replace(eviction, pods=tuple(gone))):
            self.tellers.event(event, epoch=session.epoch)

    async def _keep_victims(
        self, eviction: Eviction, told: Sequence[Outcome], session: SessionTimes
    ) -> None:
        """A pod that they were to make room for is gone: nobody leaves for it, nor for the others, which
        are told so."""
        self._columns.evictions.settled(eviction.group)
        await self._withdraw(eviction, told, session)
        for pod in eviction.pods:
            key = object_key(pod.namespace, pod.name)
            self._columns.unevict(key, pod.uid, now=None)
        self._observer.nobody_leaves(eviction.group, session)
        self._wanted.set()

    async def _victims_stay(
        self,
        eviction: Eviction,
        told: Sequence[Outcome],
        session: SessionTimes,
        *,
        some_left: bool,
    ) -> None:
        """What some victims freed stays reserved for the job; where none left, it is promised nothing."""
        goes_on = self._columns.evictions.victims_stay(
            eviction.group, some_left=some_left, now=self._context.clock.now()
        )
        if not goes_on:
            await self._withdraw(eviction, told, session)

    async def _withdraw(
        self, eviction: Eviction, told: Sequence[Outcome], session: SessionTimes
    ) -> None:
        """The pods that were told of a place are told that it is theirs no more."""
        done = {o.effect.uid: None for o in told if isinstance(o.effect, PatchObject) and o.written}
        pods = tuple(
            PodRef(namespace=place.namespace, name=place.name, uid=place.uid)
            for place in eviction.places
            if place.uid in done
        )
        withdrawal = Withdrawal(group=eviction.group, pods=pods)
        await self._apply(withdrawal_effects(withdrawal), session)

    async def _bind(self, gang: GangBind, session: SessionTimes) -> bool:
        """Whether the whole gang was bound."""
        outcomes = await self._apply(gang.binds, session)
        failed = [outcome for outcome in outcomes if outcome.status is not OutcomeStatus.DONE]
        for outcome in failed:
            if outcome.namespace_terminating and isinstance(outcome.effect, BindPod):
                self._columns.namespaces.refused(outcome.effect.namespace)
            self._doubt(outcome)
        if failed:
            self._observer.bind_failed(gang, failed, session)
        if self._pod_events.on_bind:
            done = [b for b, o in zip(gang.binds, outcomes, strict=True) if o not in failed]
            self.tellers.background.assigned(done, epoch=session.epoch)
        return not failed

    def _doubt(self, outcome: Outcome) -> None:
        assert isinstance(outcome.effect, BindPod)
        self._doubts.put_nowait(outcome.effect)

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


def _refused(outcome: Outcome) -> bool:
    """Whether the API server did not do it. A write that we dropped, because we no longer lead, was never
    asked for and says nothing about the pod."""
    return outcome.status not in (OutcomeStatus.DONE, OutcomeStatus.SKIPPED)


def pod_key(bind: BindPod) -> str:
    """Of the pod that is bound."""
    return object_key(bind.namespace, bind.name)
