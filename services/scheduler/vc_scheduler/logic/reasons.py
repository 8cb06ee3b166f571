"""Building reasons from the numbers a decision was made on.

Every function here is called by the decision that refused, and returns the structured reason with
its one sentence. Sentences start with what is missing and end with what would help.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from vc_messages.sessions import Amount, InnerReason, Reason, Stage, Unblock
from vc_model import keys
from vc_scheduler.logic.amounts import shown
from vc_scheduler.logic.rows import GroupRow, QueueRow
from vc_scheduler.logic.volume_rows import names

if TYPE_CHECKING:
    from vc_scheduler.logic.claims import Obstacle
    from vc_scheduler.logic.policies import QuotaRow

NOT_ENOUGH_RESOURCES: Final = "NotEnoughResources"
NOT_ENOUGH_TASKS: Final = "NotEnoughTasks"
NOT_ENOUGH_PODS_OF_TASK: Final = "NotEnoughPodsOfTask"
QUEUE_MISSING: Final = "QueueNotFound"
QUEUE_CLOSED: Final = "QueueClosed"
QUEUE_ABOVE: Final = "QueueNotLeaf"
QUEUE_NOT_ALLOWED: Final = "QueueNotAllowed"
INVALID: Final = "Invalid"
UNSUPPORTED: Final = "Unsupported"
NAMESPACE_TERMINATING: Final = "NamespaceTerminating"
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


def unsupported(what: str, *, kind: str, name: str) -> Reason:
    """`what` is a sentence of the table of support, which begins with the field of the object."""
    return Reason(
        stage=Stage.UNSUPPORTED,
        code=UNSUPPORTED,
        sentence=f"{kind} {name!r}: {what}",
        unblock=Unblock(action="remove-field", target=f"{kind} {name} {what.partition(': ')[0]}"),
    )


def namespace_terminating(namespace: str) -> Reason:
    return Reason(
        stage=Stage.INVALID,
        code=NAMESPACE_TERMINATING,
        sentence=(
            f"namespace {namespace!r} is being deleted, so no pod in it can be scheduled; "
            "create the job in another namespace"
        ),
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


def queue_not_allowed(queue: str, namespace: str) -> Reason:
    return Reason(
        stage=Stage.QUEUE_CLOSED,
        code=QUEUE_NOT_ALLOWED,
        sentence=(
            f"namespace {namespace!r} may not use queue {queue!r}; name another queue, or add the "
            f"namespace to the queue's annotation {keys.ALLOWED_NAMESPACES}"
        ),
        unblock=Unblock(action="fix"),
    )


def queue_above(queue: str, leaves: Sequence[str], *, most: int = 8) -> Reason:
    """It has queues below it, and only those without take jobs; at most so many are proposed."""
    return Reason(
        stage=Stage.QUEUE_CLOSED,
        code=QUEUE_ABOVE,
        sentence=(
            f"queue {queue!r} has queues below it, and only queues without any take jobs; "
            f"move the job to one of: {names(leaves)}"
        ),
        unblock=Unblock(action="move-job", target=",".join(leaves[:most])),
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


def not_placeable_yet(group: GroupRow, *, needed: int, lacking: int) -> Reason:
    """Pods are there, but gated, broken or resting after a failed bind; so many of the needed are."""
    if group.unsupported_pod:
        return unsupported(group.unsupported_pod, kind="pod", name=group.unsupported_pod_name)
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
        sentence=(
            f"{group.gated} pods have scheduling gates ({names(group.gate_names)}); {lacking} more are needed for the gang: "
            "it starts when the gates are removed"
        ),
        needed_pods=needed,
        placeable_pods=group.candidates,
        unblock=Unblock(action="lift-gates", target=group.name, pods=lacking),
    )


def waiting_for_victims(*, leaving: int, evicted: int) -> Reason:
    """Its room is kept; pods that still take it are on their way out."""
    asked = f", {evicted} of them evicted for it" if evicted else ""
    gone = "pod that leaves is gone" if leaving == 1 else "pods that leave are gone"
    return Reason(
        stage=Stage.VICTIMS,
        code=WAITING_FOR_VICTIMS,
        sentence=f"its room is kept until {leaving} {gone}{asked}",
        unblock=Unblock(action="wait", pods=leaving),
    )


def outranked(why: Reason, *, by: str) -> Reason:
    """The room it was promised went to another; `why` is what it waits for since then."""
    return msgspec.structs.replace(
        why,
        sentence=(
            f"{why.sentence}; the room promised to it went to {by}, which has a higher priority"
        ),
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


def inqueue_timeout(seconds: float, why: Reason) -> Reason:
    """`why` is what its gang lacks: that is what would help."""
    return msgspec.structs.replace(
        why,
        stage=Stage.OVERCOMMIT,
        code=INQUEUE_TIMEOUT,
        sentence=(
            f"it was let in for {seconds:g} s and found no room, so others may have its share; "
            f"it is let in again when its gang fits, or after a rest: {why.sentence}"
        ),
        inner=InnerReason(stage=why.stage, code=why.code, sentence=why.sentence),
    )


def of_pods(reason: Reason) -> str:
    """What keeps the pods of a job from nodes, without what became of its PodGroup meanwhile."""
    return reason.sentence if reason.inner is None else reason.inner.sentence


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


def overused(queue: QueueRow, *, weight: int) -> Reason:
    """`weight` is the least with which it would deserve more."""
    return Reason(
        stage=Stage.QUOTA,
        code=NOT_ENOUGH_RESOURCES,
        sentence=(
            f"queue {queue.name!r} has all that it deserves; "
            f"with a weight of {weight} instead of {queue.weight} it deserves more"
        ),
        unblock=Unblock(action="raise-weight", target=queue.name, weight=weight),
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


def _amounts(needed: Mapping[str, int], available: Mapping[str, int]) -> list[Amount]:
    """`available` is negative where more is taken than there is: that is missing, too."""
    return [
        Amount(
            resource=name,
            needed=needed[name],
            available=max(0, available[name]),
            missing=max(0, needed[name] - available[name]),
        )
        for name in sorted(needed)
    ]


def _short(amount: Amount) -> str:
    needed = shown(amount.resource, amount.needed)
    return f"{needed} needed, {shown(amount.resource, amount.available).split(' ', 1)[1]} left"
