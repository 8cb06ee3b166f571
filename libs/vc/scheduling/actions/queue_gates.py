"""Volcano's queue-allocation gate: lifted when quota of the queue can be reserved for the pod.

A pod that is bound loses its gate with the bind. This module lifts the gates of other pods that fit
into their queue's quota, so that kubectl and cluster autoscalers see a pod that waits for a node
and not a pod that waits for a gate. The gates of a gang are lifted when the queue can take all pods
that its minimum lacks, or not at all. Surplus pods follow one by one. Each lifted gate is a write,
so a session lifts at most `GATES_LIFTED_MAX`.
"""

from typing import Final

from vc.messages.sessions import Stage
from vc.scheduling.model.rows import PENDING, GroupRow, PodRow
from vc.scheduling.placement.gang import refused_by_queue
from vc.scheduling.session.session import Session

GATES_LIFTED_MAX: Final = 100
"""Gates lifted per session. A larger gang is not split: all its gates are lifted in a session of
their own.

The next session continues with the other groups. It starts when a lifted gate is observed, or when
the backoff of a gate that could not be lifted ends."""

_KEEPS_GATES: Final = (
    Stage.INVALID,
    Stage.UNSUPPORTED,
    Stage.QUEUE_MISSING,
    Stage.QUEUE_CLOSED,
    Stage.ORDER,
)
"""Stages of refusals for which gates stay.

Such jobs cannot be scheduled whatever their queue has free. For `ORDER`, the free quota of the FIFO
queue is kept for the job before them."""


def lift_queue_gates(session: Session) -> None:
    """Lift the gates of pods that fit into the quota of their queues, in job order."""
    waiting = [group for group in session.snapshot.groups if _waits_at_gate(session, group)]
    keyed = sorted((session.framework.order.job_order_key(session, g), g.key, g) for g in waiting)
    lifted = 0
    for _, _, group in keyed:
        pods = _allocated_by_queue(session, group)
        # The first group is never cut off, so a gang larger than the limit still makes progress.
        if lifted and lifted + len(pods) > GATES_LIFTED_MAX:
            _account(session, group, pods, sign=-1)
            return
        if pods:
            session.decided.lift_gates(group, pods)
            lifted += len(pods)


def _waits_at_gate(session: Session, group: GroupRow) -> bool:
    """Whether the group is enqueued, may be scheduled, and has waiting pods with the gate."""
    if session.phase(group) == PENDING:
        return False
    refused = session.refused.get(group.key)
    if refused is not None and refused.stage in _KEEPS_GATES:
        return False
    return any(_at_gate(pod) for run in group.runs for pod in session.waiting_pods(run))


def _allocated_by_queue(session: Session, group: GroupRow) -> list[PodRow]:
    """The gated pods that fit into the queue's quota.

    Their requests are reserved when this returns.
    """
    minimum = _minimum(session, group)
    if minimum is None:
        return []
    taken: list[PodRow] = []
    # The minimum is counted first and as a whole: if one pod does not fit, no gate of the group is
    # lifted.
    for pod in minimum:
        if not _take(session, group, pod):
            _account(session, group, taken, sign=-1)
            return []
        if not pod.queue_reserved:
            taken.append(pod)
    open_already = [pod for pod in taken if not _at_gate(pod)]
    lifted = [pod for pod in taken if _at_gate(pod)]
    chosen = {pod.uid: None for pod in minimum}
    for run in group.runs:
        for pod in session.waiting_pods(run):
            if len(lifted) >= GATES_LIFTED_MAX:
                break
            if pod.uid not in chosen and _at_gate(pod) and _take(session, group, pod):
                lifted.append(pod)
    # Pods without the gate were counted only to check that the whole gang fits. They are not
    # reserved.
    _account(session, group, open_already, sign=-1)
    return lifted


def _minimum(session: Session, group: GroupRow) -> list[PodRow] | None:
    """Waiting pods that complete the gang, empty if it is complete; None if too few pods exist."""
    if not session.starving(group):
        return []
    chosen: dict[str, PodRow] = {}
    for task, count in session.framework.jobs.missing(group):
        found = [
            pod
            for run in group.runs
            if task in (None, run.task)
            for pod in session.waiting_pods(run)
            if pod.uid not in chosen
        ]
        if len(found) < count:
            return None
        chosen.update({pod.uid: pod for pod in found[:count]})
    return list(chosen.values())


def _take(session: Session, group: GroupRow, pod: PodRow) -> bool:
    """Reserve queue quota for a pod, and return whether it has a reservation now."""
    if pod.queue_reserved:
        return True
    if refused_by_queue(session, group, pod.shape, count=1, reserved=False) is not None:
        return False
    _account(session, group, [pod], sign=1)
    return True


def _account(session: Session, group: GroupRow, pods: list[PodRow], *, sign: int) -> None:
    """Add the requests of the pods to what the queue has reserved, or (-1) subtract them."""
    for pod in pods:
        session.accounts.count_reserved(group.queue, dict(pod.shape.request), sign=sign)


def _at_gate(pod: PodRow) -> bool:
    """Whether the pod has the gate and no quota reserved yet."""
    return pod.queue_gated and not pod.queue_reserved
