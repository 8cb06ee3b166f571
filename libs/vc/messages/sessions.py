"""Session records: what a scheduling session decided and why, for other services.

A `Reason` is created by the decision that refused a job, from the numbers it used; it is not
computed again elsewhere. It has the stage, the needed and available amounts, the number of nodes
that each check left, what would unblock the job, and one sentence for users. A `SessionRecord` is
published on the topic `scheduling.sessions`; sessions that changed nothing publish none. A
`SessionEntry` in the ring of the snapshot store has the record together with the session's input,
so that the session can be replayed.
"""

import enum
from typing import Final

import msgspec

from vc.messages.codec import CodecError, decode, encode, wire_headers
from vc.messages.partition import partition_of_key
from vc.messages.record import Message, Record
from vc.messages.topics import SESSIONS
from vc.model.faults import describe

BINDS_RECORDED_MAX: Final = 5_000
REASONS_RECORDED_MAX: Final = 1_000
"""Limits of the entries in a record; the totals are always complete."""


class Stage(enum.Enum):
    """The stage at which a job was refused."""

    INVALID = "invalid"
    """Its manifest cannot be used."""
    UNSUPPORTED = "unsupported"
    """It requests something that this release does not support."""
    QUEUE_MISSING = "queue-missing"
    QUEUE_CLOSED = "queue-closed"
    """Its queue accepts no jobs: it is closed, or it has child queues."""
    QUOTA = "quota"
    """Its queue, or an ancestor of it, has insufficient quota."""
    OVERCOMMIT = "overcommit"
    """The cluster has enqueued more than it can run soon."""
    NAMESPACE_QUOTA = "namespace-quota"
    """A ResourceQuota of its namespace is exhausted."""
    VOLUMES = "volumes"
    """A volume claim is missing or not bound yet."""
    TASKS = "tasks"
    """Not all pods of the gang exist, or some are gated."""
    BIND = "bind"
    """A bind failed and will be retried."""
    PREDICATE = "predicate"
    """No node passes the predicates."""
    GANG = "gang"
    """Some pods fit, but not the whole gang."""
    ORDER = "order"
    """Its queue is FIFO and another job is ahead of it."""
    VICTIMS = "victims"
    """Nodes are reserved for it, and terminating pods still use them."""


class Amount(msgspec.Struct, frozen=True, kw_only=True):
    """Amounts of one resource in its integer unit (`vc.model.values.quantity.decimals_of`)."""

    resource: str
    needed: int
    available: int
    missing: int


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A check, and how many nodes passed it and all checks before it."""

    name: str
    nodes_left: int


class Where(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The nodes on which free resources are needed; any node if all fields are empty."""

    node: str = ""
    """The node of this name."""
    labels: dict[str, str] = {}
    """The nodes must have these labels.
    An empty value means that only the label's presence counts.
    """
    apart: list[str] = []
    """Each pod needs a node of its own, with a distinct value for each of these labels."""
    across: list[str] = []
    """The same free resources are needed at every value of these labels."""
    taints: list[str] = []
    """Taints that exclude otherwise suitable nodes: the free resources must be on nodes without
    them, or the pods must tolerate them.
    """


class Unblock(msgspec.Struct, frozen=True, kw_only=True):
    """A change that would remove this reason: a required amount, object or setting."""

    action: str
    """One of `create-queue`, `open-queue`, `move-job`, `raise-capability`, `raise-weight`,
    `raise-quota`, `add-room`, `create-pods`, `lift-gates`, `create-peer`, `create-claim`,
    `create-volume`, `bind-claim`, `free-claim`, `reach-volume`, `add-volume`, `remove-field`,
    `wait`, `fix`. The remedy search also returns `raise-priority`, `lower-minimum`,
    `shrink-request`, `end-jobs`, `raise-deserved`, `allow-reclaim`, `lift-budget`.
    """
    target: str = ""
    """The queue or object to change, if there is one. For `create-peer` the labels of the pod; for
    `move-job`, `allow-reclaim` and `lift-budget` the objects, separated by commas; for
    `remove-field` kind, name and field.
    """
    pods: int = 0
    """The number of additional pods that must fit, of `amounts` each; for `lower-minimum` the new
    minAvailable. For `shrink-request`, `amounts` is the new request of each pod of the task
    `target`.
    """
    amounts: dict[str, int] = {}
    weight: int = 0
    """For `raise-weight`: the smallest weight that helps."""
    where: Where | None = None
    """For `add-room` and `reach-volume`: the nodes concerned."""
    also: list["Unblock"] = []
    """Changes that other tasks of the same gang need in addition;
    the job starts when all are made.
    """
    priority: int = 0
    """For `raise-priority`: the value of the class `target`."""
    jobs: list[str] = []
    """For `end-jobs`: the pod groups that must finish or be evicted."""


