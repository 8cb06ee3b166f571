"""Applies the effects of decisions safely, even if they are late, repeated or out of date.

Effects of one decision are applied in order. Consecutive effects of the same kind are sent
concurrently, within limits and in the order that `applying.flow` defines. Temporary failures are
retried with backoff and jitter; an effect that waits for its retry does not block others. An effect
that cannot be applied yields an `Outcome`, not an exception, and the shell decides again. The same
holds for an eviction that a disruption budget refuses, which may last for hours.

A service with a Lease passes the epoch of its decision with every write. While the lease has
expired and no other replica holds it, writes wait. Decisions of another epoch are dropped
(docs/protocol.md 11).
"""

import asyncio
import enum
import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from vc.bus import BusError, OversizeError
from vc.cluster import (
    AlreadyExistsError,
    ClusterError,
    ConflictError,
    NotFoundError,
    Preconditions,
    TooManyRequestsError,
    UnavailableError,
)
from vc.messages.effects import (
    BindPod,
    CreateObject,
    DeleteObject,
    Effect,
    EvictPod,
    PatchObject,
    PublishMessage,
    RecordEvent,
)
from vc.model.api.kinds import PODS
from vc.model.api.struct import JsonObject
from vc.model.values.backoff import delay_seconds, retry_after_seconds
from vc.runtime.applying.events import EventRecorder
from vc.runtime.applying.flow import lane_of
from vc.runtime.applying.owners import LiveReads, ObjectOwner, compare_owner, owner_of
from vc.runtime.applying.slots import Slots
from vc.runtime.applying.terminating import NamespaceRejections
from vc.runtime.hosting.context import Context

CONCURRENCY_MAX: Final = 32
"""Concurrent requests of one service to the API server."""

ATTEMPTS_MAX: Final = 5
"""Attempts per effect before the outcome is returned and the whole decision is made again."""


class OutcomeStatus(enum.Enum):
    """The result of applying an effect."""

    DONE = "done"
    STALE = "stale"
    """The object differs from what the decision was based on; decide again."""
    FOREIGN = "foreign"
    """An object that is not ours has the name; it is never changed."""
    REFUSED = "refused"
    """The API server rejects the write:
    invalid, forbidden, over quota, or refused by a disruption budget.
    """
    UNAVAILABLE = "unavailable"
    """A temporary failure that persisted over all attempts."""
    SKIPPED = "skipped"
    """Not attempted: another epoch has begun, or an earlier effect failed."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """An effect and the result of applying it."""

    effect: Effect
    status: OutcomeStatus
    written: JsonObject | None = None
    """The object as the API server returned it."""
    error: str = ""
    namespace_terminating: bool = False
    """Rejected because the namespace is being deleted; further creates there will fail too."""


class Lease(Protocol):
    """The lease on which a leader's writes depend (`vc.runtime.leading.election.Leadership`)."""

    def holds(self, epoch: int) -> bool:
        """Whether a decision of that epoch may be written now."""
        ...

    async def regained(self, epoch: int) -> bool:
        """Wait while the lease has expired and no other replica holds it;
        returns whether it is held then.
        """
        ...


class _Response(NamedTuple):
    """The result of one attempt."""

    outcome: Outcome
    requested_seconds: float = 0.0
    """The delay that the server requested (Retry-After)."""
    slow: bool = False
    """The server is slow, overloaded or unreachable; the effect itself is not at fault."""


