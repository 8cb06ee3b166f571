"""Pod groups with their pods: facts in, rows out.

A group is counted again only if it changed since the last session; other groups keep their rows.
The resources that a group uses of its queue are added and removed together with its row, so the
sums per queue always match the rows.

A group does not name its scheduler; its pods do. As long as it has no pods it is enqueued like any
other group, so that its pods are created. If it has pods and none of them is ours, another
scheduler places them. For a vcjob of our job-controller the phase then follows the pods. Any other
group is unmanaged: its status is not written.
"""

import itertools
from collections.abc import Container
from operator import attrgetter
from typing import Final

import msgspec

from vc.messages.partition import vcjob_owner
from vc.model.api.keys import (
    COMPLETED_MEMBERS,
    JOB_VERSION,
    SLA_WAITING_TIME,
    SLA_WAITING_TIME_LEGACY,
    TASK_TOPOLOGY_AFFINITY,
    TASK_TOPOLOGY_ANTI_AFFINITY,
    TASK_TOPOLOGY_ORDER,
)
from vc.model.api.scheduling import PodGroup, PodGroupStatus
from vc.model.completed_members import read_completed
from vc.model.values.bounded import read_version
from vc.model.values.index_runs import Runs
from vc.model.values.resources import Resources
from vc.scheduling.cache.overlays.pod_conditions import ConditionOverlay
from vc.scheduling.cache.pod_group_counts import PodCounts
from vc.scheduling.cache.snapshot import QueueUse
from vc.scheduling.cache.support import unsupported_in_group
from vc.scheduling.model.amounts import Problems, read_amounts, unreadable
from vc.scheduling.model.pod_group_status import read_time, rests
from vc.scheduling.model.rows import INQUEUE, RUNNING, GroupRow, PodRow, TaskStatus

_QUOTA_NAMES: Final = ("requests.", "limits.", "count/")
"""Prefixes of quota resources, which controllers also write to minResources. Nodes and queues do
not have them."""

_READ: Final = frozenset({
    SLA_WAITING_TIME, SLA_WAITING_TIME_LEGACY, TASK_TOPOLOGY_AFFINITY, TASK_TOPOLOGY_ANTI_AFFINITY,
    TASK_TOPOLOGY_ORDER,
})  # fmt: skip
"""Annotations of pod groups that plugins read. Used for membership tests only."""

MEMBER_MAX: Final = 2**31 - 1


class PendingStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A status that we write, valid until a fact at least as new arrives."""

    uid: str
    status: PodGroupStatus
    written_at: float
    version: int | None = None
    """The resourceVersion that the API server returned; None while the write is under way."""


class GroupSpec(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The part of a row that stems from the pod group itself, parsed once per fact."""

    group: PodGroup
    created: float
    task_minimums: tuple[tuple[str, int], ...]
    min_resources: tuple[tuple[str, int], ...] | None
    quota_resources: tuple[tuple[str, int], ...]
    annotations: dict[str, str]
    problem: str
    unsupported: str
    completed: dict[str, Runs] = {}
    """By task: members that succeeded and whose pods are deleted, as recorded by their controller."""
    missing: bool = False
    """Whether the group was deleted: its placed pods count for their queue, and no session decides on it."""


