"""Which waiting pods get the condition PodScheduled=False, and with which message.

Cluster autoscalers and `kubectl` read pods. So every pod that still waits `pod_condition_seconds`
after its creation gets a condition with the reason, whether it belongs to the minimum or is
surplus. A pod that is placed earlier causes no write. The number of writes is bounded:

- A pod with a message of the same kind (`vc.model.message_kind`) is not written again. So thousands
  of pods are not rewritten because a number changed.
- The first waiting pod of a gang has the current numbers. It is written together with the status of
  its PodGroup.
- A message of another kind is written to the other pods at most once per `REWRITE_SECONDS` and
  group.

Pods with scheduling gates have the condition SchedulingGated from the API server and are not
written. While the pods of a gang are still being created, the existing pods are not unschedulable:
they wait for the others.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from vc.messages.sessions import Reason, Stage
from vc.model.message_kind import same_kind
from vc.scheduling.actions.surplus_delay import surplus_waits
from vc.scheduling.closing.reported_reasons import reported_reason
from vc.scheduling.model.decisions import PodRef, WaitingPods
from vc.scheduling.model.rows import GroupRow, PodRow, Run
from vc.scheduling.placement.gang import one_by_one, refused_by_queue
from vc.scheduling.placement.node_fit import Beside, nodes_refuse
from vc.scheduling.session import reasons
from vc.scheduling.session.session import Session

REWRITE_SECONDS: Final = 300.0
"""Minimum time between two rewrites of the messages of a group's pods, except for the first pod."""

TASKS_GRACE_SECONDS: Final = 5.0
"""A gang is assumed to be still being created until its newest pod has this age."""


class _Why(msgspec.Struct, frozen=True):
    """Why the pods of a group wait."""

    sentence: str
    still_created: bool = False
    beyond: bool = False
    """The group has its minimum, so these are surplus pods."""


class UnscheduledPods:
    """Decides for the groups of one session.

    Refusals of equal surplus pods of a queue are cached.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._surplus: dict[tuple[str, bytes], str] = {}

    def of(self, group: GroupRow, *, refreshes: bool) -> WaitingPods | None:
        """The pods of a group to write, and their message; None if there are none.

        `refreshes` means that the status of the PodGroup gets new numbers.
        """
        if not (group.runs or group.unplaceable):
            return None
        why = self._why(group)
        if why is None:
            return None
        rewrites = self._rewrites(group, why)
        # All pods have a message of the same kind. For most groups this saves a walk over the pods.
        if group.unmarked_since is None and not (rewrites or refreshes):
            return None
        pods = [
            pod
            for at, pod in enumerate(self._waiting(group))
            if self._is_due(group, pod, why, rewrites=rewrites or (refreshes and at == 0))
        ]
        if not pods:
            return None
        return WaitingPods(
            group=group.key,
            uid=group.uid,
            message=why.sentence,
            pods=tuple(PodRef(namespace=p.namespace, name=p.name, uid=p.uid) for p in pods),
            beyond=why.beyond,
            rewrites=rewrites,
        )

    def _rewrites(self, group: GroupRow, why: _Why) -> bool:
        """Whether messages of another kind are replaced now.

        If it is too early, a wake-up is registered.
        """
        if all(same_kind(said, why.sentence) for said in group.pod_messages):
            return False
        at = group.pods_rewritten_at + REWRITE_SECONDS
        if self._session.now < at:
            self._session.wake(at)
            return False
        return True

    def _waiting(self, group: GroupRow) -> Iterator[PodRow]:
        """Pods without gates that this session does not bind.

        Placeable pods come first, in task order, then pods in bind backoff and unusable pods.
        """
        bound = {bind.uid: None for bind in self._session.decided.binds.get(group.key, ())}
        for run in group.runs:
            yield from (p for p in run.pods if p.uid not in bound and not p.queue_gated)
        yield from group.unplaceable

    def _is_due(self, group: GroupRow, pod: PodRow, why: _Why, *, rewrites: bool) -> bool:
        """Whether the pod is written now. For a pod that is too young, a wake-up is registered."""
        said = group.conditions_under_way.get(pod.uid, pod.waiting_message)
        if said:
            return rewrites and said != why.sentence
        due = pod.created + self._session.snapshot.pod_condition_seconds
        if why.still_created:
            due = max(due, group.newest_pod + TASKS_GRACE_SECONDS)
        if self._session.now >= due:
            return True
        self._session.wake(due)
        return False

    # -- reasons ---------------------------------------------------------------------------------

    def _why(self, group: GroupRow) -> _Why | None:
        """Why the pods of the group wait; None if there is nothing to report yet."""
        reason = reported_reason(self._session, group)
        if reason is not None:
            return _Why(reasons.of_pods(reason), reason.stage is Stage.TASKS)
        if self._session.starving(group) or surplus_waits(self._session, group):
            return None  # no action tried the group in this session, or the surplus delay runs
        refused = self._session.refused.get(group.key)
        waiting = group.pending - group.gated - self._session.bound_now(group)
        why = refused.sentence if refused is not None else self._surplus_refusal(group)
        pods, wait = ("pod", "waits") if waiting == 1 else ("pods", "wait")
        sentence = f"{waiting} {pods} beyond the minimum of {group.min_member} {wait}: {why}"
        return _Why(sentence, beyond=True)

    def _surplus_refusal(self, group: GroupRow) -> str:
        """Why no surplus pod of the job is placed, according to its first run with waiting pods."""
        session = self._session
        for run in group.runs:
            if session.waiting_pods(run):
                known = (group.queue, run.shape.key)
                if known not in self._surplus:
                    self._surplus[known] = _refusal(session, group, run)
                return self._surplus[known]
        if group.invalid_reason:
            return group.invalid_reason
        return "the last attempt to bind them failed; they are tried again"


def _refusal(session: Session, group: GroupRow, run: Run) -> str:
    """Why the next pod of a run is not placed: queue quota, an overused queue, or the nodes."""
    queue = session.snapshot.queues.get(group.queue)
    reason: Reason | None = refused_by_queue(session, group, run.shape, count=1)
    if reason is None and queue is not None:
        reason = session.framework.queues.overused_refusal(session, queue)
    if reason is not None:
        return reason.sentence
    if one_by_one(session, group, run):
        pod = session.waiting_pods(run)[0]
        beside = Beside(pod, session.pod_affinity, session.beside(pod))
        return nodes_refuse(run.shape, node_capacity=session.node_capacity, beside=beside)
    if session.node_capacity.placeable(run.shape, 1):
        if queue is not None and queue.fifo:
            return f"queue {queue.name!r} is fifo, and a job before this one waits"
        return "a node has enough free resources; they are placed in a later session"
    return nodes_refuse(run.shape, node_capacity=session.node_capacity)
