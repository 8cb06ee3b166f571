"""The pods of a job, parsed: owner, attempt, task and index.

A pod counts only if the job of *this* uid controls it. Its annotations name the version and retry
for which it was created. A pod of an older version belongs to an earlier attempt and is to be
deleted. A terminating pod is neither alive nor lost: its name is in use until it is gone.
"""

from collections.abc import Iterable, Iterator

import msgspec

from vc.model.api import keys
from vc.model.api.job import Job
from vc.model.api.kinds import JOBS
from vc.model.api.pod import Pod
from vc.model.values.bounded import read_count

POD_PENDING = "Pending"
POD_RUNNING = "Running"
POD_SUCCEEDED = "Succeeded"
POD_FAILED = "Failed"
POD_UNKNOWN = "Unknown"

_ENDED = frozenset({POD_SUCCEEDED, POD_FAILED})


class JobPod(msgspec.Struct, frozen=True, kw_only=True):
    """One pod with its task and index."""

    pod: Pod
    task: str
    index: int
    version: int
    retry: int
    phase: str

    @property
    def terminating(self) -> bool:
        return self.pod.metadata.deletion_timestamp is not None

    @property
    def ended(self) -> bool:
        """Whether the pod has ended and will not run again."""
        return self.phase in _ENDED

    @property
    def released(self) -> bool:
        """Whether the pod was deleted on purpose (by us or the scheduler).
        No policy treats it as evicted."""
        annotations = self.pod.metadata.annotations
        return "true" in (annotations.get(keys.OUT_OF_SYNC), annotations.get(keys.GANG_RELEASED))

    @property
    def name(self) -> str:
        return self.pod.metadata.name


class JobPods:
    """All pods of one job uid, by task and index."""

    def __init__(self, job: Job, pods: Iterable[Pod]) -> None:
        self.of_other_jobs: list[Pod] = []
        """Pods of another job of the same name: an earlier one, or a
        later one if the view is stale."""
        self._by_task: dict[str, dict[int, JobPod]] = {task.name: {} for task in job.spec.tasks}
        self.of_removed_tasks: list[JobPod] = []
        """Pods of this job whose task the job does not have."""
        # Sorted, so that the result does not depend on the order in which pods were observed.
        for pod in sorted(pods, key=lambda pod: pod.key):
            self._take(job, pod)

    def _take(self, job: Job, pod: Pod) -> None:
        if not JOBS.controls(pod.metadata, uid=job.metadata.uid):
            self.of_other_jobs.append(pod)
            return
        member = read_member(pod)
        # A pod without our annotations was not created by this controller, and is left alone.
        if member is None:
            return
        if member.task in self._by_task:
            self._by_task[member.task][member.index] = member
        else:
            self.of_removed_tasks.append(member)

    def __iter__(self) -> Iterator[JobPod]:
        """All pods, in the order of tasks and indices."""
        for pods in self._by_task.values():
            for index in sorted(pods):
                yield pods[index]
        yield from self.of_removed_tasks

    def of(self, task: str) -> dict[int, JobPod]:
        """The pods of a task by index."""
        return self._by_task.get(task, {})

    def get(self, task: str, index: int) -> JobPod | None:
        """The pod at an index, of any version."""
        return self._by_task.get(task, {}).get(index)


def read_member(pod: Pod) -> JobPod | None:
    """Parse a pod. None if its annotations are incomplete: then
    this controller did not create it."""
    noted = pod.metadata.annotations
    task, index, version = (
        noted.get(keys.TASK_SPEC, ""),
        noted.get(keys.TASK_INDEX, ""),
        noted.get(keys.JOB_VERSION, ""),
    )
    at_index, at_version = read_count(index), read_count(version)
    if not task or at_index is None or at_version is None:
        return None
    retry = noted.get(keys.JOB_RETRY_COUNT, "")
    return JobPod(
        pod=pod,
        task=task,
        index=at_index,
        version=at_version,
        retry=read_count(retry) or 0,
        phase=pod.status.phase or POD_PENDING,
    )
