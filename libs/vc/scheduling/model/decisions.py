"""The result of a session: plain data, the same bytes for the same snapshot, configuration and time."""

import msgspec

from vc.messages.effects import BindPod
from vc.messages.sessions import JobReason
from vc.model.api.scheduling import PodGroupStatus
from vc.model.api.struct import ResourceList
from vc.scheduling.model.nominations import ReservedNode
from vc.scheduling.model.volume_rows import ClaimChoice


class GangBind(msgspec.Struct, frozen=True, kw_only=True):
    """Binds of one group that are sent together."""

    group: str
    uid: str
    binds: tuple[BindPod, ...]


class PodRef(msgspec.Struct, frozen=True, kw_only=True):
    """A pod to act on."""

    namespace: str
    name: str
    uid: str


class WaitingPods(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that still wait and whose condition PodScheduled is to be updated."""

    group: str
    uid: str
    """The uid of the group."""
    message: str
    pods: tuple[PodRef, ...]
    beyond: bool = False
    """Whether the group has its minimum, so that these are surplus pods."""
    rewrites: bool = False
    """Whether some of the pods currently have a message of another kind."""


class GateLift(msgspec.Struct, frozen=True, kw_only=True):
    """Pods whose queue-allocation gate is removed before they are placed, because their queue has
    sufficient quota."""

    group: str
    uid: str
    pods: tuple[PodRef, ...]


class EnqueuedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group that this session enqueued, or whose phase Inqueue it confirmed."""

    group: str
    uid: str
    claim: dict[str, int]
    """The enqueued resources."""


class StatusChange(msgspec.Struct, frozen=True, kw_only=True):
    """A pod group status to be written, and the events to be sent with it."""

    namespace: str
    name: str
    uid: str
    status: PodGroupStatus
    changes_conditions: bool = True
    """Whether the conditions differ from the observed ones."""
    seen_version: str = ""
    """The resourceVersion with the observed conditions; empty if it is not known."""
    refusal: str = ""
    """The sentence of the refusal, if an event is to be sent."""
    scheduled: int = 0
    """The number of bound pods of a gang that has just become complete, for an event on its pod
    group and its job; otherwise 0."""


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """Bound pods of a gang that cannot be completed. They are evicted to free their nodes."""

    group: str
    pods: tuple[PodRef, ...]


class Eviction(msgspec.Struct, frozen=True, kw_only=True):
    """Victims of a group. Its complete placement was simulated with these pods removed."""

    group: str
    uid: str
    pods: tuple[PodRef, ...]
    reserved_nodes: tuple[ReservedNode, ...] = ()
    """The nodes reserved for the pods of the group."""
    after: int = 0
    """The number of reservations that this session made before. Each one relies on the earlier ones."""


class Takeover(msgspec.Struct, frozen=True, kw_only=True):
    """Reservations of jobs of lower priority that are transferred to this group."""

    group: str
    uid: str
    lost: tuple[str, ...]
    """The groups that lose their reservations."""
    reserved_nodes: tuple[ReservedNode, ...] = ()
    """The nodes reserved for the group until terminating pods are gone; empty if it is bound now."""


class Withdrawal(msgspec.Struct, frozen=True, kw_only=True):
    """Waiting pods whose nominated node is no longer valid and must be cleared."""

    group: str
    pods: tuple[PodRef, ...]


class QueueAllocated(msgspec.Struct, frozen=True, kw_only=True):
    """Resources allocated to a queue and its descendants, if its status differs."""

    queue: str
    allocated: ResourceList
    gone: tuple[str, ...]
    """Resources that the status still names although the queue no longer has any."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin, an action or a group that raised, and without which the session was run."""

    plugin: str = ""
    action: str = ""
    group: str = ""
    """A pod group that the scheduler's own code failed on. It is quarantined until it changes."""
    why: str


class Decisions(msgspec.Struct, frozen=True, kw_only=True):
    """All effects that a session requests, and the reasons of the groups that wait."""

    session_id: str
    nodes: int
    groups: int
    enqueued: tuple[str, ...]
    binds: tuple[GangBind, ...]
    releases: tuple[Release, ...]
    evictions: tuple[Eviction, ...]
    withdrawals: tuple[Withdrawal, ...]
    statuses: tuple[StatusChange, ...]
    takeovers: tuple[Takeover, ...] = ()
    enqueued_groups: tuple[EnqueuedGroup, ...] = ()
    """By key; `enqueued` lists those that were Pending before."""
    gates: tuple[GateLift, ...] = ()
    claims: tuple[ClaimChoice, ...] = ()
    """Choices of nodes and volumes for claims, written before their pods are bound."""
    waiting: tuple[WaitingPods, ...] = ()
    """By group key."""
    reasons: tuple[JobReason, ...]
    queues: tuple[QueueAllocated, ...]
    wake_at: float | None
    left_out: tuple[LeftOut, ...] = ()

    @property
    def bound_pods(self) -> int:
        return sum(len(gang.binds) for gang in self.binds)
