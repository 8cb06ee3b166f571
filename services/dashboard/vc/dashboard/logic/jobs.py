"""Jobs: the list, and one job in full."""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc.dashboard.logic.answers.reason_answers import answered_reason
from vc.dashboard.logic.answers.shapes import GroupRow, JobDetail, JobList, JobRow, PodRow
from vc.dashboard.logic.cluster_index import WAITING_PHASES, ClusterIndex, group_of_job, still_waits
from vc.messages.sessions import JobReason, Reason
from vc.model.api.job import Job
from vc.model.api.keys import TASK_SPEC
from vc.model.api.kinds import JOBS
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, PodGroupCondition

PODS_SHOWN_MAX: Final = 1000
_NO_ORDER: Final[Mapping[str, int]] = {}


class JobQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Filter and page of a list of jobs."""

    namespace: str = ""
    queue: str = ""
    phase: str = ""
    after: str = ""
    limit: int = 100


def list_jobs(
    cluster_index: ClusterIndex,
    reasons: Mapping[str, JobReason],
    query: JobQuery,
    *,
    stale: str,
) -> JobList:
    """A page of jobs."""
    chosen = [job for job in cluster_index.jobs.values() if _matches(job, query)]
    # The page continues after a key, so inserts and deletes do not shift it.
    rest = [job for job in chosen if job.key > query.after]
    page = rest[: query.limit]
    groups = _groups_by_owner(cluster_index)
    return JobList(
        jobs=[_row(job, groups.get(job.metadata.uid), reasons) for job in page],
        total=len(chosen),
        next=page[-1].key if len(rest) > len(page) and page else "",
        stale=stale,
    )


def _matches(job: Job, query: JobQuery) -> bool:
    return (
        query.namespace in ("", job.metadata.namespace)
        and query.queue in ("", job.spec.queue)
        and query.phase in ("", job.status.state.phase)
    )


def _groups_by_owner(cluster_index: ClusterIndex) -> dict[str, PodGroup]:
    return {
        owner.uid: group
        for group in cluster_index.groups.values()
        for owner in group.metadata.owner_references
        if owner.controller and JOBS.is_kind_of(owner)
    }


def current_reasons(
    cluster_index: ClusterIndex, reasons: Mapping[str, JobReason]
) -> dict[str, JobReason]:
    """Reasons of PodGroups that exist and still wait.

    A scheduler that stopped, or whose view was rebuilt, does not withdraw its reasons. Without the
    check of the PodGroup a reason would outlive its cause.
    """
    found = ((key, _reason_of(cluster_index.groups.get(key), reasons)) for key in reasons)
    return {key: job_reason for key, job_reason in found if job_reason is not None}


def pending_order(
    cluster_index: ClusterIndex,
    current: Mapping[str, JobReason],
    queue: str,
    order: Mapping[str, int],
) -> list[str]:
    """The waiting PodGroups of a queue in order. Some may have only a condition and no reason yet.

    `order` contains the current order of the plugins. For a PodGroup that it lacks, the position at
    the time of its reason is used.
    """
    places = {
        job_reason.group: job_reason.position
        for job_reason in current.values()
        if job_reason.queue == queue
    }
    for key, group in cluster_index.groups.items():
        # A record is bounded, so some waiting PodGroups have only a condition.
        if group.spec.queue == queue and key not in current and is_refused(group):
            places[key] = len(cluster_index.groups)
    # PodGroups that the plugins do not know come last.
    last = len(order)
    return sorted(places, key=lambda key: (order.get(key, last), places[key], key))


def is_refused(group: PodGroup) -> bool:
    """Whether its condition says that it waits. Records are bounded,
    so its reason may follow later."""
    condition = newest_condition(group)
    return still_waits(group) and condition is not None and condition.type == "Unschedulable"


def describe_job(
    cluster_index: ClusterIndex,
    reasons: Mapping[str, JobReason],
    key: str,
    *,
    stale: str,
    order: Mapping[str, int] = _NO_ORDER,
) -> JobDetail | None:
    """One job in full, or None if it does not exist."""
    job = cluster_index.jobs.get(key)
    if job is None:
        return None
    group = group_of_job(cluster_index, job)
    reason = reason_of_job(cluster_index, reasons, key)
    pods = cluster_index.owned.get(job.metadata.uid, [])
    return JobDetail(
        job=_row(job, group, reasons),
        pods=[_pod_row(pod) for pod in pods[:PODS_SHOWN_MAX]],
        pods_total=len(pods),
        group=_group_row(group) if group is not None else None,
        position=_position(cluster_index, reasons, group, order),
        explanation=answered_reason(reason) if reason is not None else None,
        stale=stale,
    )


def reason_of_job(
    cluster_index: ClusterIndex, reasons: Mapping[str, JobReason], key: str
) -> Reason | None:
    """The scheduler's reason why a job waits, or None if it does not wait or does not exist."""
    job = cluster_index.jobs.get(key)
    waiting = _reason_of(group_of_job(cluster_index, job), reasons) if job is not None else None
    return waiting.reason if waiting is not None else None


