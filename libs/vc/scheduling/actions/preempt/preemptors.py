"""Preemptors: enqueued, starving jobs that wait for resources and are allowed to preempt.

Plugins define which jobs are starving (`enableJobStarving`). With gang, these are jobs below their
minimum. With priority alone, any job with waiting pods is starving.
"""

from typing import Final

from vc.messages.sessions import Stage
from vc.scheduling.actions.surplus_delay import surplus_waits
from vc.scheduling.cache.overlays.evictions import EVICTION_COOLDOWN_SECONDS
from vc.scheduling.model.nominations import nomination_of
from vc.scheduling.model.rows import PENDING, GroupRow
from vc.scheduling.placement.gang import (
    Missing,
    is_best_effort_run,
    one_by_one,
    placement_key,
    why_no_fit,
)
from vc.scheduling.session.feasibility import empty_node_bound
from vc.scheduling.session.session import Session

EVICTION_CAN_HELP: Final = (Stage.GANG, Stage.PREDICATE, Stage.QUOTA)
"""Stages of refusals that evictions can resolve."""


def find_preemptors(session: Session) -> list[GroupRow]:
    """The preemptors of the session, in job order."""
    known: dict[tuple[object, ...], bool] = {}
    found = [group for group in session.snapshot.groups if _is_preemptor(session, group, known)]
    keyed = sorted(
        (session.framework.order.job_order_key(session, group), group.key, group) for group in found
    )
    return [group for _, _, group in keyed]


def wanted(session: Session, group: GroupRow) -> Missing:
    """The pods for which others may be evicted: the missing minimum, or one further pod."""
    missing = session.framework.jobs.missing(group)
    if missing:
        return missing
    waiting = [run for run in group.runs if session.waiting_pods(run)]
    return [(waiting[0].task, 1)] if waiting else []


def is_best_effort(group: GroupRow) -> bool:
    """Whether all pending pods of the group are best-effort."""
    return bool(group.runs) and all(map(is_best_effort_run, group.runs))


def equivalence_key(session: Session, group: GroupRow) -> tuple[object, ...]:
    """The equivalence key of a preemptor: with equal keys, evictions help both or neither."""
    # A job has none of its own pods evicted for itself, and it gives up its own partial reservation
    # for the attempt. So the result for a job with either of them does not apply to other jobs.
    own = group.placed or group.key in session.reservations.partial
    alike = not own and not any(one_by_one(session, group, run) for run in group.runs)
    who = session.priority(group) if alike else group.key
    return (*placement_key(session, group, wanted(session, group)), who)


def _is_preemptor(session: Session, group: GroupRow, known: dict[tuple[object, ...], bool]) -> bool:
    """Whether the group is a preemptor. `known` caches answers by equivalence key."""
    if session.phase(group) == PENDING or not session.framework.jobs.job_starving(session, group):
        return False
    if session.starving(group):
        if not _waits_for_resources(session, group, known):
            return False
    elif (
        group.key in session.refused
        or group.key in session.decided.evicted
        or session.bound_now(group)
        or surplus_waits(session, group)
    ):
        return False
    if group.priority_class in session.snapshot.priorities.never_preempting:
        return False
    # A job that would not fit on empty nodes cannot be helped by evictions.
    if not session.cached(empty_node_bound).covers(group, wanted(session, group)):
        return False
    if not all(pod.preempts for run in group.runs for pod in run.pods):
        return False
    # A job that lost its reservation, or whose victims were refused, is planned again in a later
    # session.
    if (
        group.key in session.reservations.lost_to
        or group.key in session.snapshot.evictions.eviction_backoff
    ):
        return False
    nominated = nomination_of(group, session.snapshot.evictions.nominated)
    if nominated is None or nominated.incomplete:  # replaces victims that were not evicted
        return True
    # The earlier victims may still be terminating. The cooldown prevents further evictions
    # meanwhile.
    return session.now >= nominated.since + EVICTION_COOLDOWN_SECONDS


def _waits_for_resources(
    session: Session, group: GroupRow, known: dict[tuple[object, ...], bool]
) -> bool:
    """Whether the group waits for resources that evictions can free.

    A best-effort group may have no refusal yet, because backfill can run after this action. It is
    checked here, so that no pod is evicted for a group that backfill can place.
    """
    reason = session.refused.get(group.key)
    if reason is not None:
        return reason.stage in EVICTION_CAN_HELP
    if not is_best_effort(group):
        return False
    asked = equivalence_key(session, group)
    if asked not in known:
        reason = why_no_fit(session, group, session.framework.jobs.missing(group))
        known[asked] = reason is not None and reason.stage in EVICTION_CAN_HELP
    return known[asked]
