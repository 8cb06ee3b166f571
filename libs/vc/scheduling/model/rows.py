"""Immutable rows of pods, pod groups and queues, as sessions use them.

Rows are created once when a fact arrives, and shared between sessions; a session copies none of
them. Times are seconds since the epoch as written by the API server, and serve only for ordering.
"""

import enum
from typing import Final

import msgspec

from vc.model.api.scheduling import PodGroupStatus
from vc.model.values.resources import Resources
from vc.scheduling.model.shapes import Shape

PENDING: Final = "Pending"
INQUEUE: Final = "Inqueue"
RUNNING: Final = "Running"
UNKNOWN: Final = "Unknown"
COMPLETED: Final = "Completed"
OPEN: Final = "Open"


class TaskStatus(enum.Enum):
    """The scheduling state of a pod (docs/behaviour.md 5.2)."""

    PENDING = "Pending"
    BINDING = "Binding"
    """Bound by this scheduler, and not observed yet (assumed bind)."""
    BOUND = "Bound"
    RUNNING = "Running"
    RELEASING = "Releasing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


ALLOCATED: Final = frozenset({TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.RUNNING})
"""Counts for its gang and its queue. Used for membership tests only: its order is undefined."""

FINISHED: Final = frozenset({TaskStatus.SUCCEEDED, TaskStatus.FAILED})
"""Neither runs nor waits. Used for membership tests only."""

ON_NODE: Final = frozenset({*ALLOCATED, TaskStatus.RELEASING, TaskStatus.UNKNOWN})
"""Occupies resources of its node."""


