"""The cluster in memory: facts in, snapshots out.

One writer (the consume loop of the shell) applies changes as they arrive; a session gets a copy. Four overlays
cover our own writes, and each entry is removed only after an observation:

- assumed binds (docs/protocol.md 13): until the fact of the pod shows a node, the pod is deleted, or a
  live read shows otherwise. They survive a rebuilt view;
- bind backoff: pods whose bind failed are not tried again for a time that grows with each failure;
- status notes: statuses that we write, until a fact at least as new arrives (`overlays/pod_group_status.py`);
- evictions (`overlays/evictions.py`): victims count as terminating until they are gone or were kept.

`apply` returns whether a change can alter the result of a session: observing our own writes opens none.
"""

import itertools
from operator import attrgetter
from typing import Final

import msgspec

from vc.messages.view import Change
from vc.model.api import kinds
from vc.model.api.kubernetes import Namespace, PodDisruptionBudget, ResourceQuota
from vc.model.api.node import Node
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, PodGroupStatus, PriorityClass, Queue
from vc.scheduling.cache.applying import apply_contained
from vc.scheduling.cache.gang_times import GangTimes
from vc.scheduling.cache.namespaces import TerminatingNamespaces
from vc.scheduling.cache.nodes import NodeColumns
from vc.scheduling.cache.overlays.assumed_binds import Assumed, forget_absent
from vc.scheduling.cache.overlays.bind_backoff import BindBackoff
from vc.scheduling.cache.overlays.enqueued import LetIn
from vc.scheduling.cache.overlays.evictions import Evictions
from vc.scheduling.cache.overlays.missing_groups import MissingGroups
from vc.scheduling.cache.overlays.pod_conditions import ConditionOverlay
from vc.scheduling.cache.overlays.pod_group_status import StatusNotes, same_status
from vc.scheduling.cache.overlays.quarantine import Quarantine
from vc.scheduling.cache.overlays.queue_gates import LiftedGates
from vc.scheduling.cache.pod_affinity_index import PodAffinityIndex
from vc.scheduling.cache.pod_groups import GroupSpec, make_row, read_group, use_of
from vc.scheduling.cache.pods import PodReader, same_for_sessions
from vc.scheduling.cache.problems import ObjectProblems
from vc.scheduling.cache.queues import QueueColumns
from vc.scheduling.cache.quotas_and_budgets import PolicyColumns
from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.cache.volumes import Choices, VolumeColumns
from vc.scheduling.model.amounts import unreadable
from vc.scheduling.model.deadlines import Expiring, first_expiry
from vc.scheduling.model.rows import ON_NODE, GroupRow, PodRow, Task
from vc.scheduling.pod_status import POD_CONDITION_SECONDS

KINDS: Final = (
    kinds.PODS, kinds.NODES, kinds.PODGROUPS, kinds.QUEUES, kinds.PRIORITYCLASSES, kinds.NAMESPACES,
    kinds.CLAIMS, kinds.VOLUMES, kinds.STORAGECLASSES, kinds.CSINODES, kinds.QUOTAS, kinds.BUDGETS,
)  # fmt: skip
"""The kinds that the scheduler follows."""

PODS_A_GROUP: Final = 100
"""The number of pods counted for new terms per group that is refreshed; both take about the same time."""


