"""Pod groups with their pods: facts in, rows out.

A group is counted again only if it changed since the last session; other groups keep their rows.
The resources that a group uses of its queue are added and removed together with its row, so the
sums per queue always match the rows.

A group does not name its scheduler; its pods do. As long as it has no pods it is enqueued like any
other group, so that its pods are created. If it has pods and none of them is ours, another
scheduler places them. For a vcjob of our job-controller the phase then follows the pods. Any other
group is a stranger, whose status is not written.
"""

from collections.abc import Iterator, Mapping
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
from vc.model.completed_members import read_completed, remembered
from vc.model.values.bounded import read_version
from vc.model.values.index_runs import Runs
from vc.scheduling.cache.overlays.pod_conditions import ConditionOverlay
from vc.scheduling.cache.snapshot import QueueUse
from vc.scheduling.cache.support import unsupported_in_group
from vc.scheduling.model.amounts import Amounts, Problems, read_amounts, unreadable
from vc.scheduling.model.pod_group_status import read_time, rests
from vc.scheduling.model.rows import (
    ALLOCATED,
    FINISHED,
    INQUEUE,
    RUNNING,
    GroupRow,
    PodRow,
    Run,
    Task,
    TaskCount,
)

_QUOTA_NAMES: Final = ("requests.", "limits.", "count/")
"""Prefixes of quota resources, which controllers also write to minResources. Nodes and queues do
not have them."""

_READ: Final = frozenset({
    SLA_WAITING_TIME, SLA_WAITING_TIME_LEGACY, TASK_TOPOLOGY_AFFINITY, TASK_TOPOLOGY_ANTI_AFFINITY,
    TASK_TOPOLOGY_ORDER,
})  # fmt: skip
"""Annotations of pod groups that plugins read. Used for membership tests only."""

_COUNTED: Final = frozenset({*ALLOCATED, Task.SUCCEEDED, Task.PENDING})
"""Pods that count for their gang or may do so later. Used for membership tests only."""

MEMBER_MAX: Final = 2**31 - 1


class StatusNote(msgspec.Struct, frozen=True, kw_only=True):
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
    role_minimums: tuple[tuple[str, int], ...]
    min_resources: tuple[tuple[str, int], ...] | None
    quota_resources: tuple[tuple[str, int], ...]
    annotations: dict[str, str]
    problem: str
    unsupported: str
    completed: dict[str, Runs] = {}
    """By task: members that succeeded and whose pods are deleted, as recorded by their controller."""
    missing: bool = False
    """Whether the group was deleted: its placed pods count for their queue, and no session decides on it."""


