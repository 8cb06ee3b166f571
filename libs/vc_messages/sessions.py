"""What a session of the scheduler decided and why, as others may read it.

A `Reason` is made by the decision that refused, from the numbers it refused on; nobody computes it
again. It says at which stage, what was needed and there, how many nodes each check left, what would
unblock the job, and all of that in one sentence for people. A `SessionRecord` goes to the topic
`scheduling.sessions`; sessions that changed nothing leave none. A `SessionEntry` in the ring of the
snapshot store holds it together with the session's input, so that it can be run again.
"""

import enum
from typing import Final

import msgspec

from vc_messages.codec import CodecError, decode, encode, wire_headers
from vc_messages.partition import partition_of_key
from vc_messages.record import Message, Record
from vc_messages.topics import SESSIONS
from vc_model.faults import describe

BINDS_RECORDED_MAX: Final = 5_000
REASONS_RECORDED_MAX: Final = 1_000
"""A record names at most so many; the totals are always right."""


class Stage(enum.Enum):
    """Where a job was refused."""

    INVALID = "invalid"
    """Its manifest cannot be used."""
    UNSUPPORTED = "unsupported"
    """It asks for what this release does not support."""
    QUEUE_MISSING = "queue-missing"
    QUEUE_CLOSED = "queue-closed"
    """Its queue lets no jobs in: it is closed, or above others."""
    QUOTA = "quota"
    """Its queue, or a queue above it, has no room left."""
    OVERCOMMIT = "overcommit"
    """The cluster has let in more than it can hold soon."""
    NAMESPACE_QUOTA = "namespace-quota"
    """A ResourceQuota of its namespace has no room left."""
    VOLUMES = "volumes"
    """A claim on storage is missing, or not bound yet."""
    TASKS = "tasks"
    """Not all pods of the gang exist, or some are gated."""
    BIND = "bind"
    """A bind failed and is tried again."""
    PREDICATE = "predicate"
    """No node passes the checks."""
    GANG = "gang"
    """Some pods fit, but not the whole gang."""
    ORDER = "order"
    """Its queue is fifo and another job waits before it."""
    VICTIMS = "victims"
    """Its room is kept for it, and pods that leave still take it."""


class Amount(msgspec.Struct, frozen=True, kw_only=True):
    """One resource in its integer unit (`vc_model.quantity.decimals_of`)."""

    resource: str
    needed: int
    available: int
    missing: int


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A check and how many nodes passed it and all before it."""

    name: str
    nodes_left: int


class Where(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which nodes room must be on; any node, where it says nothing."""

    node: str = ""
    """The one of this name."""
    labels: dict[str, str] = {}
    """They have these labels. Where only the label counts, its value is empty."""
    apart: list[str] = []
    """Each pod on a node of its own, with a value of its own for each of these labels."""
    across: list[str] = []
    """As much room at every value of these labels."""
    taints: list[str] = []
    """Taints that keep its pods from nodes that would do: room is on nodes without them, or the pods
    tolerate them."""


class Unblock(msgspec.Struct, frozen=True, kw_only=True):
    """What would take this reason away: so much more of something, somewhere."""

    action: str
    """`create-queue`, `open-queue`, `move-job`, `raise-capability`, `raise-weight`, `raise-quota`,
    `add-room`, `create-pods`, `lift-gates`, `create-peer`, `create-claim`, `create-volume`, `bind-claim`,
    `free-claim`, `reach-volume`, `add-volume`, `remove-field`, `wait`, `fix`; and, found by the remedy search alone,
    `raise-priority`, `lower-minimum`, `shrink-request`, `end-jobs`, `raise-deserved`, `allow-reclaim`, `lift-budget`."""
    target: str = ""
    """The queue or object to act on, where there is one; of `create-peer` the labels of the pod, of
    `move-job`, `allow-reclaim` and `lift-budget` the objects, with commas; of `remove-field` kind, name and field."""
    pods: int = 0
    """Room for so many more pods, of `amounts` each; of `lower-minimum` the new minAvailable.
    Of `shrink-request` `amounts` is the new request of each pod of the task `target`."""
    amounts: dict[str, int] = {}
    weight: int = 0
    """Of `raise-weight`: the least that helps."""
    where: Where | None = None
    """Of `add-room` and `reach-volume`."""
    also: list["Unblock"] = []
    """What other tasks of the same gang lack, when this has been done: it starts when all of it is."""
    priority: int = 0
    """Of `raise-priority`: the value of the class `target`."""
    jobs: list[str] = []
    """Of `end-jobs`: the pod groups that finish, or are evicted."""


