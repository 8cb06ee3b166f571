"""Applies decisions to the API server, concurrently with sessions.

Actions (claims, binds, releases, evictions) and status writes (`status_writers.py`) use separate
queues. They share the slots for requests, and actions have precedence, so no bind waits behind
statuses. All work of a group is done by one writer, so its writes keep their order. A status is
queued after the binds that it describes, and so is any later status. Results are written back into
the cluster cache, and `wanted` requests a session when a result changes the outcome. When the
result of a bind is unknown, a live read decides, never a timer (docs/protocol.md 13).
"""

import asyncio
import functools
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from vc.cluster import ClusterError, NotFoundError
from vc.messages.effects import BindPod, Effect, PatchObject
from vc.model.api.kinds import PODGROUPS, PODS
from vc.model.api.meta import ApiObject, object_key
from vc.model.values.backoff import delay_seconds
from vc.runtime.applying.effects import (
    CONCURRENCY_MAX,
    EffectApplier,
    Lease,
    Outcome,
    OutcomeStatus,
)
from vc.runtime.applying.slots import Slots
from vc.runtime.hosting.context import Context
from vc.scheduler.config import PodEvents
from vc.scheduler.session_observer import Observer
from vc.scheduler.spans import GangSpans, SessionTimes
from vc.scheduler.writing.background_writer import View
from vc.scheduler.writing.status_writers import StatusWriters
from vc.scheduling.cache.cluster_cache import ClusterCache
from vc.scheduling.cache.overlays.assumed_binds import AssumedBind
from vc.scheduling.effects import (
    GroupWork,
    claim_effect,
    eviction_effects,
    eviction_events,
    gate_effects,
    nomination_effects,
    release_effects,
    withdrawal_effects,
)
from vc.scheduling.model.decisions import (
    Eviction,
    GangBind,
    GateLift,
    PodRef,
    Release,
    WaitingPods,
    Withdrawal,
)

WRITERS: Final = 16
WORK_QUEUED_MAX: Final = 1_000
"""Queue length per writer; a session waits when the queue of a writer is full."""


class SessionWork(NamedTuple):
    """The work of a group, and the session that decided it."""

    work: GroupWork
    session: SessionTimes


