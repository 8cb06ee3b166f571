"""Lifecycle policies: map what happened to the pods of a job to the action of a policy.

Events are not stored. What happened is derived from the pods each time: a failed pod is visible,
and a lost pod is noted as alive in the status and missing now. An event therefore stays visible
until it was acted on or is no longer true. This also cancels time-outs: a running pod is no longer
pending. Only a loss is noted while its time-out runs, because the pod is created again meanwhile.
The loss ends when the new pod runs.

Policies are resolved in this order: those of the task, then those of the job. The first match wins.
"""

from collections.abc import Iterable, Sequence

import msgspec

from vc.job_controller.logic.counts import Counts
from vc.job_controller.logic.job_pods import (
    POD_FAILED,
    POD_PENDING,
    POD_RUNNING,
    JobPod,
    JobPods,
)
from vc.job_controller.logic.notes import Notes
from vc.job_controller.logic.observed import sooner
from vc.model.api.job import Job, LifecyclePolicy, TaskSpec
from vc.model.api.scheduling import PodGroup
from vc.model.values.times import DurationError, parse_duration, parse_time

POD_FAILED_EVENT = "PodFailed"
POD_EVICTED_EVENT = "PodEvicted"
POD_PENDING_EVENT = "PodPending"
TASK_COMPLETED_EVENT = "TaskCompleted"
TASK_FAILED_EVENT = "TaskFailed"
UNKNOWN_EVENT = "Unknown"
ANY_EVENT = "*"

_SAME = {"JobUnknown": UNKNOWN_EVENT}
"""Other names of events."""

PODGROUP_UNKNOWN = "Unknown"
_NEVER_FAILS = -1


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """An event that a policy may name."""

    event: str
    task: str = ""
    index: int | None = None
    exit_code: int = 0
    since: float | None = None
    """When it began, if known. A time-out counts from here; without
    it the time-out is over at once."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """An action, its target, and its cause."""

    action: str
    task: str = ""
    index: int | None = None
    because: str = ""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The order that is due, if any, and the time until the next one."""

    order: Order | None = None
    wake_after_seconds: float | None = None


def happenings(
    job: Job,
    members: JobPods,
    *,
    notes: Notes,
    counted: Counts,
    podgroup: PodGroup | None,
    now: float,
) -> list[Happening]:
    """All events that are true now, in the order of tasks and indices."""
    found: list[Happening] = []
    for task in job.spec.tasks:
        found += _losses(task, members, notes=notes, counted=counted, now=now)
        found += _of_pods(task, members, counted)
        found += _of_task(task, members, counted)
    # The PodGroup's phase Unknown has no pod to derive it from, so its conditions give the time.
    if podgroup is not None and podgroup.status.phase == PODGROUP_UNKNOWN:
        since = [parse_time(c.last_transition_time) for c in podgroup.status.conditions]
        found.append(
            Happening(
                event=UNKNOWN_EVENT,
                since=max((at for at in since if at is not None), default=None),
            )
        )
    return found


def _losses(
    task: TaskSpec, members: JobPods, *, notes: Notes, counted: Counts, now: float
) -> Iterable[Happening]:
    """Pods that were alive and are gone or terminating. A noted loss ends when a new pod runs."""
    was_alive = notes.alive.get(task.name, frozenset())
    noted = notes.lost.get(task.name, {})
    # Sorted, because a set has no fixed order, and the first event whose policy is due decides.
    for index in sorted(was_alive | noted.keys()):
        # An index beyond the replicas was scaled down, which is no loss.
        if index >= task.replicas or index in counted.completed[task.name]:
            continue
        member = members.get(task.name, index)
        going = member is None or member.terminating
        # A pod that we or the scheduler deleted on purpose was not evicted.
        fresh = going and index in was_alive and not (member is not None and member.released)
        came_back = member is not None and not going and member.phase == POD_RUNNING
        if fresh or (index in noted and not came_back):
            since = noted.get(index, _going_since(member))
            yield Happening(
                event=POD_EVICTED_EVENT,
                task=task.name,
                index=index,
                # Without a known time the loss begins now, so that its time-out can run at all.
                since=now if since is None else since,
            )


def _of_pods(task: TaskSpec, members: JobPods, counted: Counts) -> Iterable[Happening]:
    done, alive = counted.completed[task.name], counted.alive[task.name]
    for index in range(task.replicas):
        member = members.get(task.name, index)
        if index in done or member is None or member.terminating:
            continue
        if index not in alive:
            continue  # a pod of an earlier attempt triggers no policy
        if member.phase == POD_FAILED:
            yield Happening(
                event=POD_FAILED_EVENT,
                task=task.name,
                index=index,
                exit_code=_exit_code(member),
                since=_ended_at(member),
            )
        elif member.phase == POD_PENDING:
            yield Happening(
                event=POD_PENDING_EVENT,
                task=task.name,
                index=index,
                since=parse_time(member.pod.metadata.creation_timestamp),
            )


