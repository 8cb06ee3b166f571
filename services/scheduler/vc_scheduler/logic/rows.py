"""One row per pod, pod group and queue, as the session sees them: frozen, small, ready to use.

Rows are made once when a fact arrives and shared between sessions; a session copies none of them.
Times are seconds since the epoch as the API server wrote them and serve only to order things.
"""

import enum
from typing import Final

import msgspec

from vc_model.scheduling import PodGroupStatus
from vc_scheduler.logic.shapes import Shape

PENDING: Final = "Pending"
INQUEUE: Final = "Inqueue"
RUNNING: Final = "Running"
UNKNOWN: Final = "Unknown"
COMPLETED: Final = "Completed"
OPEN: Final = "Open"


class Task(enum.Enum):
    """Where a pod stands (behaviour.md 5.2)."""

    PENDING = "Pending"
    BINDING = "Binding"
    """We bound it and have not seen the fact yet: the assumed overlay."""
    BOUND = "Bound"
    RUNNING = "Running"
    RELEASING = "Releasing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


ALLOCATED: Final = frozenset({Task.BINDING, Task.BOUND, Task.RUNNING})
"""Counts for its gang and its queue. Only asked whether it contains, never walked through."""

FINISHED: Final = frozenset({Task.SUCCEEDED, Task.FAILED})
"""Neither runs nor waits. Only asked whether it contains."""

ON_NODE: Final = frozenset({*ALLOCATED, Task.RELEASING, Task.UNKNOWN})
"""Takes room on its node."""


