"""The input of one session: an immutable, complete copy.

Everything that a decision depends on is in here, in `conf` or in `now`. So a session can run in a
worker thread while the cache changes, and a replay yields the same bytes.
"""

from dataclasses import dataclass, field

from vc.model.values.resources import Resources
from vc.scheduling.cache.images import ImageRow
from vc.scheduling.cache.pod_affinity_index import PodAffinityTable
from vc.scheduling.cache.quotas_and_budgets import BudgetRow, QuotaRow
from vc.scheduling.cache.volumes import VolumeTable
from vc.scheduling.model.node_table import NodeTable
from vc.scheduling.model.nominations import Nomination
from vc.scheduling.model.rows import GroupRow, PodRow, QueueRow
from vc.scheduling.pod_status import POD_CONDITION_SECONDS


@dataclass(frozen=True, kw_only=True, eq=False)
class QueueUse:
    """The resources of the groups of one queue: allocated, enqueued, surplus and reserved.

    Sums over a queue may exceed int64, so they are Python integers.
    """

    allocated: Resources = field(default_factory=Resources)
    enqueued: Resources = field(default_factory=Resources)
    """minResources of enqueued groups, as far as they are not allocated yet."""
    elastic: Resources = field(default_factory=Resources)
    """Allocated beyond minResources."""
    reserved: Resources = field(default_factory=Resources)
    """Reserved for waiting pods whose queue-allocation gate was removed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PriorityClasses:
    """The PriorityClasses of the cluster."""

    values: dict[str, int] = field(default_factory=dict)
    """By name."""
    default: int = 0
    """The priority of groups that name no class."""
    never_preempting: frozenset[str] = frozenset()
    """Classes with preemptionPolicy Never. Used for membership tests only."""


@dataclass(frozen=True, kw_only=True, eq=False)
class EvictionState:
    """What earlier sessions evicted or tried to evict. All sets are used for membership tests only."""

    nominated: dict[str, Nomination] = field(default_factory=dict)
    """Jobs for which pods were evicted, and the nodes reserved for them."""
    expired_nominations: frozenset[str] = frozenset()
    """Jobs whose nomination has just expired unused."""
    refused_victims: frozenset[str] = frozenset()
    """Uids of pods whose eviction was refused lately."""
    eviction_backoff: frozenset[str] = frozenset()
    """Jobs whose victims were refused just now."""
    release_backoff: frozenset[str] = frozenset()
    """Gangs whose members could not be released lately."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """The cluster at the start of a session."""

    session_id: str
    nodes: NodeTable
    groups: tuple[GroupRow, ...]
    """The groups with something to decide or to write, by key."""
    queues: dict[str, QueueRow]
    """By name, sorted."""
    use: dict[str, QueueUse]
    """By queue that has groups, even if the queue does not exist."""
    priorities: PriorityClasses
    partial_since: dict[str, float]
    """Half-bound gangs, and since when this process has observed them so."""
    pod_affinity: PodAffinityTable = field(default_factory=PodAffinityTable)
    """Pods by node, as far as terms of pods concern them."""
    all_groups: dict[str, GroupRow] = field(default_factory=dict)
    """All groups by key, unordered. Groups without anything to decide may have victims."""
    terminating_pods: tuple[PodRow, ...] = ()
    """Terminating pods that still occupy their nodes, by key."""
    terminating_namespaces: frozenset[str] = frozenset()
    """Namespaces that are being deleted. Used for membership tests only."""
    evictions: EvictionState = field(default_factory=EvictionState)
    """Evictions under way, nominations, and what must not be tried again yet."""
    quotas: dict[str, QuotaRow] = field(default_factory=dict)
    """ResourceQuotas without scopes, by key."""
    budgets: dict[str, BudgetRow] = field(default_factory=dict)
    """PodDisruptionBudgets, by key."""
    volumes: VolumeTable = field(default_factory=VolumeTable)
    """Storage, as far as waiting pods use any."""
    images: dict[str, ImageRow] = field(default_factory=dict)
    """The nodes that have the images of waiting pods, by image id."""
    minimum_met_at: dict[str, float] = field(default_factory=dict)
    """Groups that reached their minimum in this process and have waiting pods: when a session last
    saw them without it."""
    allowed: dict[str, frozenset[str]] = field(default_factory=dict)
    """By queue with an allow list: the namespaces that may use it. Used for membership tests only."""
    next_expiry: float | None = None
    """The first expiry of an entry of the cache (`model/deadlines.py`)."""
    pod_condition_seconds: float = POD_CONDITION_SECONDS
    """How long a pod waits before its condition PodScheduled shows why."""
