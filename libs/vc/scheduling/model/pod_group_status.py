"""The status of a pod group: phase, counters, conditions (docs/behaviour.md 5.1).

A status is written only if it changes. A new phase or a new kind of condition is written at once.
Counters alone are written at most once per second and group, and numbers in a message at most every
ten seconds. So a thousand pods that start one after another, or changes of the cluster under a
thousand waiting jobs, cost the API server O(1) writes per job. A deferred write has a due time, for
which the session registers a wake-up.

The condition `Scheduled` is also the evidence that a gang was complete once (`was_whole`), and it
survives a restart. It is set when no bind of the gang is in doubt, stays while a member has or had
a node, and is reset when all members wait. A gang that loses members afterwards is not released as
a half-bound gang.
"""

from typing import Final

import msgspec

from vc.messages.sessions import Reason
from vc.model.api.scheduling import PodGroupCondition, PodGroupStatus
from vc.model.values.times import format_time, parse_time
from vc.scheduling.model.rows import (
    COMPLETED,
    INQUEUE,
    PENDING,
    RUNNING,
    UNKNOWN,
    GroupRow,
    TaskStatus,
)

COUNTERS_REFRESH_SECONDS: Final = 1.0
MESSAGE_REFRESH_SECONDS: Final = 10.0
SKEW_SECONDS: Final = 60.0
"""Condition times further in the future than this are replaced by the current time."""

UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULED: Final = "Scheduled"
INQUEUE_TIMEOUT: Final = "InqueueTimeout"
_TRUE: Final = "True"
_FALSE: Final = "False"
_READY_REASON: Final = "tasks in gang are ready to be scheduled"
_GONE_REASON: Final = "no task of the gang is scheduled any more"


def read_time(text: str | None) -> float:
    """Seconds since the epoch, 0 if missing or invalid. The result serves only for ordering."""
    return parse_time(text) or 0.0


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """What a session found for a group."""

    phase: str
    """The phase at the end of the session; the enqueue action may have changed it."""
    bound_now: int = 0
    reason: Reason | None = None


class StatusDue(msgspec.Struct, frozen=True, kw_only=True):
    """A status to write now (`status`), a deferred one (`due_at`), or neither."""

    status: PodGroupStatus | None = None
    due_at: float | None = None
    event: bool = False
    """Whether the refusal or its text is new, so that an event is sent with the write."""


def phase_of(row: GroupRow, outlook: Outlook) -> str:
    """The phase; see docs/behaviour.md 5.1 for the rules and their order."""
    if row.pods_total == 0 and outlook.phase == COMPLETED:
        return COMPLETED  # finished pods were deleted
    # As in Volcano, a running job that lacks members is Unknown.
    if row.running and outlook.reason is not None:
        return UNKNOWN
    scheduled = len(row.placed) + outlook.bound_now + row.succeeded + row.failed
    if scheduled and scheduled >= row.min_member:
        finished = row.succeeded + row.failed == scheduled and not (row.pending or row.elsewhere)
        return COMPLETED if finished else RUNNING
    if row.foreign and outlook.phase in (RUNNING, UNKNOWN):
        return UNKNOWN if row.running else INQUEUE  # another scheduler places its pods
    return INQUEUE if outlook.phase == INQUEUE else PENDING


def was_whole(row: GroupRow) -> bool:
    """Whether the gang was complete at some time since all of its members last waited."""
    return says_scheduled(row.status)


def says_scheduled(status: PodGroupStatus) -> bool:
    """Whether the condition Scheduled is true."""
    return any(c.type == SCHEDULED and c.status == _TRUE for c in status.conditions)


def says_timed_out(status: PodGroupStatus) -> bool:
    """Whether it says that the group was Inqueue for too long."""
    return any(
        c.type == UNSCHEDULABLE and c.status == _TRUE and c.reason == INQUEUE_TIMEOUT
        for c in status.conditions
    )


def is_partial(row: GroupRow) -> bool:
    """Whether it is a half-bound gang: some members are bound, and it was never complete.

    The cause is a crash or a refusal between binds. A gang that was complete and lost members is
    not half-bound, whatever its phase.
    """
    return len(row.placed) > 0 and not row.foreign and row.lacks_members and not was_whole(row)


def next_status(row: GroupRow, outlook: Outlook, *, session_id: str, now: float) -> StatusDue:
    """The up-to-date status, and when to write it."""
    phase = phase_of(row, outlook)
    known = row.status
    wanted = PodGroupStatus(
        phase=phase,
        running=row.running,
        succeeded=row.succeeded,
        failed=row.failed,
        conditions=_conditions(row, outlook, phase=phase, stamp=(session_id, format_time(now))),
    )
    # Users and controllers react to phases and kinds of conditions, so these are not deferred.
    if phase != known.phase or _kinds(wanted) != _kinds(known) or _turned_back(known, wanted):
        return StatusDue(status=wanted, event=outlook.reason is not None)
    new_text = _texts(wanted) != _texts(known)
    if not new_text and _counters(wanted) == _counters(known):
        return StatusDue()
    # Only numbers changed. They may change in every session, so they are rate limited.
    rest = MESSAGE_REFRESH_SECONDS if new_text else COUNTERS_REFRESH_SECONDS
    due_at = row.status_written_at + rest
    if now < due_at:
        return StatusDue(due_at=due_at)
    return StatusDue(status=wanted, event=new_text)


