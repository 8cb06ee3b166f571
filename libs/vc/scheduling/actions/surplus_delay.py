"""The surplus delay: surplus pods are placed a short time after the job gets its minimum.

Jobs that are submitted together reach the scheduler one after the other. Without the delay, the
first job fills the cluster with surplus pods. The minimums of the other jobs then have to wait, or
evict these pods again. Minimums are never delayed. Best-effort pods are not delayed either, because
they use no resources.

The delay is the argument `surplusDelay` of the action allocate (500 ms by default; 0 disables it).
It applies once in the life of a pod group, from the session that placed its minimum. The snapshot
has the time when a session last saw the group below its minimum (`Snapshot.minimum_met_at`).
Snapshots are recorded, so a replay gets the same result. Without that entry, for example after a
restart, the time of the condition `Scheduled` counts, or the creation of the group if there is no
such condition. So a job that has been running for a long time grows, and replaces failed pods,
without a delay.
"""

from vc.scheduling.conf.surplus_delay import surplus_delay_seconds
from vc.scheduling.model.pod_group_status import SCHEDULED, read_time, was_whole
from vc.scheduling.model.rows import GroupRow
from vc.scheduling.session.session import Session


def surplus_waits(session: Session, group: GroupRow) -> bool:
    """Whether the surplus delay of the group is not over.

    If so, a wake-up is registered for its end.
    """
    delay = surplus_delay_seconds(session.framework.action_arguments("allocate"))
    due_at = minimum_met_at(session, group) + delay
    if session.now >= due_at:
        return False
    session.wake(due_at)
    return True


def minimum_met_at(session: Session, group: GroupRow) -> float:
    """When the group first got its minimum. For a group without a minimum, its creation time."""
    if group.min_member <= 0:
        return group.created
    if session.framework.jobs.missing(group) and not was_whole(group):
        return session.now  # the minimum is placed in this session at the earliest
    noted = session.snapshot.minimum_met_at.get(group.key)
    if noted is not None:
        return noted
    for condition in group.status.conditions:
        if condition.type == SCHEDULED and condition.status == "True":
            return read_time(condition.last_transition_time)
    return group.created