def read_group(group: PodGroup) -> GroupSpec:
    """Parse a pod group. An invalid one has a `problem`, and waits."""
    try:
        return _read_group(group)
    except Exception as error:  # noqa: BLE001 - of one group, whatever it is
        return GroupSpec(
            group=group,
            created=read_time(group.metadata.creation_timestamp),
            role_minimums=(),
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
    minimums = tuple(sorted((role, n) for role, n in spec.min_task_member.items() if n > 0))
    # Upstream ignores minTaskMember if its sum exceeds minMember.
    applies = sum(n for _, n in minimums) <= spec.min_member
    resources = None
    amounts: Amounts = {}
    if spec.min_resources is not None:
        read = read_amounts(spec.min_resources, problems)
        amounts = {name: amount for name, amount in read.items() if amount}  # 0 requests nothing
        resources = tuple(
            sorted((n, amount) for n, amount in amounts.items() if not n.startswith(_QUOTA_NAMES))
        )
    return GroupSpec(
        group=group,
        created=read_time(group.metadata.creation_timestamp),
        role_minimums=minimums if applies else (),
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
    held: frozenset[str],
    note: StatusNote | None,
    conditions: ConditionOverlay,
) -> GroupRow:
    """Count the pods of a group. `pods` are in task order; `held` are the uids in bind backoff."""
    group = spec.group
    under_way = conditions.messages(group.key)
    counts = _Counts(pods, held)
    counts.remember(spec.completed, pods)
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
        role_minimums=spec.role_minimums,
        min_resources=spec.min_resources,
        problem=spec.problem,
        status=note.status if note is not None else group.status,
        status_version=_status_version(group, note),
        status_written_at=note.written_at if note is not None else 0.0,
        runs=counts.runs(),
        placed=tuple(counts.placed),
        roles=counts.roles(),
        allocated=tuple(sorted(counts.allocated.items())),
        running=counts.by_status.get(Task.RUNNING, 0),
        succeeded=counts.by_status.get(Task.SUCCEEDED, 0) + counts.remembered,
        remembered=counts.remembered,
        failed=counts.by_status.get(Task.FAILED, 0),
        pending=counts.pending,
        held=counts.held,
        gated=counts.gated,
        broken=counts.broken,
        broken_why=counts.broken_why,
        tasks=len(pods),
        annotations=spec.annotations,
        gated_request=tuple(sorted(counts.gated_request.items())),
        gate_names=tuple(sorted(counts.gate_names)),
        reserved=tuple(sorted(counts.reserved.items())),
        reserved_pods=tuple(sorted(counts.reserved_pods.items())),
        quota_resources=spec.quota_resources,
        elsewhere=counts.elsewhere,
        foreign=foreign,
        stranger=foreign and not _of_our_vcjob(group),
        unsupported=spec.unsupported,
        unsupported_pod=counts.unsupported,
        unsupported_pod_name=counts.unsupported_name,
        set_aside=tuple(counts.set_aside),
        unmarked_since=counts.unmarked_since(under_way),
        newest_pod=max((pod.created for pod in pods), default=0.0),
        pod_messages=counts.messages(under_way),
        conditions_under_way=under_way,
        pods_rewritten_at=conditions.rewritten_at(group.key),
        pods_priority=counts.priority,
    )
    # Whether sessions can skip the group depends on the finished row.
    return msgspec.structs.replace(row, settled=row.stranger or spec.missing or rests(row))


def _status_version(group: PodGroup, note: StatusNote | None) -> str:
    """The version of the newer of fact and note; empty while the write of the note is under way."""
    seen = group.metadata.resource_version
    if note is None:
        return seen
    if note.version is None:
        return ""
    return seen if version_number(seen) >= note.version else str(note.version)


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


