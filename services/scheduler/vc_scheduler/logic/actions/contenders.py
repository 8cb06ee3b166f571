"""Jobs that may have others evicted: let in, starving, refused for want of room, and allowed to.

What starving means plugins say (`enableJobStarving`): with gang, a job without its minimum; with
priority alone, any job whose pods wait.
"""

from typing import Final

from vc_messages.sessions import Stage
from vc_scheduler.logic.actions.surplus import surplus_waits
from vc_scheduler.logic.evictions import EVICTION_COOLDOWN_SECONDS
from vc_scheduler.logic.nominations import promise_to
from vc_scheduler.logic.placing import (
    Missing,
    asks_for_nothing,
    one_by_one,
    question_of,
    why_no_room,
)
from vc_scheduler.logic.rows import PENDING, GroupRow
from vc_scheduler.logic.session import Session

WANT_ROOM: Final = (Stage.GANG, Stage.PREDICATE, Stage.QUOTA)
"""Refusals that evictions may change."""


def contenders(session: Session) -> list[GroupRow]:
    """In job order."""
    known: dict[tuple[object, ...], bool] = {}
    found = [group for group in session.snapshot.groups if _contends(session, group, known)]
    keyed = sorted((session.framework.job_key(session, group), group.key, group) for group in found)
    return [group for _, _, group in keyed]


def wanted(session: Session, group: GroupRow) -> Missing:
    """What a contender wants room for: its minimum, or one pod more."""
    missing = session.framework.missing(group)
    if missing:
        return missing
    waiting = [run for run in group.runs if session.waiting_pods(run)]
    return [(waiting[0].role, 1)] if waiting else []


def humble(group: GroupRow) -> bool:
    """Whether it asks for nothing but a place."""
    return bool(group.runs) and all(map(asks_for_nothing, group.runs))


def question(session: Session, group: GroupRow) -> tuple[object, ...]:
    """What it depends on whether evictions help a contender."""
    own = group.placed or group.key in session.parts  # of those it has none evicted for itself
    alike = not own and not any(one_by_one(session, group, run) for run in group.runs)
    who = session.priority(group) if alike else group.key
    return (*question_of(session, group, wanted(session, group)), who)


def _contends(session: Session, group: GroupRow, known: dict[tuple[object, ...], bool]) -> bool:
    if session.phase(group) == PENDING or not session.framework.voters.starving(session, group):
        return False
    if session.starving(group):
        if not _wants_room(session, group, known):
            return False
    elif (
        group.key in session.refused
        or group.key in session.evicted
        or session.bound_now(group)
        or surplus_waits(session, group)
    ):
        return False
    if group.priority_class in session.snapshot.never_preempting:
        return False
    if not session.reach.covers(group, wanted(session, group)):
        return False
    if not all(pod.preempts for run in group.runs for pod in run.pods):
        return False
    if group.key in session.lost_to or group.key in session.snapshot.eviction_backoff:
        return False  # it is planned anew when its promise has ended, or its backoff
    promised = promise_to(group, session.snapshot.nominated)
    if promised is None or promised.incomplete:  # of an incomplete one, others are chosen at once
        return True
    return session.now >= promised.since + EVICTION_COOLDOWN_SECONDS


def _wants_room(session: Session, group: GroupRow, known: dict[tuple[object, ...], bool]) -> bool:
    """Whether it waits for room. Who asks for nothing may have no answer yet: backfill comes later, and
    gives it a place if there is one."""
    reason = session.refused.get(group.key)
    if reason is not None:
        return reason.stage in WANT_ROOM
    if not humble(group):
        return False
    asked = question(session, group)
    if asked not in known:
        reason = why_no_room(session, group, session.framework.missing(group))
        known[asked] = reason is not None and reason.stage in WANT_ROOM
    return known[asked]
