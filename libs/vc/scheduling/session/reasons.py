"""Builds reasons from the numbers that a decision was based on.

Every function is called by the decision that refuses, and returns the structured reason with its
sentence. A sentence starts with what is missing and ends with what would help.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from vc.messages.sessions import Amount, InnerReason, Reason, Stage, Unblock
from vc.model.api import keys
from vc.scheduling.model.amounts import shown
from vc.scheduling.model.pod_group_status import INQUEUE_TIMEOUT
from vc.scheduling.model.rows import GroupRow, QueueRow
from vc.scheduling.model.volume_rows import names

if TYPE_CHECKING:
    from vc.scheduling.cache.quotas_and_budgets import QuotaRow
    from vc.scheduling.session.volumes import Obstacle

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
    """`what` is a sentence of the support table. It begins with the field of the object."""
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
        sentence=f"queue {queue.name!r} is {queue.state}; open it to enqueue jobs",
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
    """The queue has child queues, and only leaf queues run jobs. At most `most` leaves are proposed."""
    return Reason(
        stage=Stage.QUEUE_CLOSED,
        code=QUEUE_ABOVE,
        sentence=(
            f"queue {queue!r} has child queues, and only leaf queues run jobs; "
            f"move the job to one of: {names(leaves)}"
        ),
        unblock=Unblock(action="move-job", target=",".join(leaves[:most])),
    )


def not_enough_pods(group: GroupRow, *, task: str, has: int, least: int) -> Reason:
    of_task = f" of task {task!r}" if task else ""
    return Reason(
        stage=Stage.TASKS,
        code=NOT_ENOUGH_PODS_OF_TASK if task else NOT_ENOUGH_TASKS,
        sentence=f"{has} of the {least} pods{of_task} that the gang needs exist",
        needed_pods=least,
        placeable_pods=has,
        unblock=Unblock(action="create-pods", target=task or group.name, pods=least - has),
    )


def not_placeable_yet(group: GroupRow, *, needed: int, lacking: int) -> Reason:
    """Enough pods exist, but some are gated, invalid or in bind backoff; `lacking` of `needed` are
    not ready."""
    # The permanent causes come first: waiting does not help against them.
    if group.unsupported_pod:
        return unsupported(group.unsupported_pod, kind="pod", name=group.unsupported_pod_name)
    if group.invalid:
        return invalid(group.invalid_reason)
    if group.in_backoff:
        return Reason(
            stage=Stage.BIND,
            code=BIND_FAILED,
            sentence=f"{group.in_backoff} pods could not be bound and are tried again soon",
            needed_pods=needed,
            placeable_pods=group.candidates,
            unblock=Unblock(action="wait", pods=group.in_backoff),
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


def waiting_for_victims(*, terminating: int, evicted: int) -> Reason:
    """The job has a reservation, and pods on it are still terminating."""
    asked = f", {evicted} of them evicted for it" if evicted else ""
    gone = "terminating pod is gone" if terminating == 1 else "terminating pods are gone"
    return Reason(
        stage=Stage.VICTIMS,
        code=WAITING_FOR_VICTIMS,
        sentence=f"its nodes are reserved until {terminating} {gone}{asked}",
        unblock=Unblock(action="wait", pods=terminating),
    )


def outranked(why: Reason, *, by: str) -> Reason:
    """Add to `why`, the reason of a job, that its reservation was taken over by another job."""
    return msgspec.structs.replace(
        why,
        sentence=(
            f"{why.sentence}; its reservation was taken over by {by}, which has a higher priority"
        ),
    )


def behind(first: GroupRow) -> Reason:
    """The queue is FIFO, and an earlier job of it is not started yet."""
    return Reason(
        stage=Stage.ORDER,
        code=BEHIND,
        sentence=f"its queue is fifo and {first.key} waits before it",
        unblock=Unblock(action="wait", target=first.key),
    )


def claim_obstacle(obstacle: "Obstacle") -> Reason:
    """A claim that cannot be satisfied on any node."""
    claim = repr(obstacle.claim)
    code, sentence, action, target = {
        "missing": (
            CLAIM_NOT_FOUND, f"claim {claim} does not exist; create it", "create-claim",
            obstacle.claim,
        ),
        "deleting": (
            CLAIM_NOT_FOUND, f"claim {claim} is being deleted; create it again", "create-claim",
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
    """The job has a reservation, and the claims of its pods are still being bound."""
    return Reason(
        stage=Stage.VOLUMES,
        code=CLAIM_NOT_BOUND,
        sentence=f"its nodes are reserved until its claims are bound: {names(claims)}",
        unblock=Unblock(action="bind-claim", target=",".join(claims)),
    )


def over_capability(queue: str, needed: Mapping[str, int], available: Mapping[str, int]) -> Reason:
    """`available` contains only resources that the queue limits."""
    amounts = _amounts({name: needed[name] for name in needed if name in available}, available)
    missing = {amount.resource: amount.missing for amount in amounts if amount.missing}
    short = [_short(amount) for amount in amounts if amount.missing]
    return Reason(
        stage=Stage.QUOTA,
        code=NOT_ENOUGH_RESOURCES,
        sentence=f"insufficient quota in queue {queue!r}: {'; '.join(short)}",
        amounts=amounts,
        unblock=Unblock(action="raise-capability", target=queue, amounts=missing),
    )


def guaranteed(queue: str, resource: str, *, needed: int, available: int) -> Reason:
    """The remaining resources are guaranteed to other queues: those below the capability of
    `queue`, or those of the cluster if it is empty."""
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
    """`why` is what the gang lacks. Its numbers and its proposal are kept."""
    return msgspec.structs.replace(
        why,
        stage=Stage.OVERCOMMIT,
        code=INQUEUE_TIMEOUT,
        sentence=(
            f"it was Inqueue for {seconds:g} s without being placed, so it is Pending again; "
            f"it is enqueued when its gang fits, or after a pause: {why.sentence}"
        ),
        # The pods report the original reason: the timeout concerns only their group.
        inner=InnerReason(stage=why.stage, code=why.code, sentence=why.sentence),
    )


def of_pods(reason: Reason) -> str:
    """Why the pods of a job are not placed, without the later history of its PodGroup."""
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
            f"insufficient ResourceQuota {quota.name!r} in namespace {quota.namespace!r}: "
            f"{'; '.join(short)}"
        ),
        amounts=amounts,
        unblock=Unblock(
            action="raise-quota", target=f"{quota.namespace}/{quota.name}", amounts=missing
        ),
    )


def overused(queue: QueueRow, *, weight: int) -> Reason:
    """`weight` is the smallest weight with which the queue deserves more."""
    return Reason(
        stage=Stage.QUOTA,
        code=NOT_ENOUGH_RESOURCES,
        sentence=(
            f"queue {queue.name!r} is overused, it has its deserved share; "
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
        sentence=f"overcommit limit reached: {'; '.join(short)}",
        amounts=amounts,
        unblock=Unblock(action="add-room", amounts=missing),
    )


def _amounts(needed: Mapping[str, int], available: Mapping[str, int]) -> list[Amount]:
    """`available` is negative where more is used than there is. The excess counts as missing, too."""
    return [
        Amount(
            resource=name,
            needed=needed[name],
            # Users would not expect a negative remainder; the excess is part of `missing`.
            available=max(0, available[name]),
            missing=max(0, needed[name] - available[name]),
        )
        for name in sorted(needed)
    ]


def _short(amount: Amount) -> str:
    requested = shown(amount.resource, amount.needed)
    available = shown(amount.resource, amount.available).split(" ", 1)[1]
    return f"requested {requested}, available {available}"