class Writers:
    """Concurrent writers, one queue each."""

    def __init__(
        self,
        context: Context,
        cache: ClusterCache,
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
        self._cache = cache
        self._observer = observer
        self._spans = spans
        self._wanted = wanted
        self._group_of: Callable[[str], ApiObject | None] = functools.partial(view, PODGROUPS)
        self.statuses = StatusWriters(
            context, cache, lease=lease, slots=slots, wanted=wanted, view=view
        )
        self._pod_events = pod_events
        self._queues: list[asyncio.Queue[SessionWork]] = [
            asyncio.Queue(WORK_QUEUED_MAX) for _ in range(WRITERS)
        ]
        self._busy_groups: Counter[str] = Counter()
        """Groups with queued or running work; later work of such a group must follow it."""
        self._in_doubt: set[str] = set()
        """Those of them with a failed bind; a status that assumes the bind is not written."""
        self._unknown_binds: asyncio.Queue[BindPod] = asyncio.Queue()
        """Binds with an unknown result; bounded by the number of assumed pods."""
        observer.metrics.watch_work("write", self._waiting)

    def _waiting(self) -> int:
        """Return the number of queued writes, for the metric."""
        queued = sum(queue.qsize() for queue in self._queues)
        return queued + len(self.statuses) + len(self.statuses.background)

    def pods_wait(self, waiting: WaitingPods, *, epoch: int) -> None:
        """Queue the conditions and events of waiting pods, with low priority."""
        group = self._group_of(waiting.group)
        on_wait = self._pod_events.on_wait
        self.statuses.background.waiting(waiting, group, pod_events=on_wait, epoch=epoch)

    async def run(self) -> None:
        """Write binds, evictions and status updates, and check unknown binds, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._check_unknown_binds())
            group.create_task(self.statuses.run())
            for queue in self._queues:
                group.create_task(self._write_all(queue))

    async def hand_over(self, work: GroupWork, session: SessionTimes) -> None:
        """Queue the work of a group; waits when the queue of its writer is full.

        Work that only writes a status never waits.
        """
        # A status of a group with queued work must follow that work, because it may describe its
        # result.
        if not work.acts and work.group not in self._busy_groups:
            self._queue_status(work, session, began=self._context.clock.wall())
            return
        self._busy_groups[work.group] += 1
        # A hash of the group's key, so that all work of a group uses the same queue.
        number = zlib.crc32(work.group.encode()) % WRITERS
        await self._queues[number].put(SessionWork(work, session))

    async def _write_all(self, queue: asyncio.Queue[SessionWork]) -> None:
        while True:
            work, session = await queue.get()
            await self._write_group(work, session)
            self._busy_groups[work.group] -= 1
            if not self._busy_groups[work.group]:
                del self._busy_groups[work.group]
                self._in_doubt.discard(work.group)

    async def _apply(self, effects: Sequence[Effect], session: SessionTimes) -> list[Outcome]:
        """Apply effects under the lease epoch of the session that decided them, or not at all."""
        return await self._applier.apply(effects, epoch=session.epoch)

    async def _write_group(self, work: GroupWork, session: SessionTimes) -> None:
        """Bind, then queue the status that describes it, then apply the other work of the group."""
        began = self._context.clock.wall()
        # The gang of a later session waits for these claims, so they are written first.
        await self._write_claims(work, session)
        if work.gang is None or await self._bind(work.gang, session):
            self._observer.bound(work, session, began=began)
        else:
            # Later work of the group in the queue was decided on the assumption that these binds
            # succeed.
            self._in_doubt.add(work.group)
        if work.group not in self._in_doubt:
            self._queue_status(work, session, began=began)
        elif work.status is not None:
            # The status overlay is dropped, so that the next session computes the status again.
            self._cache.status_failed(work.group, work.uid, status=work.status.status)
        if work.gates is not None:
            await self._remove_gates(work.gates, session)
        if work.release is not None:
            await self._release(work.release, session)
        if work.withdrawal is not None:
            await self._apply(withdrawal_effects(work.withdrawal), session)
        if work.takeover is not None:
            self._observer.reservations_taken_over(work.group, work.takeover.lost, session)
            await self._apply(nomination_effects(work.takeover.reserved_nodes), session)
        # Last, because no other work of the group depends on the evictions.
        if work.eviction is not None:
            self._observer.evicting(work, session)
            await self._evict(work.eviction, session)

    def _queue_status(self, work: GroupWork, session: SessionTimes, *, began: float) -> None:
        """Queue the status, after everything that it describes is done."""
        if work.status is not None:
            self._observer.enqueued(work, session)
            self._spans.bound(work, self._group_of(work.group), times=session, began=began)
            self.statuses.status(work.status, awaited=work.enqueues, epoch=session.epoch)

    async def _write_claims(self, work: GroupWork, session: SessionTimes) -> None:
        """Write the nodes and volumes of claims; refused ones are chosen again after a backoff."""
        outcomes = await self._apply([claim_effect(choice) for choice in work.claims], session)
        refused: list[tuple[str, str]] = []
        for choice, outcome in zip(work.claims, outcomes, strict=True):
            if outcome.status is not OutcomeStatus.DONE:
                refused.append((choice.claim, outcome.error or outcome.status.value))
                self._cache.facts.volumes.refused(choice, now=self._context.clock.now())
                self._wanted.set()
        self._observer.claims_refused(work.group, refused, session)

    async def _remove_gates(self, lift: GateLift, session: SessionTimes) -> None:
        """Remove scheduling gates; failed ones are retried after a backoff."""
        outcomes = await self._apply(gate_effects(lift), session)
        for pod, outcome in zip(lift.pods, outcomes, strict=True):
            if outcome.status is not OutcomeStatus.DONE:
                key, now = object_key(pod.namespace, pod.name), self._context.clock.now()
                self._cache.remove_gate(key, pod.uid, failed_at=now)
                self._wanted.set()

    async def _release(self, release: Release, session: SessionTimes) -> None:
        """Evict the members of a half-bound gang.

        Members that the API server refuses to evict (a disruption budget) are retried after a
        backoff.
        """
        self._observer.releasing(release.group, session)
        outcomes = await self._apply(release_effects(release), session)
        kept = [outcome for outcome in outcomes if outcome.status is not OutcomeStatus.DONE]
        if kept:
            self._observer.members_stay(release.group, kept, session)
        # Only a refusal starts a backoff. A skipped write was never sent.
        if any(_refused(outcome) for outcome in kept):
            self._cache.overlays.evictions.release_refused(
                release.group, now=self._context.clock.now()
            )
        self._wanted.set()

    async def _evict(self, eviction: Eviction, session: SessionTimes) -> None:
        """Write the nominations, then evict the victims.

        When the API server refuses to evict a victim (a disruption budget), a later session
        searches others.
        """
        # Nominations come first. A stale one shows that the preemptor was deleted, before any
        # victim was evicted for it.
        nominated = await self._apply(nomination_effects(eviction.reserved_nodes), session)
        if any(outcome.status is OutcomeStatus.STALE for outcome in nominated):
            await self._keep_victims(eviction, nominated, session)
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
                # A refusal exempts the pod for a while. A write that was skipped says nothing about
                # it.
                exempt_from = now if _refused(outcome) else None
                self._cache.unevict(object_key(pod.namespace, pod.name), pod.uid, now=exempt_from)
        if any(_refused(outcome) for outcome in stay):
            self._cache.overlays.evictions.evictions_refused(eviction.group, now=now)
        if stay:
            await self._victims_stay(eviction, nominated, session, some_evicted=bool(gone))
            self._wanted.set()
        self._observer.victims_stay(eviction, stay, session)
        for event in eviction_events(msgspec.structs.replace(eviction, pods=tuple(gone))):
            self.statuses.event(event, epoch=session.epoch)

    async def _keep_victims(
        self, eviction: Eviction, nominated: Sequence[Outcome], session: SessionTimes
    ) -> None:
        """Cancel the preemption, because a pod of the preemptor was deleted.

        Nominations that were already written are withdrawn, and no victim is evicted.
        """
        self._cache.overlays.evictions.nomination_ended(eviction.group)
        await self._withdraw(eviction, nominated, session)
        for pod in eviction.pods:
            key = object_key(pod.namespace, pod.name)
            self._cache.unevict(key, pod.uid, now=None)
        self._observer.preemption_cancelled(eviction.group, session)
        self._wanted.set()

    async def _victims_stay(
        self,
        eviction: Eviction,
        nominated: Sequence[Outcome],
        session: SessionTimes,
        *,
        some_evicted: bool,
    ) -> None:
        """Keep the reservation if some victims were evicted; otherwise withdraw the nominations."""
        goes_on = self._cache.overlays.evictions.victims_not_evicted(
            eviction.group, some_evicted=some_evicted, now=self._context.clock.now()
        )
        if not goes_on:
            await self._withdraw(eviction, nominated, session)

    async def _withdraw(
        self, eviction: Eviction, nominated: Sequence[Outcome], session: SessionTimes
    ) -> None:
        """Remove the nominations that were written, from those pods only."""
        done = {
            o.effect.uid: None for o in nominated if isinstance(o.effect, PatchObject) and o.written
        }
        pods = tuple(
            PodRef(namespace=place.namespace, name=place.name, uid=place.uid)
            for place in eviction.reserved_nodes
            if place.uid in done
        )
        withdrawal = Withdrawal(group=eviction.group, pods=pods)
        await self._apply(withdrawal_effects(withdrawal), session)

    async def _bind(self, gang: GangBind, session: SessionTimes) -> bool:
        """Bind the pods of a gang; return whether all binds succeeded."""
        outcomes = await self._apply(gang.binds, session)
        failed = [outcome for outcome in outcomes if outcome.status is not OutcomeStatus.DONE]
        for outcome in failed:
            if outcome.namespace_terminating and isinstance(outcome.effect, BindPod):
                # No pod can be bound in a terminating namespace, so sessions skip it.
                self._cache.facts.namespaces.refused(outcome.effect.namespace)
            self._check_later(outcome)
        if failed:
            self._observer.bind_failed(gang, failed, session)
        if self._pod_events.on_bind:
            done = [b for b, o in zip(gang.binds, outcomes, strict=True) if o not in failed]
            self.statuses.background.assigned(done, epoch=session.epoch)
        return not failed

    def _check_later(self, outcome: Outcome) -> None:
        """Queue a failed bind, so that a live read decides whether it took effect."""
        assert isinstance(outcome.effect, BindPod)
        self._unknown_binds.put_nowait(outcome.effect)

    # -- binds with an unknown result ------------------------------------------------------------

    async def _check_unknown_binds(self) -> None:
        """Resolve binds with an unknown result one by one, with backoff."""
        while True:
            bind = await self._unknown_binds.get()
            # Without a limit: if a bind of unknown result were given up, its node could be
            # used twice.
            attempt = 0
            while not await self._check_bind(bind):
                attempt += 1
                await self._context.clock.sleep(delay_seconds(attempt, self._context.rng))
            self._wanted.set()

    async def _check_bind(self, bind: BindPod) -> bool:
        """Read the pod live; False when the API server does not answer, and the bind stays assumed."""
        key = pod_key(bind)
        try:
            pod = await self._context.cluster.get(PODS, name=bind.name, namespace=bind.namespace)
        except NotFoundError:
            pod = {}
        except ClusterError as error:
            self._context.log.info("cannot look at %s: %s", key, error)
            return False
        # A pod with the same name and another uid is a new pod; the one that was to be bound is
        # gone.
        same = pod.get("metadata", {}).get("uid") == bind.uid
        node = pod.get("spec", {}).get("nodeName", "") if same else ""
        if node:
            self._cache.assume(AssumedBind(key=key, uid=bind.uid, node=node))
        else:
            self._cache.unassume(key, bind.uid, now=self._context.clock.now())
        return True


def _refused(outcome: Outcome) -> bool:
    """Whether the API server refused the write.

    A write that was skipped, because this replica no longer leads, was never sent. It says nothing
    about the pod.
    """
    return outcome.status not in (OutcomeStatus.DONE, OutcomeStatus.SKIPPED)


def pod_key(bind: BindPod) -> str:
    """Return the key of the pod that is bound."""
    return object_key(bind.namespace, bind.name)
