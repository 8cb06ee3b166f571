"""Pods beyond a job's minimum wait a moment after the minimum: jobs that arrive then still get theirs.

Several jobs that are submitted together reach the scheduler one after the other. Without the delay the
first of them fills the cluster with pods that it could start without, and the minimums of the others
wait or evict them again. Minimums never wait, nor do best-effort pods, which take no resources from anybody.

The delay is the argument `surplusDelay` of the action allocate (500 ms; 0 switches it off). It counts once in
the life of a pod group, from the session that gave it its minimum: the snapshot says when a session last saw it
without (`Snapshot.minimum_met_at`), and is recorded, so replays are equal. A scheduler that has not seen
that goes by the time of the condition `Scheduled`, or the creation of a group that has none. So a job that has been
running for long grows, and has failed pods replaced, without a delay.
"""

from collections.abc import Mapping
from typing import Final

from vc_model.times import DurationError, parse_duration
from vc_scheduler.logic.phases import SCHEDULED, read_time, was_whole
from vc_scheduler.logic.rows import GroupRow
from vc_scheduler.logic.session import Session

SURPLUS_DELAY: Final = "surplusDelay"
SURPLUS_DELAY_SECONDS: Final = 0.5
SURPLUS_DELAY_SECONDS_MAX: Final = 600.0


def surplus_delay_seconds(arguments: Mapping[str, str]) -> float:
    """The delay that the arguments of allocate say; ValueError names the value and the fix."""
    written = arguments.get(SURPLUS_DELAY)
    if written is None:
        return SURPLUS_DELAY_SECONDS
    try:
        seconds = parse_duration(written)
    except DurationError:
        seconds = -1.0
    if not 0.0 <= seconds <= SURPLUS_DELAY_SECONDS_MAX:
        raise ValueError(
            f"{SURPLUS_DELAY} {written!r} is not a duration from 0 to 10m; write one like 500ms, or 0 for none"
        )
    return seconds


def surplus_waits(session: Session, group: GroupRow) -> bool:
    """Whether pods beyond its minimum have to wait still; then a session is wanted when they need not."""
    delay = surplus_delay_seconds(session.framework.action_arguments("allocate"))
    due_at = minimum_met_at(session, group) + delay
    if session.now >= due_at:
        return False
    session.wake(due_at)
    return True


def minimum_met_at(session: Session, group: GroupRow) -> float:
    """When the group got its minimum for the first time; its creation where it has none."""
    if group.min_member <= 0:
        return group.created
    if session.framework.missing(group) and not was_whole(group):
        return session.now  # it gets it in this session, or later
    noted = session.snapshot.minimum_met_at.get(group.key)
    if noted is not None:
        return noted
    for condition in group.status.conditions:
        if condition.type == SCHEDULED and condition.status == "True":
            return read_time(condition.last_transition_time)
    return group.created