class PodRow(msgspec.Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """A pod."""

    key: str
    namespace: str
    name: str
    uid: str
    group: str
    """Key of its pod group; empty when it has none (yet)."""
    role: str
    """Name of its task within the job; empty for plain pods."""
    index: int
    priority: int
    shape: Shape
    status: Task
    node: str
    ours: bool
    """Names one of our schedulers."""
    gated: bool
    """By gates that others lift."""
    controlled: bool
    """Has a controller that would make it anew; others are never deleted by us."""
    labels: dict[str, str] = {}
    """As other pods' terms look at them; shared with the fact."""
    critical: bool = False
    """Of the system: never evicted while the plugin conformance is on."""
    preemptable: bool = True
    preempts: bool = True
    """Its preemptionPolicy lets it have others evicted."""
    created: float = 0.0
    """Of a pending pod."""
    waiting_message: str = ""
    """Of a pending pod: what its condition PodScheduled=False/Unschedulable says."""
    nominated: str = ""
    """Of a pending pod: the node where it was promised room."""
    queue_gated: bool = False
    """By Volcano's own gate alone, which is lifted when its queue has room for it."""
    queue_reserved: bool = False
    """That gate was lifted, and the queue holds room for the pod until it is bound."""
    gate_names: tuple[str, ...] = ()
    """Of gates that others lift."""
    protected_until: float = 0.0
    """When its cooldown ends; 0 for none. Not evicted before, while the plugin cdp is on."""
    unsupported: str = ""
    """The field of a pending pod that this release does not support: the pod is never bound."""
    started: str = ""
    """`status.startTime` as written; read only when victims are compared."""
    creation_timestamp: str = ""
    """As written; read only when victims are compared."""
    class_priority: int | None = None
    """`spec.priority`, which the API server writes and no annotation changes."""

    @property
    def order(self) -> tuple[int, str, int, str]:
        """Task order: priority, then equal pods side by side, then their index."""
        return (-self.priority, self.role, self.index, self.name)


class Run(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Pending pods of one role and one shape, next to one another in task order."""

    role: str
    shape: Shape
    pods: tuple[PodRow, ...]

    @property
    def priority(self) -> int:
        return self.pods[0].priority


class RoleCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many pods of a role there are, and how many count as ready."""

    role: str
    ready: int
    valid: int


class GroupRow(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A pod group with its pods counted."""

    key: str
    namespace: str
    name: str
    uid: str
    queue: str
    priority_class: str
    created: float
    min_member: int
    role_minimums: tuple[tuple[str, int], ...]
    """Empty when they do not apply (minMember below their sum)."""
    min_resources: tuple[tuple[str, int], ...] | None
    problem: str
    status: PodGroupStatus
    """As written by us last, or as the fact says when that is newer."""
    status_version: str
    """resourceVersion that had this status; empty while our write is under way."""
    status_written_at: float
    """When we last wrote it, in this life; 0 for never."""
    runs: tuple[Run, ...]
    placed: tuple[PodRow, ...]
    """Allocated pods, in task order."""
    roles: tuple[RoleCount, ...]
    allocated: tuple[tuple[str, int], ...]
    """Requests of the allocated pods, added up."""
    running: int
    succeeded: int
    failed: int
    pending: int
    """Pending pods of ours, whether they can be placed now or not."""
    held: int
    """Pending pods that wait after a failed bind."""
    gated: int
    broken: int
    """Pending pods whose manifest cannot be used."""
    broken_why: str
    tasks: int
    """All pods."""
    annotations: dict[str, str] = {}
    """Those of the fact that plugins read."""
    gated_request: tuple[tuple[str, int], ...] = ()
    """What pods ask for together that have scheduling gates, our own gate included."""
    reserved: tuple[tuple[str, int], ...] = ()
    """What waiting pods ask for together whose queue holds room for them."""
    reserved_pods: tuple[tuple[bytes, int], ...] = ()
    """How many these are, by the key of their shape."""
    gate_names: tuple[str, ...] = ()
    """Gates of its pods that others lift, by name."""
    quota_resources: tuple[tuple[str, int], ...] = ()
    """minResources as written, with the keys of quotas."""
    settled: bool = False
    """Nothing to decide: no pod waits and the status says what is."""
    elsewhere: int = 0
    """Pending pods that another scheduler is to place."""
    foreign: bool = False
    """It has pods, and none of them names us: they are counted, and never spoken of."""
    stranger: bool = False
    """Foreign, and of no vcjob of ours: its status and what it waits for are somebody else's."""
    unsupported: str = ""
    """A field of the group that this release does not support: it is not enqueued."""
    unsupported_pod: str = ""
    """The same of a pending pod, the first of them."""
    unsupported_pod_name: str = ""
    set_aside: tuple[PodRow, ...] = ()
    """Pending pods of ours without gates that cannot be placed now: in bind backoff, or unusable."""
    unmarked_since: float | None = None
    """When the oldest pod was created that waits and has no condition that says why."""
    newest_pod: float = 0.0
    """When the newest pending pod was created."""
    pod_messages: tuple[str, ...] = ()
    """What waiting pods say, each text once."""
    conditions_under_way: dict[str, str] = {}
    """By uid: what pods are going to say, as no fact shows it yet."""
    pods_rewritten_at: float = 0.0
    """When what waiting pods say was last written, in this process; 0 for never."""
    let_in_at: float | None = None
    """When this process enqueued it; None for never: then a phase of Inqueue is only somebody's word."""
    claim: tuple[tuple[str, int], ...] = ()
    """What it asked for when it was enqueued, as far as that could ever run; empty when that is over."""
    pods_priority: int | None = None
    """The lowest `spec.priority` of its unfinished pods; None while it has none that says."""

    @property
    def ready(self) -> int:
        """Pods that count for the gang."""
        return len(self.placed) + self.succeeded

    @property
    def lacks_members(self) -> bool:
        """Has less than its minimum, of all or of a role."""
        ready = {count.role: count.ready for count in self.roles}
        short = any(ready.get(role, 0) < least for role, least in self.role_minimums)
        return short or self.ready < self.min_member

    @property
    def valid(self) -> int:
        """Pods that count or may come to count."""
        return self.ready + self.pending

    @property
    def candidates(self) -> int:
        """Pods that can be placed now."""
        return sum(len(run.pods) for run in self.runs)

    @property
    def charged_minimum(self) -> dict[str, int]:
        """minResources without what gated pods ask for: those are not charged before their gates are
        lifted, neither to the cluster nor to the queue."""
        gated = dict(self.gated_request)
        least = {name: amount - gated.get(name, 0) for name, amount in self.min_resources or ()}
        return {name: amount for name, amount in least.items() if amount > 0}

    @property
    def claimed(self) -> dict[str, int]:
        """What is promised to it beyond what it has, while its claim lasts: never more than it was
        enqueued with."""
        bound, has, reserved = dict(self.claim), dict(self.allocated), dict(self.reserved)
        found: dict[str, int] = {}
        for name, least in self.charged_minimum.items() if bound else ():
            missing = min(least, bound.get(name, 0)) - has.get(name, 0) - reserved.get(name, 0)
            if missing > 0:
                found[name] = missing
        return found


class QueueRow(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A queue."""

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
    """`status.allocated` as the fact says."""
    guarantee: tuple[tuple[str, int], ...] = ()
    """What other queues never get."""
    deserved: tuple[tuple[str, int], ...] = ()
    reclaimable: bool = True
    fifo: bool = False
    """Nobody passes the first job that waits."""
    tolerance: int = 0
    """Thousandths above what it deserves that reclaim leaves alone."""
    path: tuple[str, ...] = ()
    """Where it stands for drf with hierarchy, from the root; empty when it does not say."""
    path_weights: tuple[int, ...] = ()
    """Of each step of the path, in thousandths."""
    honors_non_preemptable: bool = True
    """Whether its pods may exempt themselves from eviction."""
    problem: str = ""
    unsupported: str = ""
    """A field of the queue that this release does not support: its jobs are not enqueued."""

    @property
    def open(self) -> bool:
        """A queue nobody looked at yet counts as open."""
        return self.state in ("", OPEN)
