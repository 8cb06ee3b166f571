"""Applying what a decision wants, safely: late, twice, or after somebody else.

Effects of one decision are applied in their order; neighbours of the same kind go out together,
within bounds and in an order that `applying.flow` knows. Temporary failures are tried again with jitter; who
waits for its next attempt keeps nobody else from writing. What cannot be applied is an `Outcome`, not an
exception: the shell looks again and decides anew. So is an eviction that a disruption budget refuses: it may
be refused for hours.

A service with a Lease gives the epoch of its decision with every write. While the lease has run out and nobody
else has it, writes wait; what was decided under another epoch is dropped (protocol 11).
"""

import asyncio
import enum
import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from vc_bus import BusError, OversizeError
from vc_cluster import (
    AlreadyExistsError,
    ClusterError,
    ConflictError,
    NotFoundError,
    Preconditions,
    TooManyRequestsError,
    UnavailableError,
)
from vc_messages.effects import (
    BindPod,
    CreateObject,
    DeleteObject,
    Effect,
    EvictPod,
    PatchObject,
    PublishMessage,
    RecordEvent,
)
from vc_model.kinds import PODS
from vc_model.struct import JsonObject
from vc_runtime.applying.flow import lane_of
from vc_runtime.applying.owners import LiveReads, Standing, owner_of, standing
from vc_runtime.applying.slots import Slots
from vc_runtime.applying.terminating import TerminatingNamespaces
from vc_runtime.backoff import delay_seconds, told_delay_seconds
from vc_runtime.context import Context
from vc_runtime.events import EventRecorder

CONCURRENCY_MAX: Final = 32
"""Requests of one service that are under way at the API server at a time."""

ATTEMPTS_MAX: Final = 5
"""Of one effect, before the shell is told and the whole decision is made anew."""