def rests(row: GroupRow) -> bool:
    """Whether no pod waits and the status is up to date, so that sessions can skip the group."""
    # A group that is not enqueued yet always needs a session.
    if row.pending or row.status.phase in ("", PENDING):
        return False
    outlook = Outlook(phase=row.status.phase)
    wanted = _conditions(row, outlook, phase=row.status.phase, stamp=("", ""))
    return (
        phase_of(row, outlook) == row.status.phase
        and _counters(row.status) == (row.running, row.succeeded, row.failed)
        and _kinds(msgspec.structs.replace(row.status, conditions=wanted)) == _kinds(row.status)
        and (
            row.foreign or row.ready + row.failed >= row.min_member or row.status.phase == COMPLETED
        )
    )


def _conditions(
    row: GroupRow, outlook: Outlook, *, phase: str, stamp: tuple[str, str]
) -> list[PodGroupCondition]:
    """Our conditions brought up to date, those of others kept. A condition that does not change
    keeps its time.

    The time of Unschedulable is reset with each phase, even if there is no message yet: it shows
    since when an enqueued group does not fit (`actions/inqueue_timeout.py`). Pods of other
    schedulers are not reported on; only conditions from before they existed are withdrawn.
    """
    known = row.status
    wanted: dict[str, PodGroupCondition] = {}
    if outlook.reason is not None:
        wanted[UNSCHEDULABLE] = _condition(
            UNSCHEDULABLE, _TRUE, reason=outlook.reason.code, message=outlook.reason.sentence
        )
    elif phase in (RUNNING, COMPLETED):
        if not row.foreign and (was_whole(row) or not in_doubt(row)):
            wanted[SCHEDULED] = _condition(SCHEDULED, _TRUE, reason=_READY_REASON)
        if any(c.type == UNSCHEDULABLE for c in known.conditions):
            wanted[UNSCHEDULABLE] = _condition(UNSCHEDULABLE, _FALSE, reason=_READY_REASON)
    # A restarted gang must become complete again before a loss of members counts as one.
    begins_again = (
        row.pods_total == row.pending and not row.completed_deleted and phase in (PENDING, INQUEUE)
    )
    if begins_again and not row.foreign and was_whole(row):
        wanted[SCHEDULED] = _condition(SCHEDULED, _FALSE, reason=_GONE_REASON)
    # The order of existing conditions is kept, so that an unchanged status compares as equal.
    conditions = []
    for old in known.conditions:
        new = wanted.pop(old.type, None)
        restarts = old.type == UNSCHEDULABLE and phase != known.phase
        conditions.append(_renew(old, new or old, stamp, restarts=restarts))
    conditions += [
        msgspec.structs.replace(new, transition_id=stamp[0], last_transition_time=stamp[1])
        for new in wanted.values()
    ]
    return conditions


def in_doubt(row: GroupRow) -> bool:
    """Whether a member is only assumed to be bound by an earlier session. Its bind may still fail."""
    return any(pod.status is TaskStatus.BINDING for pod in row.placed)


def _condition(kind: str, status: str, *, reason: str, message: str = "") -> PodGroupCondition:
    return PodGroupCondition(type=kind, status=status, reason=reason, message=message)


def _to_come(condition: PodGroupCondition, now: str) -> bool:
    """Whether its time is further in the future than clocks differ. The scheduler did not write
    such a time."""
    return bool(now) and read_time(condition.last_transition_time) > read_time(now) + SKEW_SECONDS


def _turned_back(known: PodGroupStatus, wanted: PodGroupStatus) -> bool:
    """Whether a time in the future is corrected to the current time."""
    pairs = zip(known.conditions, wanted.conditions, strict=False)
    return any(
        read_time(old.last_transition_time) > read_time(new.last_transition_time)
        for old, new in pairs
    )


def _renew(
    old: PodGroupCondition, new: PodGroupCondition, stamp: tuple[str, str], *, restarts: bool
) -> PodGroupCondition:
    restarts = restarts or _to_come(old, stamp[1])
    same = (old.status, old.reason, old.message) == (new.status, new.reason, new.message)
    if same and not restarts:
        return old
    # As in Kubernetes, a transition time changes only with the status of the condition.
    since = old.last_transition_time if old.status == new.status and not restarts else stamp[1]
    return msgspec.structs.replace(new, transition_id=stamp[0], last_transition_time=since)


def _kinds(status: PodGroupStatus) -> list[tuple[str, str, str]]:
    return [(c.type, c.status, c.reason) for c in status.conditions]


def _texts(status: PodGroupStatus) -> list[str]:
    return [c.message for c in status.conditions]


def _counters(status: PodGroupStatus) -> tuple[int, int, int]:
    return (status.running, status.succeeded, status.failed)
