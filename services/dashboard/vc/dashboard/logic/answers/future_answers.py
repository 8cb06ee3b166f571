"""The shapes of answers about sessions that were, and about what would be."""

import msgspec

from vc.dashboard.logic.answers.reason_answers import (
    ReasonAnswer,
    SessionRecordAnswer,
    UnblockAnswer,
)
from vc.dashboard.logic.answers.shapes import Answer, JobRow, SessionRow
from vc.model.api.struct import JsonObject, ResourceList


class SessionDetail(Answer, frozen=True, kw_only=True):
    """A session in full."""

    session: SessionRow
    record: SessionRecordAnswer
    actions: list[str]
    """Of the configuration in force."""
    digest: str
    """Of everything it decided."""
    release: str
    replayable: bool
    why_not: str
    """Why it cannot be run again; empty when it can."""


class SessionReplay(Answer, frozen=True, kw_only=True):
    """A session that was run again, and whether it decided the same."""

    session_id: str
    same: bool
    recorded: str
    replayed: str
    """Digests of everything that was decided, then and now."""
    nodes: int
    groups: int
    enqueued: list[str]
    bound_pods: int
    evicted_pods: int
    waiting: int
    took_ms: float


class Estimate(Answer, frozen=True, kw_only=True):
    """When a job may start, and on what that rests."""

    starts_at: str
    """Empty when there is no basis."""
    in_seconds: float
    basis: str
    waits_for: list[str]
    """Jobs that must end first."""


class WaitingRow(Answer, frozen=True, kw_only=True):
    """A job that waits."""

    position: int
    """In the queue, from 1, as the plugins order those that wait now."""
    group: str
    stage: str
    """Empty when only its condition has spoken yet."""
    needed_pods: int
    missing: ResourceList
    """What there is too little of, and how much."""
    unblock: UnblockAnswer | None
    """What would take its reason away."""
    reason: str
    created: str
    estimate: Estimate | None = None
    """Of its start, if it was requested and a basis is known."""


class WaitingList(Answer, frozen=True, kw_only=True):
    """Who waits in a queue, in the order in which they are tried."""

    queue: str
    headroom: ResourceList
    """What the queue may still take before its limit, or one above it, or the cluster's end."""
    deserved: ResourceList
    """As the plugins that decide count it."""
    basis: str
    """Whose configuration was used."""
    waiting: list[WaitingRow]
    total: int
    stale: str


class QueueShare(Answer, frozen=True, kw_only=True):
    """What a queue has, deserves and may have, as sessions see it; those below it included."""

    name: str
    weight: int
    allocated: ResourceList
    request: ResourceList
    deserved: ResourceList
    capacity: ResourceList
    """What it may have at the most."""
    share: float
    """The largest part of what it deserves that it has."""
    overused: bool


class QueueShares(Answer, frozen=True, kw_only=True):
    """All queues, by name."""

    queues: list[QueueShare]
    basis: str
    """Whose configuration was used."""
    stale: str


class Holder(Answer, frozen=True, kw_only=True):
    """A job that has some of what another waits for, on nodes that the job could use."""

    group: str
    """A pod group's key; of pods without one, the kind and key of what controls them."""
    queue: str
    """Empty for pods without a group."""
    pods: int
    amounts: ResourceList
    ends_at: str
    """When it is expected to end; empty when nothing says so."""
    basis: str


class Remedy(Answer, frozen=True, kw_only=True):
    """What starts a waiting job, and whether that was checked."""

    checked: bool
    """Applied to a copy of the cluster, it started the job; False: only proposed by the session."""
    unblock: UnblockAnswer | None
    """None when none is known, or none is needed."""
    steps: list[str]
    """The same in words; all of them together."""
    basis: str
    victims: list[str]
    """Pods that the scheduler evicts for the job then, the first ones."""
    victims_total: int
    alternatives: list[str]
    """Other changes that start it, too; each was checked."""


class Explanation(Answer, frozen=True, kw_only=True):
    """Why a job waits, on whom, and until when."""

    job: JobRow
    position: int
    ahead: list[str]
    """Groups that are tried before it, the first ones."""
    explanation: ReasonAnswer | None
    holders: list[Holder]
    holders_total: int
    estimate: Estimate | None
    """None for a job that does not wait."""
    stale: str
    remedy: Remedy | None = None
    """None for a job that does not wait."""
    notes: list[str] = []
    """What else keeps it waiting: a queue that holds what is missing and is not reclaimable, writes of the
    job controller that were refused."""
    beyond_minimum: ReasonAnswer | None = None
    """Of a job that has its minimum: why its other pods wait; None when none do."""
    pending_in_queue: int = 0
    """Number of pending groups of its queue, among which it has its position; 0 for a job that does not wait."""


class AddNodes(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """Nodes that a what-if adds to the cluster."""

    count: int
    like: str = ""
    """A node they are like; without one, the most common kind of node."""


class WhatIfRequest(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """Changes to the cluster as it is."""

    documents: list[JsonObject] = []
    """Manifests of Jobs, Queues, Nodes, PriorityClasses, ResourceQuotas, claims, volumes and their classes,
    as one would apply them. A Queue may write its `status.state`."""
    add_nodes: AddNodes | None = None
    drop_jobs: list[str] = []
    """`namespace/name`."""


class PlacedPod(Answer, frozen=True, kw_only=True):
    """A pod and where it would run."""

    pod: str
    node: str


class EvictedPod(Answer, frozen=True, kw_only=True):
    """A pod that would have to leave."""

    pod: str
    group: str
    node: str
    made_for: str


class WhatIfJob(Answer, frozen=True, kw_only=True):
    """What would become of a job."""

    namespace: str
    name: str
    runs: bool
    placements: list[PlacedPod]
    placements_total: int
    victims: list[EvictedPod]
    position: int
    reason: ReasonAnswer | None
    """Why it would not run."""


class WhatIf(Answer, frozen=True, kw_only=True):
    """Outcome of a what-if: what the scheduler would decide on the changed cluster."""

    jobs: list[WhatIfJob]
    """Those of the request, then others that would start only because of the changes."""
    victims_total: int
    sessions: int
    stable: bool
    refused: list[str]
    """What admission would say; with any of these nothing was tried."""
    notes: list[str]
    basis: str
    """Whose configuration was used."""
    stale: str
