"""The end of a session: changes become decisions, and refusals become reasons."""

from collections.abc import Sequence

from vc.messages.sessions import JobReason, Reason, Stage
from vc.model.api.meta import object_key
from vc.model.api.scheduling import PodGroupStatus
from vc.model.values.quantity import format_resources
from vc.scheduling.actions.inqueue_timeout import wake_for_timeout
from vc.scheduling.closing.reported_reasons import reported_reason
from vc.scheduling.closing.unscheduled_pods import TASKS_GRACE_SECONDS, UnscheduledPods
from vc.scheduling.model.decisions import (
    Decisions,
    EnqueuedGroup,
    Eviction,
    GangBind,
    GateLift,
    PodRef,
    QueueAllocated,
    Release,
    StatusChange,
    Takeover,
    WaitingPods,
    Withdrawal,
)
from vc.scheduling.model.nominations import ReservedNode
from vc.scheduling.model.pod_group_status import Outlook, next_status, says_scheduled, was_whole
from vc.scheduling.model.rows import INQUEUE, PENDING, GroupRow, PodRow
from vc.scheduling.session.session import FOLLOW_UP_SECONDS, Session


def close(session: Session) -> Decisions:
    """The decisions of the session.

    Every list has a fixed order, so that equal input gives equal bytes.
    """
    snapshot, decided, reservations = session.snapshot, session.decided, session.reservations
    # Nominations of one session have the same time. The order of the evictions is recorded, because
    # each one was simulated with the reservations before it in place.
    before = {key: number for number, key in enumerate(decided.evicted)}
    statuses = [change for g in snapshot.groups if (change := _status(session, g)) is not None]
    waiting = _waiting(session, statuses)
    return Decisions(
        session_id=snapshot.session_id,
        nodes=snapshot.nodes.count,
        groups=len(snapshot.groups),
        enqueued=tuple(sorted(decided.enqueued)),
        enqueued_groups=tuple(
            EnqueuedGroup(group=key, uid=snapshot.all_groups[key].uid, claim=decided.claims[key])
            for key in sorted([*decided.enqueued, *decided.confirmed])
        ),
        binds=tuple(
            GangBind(group=group.key, uid=group.uid, binds=tuple(decided.binds[group.key]))
            for group in snapshot.groups
            if group.key in decided.binds
        ),
        releases=tuple(
            Release(group=key, pods=tuple(_ref(pod) for pod in pods))
            for key, pods in sorted(decided.released.items())
        ),
        evictions=tuple(
            Eviction(
                group=group.key,
                uid=group.uid,
                pods=tuple(_ref(pod) for pod in decided.evicted[group.key]),
                reserved_nodes=_planned_nodes(session, group, decided.evicted[group.key]),
                after=before[group.key],
            )
            for group in snapshot.groups
            if group.key in decided.evicted
        ),
        takeovers=tuple(
            Takeover(
                group=group.key,
                uid=group.uid,
                lost=tuple(reservations.taken_over[group.key]),
                reserved_nodes=_planned_nodes(session, group, snapshot.terminating_pods),
            )
            for group in snapshot.groups
            if group.key in reservations.taken_over
        ),
        gates=tuple(
            GateLift(
                group=group.key,
                uid=group.uid,
                pods=tuple(_ref(pod) for pod in decided.gates[group.key]),
            )
            for group in snapshot.groups
            if group.key in decided.gates
        ),
        withdrawals=_withdrawals(session),
        claims=tuple(decided.choices),
        statuses=tuple(statuses),
        waiting=waiting,
        reasons=_reasons(session),
        queues=_queues(session),
        wake_at=session.wake_at,
    )


def _status(session: Session, group: GroupRow) -> StatusChange | None:
    """The status to write for the group; None if nothing changed or the write is not due yet."""
    reason = _published(session, group)
    outlook = Outlook(phase=session.phase(group), bound_now=session.bound_now(group), reason=reason)
    due = next_status(group, outlook, session_id=session.snapshot.session_id, now=session.now)
    if due.due_at is not None:
        session.wake(due.due_at)
    if due.status is None:
        return None
    # The status that is written now starts the inqueue time-out, so its end is known only here.
    wake_for_timeout(session, group, due.status)
    goes_back = due.status.phase == PENDING and group.status.phase not in ("", PENDING)
    comes_in = due.status.phase != PENDING and session.phase(group) == PENDING  # has pods on nodes
    # The actions of this session used the old phase, so another session has to follow soon.
    if goes_back or comes_in:
        session.wake(session.now + FOLLOW_UP_SECONDS)
    publish = due.event and reason is not None
    return StatusChange(
        namespace=group.namespace,
        name=group.name,
        uid=group.uid,
        status=due.status,
        changes_conditions=due.status.conditions != group.status.conditions,
        seen_version=group.status_version,
        refusal=reason.sentence if publish and reason is not None else "",
        scheduled=_newly_scheduled(group, due.status, bound_now=outlook.bound_now),
    )


