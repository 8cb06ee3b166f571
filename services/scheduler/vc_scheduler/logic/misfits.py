"""Why pods find no room on nodes: how many nodes each check leaves, what the others lack, what would do."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from vc_messages.sessions import Amount, Check, Reason, Stage, Unblock, Where
from vc_scheduler.logic.amounts import POD_UNITS, PODS, shown, shown_all
from vc_scheduler.logic.peers import Peers
from vc_scheduler.logic.plugins.peer_checks import POD_AFFINITY
from vc_scheduler.logic.plugins.predicates import TAINTS
from vc_scheduler.logic.reasons import NOT_ENOUGH_RESOURCES
from vc_scheduler.logic.rooms import Rooms
from vc_scheduler.logic.rows import PodRow
from vc_scheduler.logic.shapes import Shape
from vc_scheduler.logic.table import Filtered
from vc_scheduler.logic.wanted_nodes import (
    beside_others,
    lonely,
    peer_labels,
    shown_labels,
    shown_where,
    wanted_nodes,
)


class Beside(NamedTuple):
    """The pod that finds no place, the others, and the nodes they leave it."""

    pod: PodRow
    peers: Peers
    filtered: Filtered


def does_not_fit(
    shape: Shape,
    *,
    wanted: int,
    placeable: int,
    rooms: Rooms,
    beside: Beside | None = None,
) -> Reason:
    """The nodes have no room for all: which checks they passed, what they lack.

    Called while the pods that do fit lie on their nodes, so that what the nodes lack is what keeps
    the next one away: that is what fragmentation looks like. `beside` is given when where that next one
    may go depends on the pods that lie there.
    """
    filtered = beside.filtered if beside is not None else rooms.filtered(shape)
    total = rooms.nodes.count
    amounts, lacking = _idle_amounts(
        shape, wanted=wanted, lying=placeable, rooms=rooms, filtered=filtered
    )
    checks = [Check(name=name, nodes_left=left) for name, left in filtered.left]
    request = {name: amount for name, amount in shape.request if name != PODS}
    missing_pods = wanted - placeable
    stage = Stage.GANG if filtered.count or placeable else Stage.PREDICATE
    why = _refusals(total, filtered.left, lacking)
    cure = _cure(shape, filtered, beside, rooms=rooms, pods=missing_pods)
    return Reason(
        stage=stage,
        code=NOT_ENOUGH_RESOURCES,
        sentence=(
            f"room for {placeable} of the {wanted} pods of {shown_all(request)} that must start "
            f"together; 0/{total} nodes take another: {why}; "
            f"{_shown_cure(cure, missing_pods)}"
        ),
        needed_pods=wanted,
        placeable_pods=placeable,
        amounts=amounts,
        checks=checks,
        unblock=cure,
    )


def nodes_refuse(shape: Shape, *, rooms: Rooms, beside: Beside | None = None) -> str:
    """Why no node takes one more pod of a shape, for a sentence."""
    filtered = beside.filtered if beside is not None else rooms.filtered(shape)
    _, lacking = _idle_amounts(shape, wanted=1, lying=0, rooms=rooms, filtered=filtered)
    why = _refusals(rooms.nodes.count, filtered.left, lacking)
    return f"0/{rooms.nodes.count} nodes take another: {why}"


def and_also(reason: Reason, others: Sequence[Unblock]) -> Reason:
    """The same, of a gang that lacks this besides."""
    if not others or reason.unblock is None:
        return reason
    shown = ", ".join(_shown_other(other) for other in others)
    return msgspec.structs.replace(
        reason,
        sentence=f"{reason.sentence}; it also takes {shown}",
        unblock=msgspec.structs.replace(reason.unblock, also=list(others)),
    )


def _shown_other(cure: Unblock) -> str:
    if cure.action not in (_ROOM, _REACH):
        return f"{cure.action} {cure.target}".strip()
    request = {name: amount for name, amount in cure.amounts.items() if name != PODS}
    found = "pod" if cure.pods == 1 else "pods"
    place = shown_where(cure.where) if cure.where is not None else ""
    return f"room for {cure.pods} more {found} of {shown_all(request)}{place}"


def _cure(
    shape: Shape, filtered: Filtered, beside: Beside | None, *, rooms: Rooms, pods: int
) -> Unblock:
    """Room on nodes that it may go to; or somebody to be near, a volume, other conditions."""
    closed = next((name for name, left in filtered.left if not left), "")
    alone = lonely(beside.peers, beside.pod) if beside is not None else None
    if alone is not None and closed == POD_AFFINITY:
        labels = peer_labels(alone)
        target = "" if labels is None else shown_labels(labels)
        return Unblock(action="create-peer" if target else "fix", target=target)
    claims = ",".join(claim.name for claim in shape.peering.claims)
    volumes = beside.peers.claims.bound_volumes(beside.pod) if beside is not None else ()
    where = wanted_nodes(shape, rooms.nodes.static, volumes, taints=closed == TAINTS)
    if where is None:
        return Unblock(action="fix")
    if beside is not None:
        where = beside_others(where, beside.peers, beside.pod)
    cure = _VOLUME_CURES.get(closed, _ROOM) if claims else _ROOM
    return Unblock(
        action=cure,
        target=claims if cure != _ROOM else "",
        pods=pods,
        amounts=dict(shape.request),
        where=where if where != Where() else None,
    )


def _shown_cure(cure: Unblock, pods: int) -> str:
    """The end of the sentence."""
    if cure.action == "fix":
        return "no node can have all that its selector, its affinities and its volumes ask for"
    if cure.action == "create-peer":
        return f"it starts near a pod with {cure.target}"
    found = "pod finds" if pods == 1 else "pods find"
    place = shown_where(cure.where) if cure.where is not None else ""
    return f"it starts when {pods} more {found} room{place}"


_ROOM: Final = "add-room"
_REACH: Final = "reach-volume"
_VOLUME_CURES: Final = {
    "volume affinity": _REACH,
    "volume zone": _REACH,
    "volume binding": "add-volume",
}
"""By the check that left no node: a node that reaches the volumes, or a free volume."""


def _idle_amounts(
    shape: Shape, *, wanted: int, lying: int, rooms: Rooms, filtered: Filtered
) -> tuple[list[Amount], list[tuple[int, str]]]:
    """Per resource: needed, idle on the allowed nodes, missing; and how many nodes lack it."""
    vacancy = rooms.vacancy(filtered)
    amounts: list[Amount] = []
    lacking: list[tuple[int, str]] = []
    for name, request in shape.request:
        column = rooms.nodes.resources.get(name)
        if column is None:
            available, lack, most = 0, filtered.count, 0
        else:
            available = vacancy.total(column) + lying * request
            lack = vacancy.lacking(column, request)
            most = vacancy.most(column)
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
    if resource == PODS:
        return f"too many pods (at most {most // POD_UNITS} more on a node)"
    return f"insufficient {resource} (at most {shown(resource, most)} free on a node)"


def _refusals(total: int, left: tuple[tuple[str, int], ...], lacking: list[tuple[int, str]]) -> str:
    """How many nodes each check took away, then what the others lack."""
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
    "pod affinity": "have no pod near that its affinity asks for",
    "pod anti-affinity": "are near a pod that its anti-affinity shuns",
    "anti-affinity of placed pods": "are near a pod whose anti-affinity shuns it",
    "volume affinity": "cannot reach its volumes",
    "volume zone": "are in another zone than its volumes",
    "volume binding": "have no volume for its claims, and none can be made there",
    "volume limits": "have as many volumes as they can attach",
    "topology spread": "would be skewed more than its topology spread allows",
}