class Columns:
    """The state from which sessions get their snapshots."""

    def __init__(self, scheduler_names: tuple[str, ...]) -> None:
        self.pod_condition_seconds = POD_CONDITION_SECONDS
        self._reader = PodReader(scheduler_names)
        self.conditions = ConditionOverlay(self._mark_dirty)
        self.assumed: dict[str, Assumed] = {}
        """By pod uid. Invariant: the row of a pod with an entry here has the status Binding."""
        self._holds = BindBackoff()
        self._notes = StatusNotes()
        self.evictions = Evictions()
        self._gates = LiftedGates()
        self._choices = Choices()
        self._adopts = False
        """Whether the view is new, so that pods may carry nominations that this process does not know."""
        self._gang_times = GangTimes()
        self._missing_groups = MissingGroups()
        self.enqueued_groups = LetIn(self._mark_dirty)
        self._problems = ObjectProblems()
        self.set_aside = Quarantine(self._mark_dirty)
        self._forget_facts()

    def _forget_facts(self) -> None:
        self.nodes = NodeColumns()
        self.queues = QueueColumns()
        self.pod_affinity = PodAffinityIndex()
        self.namespaces = TerminatingNamespaces()
        self.volumes = VolumeColumns(self._choices)
        self._policies = PolicyColumns()
        self.pods: dict[str, PodRow] = {}
        self._leaving: dict[str, PodRow] = {}
        """Pods that are being deleted, or evicted by us, and still occupy their nodes."""
        self._facts: dict[str, Pod] = {}
        """Facts of pending pods, from which rows are read again when an overlay is removed."""
        self._specs: dict[str, GroupSpec] = {}
        self._members: dict[str, dict[str, PodRow]] = {}
        self._rows: dict[str, GroupRow] = {}
        self._dirty: dict[str, None] = {}
        self._unsettled: dict[str, None] = {}

    def rebuild(self) -> None:
        """Start with a new, empty view. Our own writes that were not observed stay as overlays."""
        self._forget_facts()
        self._problems.clear()

    def apply(self, change: Change) -> bool:
        """Apply a change and return whether it can alter the result of a session."""
        return apply_contained(self._apply, change, self._problems)

    def _apply(self, change: Change) -> bool:
        gone = change.after is None
        match change.after or change.before:
            case Pod() as pod:
                return self._apply_pod(change.key, pod, gone=gone)
            case Node() as node:
                return self._apply_node(node, gone=gone)
            case PodGroup() as group:
                return self._apply_group(change.key, group, gone=gone)
            case Queue() as queue:
                problem, matters = self.queues.put(queue, gone=gone)
                self._problems.note(f"queue {queue.metadata.name}", problem)
                return matters
            case PriorityClass() as priority:
                return self.queues.put_priority(priority, gone=gone)
            case Namespace() as namespace:
                ends = self.namespaces.put(namespace, gone=gone)
                listed = self.queues.access.put_namespace(namespace, gone=gone)
                return self.pod_affinity.put_namespace(namespace, gone=gone) or ends or listed
            case ResourceQuota() as quota:
                problem, matters = self._policies.put_quota(quota, gone=gone)
                self._problems.note(f"resourcequota {change.key}", problem)
                return matters
            case PodDisruptionBudget() as budget:
                return self._apply_budget(budget, gone=gone)
            case storage:
                return self.volumes.put(storage, gone=gone)

    def _apply_node(self, node: Node, *, gone: bool) -> bool:
        name = node.metadata.name
        matters, problem = (self.nodes.drop(name), "") if gone else self.nodes.put(node)
        self._problems.note(f"node {name}", problem)
        return matters

    def _apply_budget(self, budget: PodDisruptionBudget, *, gone: bool) -> bool:
        """Apply a budget. If it allows more evictions than before, the pods it covered are no longer exempt."""
        before = self._policies.budget(budget.key)
        looser = self._policies.put_budget(budget, gone=gone)
        if looser and before is not None:
            self.evictions.budget_loosened(before, self.pods)
        return looser

    def _apply_pod(self, key: str, pod: Pod, *, gone: bool) -> bool:
        before = self.pods.get(key)
        uid = pod.metadata.uid
        # Another pod of the same name has been created: an assumed bind of its predecessor is void.
        if before is not None and before.uid != uid:
            self.assumed.pop(before.uid, None)
        if gone or pod.spec.node_name:
            self.assumed.pop(uid, None)
        if gone:
            self._holds.drop(uid)
            self.conditions.drop(uid)
            self.evictions.gone(uid)
            self._gates.gone(uid)
            self._facts.pop(key, None)
            self._problems.note(f"pod {key}", "")
            return self._replace(before, None)
        self.conditions.seen(pod)
        assumed = self.assumed.get(uid)
        row = self._reader.row(pod, assumed_node=assumed.node if assumed else "")
        row = self._gates.over(self.evictions.over(row))
        if row.status in (Task.PENDING, Task.BINDING):
            self._facts[key] = pod
        else:
            self._facts.pop(key, None)
        self._problems.note(f"pod {key}", row.shape.problem)
        return self._replace(before, row)

    def _replace(self, before: PodRow | None, after: PodRow | None) -> bool:
        """Replace the row of a pod, and update everything that is counted from it."""
        self.pod_affinity.replace(before, after)
        self.volumes.replace(before, after)
        self.nodes.images.replace(before, after)
        if before is not None:
            if before.node and before.status in ON_NODE:
                self.nodes.remove_pod(before.node, before.shape)
            del self.pods[before.key]
            self._leaving.pop(before.key, None)
            self._leave(before)
        if after is not None:
            if after.node and after.status in ON_NODE:
                self.nodes.add_pod(after.node, after.shape)
            self.pods[after.key] = after
            if after.status is Task.RELEASING and after.node:
                self._leaving[after.key] = after
            if after.group:
                self._members.setdefault(after.group, {})[after.key] = after
                self._dirty[after.group] = None
        return not same_for_sessions(before, after)

    def _leave(self, row: PodRow) -> None:
        members = self._members.get(row.group)
        if members is not None:
            members.pop(row.key, None)
            if not members:
                del self._members[row.group]
            self._dirty[row.group] = None

    def _apply_group(self, key: str, group: PodGroup, *, gone: bool) -> bool:
        self._dirty[key] = None
        if gone:
            self._specs.pop(key, None)
            self._missing_groups.deleted(group)
            self.set_aside.drop(key)
            self._notes.drop(key)
            self.enqueued_groups.drop(key)
            self.evictions.settled(key)
            self._problems.note(f"podgroup {key}", "")
            return True
        self._missing_groups.created(key)
        before = self._specs.get(key)
        note = self._notes.settle(key, group)
        spec = self._specs[key] = read_group(group)
        self._problems.note(f"podgroup {key}", spec.problem)
        same_spec = before is not None and before.group.spec == group.spec
        same_uid = before is not None and before.group.metadata.uid == group.metadata.uid
        return not (same_spec and same_uid and same_status(before, note, group))

    def _mark_dirty(self, group: str) -> None:
        self._dirty[group] = None

    @property
    def problems(self) -> dict[str, str]:
        """The problem of each invalid object, by `kind key`."""
        misplaced = {f"queue {name}": why for name, why in self.queues.misplaced().items()}
        return {**misplaced, **self._problems}

    def bindable(self, key: str, uid: str) -> bool:
        """Whether the pod still waits, so that a bind decided on a snapshot may be sent."""
        row = self.pods.get(key)
        return row is not None and row.uid == uid and row.status is Task.PENDING

    def assume(self, assumed: Assumed) -> None:
        """Count the pod as bound, because we send its bind or a live read shows that it is bound.

        A live read may arrive after the fact it refers to. In that case there is nothing to assume.
        """
        row = self.pods.get(assumed.key)
        if row is not None and (row.uid != assumed.uid or assumed.key not in self._facts):
            return
        self.assumed[assumed.uid] = assumed
        if row is not None:
            bound = msgspec.structs.replace(row, status=Task.BINDING, node=assumed.node)
            self._replace(row, bound)

    def unassume(self, key: str, uid: str, *, now: float | None) -> None:
        """Remove an assumed bind after a live read; with `now` the pod enters bind backoff."""
        self.assumed.pop(uid, None)
        if now is not None:
            self._holds.failed(key, uid, now=now)
        pod = self._facts.get(key)
        if pod is not None and pod.metadata.uid == uid:
            self._replace(self.pods.get(key), self._gates.over(self._reader.row(pod)))

    def lift_gate(self, key: str, uid: str, *, failed_at: float | None = None) -> None:
        """Count the gate of a pod as removed; with `failed_at` the write failed, and the pod enters backoff."""
        row = self.pods.get(key)
        if row is not None and row.uid == uid:
            if failed_at is not None:
                self._holds.failed(key, uid, now=failed_at)
            self._replace(row, self._gates.put(row, lifted=failed_at is None))

    def evict(self, key: str, uid: str) -> None:
        """Count the pod as terminating, because we evict it."""
        row = self.pods.get(key)
        if row is not None and row.uid == uid:
            self._replace(row, self.evictions.begin(row))

    def unevict(self, key: str, uid: str, *, now: float | None) -> None:
        """The pod was not evicted; with `now` the API server refused, and the pod is exempt for a while."""
        row = self.pods.get(key)
        if row is not None and row.uid == uid:
            self._replace(row, self.evictions.undo(row, now=now))

    def note_status(self, key: str, uid: str, *, status: PodGroupStatus, now: float) -> None:
        """Record a status that is going to be written."""
        self._notes.put(key, uid, status=status, now=now)
        self._dirty[key] = None
        self.enqueued_groups.noted(key, status, now=now)

    def status_written(
        self, key: str, uid: str, *, status: PodGroupStatus, version: str, now: float
    ) -> None:
        """The API server has accepted a status."""
        if self._notes.written(key, uid, status=status, version=version, now=now):
            self._dirty[key] = None
            if (spec := self._specs.get(key)) is not None:
                self._notes.settle(key, spec.group)

    def status_failed(self, key: str, uid: str, *, status: PodGroupStatus) -> None:
        """A status was not written; that of the fact counts again."""
        if self._notes.failed(key, uid, status=status):
            self._dirty[key] = None

    def forget_absent(self) -> None:
        """The view is complete: overlays of pods that are not in it are removed."""
        forget_absent(self.assumed, self.pods)
        self.conditions.forget_absent(self.pods)
        self._missing_groups.forget_absent(self._members)
        self._adopts = True

    def refresh(self, *, now: float, groups_max: int) -> bool:
        """Recount some of the changed groups, and some pods for new terms; returns whether more remain."""
        for key in list(itertools.islice(self._dirty, groups_max)):
            self._refresh(key, now)
            del self._dirty[key]
        counting = self.pod_affinity.count_some(self.pods, pods_max=groups_max * PODS_A_GROUP)
        return counting or bool(self._dirty)

    def snapshot(self, session_id: str, *, now: float) -> Snapshot:
        """A copy for one session."""
        # Expired entries change rows, so they are processed before the groups are refreshed.
        self._dirty.update(dict.fromkeys(self._holds.expired(self.pods, now)))
        self.enqueued_groups.expire(now)
        self.conditions.expire(now)
        self.refresh(now=now, groups_max=len(self._dirty))
        if self._adopts:
            self._adopts = False
            for key in self._unsettled:  # take over nominations of the previous leader
                self.evictions.adopt(self._rows[key], now=now)
        self._gang_times.seen(now)
        nodes = self.nodes.table()
        return Snapshot(
            session_id=session_id,
            nodes=nodes,
            images=self.nodes.images.table(nodes.static),
            groups=tuple(self._rows[key] for key in sorted(self._unsettled)),
            pod_affinity=self.pod_affinity.table(self.pods),
            everybody=dict(self._rows),
            leaving=tuple(self._leaving[key] for key in sorted(self._leaving)),
            terminating=self.namespaces.names(),
            refused_victims=self.evictions.refused_victims(now),
            eviction_backoff=self.evictions.eviction_backoff(now),
            release_backoff=self.evictions.release_backoff(now),
            given_up=self.evictions.give_up(now),
            nominated=self.evictions.nominated(),
            queues=self.queues.table(),
            allowed=self.queues.access.table(),
            use=self.queues.use(),
            priorities=dict(self.queues.priorities),
            never_preempting=frozenset(self.queues.never_preempting),
            default_priority=self.queues.default_priority,
            partial_since=self._gang_times.partial_since(),
            minimum_met_at=self._gang_times.minimum_met_at(),
            quotas=self._policies.quotas(),
            budgets=self._policies.budgets(),
            volumes=self.volumes.table(now),
            next_expiry=first_expiry(self._timed(), now=now),
            pod_condition_seconds=self.pod_condition_seconds,
        )

    def _timed(self) -> tuple[Expiring, ...]:
        """All parts of the cache with entries that expire."""
        return (self._holds, self.volumes, self.evictions, self.conditions, self.enqueued_groups)

    def shift(self, seconds: float) -> None:
        """The API server's clock was changed: durations that we wait for stay the same."""
        for part in self._timed():
            part.shift(seconds)
        self._gang_times.shift(seconds)

    def _refresh(self, key: str, now: float) -> None:
        """Recount one group."""
        old = self._rows.pop(key, None)
        if old is not None:
            self.queues.take_off(old.queue, use_of(old))
        self._unsettled.pop(key, None)
        spec = self._specs.get(key)
        pods = sorted(self._members.get(key, {}).values(), key=attrgetter("order"))
        if spec is None:
            self._gang_times.drop(key)
            self.conditions.drop_group(key)
            if (found := self._missing_groups.stand_in(key, pods)) is None:
                return
            spec, pods = msgspec.structs.replace(read_group(found[0]), missing=True), found[1]
        held = frozenset(pod.uid for pod in pods if self._holds.holds(pod.uid, now))
        note = self._notes.get(key)
        try:
            row = make_row(spec, pods, held=held, note=note, conditions=self.conditions)
        except Exception as error:  # noqa: BLE001 - of one group, whatever it is
            self._problems.note(f"podgroup {key}", unreadable(error))
            return
        self._rows[key] = row = self.enqueued_groups.over(self.set_aside.over(row))
        self.queues.add(row.queue, use_of(row))
        if not row.settled:
            self._unsettled[key] = None
        self._gang_times.refresh(row, now)
