"""What one session decides on: an immutable copy, complete by itself.

Everything a decision depends on is in here, in `conf` or in `now`; so a session can run in a worker
thread while the columns move on, and run again later to the same bytes.
"""

from dataclasses import dataclass, field

from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.images import ImageRow
from vc_scheduler.logic.nominations import Nomination
from vc_scheduler.logic.peer_index import PeerTable
from vc_scheduler.logic.pod_status import POD_CONDITION_SECONDS
from vc_scheduler.logic.policies import BudgetRow, QuotaRow
from vc_scheduler.logic.rows import GroupRow, PodRow, QueueRow
from vc_scheduler.logic.table import NodeTable
from vc_scheduler.logic.volumes import VolumeTable


@dataclass(frozen=True, kw_only=True, eq=False)
class QueueUse:
    """What the groups of one queue have, were promised, and have beyond what they need.

    Sums over a queue may pass int64, so they are Python integers.
    """

    allocated: Amounts = field(default_factory=dict)
    promised: Amounts = field(default_factory=dict)
    """minResources of groups that were let in, as far as they are not allocated yet."""
    elastic: Amounts = field(default_factory=dict)
    """Allocated beyond minResources."""
    reserved: Amounts = field(default_factory=dict)
    """Held for waiting pods whose queue-allocation gate was lifted."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """The cluster at the start of a session."""

    session_id: str
    nodes: NodeTable
    groups: tuple[GroupRow, ...]
    """Only those with something to decide or to write, by key."""
    queues: dict[str, QueueRow]
    """By name, in the order of names."""
    use: dict[str, QueueUse]
    """Per queue that has groups, whether it exists or not."""
    priorities: dict[str, int]
    """PriorityClass to value."""
    default_priority: int
    partial_since: dict[str, float]
    """Gangs some of whose members are bound, and since when we have seen it."""
    peers: PeerTable = field(default_factory=PeerTable)
    """Which pods lie where, as far as somebody asks."""
    everybody: dict[str, GroupRow] = field(default_factory=dict)
    """All groups by key, in no order: those that rest may have pods to give."""
    leaving: tuple[PodRow, ...] = ()
    """Pods that still take room and will soon be gone, by key."""
    spared: frozenset[str] = frozenset()
    """Uids of pods that could not be evicted lately; only asked whether it contains."""
    nominated: dict[str, Nomination] = field(default_factory=dict)
    """Jobs for which pods were evicted, and what room they were promised."""
    eviction_backoff: frozenset[str] = frozenset()
    """Jobs whose victims were refused just now; only asked whether it contains."""
    release_backoff: frozenset[str] = frozenset()
    """Gangs whose members could not be released lately; only asked whether it contains."""
    terminating: frozenset[str] = frozenset()
    """Namespaces that are being deleted; only asked whether it contains."""
    given_up: frozenset[str] = frozenset()
    """Jobs whose promise ended unredeemed just now; only asked whether it contains."""
    never_preempting: frozenset[str] = frozenset()
    """PriorityClasses with preemptionPolicy Never; only asked whether it contains."""
    quotas: dict[str, QuotaRow] = field(default_factory=dict)
    """ResourceQuotas without scopes, by key."""
    budgets: dict[str, BudgetRow] = field(default_factory=dict)
    """PodDisruptionBudgets, by key."""
    volumes: VolumeTable = field(default_factory=VolumeTable)
    """Storage, as far as waiting pods ask for any."""
    images: dict[str, ImageRow] = field(default_factory=dict)
    """Where images are that waiting pods name, by their ids."""
    minimum_met_at: dict[str, float] = field(default_factory=dict)
    """Groups that got their minimum in this process and have pods that wait: when a session last saw them
    without it."""
    allowed: dict[str, frozenset[str]] = field(default_factory=dict)
    """By queue with an allow list: the namespaces that may use it; only asked whether it contains."""
    next_expiry: float | None = None
    """When the first entry of the cache ends that waits for time (`model/deadlines.py`)."""
    pod_condition_seconds: float = POD_CONDITION_SECONDS
    """How long a pod waits before its condition PodScheduled says why."""
