"""Why pods do not fit on nodes: nodes removed by each check, shortages of the others, the
remedy."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from vc.messages.sessions import Amount, Check, Reason, Stage, Unblock, Where
from vc.scheduling.model.amounts import POD_UNITS, PODS, shown, shown_all
from vc.scheduling.model.node_table import Filtered
from vc.scheduling.model.rows import PodRow
from vc.scheduling.model.shapes import Shape
from vc.scheduling.placement.wanted_nodes import (
    beside_others,
    lonely,
    pod_affinity_labels,
    shown_labels,
    shown_where,
    wanted_nodes,
)
from vc.scheduling.plugins.predicates.plugin import TAINTS
from vc.scheduling.plugins.predicates.pod_affinity import POD_AFFINITY
from vc.scheduling.session.infeasible import ALSO
from vc.scheduling.session.node_capacity import NodeCapacity
from vc.scheduling.session.pod_affinity import PodAffinity
from vc.scheduling.session.reasons import NOT_ENOUGH_RESOURCES


class Beside(NamedTuple):
    """A pod that does not fit, the pod affinity state, and the nodes that are left with it."""

    pod: PodRow
    pod_affinity: PodAffinity
    filtered: Filtered


def does_not_fit(
    shape: Shape,
    *,
    wanted: int,
    placeable: int,
    node_capacity: NodeCapacity,
    beside: Beside | None = None,
) -> Reason:
    """The reason for pods that do not all fit: checks, shortages and the remedy.

    Call it while the pods that do fit are placed. The shortages are then those of the next pod,
    which also shows fragmentation. `beside` is needed if the nodes allowed for the next pod depend
    on other pods.
    """
    filtered = beside.filtered if beside is not None else node_capacity.filtered(shape)
    total = node_capacity.nodes.count
    amounts, lacking = _idle_amounts(
        shape, wanted=wanted, placed=placeable, node_capacity=node_capacity, filtered=filtered
    )
    checks = [Check(name=name, nodes_left=left) for name, left in filtered.left]
    request = {name: amount for name, amount in shape.request if name != PODS}
    missing_pods = wanted - placeable
    # If a check removes every node, the pod cannot be placed on any of them, whatever they have
    # free.
    stage = Stage.GANG if filtered.count or placeable else Stage.PREDICATE
    why = _refusals(total, filtered.left, lacking)
    cure = _cure(shape, filtered, beside, node_capacity=node_capacity, pods=missing_pods)
    return Reason(
        stage=stage,
        code=NOT_ENOUGH_RESOURCES,
        sentence=(
            f"{placeable} of the {wanted} pods of {shown_all(request)} that must start together fit; "
            f"0/{total} nodes fit another: {why}; "
            f"{_shown_cure(cure, missing_pods)}"
        ),
        needed_pods=wanted,
        placeable_pods=placeable,
        amounts=amounts,
        checks=checks,
        unblock=cure,
    )


def nodes_refuse(shape: Shape, *, node_capacity: NodeCapacity, beside: Beside | None = None) -> str:
    """Why no further pod of a shape fits on any node, as a part of a sentence."""
    filtered = beside.filtered if beside is not None else node_capacity.filtered(shape)
    _, lacking = _idle_amounts(
        shape, wanted=1, placed=0, node_capacity=node_capacity, filtered=filtered
    )
    why = _refusals(node_capacity.nodes.count, filtered.left, lacking)
    return f"0/{node_capacity.nodes.count} nodes fit another: {why}"


def and_also(reason: Reason, others: Sequence[Unblock]) -> Reason:
    """The same reason, with the remedies for other tasks of the gang added."""
    if not others or reason.unblock is None:
        return reason
    shown = ", ".join(_shown_other(other) for other in others)
    return msgspec.structs.replace(
        reason,
        sentence=f"{reason.sentence}; {ALSO}{shown}",
        unblock=msgspec.structs.replace(reason.unblock, also=list(others)),
    )


def _shown_other(cure: Unblock) -> str:
    """The remedy for another task of the gang, as a part of a sentence."""
    if cure.action not in (_ADD_CAPACITY, _REACH_VOLUME):
        return f"{cure.action} {cure.target}".strip()
    request = {name: amount for name, amount in cure.amounts.items() if name != PODS}
    found = "pod" if cure.pods == 1 else "pods"
    place = shown_where(cure.where) if cure.where is not None else ""
    return f"capacity for {cure.pods} more {found} of {shown_all(request)}{place}"


def _cure(
    shape: Shape,
    filtered: Filtered,
    beside: Beside | None,
    *,
    node_capacity: NodeCapacity,
    pods: int,
) -> Unblock:
    """The remedy: free resources on allowed nodes, a pod to be near, a volume, or a changed
    spec."""
    closed = next((name for name, left in filtered.left if not left), "")
    alone = lonely(beside.pod_affinity, beside.pod) if beside is not None else None
    # More nodes do not help if no pod exists that the pod affinity selects.
    if alone is not None and closed == POD_AFFINITY:
        labels = pod_affinity_labels(alone)
        target = "" if labels is None else shown_labels(labels)
        return Unblock(action="create-peer" if target else "fix", target=target)
    claims = ",".join(claim.name for claim in shape.pod_terms.claims)
    volumes = beside.pod_affinity.claims.bound_volumes(beside.pod) if beside is not None else ()
    where = wanted_nodes(shape, node_capacity.nodes.static, volumes, taints=closed == TAINTS)
    if where is None:  # the conditions contradict each other, so the pod template must change
        return Unblock(action="fix")
    if beside is not None:
        where = beside_others(where, beside.pod_affinity, beside.pod)
    cure = _VOLUME_CURES.get(closed, _ADD_CAPACITY) if claims else _ADD_CAPACITY
    return Unblock(
        action=cure,
        target=claims if cure != _ADD_CAPACITY else "",
        pods=pods,
        amounts=dict(shape.request),
        where=where if where != Where() else None,
    )


def _shown_cure(cure: Unblock, pods: int) -> str:
    """The remedy as the end of the sentence."""
    if cure.action == "fix":
        return "no node can have all that its selector, its affinities and its volumes require"
    if cure.action == "create-peer":
        return f"it starts near a pod with {cure.target}"
    found = "pod fits" if pods == 1 else "pods fit"
    place = shown_where(cure.where) if cure.where is not None else ""
    return f"it starts when {pods} more {found}{place}"


_ADD_CAPACITY: Final = "add-room"
_REACH_VOLUME: Final = "reach-volume"
_VOLUME_CURES: Final = {
    "volume affinity": _REACH_VOLUME,
    "volume zone": _REACH_VOLUME,
    "volume binding": "add-volume",
}
"""Remedy by the check that left no node: a node that reaches the volumes, or a free volume."""


def _idle_amounts(
    shape: Shape, *, wanted: int, placed: int, node_capacity: NodeCapacity, filtered: Filtered
) -> tuple[list[Amount], list[tuple[int, str]]]:
    """Amounts per resource (needed, idle on allowed nodes, missing), and how many nodes lack it.

    `placed` is the number of pods that are placed already. Their requests count as available.
    """
    free = node_capacity.free_resources(filtered)
    amounts: list[Amount] = []
    lacking: list[tuple[int, str]] = []
    for name, request in shape.request:
        column = node_capacity.nodes.resources.get(name)
        if column is None:
            available, lack, most = 0, filtered.count, 0
        else:
            available = free.total(column) + placed * request
            lack = free.lacking(column, request)
            most = free.most(column)
        needed = request * wanted
        amounts.append(
            Amount(
                resource=name,
                needed=needed,
                available=available,
                missing=max(0, needed - available),
            )
        )
        if lack:
            lacking.append((lack, _lack_text(name, most)))
    return amounts, lacking


def _lack_text(resource: str, most: int) -> str:
    """What nodes lack of a resource, as a part of a sentence."""
    if resource == PODS:
        return f"too many pods (at most {most // POD_UNITS} more on a node)"
    return f"insufficient {resource} (at most {shown(resource, most)} free on a node)"


def _refusals(total: int, left: tuple[tuple[str, int], ...], lacking: list[tuple[int, str]]) -> str:
    """Text: how many nodes each check removed, then what the other nodes lack."""
    texts: list[str] = []
    before = total
    for name, after in left:
        if after < before:
            texts.append(f"{before - after} {_CHECK_TEXTS.get(name, 'fail ' + name)}")
        before = after
    texts += [f"{count} {text}" for count, text in lacking]
    return ", ".join(texts) or "there are no nodes"


_CHECK_TEXTS: Final = {
    "ready": "not ready",
    "schedulable": "cordoned",
    "node selector": "do not match the node selector",
    "node affinity": "do not match the node affinity",
    "taints": "have taints that are not tolerated",
    "host ports": "have its host ports taken",
    "pod affinity": "have no pod near that its affinity requires",
    "pod anti-affinity": "are near a pod that its anti-affinity excludes",
    "anti-affinity of placed pods": "are near a pod whose anti-affinity excludes it",
    "volume affinity": "cannot reach its volumes",
    "volume zone": "are in another zone than its volumes",
    "volume binding": "have no volume for its claims, and none can be made there",
    "volume limits": "have as many volumes as they can attach",
    "topology spread": "would be skewed more than its topology spread allows",
}