def _position(
    cluster_index: ClusterIndex,
    reasons: Mapping[str, JobReason],
    group: PodGroup | None,
    order: Mapping[str, int],
) -> int:
    current = current_reasons(cluster_index, reasons)
    if group is None or not (group.key in current or is_refused(group)):
        return 0
    queue = current[group.key].queue if group.key in current else group.spec.queue
    return 1 + pending_order(cluster_index, current, queue, order).index(group.key)


def _reason_of(group: PodGroup | None, reasons: Mapping[str, JobReason]) -> JobReason | None:
    """The scheduler's reason, if it is about this PodGroup (by
    uid) and the PodGroup still waits."""
    found = reasons.get(group.key) if group is not None else None
    # A PodGroup of the same name may be a new one, and the reason belongs to the old one.
    if found is None or group is None or found.uid != group.metadata.uid:
        return None
    return found if still_waits(group) else None


def _row(job: Job, group: PodGroup | None, reasons: Mapping[str, JobReason]) -> JobRow:
    status = job.status
    return JobRow(
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        queue=job.spec.queue,
        phase=status.state.phase,
        min_available=job.spec.min_available,
        pending=status.pending,
        running=status.running,
        succeeded=status.succeeded,
        failed=status.failed,
        created=job.metadata.creation_timestamp or "",
        reason=_sentence(group, reasons),
    )


def _sentence(group: PodGroup | None, reasons: Mapping[str, JobReason]) -> str:
    waiting = _reason_of(group, reasons)
    if waiting is not None:
        return waiting.reason.sentence
    # An old condition of a started PodGroup is no reason to wait.
    if group is None or group.status.phase not in WAITING_PHASES:
        return ""
    condition = newest_condition(group)
    return condition.message if condition and condition.type == "Unschedulable" else ""


def newest_condition(group: PodGroup) -> PodGroupCondition | None:
    """The condition with status True that was written last."""
    true_now = [c for c in group.status.conditions if c.status == "True"]
    return max(true_now, key=lambda c: c.last_transition_time or "", default=None)


def _group_row(group: PodGroup) -> GroupRow:
    condition = newest_condition(group)
    return GroupRow(
        name=group.metadata.name,
        phase=group.status.phase,
        min_member=group.spec.min_member,
        condition=condition.type if condition else "",
        reason=condition.reason if condition else "",
        message=condition.message if condition else "",
    )


def _pod_row(pod: Pod) -> PodRow:
    # Labels win over annotations of the same key.
    labels = {**pod.metadata.annotations, **pod.metadata.labels}
    statuses = [*pod.status.init_container_statuses, *pod.status.container_statuses]
    return PodRow(
        name=pod.metadata.name,
        task=labels.get(TASK_SPEC, ""),
        phase=pod.status.phase,
        node=pod.spec.node_name,
        restarts=sum(status.restart_count for status in statuses),
    )
