"""Decisions as commands for the cluster and the bus. Pure; the shell applies them.

A pod group's status goes out after the binds it speaks of, so that it never promises what a crash
has prevented. The scheduler patches only `status` (protocol 16), guarded by the object's uid. A merge
patch replaces a list whole, so conditions go out only when one of ours changes, and then the object must
be the one in which everybody else's were seen.
"""

from collections.abc import Iterable

import msgspec

from vc_messages.effects import Effect, EvictPod, PatchObject, RecordEvent
from vc_model.graft import to_json
from vc_model.keys import BOUND_BY_CONTROLLER, GANG_RELEASED, QUEUE_ALLOCATED, SELECTED_NODE
from vc_model.kinds import CLAIMS, PODGROUPS, PODS, QUEUES, VOLUMES
from vc_model.meta import object_key
from vc_model.struct import JsonObject
from vc_scheduler.logic.decisions import (
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
from vc_scheduler.logic.nominations import Place
from vc_scheduler.logic.volume_rows import ClaimChoice

_RELEASE_WHY = "its gang could not be completed"


class GroupWork(msgspec.Struct, frozen=True, kw_only=True):
    """All that a session wants for one group, in order."""

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
    let_in: bool = False
    """The status lets the group in: its pods are made when it is written."""

    @property
    def acts(self) -> bool:
        """Whether something is to be done, besides telling."""
        moves = self.gang or self.release or self.eviction or self.takeover
        return bool(moves or self.withdrawal or self.claims or self.gates)


def group_work(decisions: Decisions) -> list[GroupWork]:
    """The session's decisions by group, in the order of keys."""
    gangs = {gang.group: gang for gang in decisions.binds}
    statuses = {object_key(s.namespace, s.name): s for s in decisions.statuses}
    releases = {release.group: release for release in decisions.releases}
    evictions = {eviction.group: eviction for eviction in decisions.evictions}
    withdrawals = {withdrawal.group: withdrawal for withdrawal in decisions.withdrawals}
    takeovers = {takeover.group: takeover for takeover in decisions.takeovers}
    gates = {lift.group: lift for lift in decisions.gates}
    work: list[GroupWork] = []
    let_in = frozenset(decisions.enqueued)
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
                let_in=gang is None and key in let_in,
            )
        )
    return work


def claim_effect(choice: ClaimChoice) -> PatchObject:
    """A volume that is there is given to the claim; else the claim says where it will be used."""
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
    """The gate goes, and the annotation says that the queue holds room: what outlives us is in the object."""
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
    """A merge patch of `status` alone; counters that are zero are said, not left out."""
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
    """The event on the group that says why it waits."""
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
    """Through the eviction API: disruption budgets are kept, and the pod's condition is set there."""
    return [
        EvictPod(namespace=pod.namespace, name=pod.name, uid=pod.uid, reason=_evict_why(eviction))
        for pod in eviction.pods
    ]


def nomination_effects(places: Iterable[Place]) -> list[PatchObject]:
    """Tell the pods that victims make room for; written first, so that the promise outlives a crash."""
    return [
        _nominate(PodRef(namespace=p.namespace, name=p.name, uid=p.uid), p.node)
        for p in places
        if p.freed
    ]


def withdrawal_effects(withdrawal: Withdrawal) -> list[PatchObject]:
    """An autoscaler takes a nominated pod for placed: say when it is not."""
    return [_nominate(pod, None) for pod in withdrawal.pods]


def _nominate(pod: PodRef, node: str | None) -> PatchObject:
    return PatchObject(
        kind=PODS,
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        subresource="status",
        patch={"status": {"nominatedNodeName": node}},
    )


def eviction_events(eviction: Eviction) -> list[RecordEvent]:
    """Tell those who look at the victims."""
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
    return f"evicted to make room for pod group {eviction.group}"


def release_effects(release: Release) -> list[Effect]:
    """Mark all, then evict all: a pod is never evicted unmarked."""
    marks: list[Effect] = [_mark(pod) for pod in release.pods]
    evictions: list[Effect] = [
        EvictPod(namespace=pod.namespace, name=pod.name, uid=pod.uid, reason=_RELEASE_WHY)
        for pod in release.pods
    ]
    return marks + evictions


def _mark(pod: PodRef) -> PatchObject:
    return PatchObject(
        kind=PODS,
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        patch={"metadata": {"annotations": {GANG_RELEASED: "true"}}},
    )


def queue_effect(queue: QueueAllocated) -> PatchObject:
    """`status.allocated` alone; the queue-controller owns the rest of the status."""
    allocated = {**dict.fromkeys(queue.gone), **queue.allocated}
    return PatchObject(
        kind=QUEUES,
        name=queue.queue,
        subresource="status",
        patch={"status": {"allocated": allocated}},
    )