class PodGroupTable:
    """Pod groups by key: their specs, members and rows, and which rows are out of date."""

    def __init__(self) -> None:
        self.specs: dict[str, GroupSpec] = {}
        self.rows: dict[str, GroupRow] = {}
        self._members: dict[str, dict[str, PodRow]] = {}
        self._dirty: dict[str, None] = {}
        """Groups that must be counted again, in the order in which they changed."""
        self._undecided: dict[str, None] = {}
        """Groups with something to decide or to write."""

    def mark_dirty(self, key: str) -> None:
        """The row of the group must be created again before the next session."""
        self._dirty[key] = None

    def replace_pod(self, before: PodRow | None, after: PodRow | None) -> None:
        """Replace the row of a member; its group is counted again."""
        if before is not None:
            members = self._members.get(before.group)
            if members is not None:
                members.pop(before.key, None)
                if not members:
                    del self._members[before.group]
                self._dirty[before.group] = None
        if after is not None and after.group:
            self._members.setdefault(after.group, {})[after.key] = after
            self._dirty[after.group] = None

    def members(self, key: str) -> list[PodRow]:
        """The pods of a group in task order."""
        return sorted(self._members.get(key, {}).values(), key=attrgetter("order"))

    def with_members(self) -> Container[str]:
        """The keys of groups that have pods."""
        return self._members

    def dirty(self, groups_max: int) -> list[str]:
        """Some of the groups that must be counted again."""
        return list(itertools.islice(self._dirty, groups_max))

    def dirty_count(self) -> int:
        """How many groups must be counted again."""
        return len(self._dirty)

    def remove(self, key: str) -> GroupRow | None:
        """Remove the row of a group that is counted again, and return it."""
        self._undecided.pop(key, None)
        return self.rows.pop(key, None)

    def put(self, row: GroupRow) -> None:
        """Add the row of a group that was counted."""
        self.rows[row.key] = row
        if not row.up_to_date:
            self._undecided[row.key] = None

    def counted(self, key: str) -> None:
        """The group was counted, whether or not it has a row."""
        del self._dirty[key]

    def undecided(self) -> list[GroupRow]:
        """The groups that sessions decide about, by key."""
        return [self.rows[key] for key in sorted(self._undecided)]


def read_group(group: PodGroup) -> GroupSpec:
    """Parse a pod group. An invalid one has a `problem`, and waits."""
    try:
        return _read_group(group)
    except Exception as error:  # noqa: BLE001 - of one group, whatever it is
        return GroupSpec(
            group=group,
            created=read_time(group.metadata.creation_timestamp),
            task_minimums=(),
            min_resources=None,
            quota_resources=(),
            annotations={},
            problem=unreadable(error),
            unsupported="",
        )


def _read_group(group: PodGroup) -> GroupSpec:
    problems = Problems()
    spec = group.spec
    if not 0 <= spec.min_member <= MEMBER_MAX:
        problems.add(f"minMember {spec.min_member} is out of range")
    minimums = tuple(sorted((task, n) for task, n in spec.min_task_member.items() if n > 0))
    # Upstream ignores minTaskMember if its sum exceeds minMember.
    applies = sum(n for _, n in minimums) <= spec.min_member
    resources = None
    amounts: dict[str, int] = {}
    if spec.min_resources is not None:
        read = read_amounts(spec.min_resources, problems)
        amounts = {name: amount for name, amount in read.items() if amount}  # 0 requests nothing
        resources = tuple(
            sorted((n, amount) for n, amount in amounts.items() if not n.startswith(_QUOTA_NAMES))
        )
    return GroupSpec(
        group=group,
        created=read_time(group.metadata.creation_timestamp),
        task_minimums=minimums if applies else (),
        min_resources=resources,
        quota_resources=tuple(sorted(amounts.items())),
        annotations={key: text for key, text in group.metadata.annotations.items() if key in _READ},
        problem=str(problems),
        unsupported=unsupported_in_group(group),
        completed=read_completed(group.metadata.annotations.get(COMPLETED_MEMBERS, "")),
    )


