"""The PodGroup of a job: its name and its spec.

The job-controller creates and updates it, and the dashboard simulates it. The spec describes the
gang of the *released* tasks: tasks that depend on others have no pods yet, and a gang that counts
them would never be complete.
"""

from collections.abc import Sequence

from vc.model.api import keys
from vc.model.api.graft import to_json
from vc.model.api.job import Job, TaskSpec
from vc.model.api.scheduling import PodGroupSpec, SubGroupPolicy
from vc.model.api.selectors import LabelSelector
from vc.model.api.struct import ResourceList
from vc.model.compat import Compat
from vc.model.support.answers import FieldValue
from vc.model.support.matching import is_partition_gang


def podgroup_name(job: Job, compat: Compat) -> str:
    """Name of a PodGroup that is created now: the job's, or Volcano's `<job>-<uid>`."""
    if compat is Compat.UPSTREAM:
        return f"{job.metadata.name}-{job.metadata.uid}"
    return job.metadata.name


def podgroup_spec(job: Job, tasks: Sequence[TaskSpec], min_resources: ResourceList) -> PodGroupSpec:
    """Spec of the PodGroup for the gang of the released tasks."""
    return PodGroupSpec(
        min_member=min_member(job, tasks),
        min_task_member={task.name: task.min_available or 0 for task in tasks},
        queue=job.spec.queue,
        priority_class_name=job.spec.priority_class_name,
        min_resources=min_resources,
        network_topology=job.spec.network_topology,
        sub_group_policy=[_partitions(job, task) for task in tasks if task.partition_policy],
    )


def min_member(job: Job, tasks: Sequence[TaskSpec]) -> int:
    """Size of the gang without the tasks that still wait for others."""
    released = {task.name for task in tasks}
    waiting = sum(t.min_available or 0 for t in job.spec.tasks if t.name not in released)
    return max(0, job.spec.min_available - waiting)


def _partitions(job: Job, task: TaskSpec) -> SubGroupPolicy:
    """The sub-group policy of a partitioned task.

    A gang of partitions is requested only if the gang of all replicas does not imply it: the
    scheduler does not enqueue a PodGroup that needs sub-groups of its own.
    """
    policy = task.partition_policy
    assert policy is not None
    place = FieldValue(
        value=to_json(policy), parent=to_json(task), root={"spec": to_json(job.spec)}
    )
    return SubGroupPolicy(
        name=task.name,
        network_topology=policy.network_topology,
        sub_group_size=policy.partition_size,
        min_sub_groups=policy.min_partitions if is_partition_gang(place) else 0,
        label_selector=LabelSelector(match_labels={keys.TASK_SPEC: task.name}),
        match_label_keys=[keys.PARTITION_ID],
    )
