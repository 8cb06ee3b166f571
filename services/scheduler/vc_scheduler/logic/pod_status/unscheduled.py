"""Which waiting pods are to say PodScheduled=False, and with which message.

Cluster autoscalers and `kubectl` look at pods, so every pod that still waits `pod_condition_seconds` after
it was created says why, whether its gang needs it or it is beyond the minimum. A pod that is placed
earlier costs nothing. What is written is bounded:

- a pod that says something of the same kind (`vc_model.message_kind`) is left alone: thousands of pods are
  not rewritten because a number moved;
- the first waiting pod of a gang carries the current numbers, in the rhythm of its PodGroup's status;
- a message of another kind reaches the other pods at most once in `REWRITE_SECONDS` a group.

Pods with scheduling gates say SchedulingGated, which the API server wrote; they are left alone. While the pods of
a gang are still being created, those that exist are not unschedulable: they wait for the rest.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from vc_messages.sessions import Reason, Stage
from vc_model.message_kind import same_kind
from vc_scheduler.logic import reasons
from vc_scheduler.logic.actions.surplus import surplus_waits
from vc_scheduler.logic.decisions import PodRef, WaitingPods
from vc_scheduler.logic.misfits import Beside, nodes_refuse
from vc_scheduler.logic.placing import one_by_one, refused_by_queue
from vc_scheduler.logic.rows import GroupRow, PodRow, Run
from vc_scheduler.logic.session import Session

REWRITE_SECONDS: Final = 300.0
"""Between two rewrites of the messages of one group's pods, its first pod apart."""

TASKS_GRACE_SECONDS: Final = 5.0
"""A gang whose newest pod is younger is still being created."""


class _Why(msgspec.Struct, frozen=True):
    """Why the pods of a group wait."""

    sentence: str
    still_created: bool = False
    beyond: bool = False
    """The group has its minimum: these pods are more."""


class UnscheduledPods:
    """Decides for the groups of one session; remembers what equal pods of a queue are refused for."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._surplus: dict[tuple[str, bytes], str] = {}

    def of(self, group: GroupRow, *, refreshes: bool) -> WaitingPods | None:
        """What the pods of a group are to say; `refreshes` when its PodGroup says new numbers."""
        if group.foreign or not (group.runs or group.set_aside):
            return None
        why = self._why(group)
        if why is None:
            return None
        rewrites = self._rewrites(group, why)
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
        """Whether messages of another kind are replaced now; else the session is woken when they may."""
        if all(same_kind(said, why.sentence) for said in group.pod_messages):
            return False
        at = group.pods_rewritten_at + REWRITE_SECONDS
        if self._session.now < at:
            self._session.wake(at)
            return False
        return True

    def _waiting(self, group: GroupRow) -> Iterator[PodRow]:
        """Pods without gates that this session binds to no node, in task order."""
        bound = {bind.uid: None for bind in self._session.binds.get(group.key, ())}
        for run in group.runs:
            yield from (p for p in run.pods if p.uid not in bound and not p.queue_gated)
        yield from group.set_aside

    def _is_due(self, group: GroupRow, pod: PodRow, why: _Why, *, rewrites: bool) -> bool:
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
        reason = self._session.reason(group)
        if reason is not None:
            return _Why(reasons.of_pods(reason), reason.stage is Stage.TASKS)
        if self._session.starving(group) or surplus_waits(self._session, group):
            return None  # no action looked at it in this session, or it waits on purpose
        refused = self._session.refused.get(group.key)
        waiting = group.pending - group.gated - self._session.bound_now(group)
        why = refused.sentence if refused is not None else self._surplus_refusal(group)
        pods, wait = ("pod", "waits") if waiting == 1 else ("pods", "wait")
        sentence = f"{waiting} {pods} beyond the minimum of {group.min_member} {wait}: {why}"
        return _Why(sentence, beyond=True)

    def _surplus_refusal(self, group: GroupRow) -> str:
        """Why a job that has its minimum gets no further pod, by its first run that waits."""
        session = self._session
        for run in group.runs:
            if session.waiting_pods(run):
                known = (group.queue, run.shape.key)
                if known not in self._surplus:
                    self._surplus[known] = _refusal(session, group, run)
                return self._surplus[known]
        if group.broken_why:
            return group.broken_why
        return "the last attempt to bind them failed; they are tried again"


def _refusal(session: Session, group: GroupRow, run: Run) -> str:
    """What the queue or the nodes refuse the next pod of a run for."""
    queue = session.snapshot.queues.get(group.queue)
    reason: Reason | None = refused_by_queue(session, group, run.shape, count=1)
    if reason is None and queue is not None:
        reason = session.framework.voters.refuse_turn(session, queue)
    if reason is not None:
        return reason.sentence
    if one_by_one(session, group, run):
        pod = session.waiting_pods(run)[0]
        beside = Beside(pod, session.peers, session.beside(pod))
        return nodes_refuse(run.shape, rooms=session.rooms, beside=beside)
    if session.rooms.placeable(run.shape, 1):
        if queue is not None and queue.fifo:
            return f"queue {queue.name!r} is fifo, and a job before this one waits"
        return "a node has room; they are placed in a later session"
    return nodes_refuse(run.shape, rooms=session.rooms)
