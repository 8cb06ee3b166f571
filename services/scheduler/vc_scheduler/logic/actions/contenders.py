"""Jobs that may have others evicted: let in, starving, refused for want of room, and allowed to.

What starving means plugins say (`enableJobStarving`): with gang, a job without its minimum; with
priority alone, any job whose pods wait.
"""

from typing import Final

from vc_messages.sessions import Stage
from vc_scheduler.logic.evictions import EVICTION_COOLDOWN_SECONDS
from vc_scheduler.logic.placing import Missing
from vc_scheduler.logic.rows import PENDING, GroupRow
from vc_scheduler.logic.session import Session

_WANT_ROOM: Final = (Stage.GANG, Stage.PREDICATE, Stage.QUOTA)
CONTENDERS_MAX: Final = 50
"""Jobs per action and session that are tried; each costs some trials, and the next session goes on."""

REPLAN_SECONDS: Final = 1.0
"""After which a job looks for victims again whose promised room went to another."""


def contenders(session: Session) -> list[GroupRow]:
    """In job order."""
    found = [group for group in session.snapshot.groups if _contends(session, group)]
    keyed = sorted((session.framework.job_key(session, group), group.key, group) for group in found)
    return [group for _, _, group in keyed]


def wanted(session: Session, group: GroupRow) -> Missing:
    """What a contender wants room for: its minimum, or one pod more."""
    missing = session.framework.missing(group)
    if missing:
        return missing
    waiting = [run for run in group.runs if session.waiting_pods(run)]
    return [(waiting[0].role, 1)] if waiting else []


def _contends(session: Session, group: GroupRow) -> bool:
    reason = session.refused.get(group.key)
    if session.phase(group) == PENDING or not session.framework.voters.starving(session, group):
        return False
    if session.starving(group):
        if reason is None or reason.stage not in _WANT_ROOM:
            return False
    elif reason is not None or group.key in session.evicted or session.bound_now(group):
        return False
    if not all(pod.preempts for run in group.runs for pod in run.pods):
        return False
    if group.priority_class in session.snapshot.never_preempting:
        return False
    if group.key in session.lost_to:  # it is planned anew when its promise has ended
        session.wake(session.now + REPLAN_SECONDS)
        return False
    promised = session.snapshot.nominated.get(group.key)
    if promised is not None and session.now < promised.since + EVICTION_COOLDOWN_SECONDS:
        session.wake(promised.since + EVICTION_COOLDOWN_SECONDS)
        return False
    return True