def _of_task(task: TaskSpec, members: JobPods, counted: Counts) -> Iterable[Happening]:
    # A task without replicas never completes, or its policy would act at once.
    if task.replicas > 0 and len(counted.completed[task.name]) >= task.replicas:
        ends = [_ended_at(member) for member in members.of(task.name).values()]
        yield Happening(
            event=TASK_COMPLETED_EVENT,
            task=task.name,
            since=max((at for at in ends if at is not None), default=None),
        )
    restarts = sum(
        _restarts(member)
        for member in members.of(task.name).values()
        if member.index in counted.alive[task.name] and member.phase in (POD_PENDING, POD_RUNNING)
    )
    # maxRetry of -1 means that the task never fails by restarts.
    if task.max_retry != _NEVER_FAILS and restarts >= task.max_retry > 0:
        yield Happening(event=TASK_FAILED_EVENT, task=task.name)


def resolve(job: Job, found: Sequence[Happening], now: float) -> Verdict:
    """The order of the first event whose policy is due, or the time until the first one is."""
    by_name = {task.name: task.policies for task in job.spec.tasks}
    wake: float | None = None
    for happening in found:
        policy = matching(by_name.get(happening.task, []), job.spec.policies, happening)
        if policy is None:
            continue
        left = _seconds_left(policy, happening, now)
        # Only one order per decision: its step changes what the other events mean.
        if left <= 0:
            return Verdict(
                order=Order(
                    action=policy.action,
                    task=happening.task,
                    index=happening.index,
                    because=_because(happening),
                )
            )
        wake = sooner(wake, left)
    return Verdict(wake_after_seconds=wake)


def awaited_losses(job: Job, found: Sequence[Happening]) -> dict[str, dict[int, float]]:
    """Losses whose policy has a time-out, by task and index.

    They are written to the notes, because their pods are replaced before the time-out ends.
    """
    by_name = {task.name: task.policies for task in job.spec.tasks}
    losses: dict[str, dict[int, float]] = {}
    for happening in found:
        if happening.event != POD_EVICTED_EVENT or happening.index is None:
            continue
        policy = matching(by_name.get(happening.task, []), job.spec.policies, happening)
        # Without a time-out the policy acts in this decision, and nothing has to be remembered.
        if policy is not None and policy.timeout is not None and happening.since is not None:
            losses.setdefault(happening.task, {})[happening.index] = happening.since
    return losses


def matching(
    of_task: Sequence[LifecyclePolicy], of_job: Sequence[LifecyclePolicy], happening: Happening
) -> LifecyclePolicy | None:
    """The policy that applies: policies of the task come before those of the job, each in order."""
    for policy in (*of_task, *of_job):
        if _matches(policy, happening):
            return policy
    return None


def _matches(policy: LifecyclePolicy, happening: Happening) -> bool:
    named = {_SAME.get(event, event) for event in (*policy.events, policy.event) if event}
    if happening.event in named or ANY_EVENT in named:
        # A pending pod is normal at first, so PodPending needs a time-out, even under "*".
        return happening.event != POD_PENDING_EVENT or policy.timeout is not None
    return happening.exit_code != 0 and policy.exit_code == happening.exit_code


def _seconds_left(policy: LifecyclePolicy, happening: Happening, now: float) -> float:
    if policy.timeout is None or happening.since is None:
        return 0.0
    try:
        return happening.since + parse_duration(policy.timeout) - now
    # An invalid duration must not disable the policy, so it acts at once.
    except DurationError:
        return 0.0


def _because(happening: Happening) -> str:
    place = happening.task
    if happening.index is not None:
        place += f"-{happening.index}"
    code = f" with exit code {happening.exit_code}" if happening.exit_code else ""
    return f"{happening.event}{code}" + (f" of {place}" if place else "")


def _exit_code(member: JobPod) -> int:
    """Exit code of the first container, as upstream reads it."""
    for status in member.pod.status.container_statuses[:1]:
        if status.state is not None and status.state.terminated is not None:
            return status.state.terminated.exit_code
    return 0


def _ended_at(member: JobPod) -> float | None:
    ends = [
        parse_time(status.state.terminated.finished_at)
        for status in member.pod.status.container_statuses
        if status.state is not None and status.state.terminated is not None
    ]
    return max((at for at in ends if at is not None), default=None)


def _going_since(member: JobPod | None) -> float | None:
    """When the deletion was requested. deletionTimestamp is that time plus the grace period."""
    if member is None:
        return None
    ends = parse_time(member.pod.metadata.deletion_timestamp)
    grace = member.pod.metadata.deletion_grace_period_seconds or 0
    return ends - grace if ends is not None else None


def _restarts(member: JobPod) -> int:
    status = member.pod.status
    return sum(
        s.restart_count for s in (*status.container_statuses, *status.init_container_statuses)
    )
