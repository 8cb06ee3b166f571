"""The status of a pod group: phase, counters, conditions (behaviour.md 5.1).

A status is written only when it says something new. Phase and the kind of a condition count at
once; counters alone at most once a second and the numbers in a message at most every ten, per group,
so that a thousand pods that start one after the other, or a cluster that moves under a thousand
waiting jobs, cost the API server O(1) writes per job. What is put off is due at a named time, and the
session asks to be woken then.

The condition `Scheduled` is also the evidence that a gang was whole once (`was_whole`), which outlives us:
it is said when no bind of the gang is in doubt, stays while a member has a node or had one, and is taken
back when all of them wait. A gang that lost members after it is not released as one that a crash left half bound.
"""

from typing import Final

import msgspec

from vc_messages.sessions import Reason
from vc_model.scheduling import PodGroupCondition, PodGroupStatus
from vc_model.times import format_time, parse_time
from vc_scheduler.logic.rows import (
    COMPLETED,
    INQUEUE,
    PENDING,
    RUNNING,
    UNKNOWN,
    GroupRow,
    Task,
)

COUNTERS_REFRESH_SECONDS: Final = 1.0
MESSAGE_REFRESH_SECONDS: Final = 10.0
SKEW_SECONDS: Final = 60.0
"""Times of conditions that lie further ahead count as now, and are written so."""

UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULED: Final = "Scheduled"
_TRUE: Final = "True"
_FALSE: Final = "False"
_READY_REASON: Final = "tasks in gang are ready to be scheduled"
_GONE_REASON: Final = "no task of the gang is scheduled any more"


def read_time(text: str | None) -> float:
    """Seconds since the epoch, 0 for none or nonsense: it only orders things."""
    return parse_time(text) or 0.0


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """What a session found for a group."""

    phase: str
    """As the session left it: the enqueue action may have moved it."""
    bound_now: int = 0
    reason: Reason | None = None


class StatusDue(msgspec.Struct, frozen=True, kw_only=True):
    """A status to write now (`status`), or one that is put off (`due_at`), or neither."""

    status: PodGroupStatus | None = None
    due_at: float | None = None
    tell: bool = False
    """The refusal is new or says something new: people are told with the write."""


def phase_of(row: GroupRow, outlook: Outlook) -> str:
    """The phase; see behaviour.md 5.1 for the rules and their order."""
    if row.tasks == 0 and outlook.phase == COMPLETED:
        return COMPLETED  # its pods were cleaned up after they had finished
    if row.running and outlook.reason is not None:
        return UNKNOWN
    scheduled = len(row.placed) + outlook.bound_now + row.succeeded + row.failed
    if scheduled and scheduled >= row.min_member:
        finished = row.succeeded + row.failed == scheduled and not (row.pending or row.elsewhere)
        return COMPLETED if finished else RUNNING
    if row.foreign and outlook.phase in (RUNNING, UNKNOWN):
        return UNKNOWN if row.running else INQUEUE  # it was let in, and others place its pods
    return INQUEUE if outlook.phase == INQUEUE else PENDING


def was_whole(row: GroupRow) -> bool:
    """Whether the gang had all its members at some time since they last all waited."""
    return says_scheduled(row.status)


def says_scheduled(status: PodGroupStatus) -> bool:
    """Whether the condition Scheduled holds."""
    return any(c.type == SCHEDULED and c.status == _TRUE for c in status.conditions)


def is_partial(row: GroupRow) -> bool:
    """Some members are bound or run, and the gang never was whole: a crash or a refusal between binds.

    One that was whole and lost members is none of these, whatever its phase.
    """
    return len(row.placed) > 0 and not row.foreign and row.lacks_members and not was_whole(row)


def next_status(row: GroupRow, outlook: Outlook, *, session_id: str, now: float) -> StatusDue:
    """The status that says what is, and whether it is time to write it."""
    phase = phase_of(row, outlook)
    known = row.status
    wanted = PodGroupStatus(
        phase=phase,
        running=row.running,
        succeeded=row.succeeded,
        failed=row.failed,
        conditions=_conditions(row, outlook, phase=phase, stamp=(session_id, format_time(now))),
    )
    if phase != known.phase or _kinds(wanted) != _kinds(known) or _turned_back(known, wanted):
        return StatusDue(status=wanted, tell=outlook.reason is not None)
    new_text = _texts(wanted) != _texts(known)
    if not new_text and _counters(wanted) == _counters(known):
        return StatusDue()
    rest = MESSAGE_REFRESH_SECONDS if new_text else COUNTERS_REFRESH_SECONDS
    due_at = row.status_written_at + rest
    if now < due_at:
        return StatusDue(due_at=due_at)
    return StatusDue(status=wanted, tell=new_text)


def rests(row: GroupRow) -> bool:
    """No pod waits, and the status says what is: no session has anything to do here."""
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
    """Ours brought up to date, everybody else's kept; the time of a condition that stays, stays.

    Only that of Unschedulable starts anew with each phase, also where nothing is said yet: it tells since when
    a group that was let in finds no room (`inqueue.py`). Of pods that others place we say nothing, and only take back what we
    said while there were none.
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
    begins_anew = row.tasks == row.pending and phase in (PENDING, INQUEUE)
    if begins_anew and not row.foreign and was_whole(row):
        wanted[SCHEDULED] = _condition(SCHEDULED, _FALSE, reason=_GONE_REASON)
    conditions = []
    for old in known.conditions:
        new = wanted.pop(old.type, None)
        anew = old.type == UNSCHEDULABLE and phase != known.phase
        conditions.append(_renew(old, new or old, stamp, anew=anew))
    conditions += [
        msgspec.structs.replace(new, transition_id=stamp[0], last_transition_time=stamp[1])
        for new in wanted.values()
    ]
    return conditions


def in_doubt(row: GroupRow) -> bool:
    """Whether a member is only assumed to be bound, by an earlier session: it may come back."""
    return any(pod.status is Task.BINDING for pod in row.placed)


def _condition(kind: str, status: str, *, reason: str, message: str = "") -> PodGroupCondition:
    return PodGroupCondition(type=kind, status=status, reason=reason, message=message)


def _to_come(condition: PodGroupCondition, now: str) -> bool:
    """Whether its time lies ahead by more than clocks differ: nobody of ours wrote it."""
    return bool(now) and read_time(condition.last_transition_time) > read_time(now) + SKEW_SECONDS


def _turned_back(known: PodGroupStatus, wanted: PodGroupStatus) -> bool:
    """Whether a time that lay ahead becomes now."""
    pairs = zip(known.conditions, wanted.conditions, strict=False)
    return any(
        read_time(old.last_transition_time) > read_time(new.last_transition_time)
        for old, new in pairs
    )


def _renew(
    old: PodGroupCondition, new: PodGroupCondition, stamp: tuple[str, str], *, anew: bool
) -> PodGroupCondition:
    anew = anew or _to_come(old, stamp[1])
    same = (old.status, old.reason, old.message) == (new.status, new.reason, new.message)
    if same and not anew:
        return old
    since = old.last_transition_time if old.status == new.status and not anew else stamp[1]
    return msgspec.structs.replace(new, transition_id=stamp[0], last_transition_time=since)


def _kinds(status: PodGroupStatus) -> list[tuple[str, str, str]]:
    return [(c.type, c.status, c.reason) for c in status.conditions]


def _texts(status: PodGroupStatus) -> list[str]:
    return [c.message for c in status.conditions]


def _counters(status: PodGroupStatus) -> tuple[int, int, int]:
    return (status.running, status.succeeded, status.failed)
