"""The shapes of the API's answers. The OpenAPI document is made of these structs."""

import msgspec

from vc.dashboard.logic.answers.reason_answers import ReasonAnswer
from vc.model.api.struct import ResourceList


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of an answer."""


class JobRow(Answer, frozen=True, kw_only=True):
    """A job in a list."""

    namespace: str
    name: str
    queue: str
    phase: str
    min_available: int
    pending: int
    running: int
    succeeded: int
    failed: int
    created: str
    reason: str
    """Why it waits, in one sentence; empty when it does not."""


class JobList(Answer, frozen=True, kw_only=True):
    """Jobs in the order of namespace and name."""

    jobs: list[JobRow]
    total: int
    next: str
    """Pass as `after` for more; empty at the end."""
    stale: str
    """Why this may be old; empty when it is fresh."""


class PodRow(Answer, frozen=True, kw_only=True):
    """A pod of a job."""

    name: str
    task: str
    phase: str
    node: str
    restarts: int


class GroupRow(Answer, frozen=True, kw_only=True):
    """The pod group of a job, with the condition that was written last."""

    name: str
    phase: str
    min_member: int
    condition: str
    reason: str
    message: str


class JobDetail(Answer, frozen=True, kw_only=True):
    """A job, its pods, and why it waits."""

    job: JobRow
    pods: list[PodRow]
    pods_total: int
    group: GroupRow | None
    position: int
    """In its queue, from 1, among those that wait; 0 when it does not."""
    explanation: ReasonAnswer | None
    """What the scheduler said last, with its numbers."""
    stale: str


class QueueRow(Answer, frozen=True, kw_only=True):
    """A queue and its place in the tree."""

    name: str
    parent: str
    depth: int
    children: list[str]
    state: str
    weight: int
    priority: int
    capability: ResourceList
    guarantee: ResourceList
    deserved: ResourceList
    """Counted by the plugins that decide, those below it included; as written where they say nothing."""
    deserved_written: ResourceList
    """`spec.deserved`."""
    allocated: ResourceList
    """As the scheduler wrote it."""
    used: ResourceList
    """What the placed pods of this queue and those below ask for, counted now."""
    requested: ResourceList
    """`used`, and what waits there: minimums of groups that have not started, and pods without a node,
    those beyond a gang's minimum included."""
    pending: int
    inqueue: int
    running: int


class QueueTree(Answer, frozen=True, kw_only=True):
    """Queues depth first: each after its parent."""

    queues: list[QueueRow]
    total: int
    capacity: ResourceList
    """What the ready nodes have: what root may take when nothing says less."""
    basis: str
    """Whose configuration says what queues deserve, or why nothing is known of that."""
    stale: str


class SessionRow(Answer, frozen=True, kw_only=True):
    """A session that changed something."""

    session_id: str
    started_at: float
    took_ms: float
    nodes: int
    groups: int
    enqueued: int
    bound_pods: int
    evicted: int
    released: int
    waiting: int
    kept: bool
    """Whether it is in the ring: only then it can be shown in full, and run again."""


class SessionList(Answer, frozen=True, kw_only=True):
    """Sessions, the newest first."""

    sessions: list[SessionRow]
    total: int
    stale: str


class UsageLine(Answer, frozen=True, kw_only=True):
    """What one of the requested rows held; cells that were not requested are empty."""

    queue: str
    namespace: str
    job: str
    """Empty also where small jobs of a queue and namespace are one row."""
    day: str
    cpu_hours: float
    memory_gib_hours: float
    device_hours: dict[str, float]
    """Per device with a vendor's name, such as `nvidia.com/gpu`."""
    unit_seconds: dict[str, str]
    """The same, exact, times seconds: bytes of memory and storage, thousandths (`m`) of everything else."""


class UsageReport(Answer, frozen=True, kw_only=True):
    """What was held, the largest first."""

    by: list[str]
    lines: list[UsageLine]
    total: int
    closed_until: str
    """Hours before this do not change any more."""
    stale: str


class Violation(Answer, frozen=True, kw_only=True):
    """Something that must never be, with its numbers."""

    object: str
    message: str
    numbers: dict[str, int | str]
    """Counts as numbers, amounts of resources as quantities."""
    seconds: float
    """For how long it has been seen."""


class Invariant(Answer, frozen=True, kw_only=True):
    """An invariant and whether it holds."""

    name: str
    holds: bool
    checked: int
    """How many objects were looked at."""
    violations: list[Violation]
    violations_total: int


class Invariants(Answer, frozen=True, kw_only=True):
    """All invariants that are checked, and whether each of them holds."""

    holds: bool
    invariants: list[Invariant]
    stale: str


class Problem(Answer, frozen=True, kw_only=True):
    """Why there is no answer."""

    error: str