# Rows are part of no reference cycle, so they are excluded from garbage collection (gc=False).
class PodRow(msgspec.Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """A pod, reduced to what scheduling decisions need."""

    key: str
    namespace: str
    name: str
    uid: str
    group: str
    """The key of its pod group; empty if it has none (yet)."""
    task: str
    """The name of its task within the job; empty for pods without a task."""
    index: int
    priority: int
    shape: Shape
    status: TaskStatus
    node: str
    ours: bool
    """Whether its schedulerName is one of ours."""
    gated: bool
    """Whether it has scheduling gates that others remove."""
    controlled: bool
    """Whether it has a controller that would recreate it. The scheduler never deletes other pods."""
    labels: dict[str, str] = {}
    """The labels that terms of other pods select by; shared with the fact."""
    critical: bool = False
    """A system-critical pod: never evicted while the plugin conformance is enabled."""
    preemptable: bool = True
    preempts: bool = True
    """Whether its preemptionPolicy permits evictions for it."""
    created: float = 0.0
    """The creation time; set for pending pods only."""
    waiting_message: str = ""
    """The message of its condition PodScheduled=False/Unschedulable; set for pending pods only."""
    nominated: str = ""
    """Its nominated node; set for pending pods only."""
    queue_gated: bool = False
    """Whether Volcano's queue-allocation gate is its only gate. The scheduler removes that gate
    when the queue has sufficient quota."""
    queue_reserved: bool = False
    """Whether that gate was removed. The queue keeps a reservation for the pod until it is bound."""
    gate_names: tuple[str, ...] = ()
    """The names of scheduling gates that others remove."""
    protected_until: float = 0.0
    """The end of its cooldown, 0 for none. It is not evicted before, while the plugin cdp is enabled."""
    unsupported: str = ""
    """The field of a pending pod that this release does not support. Such a pod is never bound."""
    started: str = ""
    """`status.startTime` as written; parsed only when victims are compared."""
    creation_timestamp: str = ""
    """As written; parsed only when victims are compared."""
    class_priority: int | None = None
    """`spec.priority`, which the API server sets and no annotation changes."""

    @property
    def order(self) -> tuple[int, str, int, str]:
        """The sort key of task order: priority, then task, then index. Equal pods are adjacent."""
        return (-self.priority, self.task, self.index, self.name)


class Run(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Pending pods of one task and one shape that are adjacent in task order; placed as a batch."""

    task: str
    shape: Shape
    pods: tuple[PodRow, ...]

    @property
    def priority(self) -> int:
        return self.pods[0].priority


class TaskCount(msgspec.Struct, frozen=True, kw_only=True):
    """The number of pods of a task, and how many of them count as ready."""

    task: str
    ready: int
    valid: int


class GroupRow(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A pod group with the counts of its pods."""

    key: str
    namespace: str
    name: str
    uid: str
    queue: str
    priority_class: str
    created: float
    min_member: int
    task_minimums: tuple[tuple[str, int], ...]
    """Minimum by task; empty if these do not apply (minMember below their sum)."""
    min_resources: tuple[tuple[str, int], ...] | None
    problem: str
    status: PodGroupStatus
    """The status that this scheduler wrote last, or that of the fact if it is newer."""
    status_version: str
    """The resourceVersion with this status; empty while a status write is under way."""
    status_written_at: float
    """When this process last wrote the status; 0 for never."""
    runs: tuple[Run, ...]
    placed: tuple[PodRow, ...]
    """Allocated pods, in task order."""
    task_counts: tuple[TaskCount, ...]
    allocated: tuple[tuple[str, int], ...]
    """The sum of the requests of the allocated pods."""
    running: int
    succeeded: int
    """Includes pods that are already deleted, as far as their controller recorded them."""
    failed: int
    pending: int
    """Pending pods of our schedulers, whether or not they can be placed now."""
    in_backoff: int
    """Pending pods in bind backoff."""
    gated: int
    invalid: int
    """Pending pods with an invalid manifest."""
    invalid_reason: str
    pods_total: int
    """The number of all pods, in any state."""
    annotations: dict[str, str] = {}
    """The annotations of the fact that plugins read."""
    gated_request: tuple[tuple[str, int], ...] = ()
    """The sum of the requests of pods with scheduling gates, including our own gate."""
    reserved: tuple[tuple[str, int], ...] = ()
    """The sum of the requests of waiting pods with a reservation in the queue."""
    reserved_pods: tuple[tuple[bytes, int], ...] = ()
    """The number of these pods, by the key of their shape."""
    gate_names: tuple[str, ...] = ()
    """The names of gates of its pods that others remove."""
    quota_resources: tuple[tuple[str, int], ...] = ()
    """minResources as written, with the keys of resource quotas."""
    up_to_date: bool = False
    """Whether there is nothing to decide: no pod waits and the status is up to date."""
    elsewhere: int = 0
    """Pending pods of another scheduler."""
    foreign: bool = False
    """Whether it has pods and none of them names one of our schedulers. They count, but are not
    reported on."""
    unmanaged: bool = False
    """Foreign, and of no vcjob of ours. Its status and its reasons belong to another controller."""
    unsupported: str = ""
    """The field of the group that this release does not support. The group is not enqueued."""
    unsupported_pod: str = ""
    """The unsupported field of the first such pending pod."""
    unsupported_pod_name: str = ""
    unplaceable: tuple[PodRow, ...] = ()
    """Pending pods of our schedulers without gates that are in bind backoff or invalid."""
    unmarked_since: float | None = None
    """The creation time of the oldest waiting pod without a condition that explains why it waits."""
    newest_pod: float = 0.0
    """The creation time of the newest pending pod."""
    pod_messages: tuple[str, ...] = ()
    """The distinct condition messages of waiting pods."""
    conditions_under_way: dict[str, str] = {}
    """By pod uid: the condition message that is being written and no fact shows yet."""
    pods_rewritten_at: float = 0.0
    """When this process last rewrote messages of waiting pods; 0 for never."""
    enqueued_at: float | None = None
    """When this process enqueued it; None for never. In that case a phase of Inqueue was written by
    another client and is not trusted."""
    claim_since: float | None = None
    """When its claim began, also while it is Pending again: enqueued once more, it keeps this time."""
    timed_out_at: float | None = None
    """When this process returned it to Pending after the inqueue time-out; None when the rest is over."""
    claim: tuple[tuple[str, int], ...] = ()
    """The resources it was enqueued with, as far as they can ever be satisfied; empty once the
    claim has ended."""
    completed_deleted: int = 0
    """The part of `succeeded` whose pods are already deleted."""
    pods_priority: int | None = None
    """The lowest `spec.priority` of its unfinished pods; None while no pod has one."""

    @property
    def ready(self) -> int:
        """The number of pods that count for the gang."""
        return len(self.placed) + self.succeeded

    @property
    def lacks_members(self) -> bool:
        """Whether it has less than its minimum, in total or for a task."""
        ready = {count.task: count.ready for count in self.task_counts}
        short = any(ready.get(task, 0) < least for task, least in self.task_minimums)
        return short or self.ready < self.min_member

    @property
    def valid(self) -> int:
        """The number of pods that count for the gang or may do so later."""
        return self.ready + self.pending

    @property
    def candidates(self) -> int:
        """The number of pods that can be placed now."""
        return sum(len(run.pods) for run in self.runs)

    @property
    def charged_minimum(self) -> Resources:
        """minResources without the requests of gated pods. Those are charged neither to the cluster
        nor to the queue before their gates are removed."""
        return Resources(self.min_resources or ()).missing_in(dict(self.gated_request))

    @property
    def claimed(self) -> Resources:
        """The enqueued resources beyond what the group has, as long as its claim lasts. They never
        exceed what it was enqueued with."""
        if not self.claim:
            return Resources()
        has = Resources(self.allocated) + self.reserved
        # A user may raise minResources after the enqueue decision; the raise was never checked.
        return self.charged_minimum.smallest(dict(self.claim)).missing_in(has)


class QueueRow(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A queue, reduced to what scheduling decisions need."""

    name: str
    uid: str
    state: str
    weight: int
    priority: int
    created: float
    parent: str
    capability: tuple[tuple[str, int], ...]
    """Resources that are not named are unlimited."""
    allocated_status: tuple[tuple[str, int], ...]
    """`status.allocated` of the fact."""
    guarantee: tuple[tuple[str, int], ...] = ()
    """Resources that other queues never get."""
    deserved: tuple[tuple[str, int], ...] = ()
    reclaimable: bool = True
    fifo: bool = False
    """Whether jobs start in FIFO order."""
    tolerance: int = 0
    """How far above its deserved share, in thousandths, reclaim tolerates the queue."""
    path: tuple[str, ...] = ()
    """Its position for drf with hierarchy, from the root; empty if not specified."""
    path_weights: tuple[int, ...] = ()
    """The weight of each step of the path, in thousandths."""
    honors_non_preemptable: bool = True
    """Whether pods of the queue may exempt themselves from eviction."""
    problem: str = ""
    unsupported: str = ""
    """The field of the queue that this release does not support. Its jobs are not enqueued."""

    @property
    def open(self) -> bool:
        """Whether the queue is open. A queue without a state is not processed yet, and counts as open."""
        return self.state in ("", OPEN)