class InnerReason(msgspec.Struct, frozen=True, kw_only=True):
    """What keeps the pods of a job from nodes, where the reason speaks of its PodGroup."""

    stage: Stage
    code: str
    sentence: str


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """No, because."""

    stage: Stage
    code: str
    """The reason of the PodGroup's condition: NotEnoughResources, NotEnoughTasks …"""
    sentence: str
    needed_pods: int = 0
    placeable_pods: int = 0
    amounts: list[Amount] = []
    checks: list[Check] = []
    unblock: Unblock | None = None
    permanent: bool = False
    """It can never start as things are, whatever ends: its size is beyond a capability or the nodes."""
    inner: InnerReason | None = None
    """The end of the sentence, where it speaks of the PodGroup first (InqueueTimeout)."""


class JobReason(msgspec.Struct, frozen=True, kw_only=True):
    """A job that waits."""

    group: str
    uid: str
    queue: str
    position: int
    """In its queue, from 1, among those that waited when this was said. It is not said again because
    others come and go: who shows the line numbers it."""
    reason: Reason


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """A pod and the node it was bound to."""

    pod: str
    uid: str
    node: str


class Evicted(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that had to make room, and the group it was for."""

    pod: str
    uid: str
    group: str


class TakenOver(msgspec.Struct, frozen=True, kw_only=True):
    """A group whose promised room went to another, which has a higher priority."""

    group: str
    by: str


class QueueShare(msgspec.Struct, frozen=True, kw_only=True):
    """A queue at the end of the session."""

    queue: str
    allocated: dict[str, str | int | float]


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A session that changed something."""

    session_id: str
    started_at: float
    took_ms: float
    nodes: int
    groups: int
    enqueued: list[str]
    bound_pods: int
    placements: list[Placement]
    released: list[str]
    """Pods taken off because their gang could not be completed."""
    waiting: int
    reasons: list[JobReason]
    """Only those that are new or changed since they were last recorded."""
    resolved: list[str]
    """Groups that waited before and no longer do."""
    queues: list[QueueShare]
    evicted: list[Evicted] = []
    taken_over: list[TakenOver] = []


class SessionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A session in the ring: its record, and what it takes to run it again.

    `frame` is the session's input as the difference to that of `previous`; what is in it only the
    scheduler's logic knows. A reader follows `previous` until it is empty: a base.
    """

    record: SessionRecord
    now: float
    """The time the session was told."""
    digest: str
    """Of all that it decided."""
    conf: bytes = b""
    """The configuration it was told."""
    previous: str = ""
    frame: bytes = b""
    types: str = ""
    """Of the types the frame is made of: others cannot read it."""
    release: str = ""
    left_out: str = ""
    """Why there is no frame; empty when there is one."""


def entry_bytes(entry: SessionEntry) -> bytes:
    """For the ring in the snapshot store."""
    return _entry_encoder.encode(entry)


def entry_of(data: bytes) -> SessionEntry:
    """Read it back; CodecError when it is none of ours."""
    try:
        return _entry_decoder.decode(data)
    except Exception as error:  # noqa: BLE001 - of damaged bytes, whatever it is
        raise CodecError(f"not a session's entry: {describe(error)}") from None


_entry_encoder: Final = msgspec.msgpack.Encoder(order="deterministic")
_entry_decoder: Final = msgspec.msgpack.Decoder(SessionEntry)


def session_message(record: SessionRecord) -> Message:
    """On `scheduling.sessions`, keyed by session."""
    return Message(
        topic=SESSIONS.name,
        partition=partition_of_key(record.session_id),
        key=record.session_id,
        value=encode(record),
        headers=wire_headers(),
    )


def session_of(record: Record) -> SessionRecord:
    """Read it back."""
    return decode(record.value or b"", into=SessionRecord, headers=record.headers)
