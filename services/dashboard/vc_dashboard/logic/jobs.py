"""Jobs: the list, and one of them in full."""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc_dashboard.logic.answers import GroupRow, JobDetail, JobList, JobRow, PodRow
from vc_dashboard.logic.picture import WAITING_PHASES, Picture, group_of_job, still_waits
from vc_dashboard.logic.reason_answers import answered_reason
from vc_messages.sessions import JobReason, Reason
from vc_model.job import Job
from vc_model.keys import TASK_SPEC
from vc_model.kinds import JOBS
from vc_model.pod import Pod
from vc_model.scheduling import PodGroup, PodGroupCondition

PODS_SHOWN_MAX: Final = 1000
_NO_ORDER: Final[Mapping[str, int]] = {}


class JobQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs."""

    namespace: str = ""
    queue: str = ""
    phase: str = ""
    after: str = ""
    limit: int = 100


def list_jobs(
    picture: Picture, reasons: Mapping[str, JobReason], question: JobQuestion, *, stale: str
) -> JobList:
    """A page of jobs."""
    chosen = [job for job in picture.jobs.values() if _matches(job, question)]
    rest = [job for job in chosen if job.key > question.after]
    page = rest[: question.limit]
    groups = _groups_by_owner(picture)
    return JobList(
        jobs=[_row(job, groups.get(job.metadata.uid), reasons) for job in page],
        total=len(chosen),
        next=page[-1].key if len(rest) > len(page) and page else "",
        stale=stale,
    )


def _matches(job: Job, question: JobQuestion) -> bool:
    return (
        question.namespace in ("", job.metadata.namespace)
        and question.queue in ("", job.spec.queue)
        and question.phase in ("", job.status.state.phase)
    )


def _groups_by_owner(picture: Picture) -> dict[str, PodGroup]:
    return {
        owner.uid: group
        for group in picture.groups.values()
        for owner in group.metadata.owner_references
        if owner.controller and JOBS.is_kind_of(owner)
    }


def true_words(picture: Picture, reasons: Mapping[str, JobReason]) -> dict[str, JobReason]:
    """What was said of groups that are there and still wait.

    A scheduler that died, or whose view was rebuilt, takes nothing back: without a look at the group a
    word would outlive what it is about.
    """
    found = ((key, _reason_of(picture.groups.get(key), reasons)) for key in reasons)
    return {key: word for key, word in found if word is not None}


def line_of(
    picture: Picture, words: Mapping[str, JobReason], queue: str, order: Mapping[str, int]
) -> list[str]:
    """The groups that wait in a queue, the first first; of some only their condition may speak yet.

    `order` has the groups as the plugins order them now; of one it does not know, the place it was told
    of when its reason was said has to do.
    """
    places = {word.group: word.position for word in words.values() if word.queue == queue}
    for key, group in picture.groups.items():
        if group.spec.queue == queue and key not in words and is_refused(group):
            places[key] = len(picture.groups)
    last = len(order)
    return sorted(places, key=lambda key: (order.get(key, last), places[key], key))


def is_refused(group: PodGroup) -> bool:
    """Whether its condition says that it waits. A record has a bound: its reason may be said later."""
    condition = newest_condition(group)
    return still_waits(group) and condition is not None and condition.type == "Unschedulable"


def describe_job(
    picture: Picture,
    reasons: Mapping[str, JobReason],
    key: str,
    *,
    stale: str,
    order: Mapping[str, int] = _NO_ORDER,
) -> JobDetail | None:
    """One job in full; None when there is none."""
    job = picture.jobs.get(key)
    if job is None:
        return None
    group = group_of_job(picture, job)
    reason = reason_of_job(picture, reasons, key)
    pods = picture.owned.get(job.metadata.uid, [])
    return JobDetail(
        job=_row(job, group, reasons),
        pods=[_pod_row(pod) for pod in pods[:PODS_SHOWN_MAX]],
        pods_total=len(pods),
        group=_group_row(group) if group is not None else None,
        position=_position(picture, reasons, group, order),
        explanation=answered_reason(reason) if reason is not None else None,
        stale=stale,
    )


def reason_of_job(picture: Picture, reasons: Mapping[str, JobReason], key: str) -> Reason | None:
    """Why a job waits, as the scheduler said; None when it does not, or there is none."""
    job = picture.jobs.get(key)
    waiting = _reason_of(group_of_job(picture, job), reasons) if job is not None else None
    return waiting.reason if waiting is not None else None


def _position(
    picture: Picture,
    reasons: Mapping[str, JobReason],
    group: PodGroup | None,
    order: Mapping[str, int],
) -> int:
    words = true_words(picture, reasons)
    if group is None or not (group.key in words or is_refused(group)):
        return 0
    queue = words[group.key].queue if group.key in words else group.spec.queue
    return 1 + line_of(picture, words, queue, order).index(group.key)


def _reason_of(group: PodGroup | None, reasons: Mapping[str, JobReason]) -> JobReason | None:
    """The scheduler's word, if it is about this very group and the group still waits."""
    found = reasons.get(group.key) if group is not None else None
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
    if group is None or group.status.phase not in WAITING_PHASES:
        return ""
    condition = newest_condition(group)
    return condition.message if condition and condition.type == "Unschedulable" else ""


def newest_condition(group: PodGroup) -> PodGroupCondition | None:
    """The condition that holds and was written last."""
    holding = [c for c in group.status.conditions if c.status == "True"]
    return max(holding, key=lambda c: c.last_transition_time or "", default=None)


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
    labels = {**pod.metadata.annotations, **pod.metadata.labels}
    statuses = [*pod.status.init_container_statuses, *pod.status.container_statuses]
    return PodRow(
        name=pod.metadata.name,
        task=labels.get(TASK_SPEC, ""),
        phase=pod.status.phase,
        node=pod.spec.node_name,
        restarts=sum(status.restart_count for status in statuses),
    )
