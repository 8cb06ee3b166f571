"""Volcano's queue-allocation gate: lifted when the queue has room for the pod, which is then held for it.

A pod that is bound loses its gate with the bind. Any other whose queue has room loses it here, so that
kubectl and cluster autoscalers see a pod that waits for a node and not one that waits for a gate. The
gang comes first: its gates are lifted when the queue can take all that its minimum lacks, or not at all;
pods beyond the minimum follow one by one. At most `GATES_LIFTED_MAX` pods a session, each of which is a write.
"""

from typing import Final

from vc_messages.sessions import Stage
from vc_scheduler.logic.placing import refused_by_queue
from vc_scheduler.logic.rows import PENDING, GroupRow, PodRow
from vc_scheduler.logic.session import Session

GATES_LIFTED_MAX: Final = 100
"""Pods a session; a larger gang goes alone, and whole. The next session goes on with the others: it opens when the
first gate is seen to be lifted, or when one that could not be lifted may be tried again."""

_NOT_SCHEDULED: Final = (Stage.INVALID, Stage.QUEUE_MISSING, Stage.QUEUE_CLOSED)


def lift_queue_gates(session: Session) -> None:
    """Lift the gates of pods that their queues have room for, in job order."""
    waiting = [group for group in session.snapshot.groups if _waits_at_gate(session, group)]
    keyed = sorted((session.framework.job_key(session, g), g.key, g) for g in waiting)
    lifted = 0
    for _, _, group in keyed:
        pods = _allocated_by_queue(session, group)
        if lifted and lifted + len(pods) > GATES_LIFTED_MAX:
            _account(session, group, pods, sign=-1)
            return
        if pods:
            session.gates[group.key] = pods
            lifted += len(pods)


def _waits_at_gate(session: Session, group: GroupRow) -> bool:
    if session.phase(group) == PENDING:
        return False
    refused = session.refused.get(group.key)
    if refused is not None and refused.stage in _NOT_SCHEDULED:
        return False
    return any(_at_gate(pod) for run in group.runs for pod in session.waiting_pods(run))


def _allocated_by_queue(session: Session, group: GroupRow) -> list[PodRow]:
    """The gated pods that its queue takes; their room is held when this returns."""
    minimum = _minimum(session, group)
    if minimum is None:
        return []
    taken: list[PodRow] = []
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
    _account(session, group, open_already, sign=-1)  # asked for the gang's sake, and not held
    return lifted


def _minimum(session: Session, group: GroupRow) -> list[PodRow] | None:
    """Pods that make the gang whole; None when there are not enough of them."""
    if not session.starving(group):
        return []
    chosen: dict[str, PodRow] = {}
    for role, count in session.framework.missing(group):
        found = [
            pod
            for run in group.runs
            if role in (None, run.role)
            for pod in session.waiting_pods(run)
            if pod.uid not in chosen
        ]
        if len(found) < count:
            return None
        chosen.update({pod.uid: pod for pod in found[:count]})
    return list(chosen.values())


def _take(session: Session, group: GroupRow, pod: PodRow) -> bool:
    """Hold the queue's room for a pod, if there is any; one that has its room needs none."""
    if pod.queue_reserved:
        return True
    if refused_by_queue(session, group, pod.shape, count=1, reserved=False) is not None:
        return False
    _account(session, group, [pod], sign=1)
    return True


def _account(session: Session, group: GroupRow, pods: list[PodRow], *, sign: int) -> None:
    for pod in pods:
        session.count_reserved(group, pod.shape, sign=sign)


def _at_gate(pod: PodRow) -> bool:
    return pod.queue_gated and not pod.queue_reserved