class EffectApplier:
    """Applies the effects of one service."""

    def __init__(
        self,
        context: Context,
        *,
        lease: Lease | None = None,
        concurrency: int = CONCURRENCY_MAX,
        slots: Slots | None = None,
    ) -> None:
        """`lease` is checked immediately before each write.
        Appliers with the same `slots` share one limit.
        """
        self._context = context
        self._lease = lease
        self._slots = slots or Slots(context.clock.monotonic, requests_max=concurrency)
        self._events = EventRecorder(context)
        self._live = LiveReads(context.cluster)
        self._terminating = NamespaceRejections(context.clock.monotonic)

    async def apply(self, effects: Sequence[Effect], *, epoch: int | None = None) -> list[Outcome]:
        """Apply in order; after a failure the effects behind that run are skipped.

        `epoch` is the lease epoch of the decision; it is required if the applier has a lease.
        """
        # Any default would let a decision of an earlier term be written in a later one.
        if self._lease is not None and epoch is None:
            raise ValueError("effects of a leader need the lease epoch of their decision")
        # All effects of one decision share a turn, so an older decision is completed first.
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
            # Later effects may depend on earlier ones, such as pods on their PodGroup.
            failed = any(o.status is not OutcomeStatus.DONE for o in done)
        return outcomes

    async def _apply_run(self, effects: list[Effect], turn: int, epoch: int) -> list[Outcome]:
        if len(effects) == 1:
            return [await self._apply_one(effects[0], turn, epoch)]
        # Effects of one run have the same type and kind and do not depend on each other.
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._apply_one(e, turn, epoch)) for e in effects]
        return [task.result() for task in tasks]

    async def _apply_one(self, effect: Effect, turn: int, epoch: int) -> Outcome:
        """Apply one effect, with retries.

        A bind that fails because the server is slow is retried without limit. If the binds of a
        started gang were abandoned, the gang would become half-bound, and would be decided and
        released repeatedly.
        """
        attempts = waits = 0
        while True:
            answer = await self._attempt(effect, turn, epoch)
            # Every other result is final for this decision; only a new decision may try again.
            if answer.outcome.status is not OutcomeStatus.UNAVAILABLE:
                return answer.outcome
            waits += 1
            # An overloaded server is not the fault of the bind, so the attempt does not count.
            attempts += not (answer.slow and isinstance(effect, BindPod))
            if attempts >= ATTEMPTS_MAX:
                return answer.outcome
            await self._context.clock.sleep(self._rest_seconds(waits, answer.requested_seconds))

    async def _attempt(self, effect: Effect, turn: int, epoch: int) -> _Response:
        """One attempt, after waiting for a valid lease and for a request slot."""
        while True:
            if self._lease is not None and not await self._lease.regained(epoch):
                return _Response(
                    Outcome(effect=effect, status=OutcomeStatus.SKIPPED, error="no longer leading")
                )
            async with self._slots.slot(lane_of(effect), turn) as slot:
                if self._lease is not None and not self._lease.holds(epoch):
                    continue  # the lease expired while we waited for a slot
                answer = await self._send(effect)
                # Only overload shrinks the window. A refusal says nothing about the load of
                # the server.
                slot.overloaded = answer.slow
                return answer

    def _rest_seconds(self, attempt: int, requested_seconds: float) -> float:
        """The delay before the next attempt:
        what the server requested, else exponential backoff.
        """
        rng = self._context.rng
        if requested_seconds:
            return retry_after_seconds(requested_seconds, rng)
        return delay_seconds(attempt, rng)

    async def _send(self, effect: Effect) -> _Response:
        """One attempt, without a request if the namespace is known to be terminating."""
        refusal = self._terminating.refusal(effect)
        if not refusal:
            return await self._try(effect)
        refused = Outcome(
            effect=effect, status=OutcomeStatus.REFUSED, error=refusal, namespace_terminating=True
        )
        return _Response(refused)

    async def _try(self, effect: Effect) -> _Response:
        """One attempt; a failure becomes an outcome."""
        requested_seconds, terminating, slow = 0.0, False, False
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
            requested_seconds, why = error.retry_after_seconds, error.message
            # A disruption budget answers 429 as well, but that is a refusal and no overload.
            slow = not error.by_budget
            status = OutcomeStatus.UNAVAILABLE if slow else OutcomeStatus.REFUSED
        except ClusterError as error:
            terminating = self._terminating.answered(effect, error)
            status = OutcomeStatus.UNAVAILABLE if error.temporary else OutcomeStatus.REFUSED
            why, slow = error.message, isinstance(error, UnavailableError)
        except OversizeError as error:
            status, why = OutcomeStatus.REFUSED, str(error)
        except BusError as error:  # unreachable or wiped; the watcher creates the topics again
            status, why, slow = OutcomeStatus.UNAVAILABLE, str(error), True
        outcome = Outcome(
            effect=effect, status=status, written=written, error=why,
            namespace_terminating=terminating,
        )  # fmt: skip
        return _Response(outcome, requested_seconds, slow)

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
        # A repeated create after a lost response must be recognised as a success.
        except AlreadyExistsError:
            existing = await self._context.cluster.get(
                effect.kind, name=effect.name, namespace=effect.namespace
            )
            return await self._resolve_existing(effect, existing)

    async def _resolve_existing(self, effect: CreateObject, existing: JsonObject) -> JsonObject:
        """Decides about an existing object of the wanted name.

        An object of our owner counts as created. An object of an older owner of the same name is
        deleted, and the decision is made again. A foreign object is not changed.
        """
        # An object without a controller is shared, so any existing one will do.
        if not effect.owner_uid:
            return existing
        metadata = existing["metadata"]
        going = bool(metadata.get("deletionTimestamp"))
        match compare_owner(effect, existing):
            case ObjectOwner.OURS:
                if not going:
                    return existing
            case ObjectOwner.FOREIGN:
                raise _ForeignError(
                    f"{effect.kind.kind} {effect.name!r} exists and is not controlled by this job"
                )
            case ObjectOwner.NAMESAKES:
                # A namesake may be newer than the owner we know, so read it before the delete.
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
        # The view may be behind: the owner that it shows may have been deleted and created again.
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
            return  # already deleted, which is the requested state
        except ConflictError:
            # The object of that uid may only have changed, so decide again.
            if effect.resource_version:
                raise

    async def _bind(self, effect: BindPod) -> None:
        if effect.lifts_gate:  # gates can only be removed, so none was added since the decision
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
        except ConflictError:  # possibly with our own earlier attempt, whose response was lost
            if not await self._is_bound(effect):
                raise

    async def _is_bound(self, effect: BindPod) -> bool:
        pod = await self._context.cluster.get(PODS, name=effect.name, namespace=effect.namespace)
        # A pod of another uid, or on another node, means that the conflict is real.
        found = pod["metadata"]["uid"], pod.get("spec", {}).get("nodeName")
        return found == (effect.uid, effect.node)

    async def _evict(self, effect: EvictPod) -> None:
        try:
            await self._context.cluster.evict(
                namespace=effect.namespace, name=effect.name, uid=effect.uid
            )
        except (NotFoundError, ConflictError):
            return  # that uid is already deleted, which is the requested state

    async def _publish(self, effect: PublishMessage) -> None:
        await self._context.bus.publish([effect.message])


class _ForeignError(Exception):
    """The wanted name belongs to an object that is not ours."""


def _run_key(effect: Effect) -> tuple[type, str]:
    kind = getattr(effect, "kind", None)
    return (type(effect), kind.short if kind is not None else "")
