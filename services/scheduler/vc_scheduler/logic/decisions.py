"""What a session returns: plain data, the same bytes for the same snapshot, conf and now."""

import msgspec

from vc_messages.effects import BindPod
from vc_messages.sessions import JobReason
from vc_model.scheduling import PodGroupStatus
from vc_model.struct import ResourceList
from vc_scheduler.logic.nominations import Place
from vc_scheduler.logic.volume_rows import ClaimChoice


class GangBind(msgspec.Struct, frozen=True, kw_only=True):
    """Binds of one group that go out together."""

    group: str
    uid: str
    binds: tuple[BindPod, ...]


class PodRef(msgspec.Struct, frozen=True, kw_only=True):
    """A pod to act on."""

    namespace: str
    name: str
    uid: str


class WaitingPods(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that still wait and whose condition PodScheduled is to say why."""

    group: str
    uid: str
    """Of the group."""
    message: str
    pods: tuple[PodRef, ...]
    beyond: bool = False
    """The group has its minimum: these pods are more."""
    rewrites: bool = False
    """Pods that say something of another kind are among them."""


class GateLift(msgspec.Struct, frozen=True, kw_only=True):
    """Pods whose queue has room for them: their queue-allocation gate is lifted before they are placed."""

    group: str
    uid: str
    pods: tuple[PodRef, ...]


class LetInGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group that this session enqueued, or whose phase Inqueue it stands by."""

    group: str
    uid: str
    claim: dict[str, int]
    """What is promised to it."""


class StatusChange(msgspec.Struct, frozen=True, kw_only=True):
    """A pod group's status to be written, and who else is to be told."""

    namespace: str
    name: str
    uid: str
    status: PodGroupStatus
    changes_conditions: bool = True
    """Whether the conditions are others than those that are there."""
    seen_version: str = ""
    """resourceVersion in which those that are there were seen; empty when it is not known."""
    refusal: str = ""
    """The sentence, when people are to be told by an event."""
    scheduled: int = 0
    """Bound pods of a gang that just became whole: its pod group and its job say so by an event."""


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """A gang that cannot be completed gives its nodes back."""

    group: str
    pods: tuple[PodRef, ...]


class Eviction(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that make room for a group; its complete placement was tried without them."""

    group: str
    uid: str
    pods: tuple[PodRef, ...]
    places: tuple[Place, ...] = ()
    """Where the group's pods will lie then."""
    after: int = 0
    """How many promises the session had made before: each counts on those before it being kept."""


class Takeover(msgspec.Struct, frozen=True, kw_only=True):
    """Room that was promised to jobs of lower priority goes to this group."""

    group: str
    uid: str
    lost: tuple[str, ...]
    """Whose promises end."""
    places: tuple[Place, ...] = ()
    """Where the group's pods will lie once those that leave are gone; empty when it is bound now."""


class Withdrawal(msgspec.Struct, frozen=True, kw_only=True):
    """Waiting pods that still tell of room which is theirs no more."""

    group: str
    pods: tuple[PodRef, ...]


class QueueAllocated(msgspec.Struct, frozen=True, kw_only=True):
    """What a queue and those below it have, when its status says otherwise."""

    queue: str
    allocated: ResourceList
    gone: tuple[str, ...]
    """Resources that its status still names and that it has none of."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin, an action or a group that raised; the session was held without it."""

    plugin: str = ""
    action: str = ""
    group: str = ""
    """Key of a pod group that our own code could not decide on; it is set aside until it changes."""
    why: str


class Decisions(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a session wants done, and why the rest waits."""

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
    let_in: tuple[LetInGroup, ...] = ()
    """By key; `enqueued` has those of them that were Pending."""
    gates: tuple[GateLift, ...] = ()
    claims: tuple[ClaimChoice, ...] = ()
    """Claims that are given their place before their pods are bound."""
    waiting: tuple[WaitingPods, ...] = ()
    """By group key."""
    reasons: tuple[JobReason, ...]
    queues: tuple[QueueAllocated, ...]
    wake_at: float | None
    left_out: tuple[LeftOut, ...] = ()

    @property
    def bound_pods(self) -> int:
        return sum(len(gang.binds) for gang in self.binds)