class OutcomeStatus(enum.Enum):
    """What became of an effect."""

    DONE = "done"
    STALE = "stale"
    """The object is not as the decision saw it: decide anew."""
    FOREIGN = "foreign"
    """The name is taken by something that is not ours; it is never touched."""
    REFUSED = "refused"
    """The API server will not have it: invalid, forbidden, over quota, kept by a disruption budget."""
    UNAVAILABLE = "unavailable"
    """Temporary, and tried often enough for now."""
    SKIPPED = "skipped"
    """Another epoch has begun, or an effect before it failed."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """An effect and what became of it."""

    effect: Effect
    status: OutcomeStatus
    written: JsonObject | None = None
    """The object as the API server returned it."""
    error: str = ""
    namespace_terminating: bool = False
    """Refused because the namespace is being deleted: it will not be taken there any more."""


class Lease(Protocol):
    """What the writes of a leader depend on (`leader.Leadership`)."""

    def holds(self, epoch: int) -> bool:
        """Whether what was decided under that epoch may be written now."""
        ...

    async def regained(self, epoch: int) -> bool:
        """Wait while the lease has run out and nobody else has it; whether it holds then."""
        ...


class _Answer(NamedTuple):
    """Of one attempt."""

    outcome: Outcome
    told_seconds: float = 0.0
    """How long the server wants us to wait."""
    slow: bool = False
    """The server is slow, busy or away: nothing is wrong with the effect."""


class EffectApplier:
    """Applies effects for one service."""

    def __init__(
        self,
        context: Context,
        *,
        lease: Lease | None = None,
        concurrency: int = CONCURRENCY_MAX,
        slots: Slots | None = None,
    ) -> None:
        """`lease` is asked immediately before each write; appliers that share `slots` share their bound."""
        self._context = context
        self._lease = lease
        self._slots = slots or Slots(context.clock.monotonic, requests_max=concurrency)
        self._events = EventRecorder(context)
        self._live = LiveReads(context.cluster)
        self._terminating = TerminatingNamespaces(context.clock.monotonic)

    async def apply(self, effects: Sequence[Effect], *, epoch: int | None = None) -> list[Outcome]:
        """Apply in order; after a run with a failure the rest is skipped.

        `epoch` is that of the lease under which they were decided; who has a lease must say it.
        """
        if self._lease is not None and epoch is None:
            raise ValueError("effects of a leader need the lease epoch of their decision")
        turn = next(self._slots.turns)
        outcomes: list[Outcome] = []
        failed = False
        for _, run in itertools.groupby(effects, key=_run_key):
            members = list(run)
            if failed:
                outcomes += [Outcome(effect=e, status=OutcomeStatus.SKIPPED) for e in members]
                continue
            done = await self._apply_run(members, turn, epoch or 0)
            outcomes += done
            failed = any(o.status is not OutcomeStatus.DONE for o in done)
        return outcomes

    async def _apply_run(self, effects: list[Effect], turn: int, epoch: int) -> list[Outcome]:
        if len(effects) == 1:
            return [await self._apply_one(effects[0], turn, epoch)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._apply_one(e, turn, epoch)) for e in effects]
        return [task.result() for task in tasks]

    async def _apply_one(self, effect: Effect, turn: int, epoch: int) -> Outcome:
        """Binds of a gang that was begun are sent until the server answers: were they given up because it
        is slow, the same gang would be decided, and at last released, again and again."""
        attempts = waits = 0
        while True:
            answer = await self._attempt(effect, turn, epoch)
            if answer.outcome.status is not OutcomeStatus.UNAVAILABLE:
                return answer.outcome
            waits += 1
            attempts += not (answer.slow and isinstance(effect, BindPod))
            if attempts >= ATTEMPTS_MAX:
                return answer.outcome
            await self._context.clock.sleep(self._rest_seconds(waits, answer.told_seconds))

    async def _attempt(self, effect: Effect, turn: int, epoch: int) -> _Answer:
        """One attempt under a lease that holds, when it is our turn."""
        while True:
            if self._lease is not None and not await self._lease.regained(epoch):
                return _Answer(
                    Outcome(effect=effect, status=OutcomeStatus.SKIPPED, error="no longer leading")
                )
            async with self._slots.slot(lane_of(effect), turn) as slot:
                if self._lease is not None and not self._lease.holds(epoch):
                    continue  # it ran out while we stood in line
                answer = await self._ask(effect)
                slot.overloaded = answer.slow
                return answer

    def _rest_seconds(self, attempt: int, told_seconds: float) -> float:
        """Before the next attempt: what the server asked for, or longer and longer."""
        chance = self._context.chance
        if told_seconds:
            return told_delay_seconds(told_seconds, chance)
        return delay_seconds(attempt, chance)

    async def _ask(self, effect: Effect) -> _Answer:
        """One attempt, unless its namespace is known to take nothing new."""
        refusal = self._terminating.refusal(effect)
        if not refusal:
            return await self._try(effect)
        refused = Outcome(
            effect=effect, status=OutcomeStatus.REFUSED, error=refusal, namespace_terminating=True
        )
        return _Answer(refused)

    async def _try(self, effect: Effect) -> _Answer:
        """One attempt, its failure told as an outcome."""
        told_seconds, terminating, slow = 0.0, False, False
        written: JsonObject | None = None
        try:
            written = await self._write(effect)
            status, why = OutcomeStatus.DONE, ""
        except _ForeignError as error:
            status, why = OutcomeStatus.FOREIGN, str(error)
        except (ConflictError, NotFoundError, AlreadyExistsError) as error:
            terminating = self._terminating.answered(effect, error)
            status = OutcomeStatus.REFUSED if terminating else OutcomeStatus.STALE
            why = error.message
        except TooManyRequestsError as error:
            told_seconds, why = error.retry_after_seconds, error.message
            slow = not error.by_budget
            status = OutcomeStatus.UNAVAILABLE if slow else OutcomeStatus.REFUSED
        except ClusterError as error:
            terminating = self._terminating.answered(effect, error)
            status = OutcomeStatus.UNAVAILABLE if error.temporary else OutcomeStatus.REFUSED
            why, slow = error.message, isinstance(error, UnavailableError)
        except OversizeError as error:
            status, why = OutcomeStatus.REFUSED, str(error)
        except BusError as error:  # away, or wiped: the watcher brings the topics back
            status, why, slow = OutcomeStatus.UNAVAILABLE, str(error), True
        outcome = Outcome(
            effect=effect, status=status, written=written, error=why,
            namespace_terminating=terminating,
        )  # fmt: skip
        return _Answer(outcome, told_seconds, slow)

    async def _write(self, effect: Effect) -> JsonObject | None:
        writers: dict[type, Callable[..., Awaitable[JsonObject | None]]] = {
            CreateObject: self._create,
            PatchObject: self._patch,
            DeleteObject: self._delete,
            BindPod: self._bind,
            EvictPod: self._evict,
            RecordEvent: self._events.record,
            PublishMessage: self._publish,
        }
        return await writers[type(effect)](effect)

    async def _create(self, effect: CreateObject) -> JsonObject:
        try:
            return await self._context.cluster.create(
                effect.kind, effect.body, namespace=effect.namespace
            )
        except AlreadyExistsError:
            existing = await self._context.cluster.get(
                effect.kind, name=effect.name, namespace=effect.namespace
            )
            return await self._settle_existing(effect, existing)

    async def _settle_existing(self, effect: CreateObject, existing: JsonObject) -> JsonObject:
        """Ours: done. Ours but of an older owner: remove it and decide anew. Foreign: hands off."""
        if not effect.owner_uid:
            return existing
        metadata = existing["metadata"]
        going = bool(metadata.get("deletionTimestamp"))
        match standing(effect, existing):
            case Standing.OURS:
                if not going:
                    return existing
            case Standing.FOREIGN:
                raise _ForeignError(
                    f"{effect.kind.kind} {effect.name!r} exists and is not controlled by this job"
                )
            case Standing.NAMESAKES:
                await self._live.require(owner_of(effect))
                if not going:
                    await self._context.cluster.delete(
                        effect.kind,
                        name=effect.name,
                        namespace=effect.namespace,
                        preconditions=Preconditions(
                            uid=metadata["uid"], resource_version=metadata["resourceVersion"]
                        ),
                    )
        raise ConflictError(f"{effect.kind.kind} {effect.name!r} of an older owner is going away")

    async def _patch(self, effect: PatchObject) -> JsonObject:
        return await self._context.cluster.patch(
            effect.kind,
            effect.patch,
            name=effect.name,
            namespace=effect.namespace,
            subresource=effect.subresource,
            preconditions=Preconditions(uid=effect.uid, resource_version=effect.resource_version),
        )

    async def _delete(self, effect: DeleteObject) -> None:
        if effect.only_if_live is not None:
            await self._live.require(effect.only_if_live)
        try:
            await self._context.cluster.delete(
                effect.kind,
                name=effect.name,
                namespace=effect.namespace,
                preconditions=Preconditions(
                    uid=effect.uid, resource_version=effect.resource_version
                ),
                grace_seconds=effect.grace_seconds,
                propagation=effect.propagation,
            )
        except NotFoundError:
            return  # gone already, which is what was wanted
        except ConflictError:
            if effect.resource_version:  # of that uid, it may only have changed: decide anew
                raise

    async def _bind(self, effect: BindPod) -> None:
        if effect.lifts_gate:  # gates can only be removed, so none has come since it was decided
            await self._context.cluster.patch(
                PODS,
                {"spec": {"schedulingGates": None}},
                name=effect.name,
                namespace=effect.namespace,
                preconditions=Preconditions(uid=effect.uid),
            )
        try:
            await self._context.cluster.bind(
                namespace=effect.namespace, name=effect.name, uid=effect.uid, node=effect.node
            )
        except ConflictError:  # perhaps with itself: an attempt whose answer did not come
            if not await self._is_bound(effect):
                raise

    async def _is_bound(self, effect: BindPod) -> bool:
        pod = await self._context.cluster.get(PODS, name=effect.name, namespace=effect.namespace)
        found = pod["metadata"]["uid"], pod.get("spec", {}).get("nodeName")
        return found == (effect.uid, effect.node)

    async def _evict(self, effect: EvictPod) -> None:
        try:
            await self._context.cluster.evict(
                namespace=effect.namespace, name=effect.name, uid=effect.uid
            )
        except (NotFoundError, ConflictError):
            return  # that uid is gone already, which is what was wanted

    async def _publish(self, effect: PublishMessage) -> None:
        await self._context.bus.publish([effect.message])


class _ForeignError(Exception):
    """The name is taken by something that is not ours."""


def _run_key(effect: Effect) -> tuple[type, str]:
    kind = getattr(effect, "kind", None)
    return (type(effect), kind.short if kind is not None else "")