class InnerReason(msgspec.Struct, frozen=True, kw_only=True):
    """Why the pods of a job do not fit on nodes, if the reason itself is about the PodGroup."""

    stage: Stage
    code: str
    sentence: str


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why a job was refused."""

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
    """The job can never start in the current cluster, even if all others end:
    it exceeds a capability or the nodes.
    """
    inner: InnerReason | None = None
    """The reason of the pods, if the sentence is about the PodGroup first (InqueueTimeout)."""


class JobReason(msgspec.Struct, frozen=True, kw_only=True):
    """A waiting job and its reason."""

    group: str
    uid: str
    queue: str
    position: int
    """Position in its queue, from 1, among the jobs that waited when this was recorded. It is not
    recorded again when other jobs come and go; a reader that shows the queue numbers it itself.
    """
    reason: Reason


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """A pod and the node to which it was bound."""

    pod: str
    uid: str
    node: str


class Evicted(msgspec.Struct, frozen=True, kw_only=True):
    """An evicted pod, and the group for which it was evicted."""

    pod: str
    uid: str
    group: str


class TakenOver(msgspec.Struct, frozen=True, kw_only=True):
    """A group whose reservation was taken over by a group of higher priority."""

    group: str
    by: str


class QueueShare(msgspec.Struct, frozen=True, kw_only=True):
    """The allocation of a queue at the end of the session."""

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
    """Pods that were evicted because their gang could not be completed."""
    waiting: int
    reasons: list[JobReason]
    """Only reasons that are new or changed since they were last recorded."""
    resolved: list[str]
    """Groups that waited before and no longer do."""
    queues: list[QueueShare]
    evicted: list[Evicted] = []
    taken_over: list[TakenOver] = []


class SessionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A session in the ring: its record, and the input for a replay.

    `frame` is the session's input as a difference to that of `previous`; only the scheduling engine
    knows its format. A reader follows `previous` until it is empty, which marks a base frame.
    """

    record: SessionRecord
    now: float
    """The time that was passed to the session."""
    digest: str
    """Digest of all its decisions."""
    conf: bytes = b""
    """The configuration of the session."""
    previous: str = ""
    frame: bytes = b""
    types: str = ""
    """Fingerprint of the types in the frame; a release with other types cannot read it."""
    release: str = ""
    left_out: str = ""
    """Why there is no frame; empty if there is one."""


def entry_bytes(entry: SessionEntry) -> bytes:
    """Encodes an entry for the ring in the snapshot store."""
    return _entry_encoder.encode(entry)


def entry_of(data: bytes) -> SessionEntry:
    """Decodes an entry; raises CodecError if it is invalid."""
    try:
        return _entry_decoder.decode(data)
    except Exception as error:  # noqa: BLE001 - of damaged bytes, whatever it is
        raise CodecError(f"not a session's entry: {describe(error)}") from None


_entry_encoder: Final = msgspec.msgpack.Encoder(order="deterministic")
_entry_decoder: Final = msgspec.msgpack.Decoder(SessionEntry)


def session_message(record: SessionRecord) -> Message:
    """The message on `scheduling.sessions`, keyed by session id."""
    return Message(
        topic=SESSIONS.name,
        partition=partition_of_key(record.session_id),
        key=record.session_id,
        value=encode(record),
        headers=wire_headers(),
    )


def session_of(record: Record) -> SessionRecord:
    """Decodes a session record."""
    return decode(record.value or b"", into=SessionRecord, headers=record.headers)