class _Counts:
    """Counts the pods of a group in one pass."""

    def __init__(self, pods: list[PodRow], held: frozenset[str]) -> None:
        self.by_status: dict[Task, int] = {}
        self.placed: list[PodRow] = []
        self.allocated: Amounts = {}
        self.pending = self.held = self.gated = self.broken = self.elsewhere = 0
        self.broken_why = self.unsupported = self.unsupported_name = ""
        self.set_aside: list[PodRow] = []
        self.gated_request: Amounts = {}
        self.gate_names: dict[str, None] = {}
        self.reserved: Amounts = {}
        self.reserved_pods: dict[bytes, int] = {}
        self._candidates: list[PodRow] = []
        self._ready: dict[str, int] = {}
        self._valid: dict[str, int] = {}
        self.priority: int | None = None
        self.remembered = 0
        for pod in pods:
            self._count(pod, held)

    def _count(self, pod: PodRow, held: frozenset[str]) -> None:
        self.by_status[pod.status] = self.by_status.get(pod.status, 0) + 1
        # Finished pods no longer compete, so their priority does not matter.
        if pod.class_priority is not None and pod.status not in FINISHED:
            lowest = self.priority if self.priority is not None else pod.class_priority
            self.priority = min(lowest, pod.class_priority)
        if pod.status in ALLOCATED:
            self.placed.append(pod)
            for name, amount in pod.shape.request:
                self.allocated[name] = self.allocated.get(name, 0) + amount
        if pod.status in ALLOCATED or pod.status is Task.SUCCEEDED:
            self._ready[pod.role] = self._ready.get(pod.role, 0) + 1
        elif pod.status is Task.PENDING and pod.ours:
            self._count_pending(pod, held)
        else:
            # Failed and terminating pods do not count, nor do pending pods of other schedulers.
            self.elsewhere += pod.status is Task.PENDING
            return
        self._valid[pod.role] = self._valid.get(pod.role, 0) + 1

    def remember(self, completed: Mapping[str, Runs], pods: list[PodRow]) -> None:
        """Count members whose pods are deleted like succeeded pods. Each index counts once: if a
        pod with the index counts or waits, the record does not. The pods may be older than the
        record."""
        for role, runs in completed.items():
            present = {pod.index for pod in pods if pod.role == role and pod.status in _COUNTED}
            count = remembered(runs, present)
            if count:
                self.remembered += count
                self._ready[role] = self._ready.get(role, 0) + count
                self._valid[role] = self._valid.get(role, 0) + count

    def _count_pending(self, pod: PodRow, held: frozenset[str]) -> None:
        self.pending += 1
        if pod.queue_reserved:
            _add(self.reserved, pod)
            key = pod.shape.key
            self.reserved_pods[key] = self.reserved_pods.get(key, 0) + 1
        # Reserved pods are in the account of the queue; the requests of other gated pods are not charged.
        elif pod.gated or pod.queue_gated:
            _add(self.gated_request, pod)
        # The first matching cause wins. Gates come first: a gated pod is not checked further.
        if pod.gated:
            self.gated += 1
            self.gate_names.update(dict.fromkeys(pod.gate_names))
        elif pod.unsupported:
            self.broken += 1
            self.unsupported_name = self.unsupported_name or pod.name
            self.unsupported = self.unsupported or pod.unsupported
            self.set_aside.append(pod)
        elif pod.shape.problem:
            self.broken += 1
            self.broken_why = self.broken_why or f"pod {pod.name}: {pod.shape.problem}"
            self.set_aside.append(pod)
        elif pod.uid in held:
            self.held += 1
            self.set_aside.append(pod)
        else:
            self._candidates.append(pod)

    def runs(self) -> tuple[Run, ...]:
        """Adjacent candidates of one task, priority and shape, as runs."""
        runs: list[list[PodRow]] = []
        for pod in self._candidates:
            last = runs[-1][-1] if runs else None
            if (
                last is not None
                and last.shape.key == pod.shape.key
                # Images are not part of the shape key, but affect the score of the whole run.
                and last.shape.images == pod.shape.images
                and (last.role, last.priority) == (pod.role, pod.priority)
            ):
                runs[-1].append(pod)
            else:
                runs.append([pod])
        return tuple(Run(role=r[0].role, shape=r[0].shape, pods=tuple(r)) for r in runs)

    def _ungated(self) -> Iterator[PodRow]:
        """Waiting pods whose condition PodScheduled the scheduler writes."""
        yield from (pod for pod in self._candidates if not pod.queue_gated)
        yield from self.set_aside

    def unmarked_since(self, under_way: Mapping[str, str]) -> float | None:
        """The creation time of the oldest of them without a message that is written or being written."""
        unmarked = (
            pod.created
            for pod in self._ungated()
            if not pod.waiting_message and pod.uid not in under_way
        )
        return min(unmarked, default=None)

    def messages(self, under_way: Mapping[str, str]) -> tuple[str, ...]:
        """The distinct messages of these pods, including those being written."""
        said = {under_way.get(pod.uid, pod.waiting_message): None for pod in self._ungated()}
        return tuple(sorted(text for text in said if text))

    def roles(self) -> tuple[TaskCount, ...]:
        return tuple(
            TaskCount(role=role, ready=self._ready.get(role, 0), valid=valid)
            for role, valid in sorted(self._valid.items())
        )


def _add(total: Amounts, pod: PodRow) -> None:
    for name, amount in pod.shape.request:
        total[name] = total.get(name, 0) + amount


def use_of(row: GroupRow) -> QueueUse:
    """The resources that a group uses of its queue.

    Only what this process enqueued it with counts as enqueued resources. A running group with
    finished members claims no more, and a stranger claims nothing.
    """
    allocated = dict(row.allocated)
    elastic: Amounts = {}
    claims = not row.stranger and (
        row.status.phase == INQUEUE
        or (row.status.phase == RUNNING and len(row.placed) >= row.min_member)
    )
    promised = row.claimed if claims else {}
    for name, least in row.min_resources or ():
        has = allocated.get(name, 0)
        # A group that still claims a resource has no surplus of it.
        if name not in promised and has > least:
            elastic[name] = has - least
    return QueueUse(
        allocated=allocated, promised=promised, elastic=elastic, reserved=dict(row.reserved)
    )
