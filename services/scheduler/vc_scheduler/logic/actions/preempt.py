"""preempt: a starving job takes the room of jobs of lower priority in its own queue.

Where that is not enough and a plugin says what is fair between them, jobs of equal priority give, too.

A job that asks for nothing but a place has only such pods evicted that ask for nothing either.
Then, inside a job: a waiting task of higher priority takes the place of tasks of lower priority.
"""

from vc_scheduler.logic.actions.contenders import CONTENDERS_MAX, contenders, wanted
from vc_scheduler.logic.actions.equals import Equals
from vc_scheduler.logic.evicting import Room
from vc_scheduler.logic.placing import asks_for_nothing
from vc_scheduler.logic.rows import PENDING, GroupRow, PodRow, Run
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.victims import Bundle, Permits, bundles, evictable
from vc_scheduler.logic.voters import PREEMPTABLE


def preempt(session: Session) -> None:
    """Between jobs of a queue, then inside jobs."""
    known: dict[tuple[str, int, bool], list[Bundle]] = {}
    tried = 0
    for group in contenders(session):
        if tried >= CONTENDERS_MAX:
            break
        humble = all(map(asks_for_nothing, group.runs))
        permits = _best_effort if humble else _anybody
        asked = (group.queue, session.priority(group), humble)
        if asked not in known:
            known[asked] = _lower(session, group, permits=permits)
        even = session.framework.voters.equals_yield and session.starving(group)
        if not known[asked] and not even:
            continue
        tried += 1
        room = Room(session, group, wanted(session, group))
        if room.make(known[asked]) or (even and _from_equals(session, group, room, permits)):
            known.clear()
    for group in session.snapshot.groups:
        _inside(session, group)


def _lower(session: Session, group: GroupRow, *, permits: Permits) -> list[Bundle]:
    """What jobs of the same queue and lower priority can give."""
    least = session.priority(group)
    others = [
        other
        for other in session.snapshot.everybody.values()
        if other.queue == group.queue
        and other.key != group.key
        and other.placed
        and session.priority(other) < least
    ]
    return bundles(session, others, permits=permits, switch=PREEMPTABLE)


def _from_equals(session: Session, group: GroupRow, room: Room, permits: Permits) -> bool:
    """With what jobs of equal priority give, one after the other; else with whatever is fair together."""
    equals = Equals(session, group, wanted(session, group))
    found = equals.found(permits)
    if not found:
        return False
    return room.make(equals.together(found)) or room.make(found, accepts=equals.fair)


def _anybody(group: GroupRow, pod: PodRow) -> bool:
    del group, pod
    return True


def _best_effort(group: GroupRow, pod: PodRow) -> bool:
    del group
    return pod.shape.best_effort


def _inside(session: Session, group: GroupRow) -> None:
    """One task of higher priority takes the place of lower ones of its own job; one a session."""
    if group.key in session.promised_to or session.phase(group) == PENDING or not group.placed:
        return
    if session.bound_now(group) or group.key in session.snapshot.nominated:
        return
    lowest = min(pod.priority for pod in group.placed)
    for run in group.runs:
        outranks = run.priority > lowest and run.pods[0].preempts and not run.shape.best_effort
        room = Room(session, group, [(run.role, 1)])
        if outranks and room.make(_below(session, group, run)):
            return


def _below(session: Session, group: GroupRow, run: Run) -> list[Bundle]:
    """The job's own tasks of lower priority, lowest first."""
    lower = [
        pod
        for pod in group.placed
        if pod.priority < run.priority and evictable(session, pod, switch=PREEMPTABLE)
    ]
    lower.sort(key=_lowest_first)
    return [Bundle(group, (pod,), whole=False) for pod in lower]


def _lowest_first(pod: PodRow) -> tuple[int, int, str]:
    return (pod.priority, -pod.index, pod.key)
