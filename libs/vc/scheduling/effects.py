"""Decisions as effects. The module is pure; the scheduler service applies the effects.

The status of a pod group is written after the binds that it reports, so that a crash between them
cannot leave a wrong status. The scheduler patches only `status` (docs/protocol.md 16), with the
object's uid as precondition. A merge patch replaces a list as a whole. So conditions are written
only when one of ours changes, and then with the resourceVersion in which the conditions of other
writers were read.
"""

from collections.abc import Iterable

import msgspec

from vc.messages.effects import Effect, EvictPod, PatchObject, RecordEvent
from vc.model.api.graft import to_json
from vc.model.api.keys import BOUND_BY_CONTROLLER, GANG_RELEASED, QUEUE_ALLOCATED, SELECTED_NODE
from vc.model.api.kinds import CLAIMS, PODGROUPS, PODS, QUEUES, VOLUMES
from vc.model.api.meta import object_key
from vc.model.api.struct import JsonObject
from vc.scheduling.model.decisions import (
    Decisions,
    Eviction,
    GangBind,
    GateLift,
    PodRef,
    QueueAllocated,
    Release,
    StatusChange,
    Takeover,
    Withdrawal,
)
from vc.scheduling.model.nominations import ReservedNode
from vc.scheduling.model.volume_rows import ClaimChoice

_RELEASE_WHY = "its gang could not be completed"


class GroupWork(msgspec.Struct, frozen=True, kw_only=True):
    """All decisions of a session for one group."""

    group: str
    uid: str
    gang: GangBind | None = None
    status: StatusChange | None = None
    release: Release | None = None
    eviction: Eviction | None = None
    withdrawal: Withdrawal | None = None
    takeover: Takeover | None = None
    gates: GateLift | None = None
    claims: tuple[ClaimChoice, ...] = ()
    enqueues: bool = False
    """The status has the new phase Inqueue: a controller creates pods as soon as it is written."""

    @property
    def acts(self) -> bool:
        """Whether there are effects other than the status write."""
        moves = self.gang or self.release or self.eviction or self.takeover
        return bool(moves or self.withdrawal or self.claims or self.gates)


def group_work(decisions: Decisions) -> list[GroupWork]:
    """The session's decisions by group, sorted by group key."""
    gangs = {gang.group: gang for gang in decisions.binds}
    statuses = {object_key(s.namespace, s.name): s for s in decisions.statuses}
    releases = {release.group: release for release in decisions.releases}
    evictions = {eviction.group: eviction for eviction in decisions.evictions}
    withdrawals = {withdrawal.group: withdrawal for withdrawal in decisions.withdrawals}
    takeovers = {takeover.group: takeover for takeover in decisions.takeovers}
    gates = {lift.group: lift for lift in decisions.gates}
    work: list[GroupWork] = []
    enqueued = frozenset(decisions.enqueued)
    claims: dict[str, list[ClaimChoice]] = {}
    for choice in decisions.claims:
        claims.setdefault(choice.group, []).append(choice)
    named = (gangs, statuses, releases, evictions, withdrawals, takeovers, claims, gates)
    for key in sorted({key: None for part in named for key in part}):
        gang, status = gangs.get(key), statuses.get(key)
        uid = gang.uid if gang else status.uid if status else ""
        work.append(
            GroupWork(
                group=key,
                uid=uid,
                gang=gang,
                status=status,
                release=releases.get(key),
                eviction=evictions.get(key),
                withdrawal=withdrawals.get(key),
                takeover=takeovers.get(key),
                gates=gates.get(key),
                claims=tuple(claims.get(key, ())),
                enqueues=gang is None and key in enqueued,
            )
        )
    return work


def claim_effect(choice: ClaimChoice) -> PatchObject:
    """Bind a claim to an existing volume, or annotate it with the node to provision one for."""
    namespace, name = choice.claim.split("/", 1)
    if not choice.volume:
        return PatchObject(
            kind=CLAIMS,
            namespace=namespace,
            name=name,
            uid=choice.claim_uid,
            patch={"metadata": {"annotations": {SELECTED_NODE: choice.node}}},
        )
    reference = {
        "apiVersion": CLAIMS.api_version,
        "kind": CLAIMS.kind,
        "namespace": namespace,
        "name": name,
        "uid": choice.claim_uid,
    }
    return PatchObject(
        kind=VOLUMES,
        name=choice.volume,
        uid=choice.volume_uid,
        resource_version=choice.volume_version,
        patch={
            "metadata": {"annotations": {BOUND_BY_CONTROLLER: "yes"}},
            "spec": {"claimRef": reference},
        },
    )