def make_row(
    spec: GroupSpec,
    pods: list[PodRow],
    *,
    in_backoff: frozenset[str],
    written: PendingStatus | None,
    conditions: ConditionOverlay,
) -> GroupRow:
    """Count the pods of a group. `pods` are in task order; `in_backoff` are the uids in bind backoff."""
    group = spec.group
    under_way = conditions.messages(group.key)
    counts = PodCounts(pods, in_backoff)
    counts.add_completed(spec.completed, pods)
    waiting = counts.waiting
    foreign = bool(pods) and not any(pod.ours for pod in pods)
    row = GroupRow(
        key=group.key,
        namespace=group.metadata.namespace,
        name=group.metadata.name,
        uid=group.metadata.uid,
        queue=group.spec.queue or "default",
        priority_class=group.spec.priority_class_name,
        created=spec.created,
        min_member=group.spec.min_member,
        task_minimums=spec.task_minimums,
        min_resources=spec.min_resources,
        problem=spec.problem,
        status=written.status if written is not None else group.status,
        status_version=_status_version(group, written),
        status_written_at=written.written_at if written is not None else 0.0,
        runs=waiting.runs(),
        placed=tuple(counts.placed),
        task_counts=counts.task_counts(),
        allocated=tuple(sorted(counts.allocated.items())),
        running=counts.by_status.get(TaskStatus.RUNNING, 0),
        succeeded=counts.by_status.get(TaskStatus.SUCCEEDED, 0) + counts.completed_deleted,
        completed_deleted=counts.completed_deleted,
        failed=counts.by_status.get(TaskStatus.FAILED, 0),
        pending=waiting.pending,
        in_backoff=waiting.in_backoff,
        gated=waiting.gated,
        invalid=waiting.invalid,
        invalid_reason=waiting.invalid_reason,
        pods_total=len(pods),
        annotations=spec.annotations,
        gated_request=tuple(sorted(waiting.gated_request.items())),
        gate_names=tuple(sorted(waiting.gate_names)),
        reserved=tuple(sorted(waiting.reserved.items())),
        reserved_pods=tuple(sorted(waiting.reserved_pods.items())),
        quota_resources=spec.quota_resources,
        elsewhere=counts.elsewhere,
        foreign=foreign,
        unmanaged=foreign and not _of_our_vcjob(group),
        unsupported=spec.unsupported,
        unsupported_pod=waiting.unsupported,
        unsupported_pod_name=waiting.unsupported_name,
        unplaceable=tuple(waiting.unplaceable),
        unmarked_since=waiting.unmarked_since(under_way),
        newest_pod=max((pod.created for pod in pods), default=0.0),
        pod_messages=waiting.messages(under_way),
        conditions_under_way=under_way,
        pods_rewritten_at=conditions.rewritten_at(group.key),
        pods_priority=counts.priority,
    )
    # Whether sessions can skip the group depends on the finished row.
    return msgspec.structs.replace(row, up_to_date=row.unmanaged or spec.missing or rests(row))


def _status_version(group: PodGroup, written: PendingStatus | None) -> str:
    """The version of the newer of fact and own write; empty while that write is under way."""
    seen = group.metadata.resource_version
    if written is None:
        return seen
    if written.version is None:
        return ""
    return seen if version_number(seen) >= written.version else str(written.version)


def version_number(version: str) -> int:
    """A resourceVersion as a number; 0 if it is not one."""
    return read_version(version)


def _of_our_vcjob(group: PodGroup) -> bool:
    """Whether the group belongs to a vcjob of our job-controller, which records the job version on
    it.

    Groups of older releases lack the record, but have the name of the job; Volcano appends the uid.
    """
    owner = vcjob_owner(group)
    if owner is None:
        return False
    return JOB_VERSION in group.metadata.annotations or owner.name == group.metadata.name


def use_of(row: GroupRow) -> QueueUse:
    """The resources that a group uses of its queue.

    Only what this process enqueued it with counts as enqueued resources. A running group with
    finished members claims no more, and an unmanaged group claims nothing.
    """
    allocated = Resources(row.allocated)
    elastic = Resources()
    claims = not row.unmanaged and (
        row.status.phase == INQUEUE
        or (row.status.phase == RUNNING and len(row.placed) >= row.min_member)
    )
    enqueued = row.claimed if claims else Resources()
    for name, least in row.min_resources or ():
        has = allocated[name]
        # A group that still claims a resource has no surplus of it.
        if name not in enqueued and has > least:
            elastic[name] = has - least
    return QueueUse(
        allocated=allocated, enqueued=enqueued, elastic=elastic, reserved=Resources(row.reserved)
    )