def _newly_scheduled(group: GroupRow, status: PodGroupStatus, *, bound_now: int) -> int:
    """The number of bound pods if this status is the first with condition Scheduled, else 0."""
    first = says_scheduled(status) and not was_whole(group)
    return len(group.placed) + bound_now if first else 0


def _waiting(session: Session, statuses: Sequence[StatusChange]) -> tuple[WaitingPods, ...]:
    """The conditions to write on waiting pods.

    When a PodGroup gets a new refusal message, the first waiting pod of the group gets it too.
    """
    refreshed = {object_key(s.namespace, s.name): None for s in statuses if s.refusal}
    unscheduled = UnscheduledPods(session)
    found = (unscheduled.of(g, refreshes=g.key in refreshed) for g in session.snapshot.groups)
    return tuple(waiting for waiting in found if waiting is not None)


def _published(session: Session, group: GroupRow) -> Reason | None:
    """The reason to publish now; None while the group's pods may still be being created.

    A controller creates pods one after the other, so missing pods are reported only after a grace
    period.
    """
    reason = reported_reason(session, group)
    if reason is None or reason.stage is not Stage.TASKS:
        return reason
    publish_at = _pods_wanted_since(session, group) + TASKS_GRACE_SECONDS
    if session.now >= publish_at:
        return reason
    session.wake(publish_at)
    return None


def _pods_wanted_since(session: Session, group: GroupRow) -> float:
    """When the group's pods should have begun to be created.

    A controller may create pods only after the group is Inqueue. The time then counts from the
    write of that phase, not from the creation of the group.
    """
    if group.pods_total and group.status.phase != INQUEUE:
        return group.created
    if session.phase(group) != group.status.phase or _under_way(group):
        return session.now
    return max(group.created, group.status_written_at)


def _under_way(group: GroupRow) -> bool:
    """Whether a status write is under way.

    Until it is done, no controller sees the phase Inqueue.
    """
    return group.status_written_at > 0 and not group.status_version


def _planned_nodes(
    session: Session, group: GroupRow, terminating: Sequence[PodRow]
) -> tuple[ReservedNode, ...]:
    """The nominated nodes of a group's pods. `freed` marks nodes that the `terminating` pods free."""
    names = session.snapshot.nodes.static.names
    freed = {pod.node: None for pod in terminating}
    return tuple(
        ReservedNode(
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            task=pod.task,
            shape=pod.shape.key,
            node=names[row],
            freed=names[row] in freed,
        )
        for pod, row in session.reservations.reserved_nodes.get(group.key, ())
    )


def _withdrawals(session: Session) -> tuple[Withdrawal, ...]:
    """Pods whose nominatedNodeName must be removed, because the nomination has ended.

    Groups with new evictions are left out: their pods get a new nomination.
    """
    found: list[Withdrawal] = []
    for group in session.snapshot.groups:
        ended = (
            group.key in session.snapshot.evictions.expired_nominations
            or group.key in session.reservations.lost_to
        )
        if ended and group.key not in session.decided.evicted:
            bound = {bind.uid: None for bind in session.decided.binds.get(group.key, ())}
            pods = [pod for run in group.runs for pod in run.pods if pod.uid not in bound]
            written = tuple(_ref(pod) for pod in pods if pod.nominated)
            found += [Withdrawal(group=group.key, pods=written)] if written else []
    return tuple(found)


def _ref(pod: PodRow) -> PodRef:
    return PodRef(namespace=pod.namespace, name=pod.name, uid=pod.uid)


def _reasons(session: Session) -> tuple[JobReason, ...]:
    """The reasons of all waiting jobs, by queue and job order, with the position in the queue."""
    waiting: dict[str, list[GroupRow]] = {}
    for group in session.snapshot.groups:
        if reported_reason(session, group) is not None:
            waiting.setdefault(group.queue, []).append(group)
    found: list[JobReason] = []
    for queue in sorted(waiting):
        keyed = sorted(
            (session.framework.order.job_order_key(session, g), g.key, g) for g in waiting[queue]
        )
        found += [
            JobReason(
                group=group.key,
                uid=group.uid,
                queue=queue,
                position=position,
                reason=reason,
            )
            for position, (_, _, group) in enumerate(keyed, start=1)
            if (reason := reported_reason(session, group)) is not None
        ]
    return tuple(found)


def _queues(session: Session) -> tuple[QueueAllocated, ...]:
    """Queues whose `status.allocated` differs from what they have."""
    changed: list[QueueAllocated] = []
    for name, queue in session.snapshot.queues.items():
        # Reserved amounts are not in use, so they are not reported. They are part of what is
        # allocated, so subtracting them adds no names.
        has = session.accounts.allocated(name) - session.accounts.reserved(name)
        has.drop_zeros()
        said = {r: amount for r, amount in queue.allocated_status if amount}
        if has != said:
            gone = tuple(sorted(r for r, _ in queue.allocated_status if r not in has))
            shown = format_resources(has)
            changed.append(QueueAllocated(queue=name, allocated=shown, gone=gone))
    return tuple(changed)