def gate_effects(lift: GateLift) -> list[PatchObject]:
    """Remove the queue-allocation gate, and set the annotation that quota is reserved for the pod.

    The annotation keeps the reservation over a restart of the scheduler.
    """
    return [
        PatchObject(
            kind=PODS,
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            patch={
                "metadata": {"annotations": {QUEUE_ALLOCATED: "true"}},
                "spec": {"schedulingGates": None},
            },
        )
        for pod in lift.pods
    ]


def status_effect(change: StatusChange) -> PatchObject:
    """A merge patch of `status` only.

    Zero counters are written, or the patch would keep old values.
    """
    status: JsonObject = {
        "phase": change.status.phase,
        "running": change.status.running,
        "succeeded": change.status.succeeded,
        "failed": change.status.failed,
    }
    if change.changes_conditions:
        status["conditions"] = [to_json(condition) for condition in change.status.conditions]
    return PatchObject(
        kind=PODGROUPS,
        namespace=change.namespace,
        name=change.name,
        uid=change.uid,
        resource_version=change.seen_version if change.changes_conditions else "",
        patch={"status": status},
    )


def refusal_event(change: StatusChange) -> RecordEvent:
    """The event on the pod group with the reason why it waits."""
    return RecordEvent(
        kind=PODGROUPS,
        namespace=change.namespace,
        name=change.name,
        uid=change.uid,
        type="Warning",
        reason="Unschedulable",
        message=change.refusal,
        aggregate=True,
    )


def eviction_effects(eviction: Eviction) -> list[EvictPod]:
    """Evict through the eviction API, which respects disruption budgets and sets the condition."""
    return [
        EvictPod(namespace=pod.namespace, name=pod.name, uid=pod.uid, reason=_evict_why(eviction))
        for pod in eviction.pods
    ]


def nomination_effects(reserved: Iterable[ReservedNode]) -> list[PatchObject]:
    """Write nominatedNodeName on pods whose nodes victims free.

    It is written before the evictions, so that the nomination survives a crash of the scheduler.
    """
    return [
        _nominate(PodRef(namespace=p.namespace, name=p.name, uid=p.uid), p.node)
        for p in reserved
        if p.freed
    ]


def withdrawal_effects(withdrawal: Withdrawal) -> list[PatchObject]:
    """Remove nominatedNodeName. A cluster autoscaler would treat the pods as placed otherwise."""
    return [_nominate(pod, None) for pod in withdrawal.pods]


def _nominate(pod: PodRef, node: str | None) -> PatchObject:
    """Write nominatedNodeName on a pod, or remove it if `node` is None."""
    return PatchObject(
        kind=PODS,
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        subresource="status",
        patch={"status": {"nominatedNodeName": node}},
    )


def eviction_events(eviction: Eviction) -> list[RecordEvent]:
    """Events on the victims, with the pod group that they are evicted for."""
    return [
        RecordEvent(
            kind=PODS,
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            type="Warning",
            reason="Evict",
            message=_evict_why(eviction),
        )
        for pod in eviction.pods
    ]


def _evict_why(eviction: Eviction) -> str:
    return f"evicted to free resources for pod group {eviction.group}"


def release_effects(release: Release) -> list[Effect]:
    """Mark all pods, then evict all, so that no pod is evicted without the mark."""
    marks: list[Effect] = [_mark(pod) for pod in release.pods]
    evictions: list[Effect] = [
        EvictPod(namespace=pod.namespace, name=pod.name, uid=pod.uid, reason=_RELEASE_WHY)
        for pod in release.pods
    ]
    return marks + evictions


def _mark(pod: PodRef) -> PatchObject:
    """Annotate a pod as a member of a released gang."""
    return PatchObject(
        kind=PODS,
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        patch={"metadata": {"annotations": {GANG_RELEASED: "true"}}},
    )


def queue_effect(queue: QueueAllocated) -> PatchObject:
    """A patch of `status.allocated` only. The queue-controller owns the rest of the status.

    Resources that the queue no longer has are set to null, which removes them.
    """
    allocated = {**dict.fromkeys(queue.gone), **queue.allocated}
    return PatchObject(
        kind=QUEUES,
        name=queue.queue,
        subresource="status",
        patch={"status": {"allocated": allocated}},
    )
