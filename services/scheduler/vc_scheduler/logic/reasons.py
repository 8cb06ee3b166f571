"""Building reasons from the numbers a decision was made on.

Every function here is called by the decision that refused, and returns the structured reason with
its one sentence. Sentences start with what is missing and end with what would help.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from vc_messages.sessions import Amount, Check, Reason, Stage, Unblock
from vc_scheduler.logic.amounts import POD_UNITS, PODS, shown, shown_all
from vc_scheduler.logic.rows import GroupRow, QueueRow
from vc_scheduler.logic.shapes import Shape
from vc_scheduler.logic.table import Filtered, Mask
from vc_scheduler.logic.volume_rows import names

if TYPE_CHECKING:
    from vc_scheduler.logic.claims import Obstacle
    from vc_scheduler.logic.policies import QuotaRow
    from vc_scheduler.logic.rooms import Rooms

NOT_ENOUGH_RESOURCES: Final = "NotEnoughResources"
NOT_ENOUGH_TASKS: Final = "NotEnoughTasks"
NOT_ENOUGH_PODS_OF_TASK: Final = "NotEnoughPodsOfTask"
QUEUE_MISSING: Final = "QueueNotFound"
QUEUE_CLOSED: Final = "QueueClosed"
INVALID: Final = "Invalid"
WAITING_FOR_VICTIMS: Final = "WaitingForVictims"
BEHIND: Final = "BehindOthers"
BIND_FAILED: Final = "BindFailed"
INQUEUE_TIMEOUT: Final = "InqueueTimeout"
CLAIM_NOT_FOUND: Final = "ClaimNotFound"
CLAIM_NOT_BOUND: Final = "ClaimNotBound"
CLAIM_IN_USE: Final = "ClaimInUse"
VOLUME_NOT_FOUND: Final = "VolumeNotFound"


def invalid(problem: str) -> Reason:
    return Reason(
        stage=Stage.INVALID,
        code=INVALID,
        sentence=f"cannot be used: {problem}",
        unblock=Unblock(action="fix"),
    )


def queue_missing(queue: str) -> Reason:
    return Reason(
        stage=Stage.QUEUE_MISSING,
        code=QUEUE_MISSING,
        sentence=f"queue {queue!r} does not exist; create it or name another",
        unblock=Unblock(action="create-queue", target=queue),
    )


def queue_closed(queue: QueueRow) -> Reason:
    return Reason(
        stage=Stage.QUEUE_CLOSED,
        code=QUEUE_CLOSED,
        sentence=f"queue {queue.name!r} is {queue.state}; open it to let jobs in",
        unblock=Unblock(action="open-queue", target=queue.name),
    )


def not_enough_pods(group: GroupRow, *, role: str, has: int, least: int) -> Reason:
    of_role = f" of task {role!r}" if role else ""
    return Reason(
        stage=Stage.TASKS,
        code=NOT_ENOUGH_PODS_OF_TASK if role else NOT_ENOUGH_TASKS,
        sentence=f"{has} of the {least} pods{of_role} that the gang needs exist",
        needed_pods=least,
        placeable_pods=has,
        unblock=Unblock(action="create-pods", target=role or group.name, pods=least - has),
    )


def not_placeable_yet(group: GroupRow, *, needed: int) -> Reason:
    """Pods are there, but gated, broken or resting after a failed bind."""
    if group.broken:
        return invalid(group.broken_why)
    if group.held:
        return Reason(
            stage=Stage.BIND,
            code=BIND_FAILED,
            sentence=f"{group.held} pods could not be bound and are tried again soon",
            needed_pods=needed,
            placeable_pods=group.candidates,
            unblock=Unblock(action="wait", pods=group.held),
        )
    return Reason(
        stage=Stage.TASKS,
        code=NOT_ENOUGH_TASKS,
        sentence=f"{group.gated} pods have scheduling gates; {needed} more are needed for the gang",
        needed_pods=needed,
        placeable_pods=group.candidates,
        unblock=Unblock(action="wait", pods=needed - group.candidates),
    )


def waiting_for_victims(*, leaving: int, evicted: int) -> Reason:
    """Its room is kept; pods that still take it are on their way out."""
    asked = f", {evicted} of them evicted for it" if evicted else ""
    return Reason(
        stage=Stage.VICTIMS,
        code=WAITING_FOR_VICTIMS,
        sentence=f"its room is kept until {leaving} pods that leave are gone{asked}",
        unblock=Unblock(action="wait", pods=leaving),
    )


def behind(first: GroupRow) -> Reason:
    """Its queue is fifo."""
    return Reason(
        stage=Stage.ORDER,
        code=BEHIND,
        sentence=f"its queue is fifo and {first.key} waits before it",
        unblock=Unblock(action="wait", target=first.key),
    )


def claim_obstacle(obstacle: "Obstacle") -> Reason:
    """A claim that no node can help."""
    claim = repr(obstacle.claim)
    code, sentence, action, target = {
        "missing": (
            CLAIM_NOT_FOUND, f"claim {claim} does not exist; create it", "create-claim",
            obstacle.claim,
        ),
        "deleting": (
            CLAIM_NOT_FOUND, f"claim {claim} is being deleted; create it anew", "create-claim",
            obstacle.claim,
        ),
        "lost": (
            VOLUME_NOT_FOUND, f"claim {claim} has lost its volume {obstacle.detail!r}; bring it back",
            "create-volume", obstacle.detail,
        ),
        "volume-missing": (
            VOLUME_NOT_FOUND, f"volume {obstacle.detail!r} of claim {claim} does not exist; create it",
            "create-volume", obstacle.detail,
        ),
        "unbound": (
            CLAIM_NOT_BOUND,
            f"claim {claim} is not bound; storage class {obstacle.detail!r} has to give it a volume",
            "bind-claim", obstacle.claim,
        ),
        "in-use": (
            CLAIM_IN_USE, f"claim {claim} is ReadWriteOncePod and another pod uses it", "free-claim",
            obstacle.claim,
        ),
    }[obstacle.what]  # fmt: skip
    return Reason(
        stage=Stage.VOLUMES,
        code=code,
        sentence=sentence,
        unblock=Unblock(action=action, target=target),
    )


def waiting_for_claims(claims: Sequence[str]) -> Reason:
    """Its room is kept; its claims were given their place and are being bound."""
    return Reason(
        stage=Stage.VOLUMES,
        code=CLAIM_NOT_BOUND,
        sentence=f"its room is kept until its claims are bound: {names(claims)}",
        unblock=Unblock(action="bind-claim", target=",".join(claims)),
    )


def over_capability(queue: str, needed: Mapping[str, int], available: Mapping[str, int]) -> Reason:
    """`available` names only resources the queue limits."""
    amounts = _amounts({name: needed[name] for name in needed if name in available}, available)
    missing = {amount.resource: amount.missing for amount in amounts if amount.missing}
    short = [_short(amount) for amount in amounts if amount.missing]
    return Reason(
        stage=Stage.QUOTA,
        code=NOT_ENOUGH_RESOURCES,
        sentence=f"queue {queue!r} has not enough left of its capability: {'; '.join(short)}",
        amounts=amounts,
        unblock=Unblock(action="raise-capability", target=queue, amounts=missing),
    )


def guaranteed(queue: str, resource: str, *, needed: int, available: int) -> Reason:
    """What is left is guaranteed to other queues (of a queue's capability, when one is named)."""
    amounts = _amounts({resource: needed}, {resource: available})
    of_what = f"of the capability of queue {queue!r}" if queue else "of the cluster"
    return Reason(
        stage=Stage.QUOTA,
        code=NOT_ENOUGH_RESOURCES,
        sentence=(
            f"what is left {of_what} is guaranteed to other queues: "
            f"{'; '.join(_short(amount) for amount in amounts)}"
        ),
        amounts=amounts,
        unblock=Unblock(
            action="raise-capability" if queue else "add-room",
            target=queue,
            amounts={amount.resource: amount.missing for amount in amounts},
        ),
    )


def inqueue_timeout(seconds: float) -> Reason:
    return Reason(
        stage=Stage.OVERCOMMIT,
        code=INQUEUE_TIMEOUT,
        sentence=(
            f"it was let in for {seconds:g} s and found no room, so others may have its share; "
            "it is let in again when its gang fits, or after a rest"
        ),
        unblock=Unblock(action="add-room"),
    )


def over_quota(
    quota: "QuotaRow", needed: Mapping[str, int], available: Mapping[str, int]
) -> Reason:
    amounts = _amounts(needed, available)
    missing = {amount.resource: amount.missing for amount in amounts if amount.missing}
    short = [_short(amount) for amount in amounts if amount.missing]
    return Reason(
        stage=Stage.NAMESPACE_QUOTA,
        code=NOT_ENOUGH_RESOURCES,
        sentence=(
            f"quota {quota.name!r} of namespace {quota.namespace!r} has not enough left: "
            f"{'; '.join(short)}"
        ),
        amounts=amounts,
        unblock=Unblock(
            action="raise-quota", target=f"{quota.namespace}/{quota.name}", amounts=missing
        ),
    )


def overused(queue: str) -> Reason:
    return Reason(
        stage=Stage.QUOTA,
        code=NOT_ENOUGH_RESOURCES,
        sentence=f"queue {queue!r} has all that it deserves; with more weight it deserves more",
        unblock=Unblock(action="raise-weight", target=queue),
    )


def overcommitted(needed: Mapping[str, int], available: Mapping[str, int]) -> Reason:
    amounts = _amounts(needed, available)
    missing = {amount.resource: amount.missing for amount in amounts if amount.missing}
    short = [_short(amount) for amount in amounts if amount.missing]
    return Reason(
        stage=Stage.OVERCOMMIT,
        code=NOT_ENOUGH_RESOURCES,
        sentence=f"the cluster has let in as much as it can hold: {'; '.join(short)}",
        amounts=amounts,
        unblock=Unblock(action="add-room", amounts=missing),
    )


def does_not_fit(
    shape: Shape,
    *,
    wanted: int,
    placeable: int,
    rooms: "Rooms",
    filtered: Filtered | None = None,
) -> Reason:
    """The nodes have no room for all: which checks they passed, what they lack.

    Called while the pods that do fit lie on their nodes, so that what the nodes lack is what keeps
    the next one away: that is what fragmentation looks like. `filtered` says where that next one may
    go, when this depends on the pods that lie there.
    """
    filtered = filtered or rooms.filtered(shape)
    total = rooms.nodes.count
    allowed = int(filtered.mask.sum())
    amounts, lacking = _idle_amounts(
        shape, wanted=wanted, lying=placeable, rooms=rooms, mask=filtered.mask
    )
    checks = [Check(name=name, nodes_left=left) for name, left in filtered.left]
    request = {name: amount for name, amount in shape.request if name != PODS}
    missing_pods = wanted - placeable
    stage = Stage.GANG if allowed or placeable else Stage.PREDICATE
    why = _refusals(total, filtered.left, lacking)
    return Reason(
        stage=stage,
        code=NOT_ENOUGH_RESOURCES,
        sentence=(
            f"room for {placeable} of the {wanted} pods of {shown_all(request)} that must start "
            f"together; 0/{total} nodes take another: {why}; "
            f"it starts when {missing_pods} more {'pod finds' if missing_pods == 1 else 'pods find'} room"
        ),
        needed_pods=wanted,
        placeable_pods=placeable,
        amounts=amounts,
        checks=checks,
        unblock=_room_or_volume(shape, filtered, pods=missing_pods),
    )


def _room_or_volume(shape: Shape, filtered: Filtered, *, pods: int) -> Unblock:
    """Room helps, unless no node has, or reaches, the volumes that the pod needs."""
    closed = next((name for name, left in filtered.left if not left), "")
    claims = ",".join(claim.name for claim in shape.peering.claims)
    amounts = dict(shape.request)
    if claims and closed in _VOLUME_CURES:
        return Unblock(action=_VOLUME_CURES[closed], target=claims, pods=pods, amounts=amounts)
    return Unblock(action="add-room", pods=pods, amounts=amounts)


_VOLUME_CURES: Final = {
    "volume affinity": "reach-volume",
    "volume zone": "reach-volume",
    "volume binding": "add-volume",
}
"""By the check that left no node: a node that reaches the volumes, or a free volume."""


def _idle_amounts(
    shape: Shape, *, wanted: int, lying: int, rooms: "Rooms", mask: Mask
) -> tuple[list[Amount], list[tuple[int, str]]]:
    """Per resource: needed, idle on the allowed nodes, missing; and how many nodes lack it."""
    idle = np.maximum(rooms.nodes.allocatable - rooms.used, 0)[mask]
    amounts: list[Amount] = []
    lacking: list[tuple[int, str]] = []
    for name, request in shape.request:
        column = rooms.nodes.resources.get(name)
        if column is None:
            available, lack, most = 0, int(mask.sum()), 0
        else:
            free = sum(idle[:, column].tolist())  # Python integers: int64 may not hold it
            available = free + lying * request
            lack = int((idle[:, column] < request).sum())
            most = int(idle[:, column].max(initial=0))
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


def _amounts(needed: Mapping[str, int], available: Mapping[str, int]) -> list[Amount]:
    return [
        Amount(
            resource=name,
            needed=needed[name],
            available=max(0, available[name]),
            missing=max(0, needed[name] - max(0, available[name])),
        )
        for name in sorted(needed)
    ]


def _short(amount: Amount) -> str:
    needed = shown(amount.resource, amount.needed)
    return f"{needed} needed, {shown(amount.resource, amount.available).split(' ', 1)[1]} left"
