"""The cluster cache: facts in, snapshots out.

One writer (the consume loop of the shell) applies changes as they arrive; a session gets a copy. The
cache has three parts:

- *facts* (`facts.py`): nodes, queues, pods, storage, namespaces, quotas and budgets. A rebuilt view
  starts with none;
- *overlays* (`overlays/overlays.py`): our own writes that no fact shows yet. An entry is removed only
  after an observation, so overlays survive a rebuilt view;
- *pod groups* (`pod_groups.py`): rows that are derived from both. A group is counted again before the
  next session when a fact or an overlay of it changed.

`apply` returns whether a change can alter the result of a session: observing our own writes opens none.
"""

from typing import Final

import msgspec

from vc.messages.view import Change
from vc.model.api import kinds
from vc.model.api.kubernetes import Namespace, PodDisruptionBudget, ResourceQuota
from vc.model.api.node import Node
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, PodGroupStatus, PriorityClass, Queue
from vc.scheduling.cache.applying import apply_contained
from vc.scheduling.cache.facts import ClusterFacts
from vc.scheduling.cache.gang_times import GangTimes
from vc.scheduling.cache.overlays.assumed_binds import AssumedBind
from vc.scheduling.cache.overlays.overlays import Overlays
from vc.scheduling.cache.overlays.pod_group_status import same_status
from vc.scheduling.cache.pod_groups import PodGroupTable, make_row, read_group, use_of
from vc.scheduling.cache.pods import PodReader, same_for_sessions
from vc.scheduling.cache.problems import ObjectProblems
from vc.scheduling.cache.snapshot import EvictionState, PriorityClasses, Snapshot
from vc.scheduling.model.amounts import unreadable
from vc.scheduling.model.deadlines import Expiring, first_expiry
from vc.scheduling.model.rows import PodRow, TaskStatus
from vc.scheduling.pod_status import POD_CONDITION_SECONDS

KINDS: Final = (
    kinds.PODS, kinds.NODES, kinds.PODGROUPS, kinds.QUEUES, kinds.PRIORITYCLASSES, kinds.NAMESPACES,
    kinds.CLAIMS, kinds.VOLUMES, kinds.STORAGECLASSES, kinds.CSINODES, kinds.QUOTAS, kinds.BUDGETS,
)  # fmt: skip
"""The kinds that the scheduler follows."""

PODS_A_GROUP: Final = 100
"""The number of pods counted for new terms per group that is refreshed; both take about the same time."""


class ClusterCache:
    """The state from which sessions get their snapshots."""

    def __init__(self, scheduler_names: tuple[str, ...]) -> None:
        self.pod_condition_seconds = POD_CONDITION_SECONDS
        self._reader = PodReader(scheduler_names)
        self.overlays = Overlays(self._mark_dirty)
        self._gang_times = GangTimes()
        self._problems = ObjectProblems()
        self._adopts = False
        """Whether the view is new, so that pods may carry nominations that this process does not know."""
        self.facts = ClusterFacts(self.overlays.volume_choices)
        self._groups = PodGroupTable()

    def rebuild(self) -> None:
        """Start with a new, empty view. Our own writes that were not observed stay as overlays."""
        self.facts = ClusterFacts(self.overlays.volume_choices)
        self._groups = PodGroupTable()
        self._problems.clear()

    @property
    def pods(self) -> dict[str, PodRow]:
        """Rows of all pods by key."""
        return self.facts.pods.rows

    # -- facts -----------------------------------------------------------------------------------

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
                problem, matters = self.facts.queues.put(queue, gone=gone)
                self._problems.note(f"queue {queue.metadata.name}", problem)
                return matters
            case PriorityClass() as priority:
                return self.facts.queues.put_priority(priority, gone=gone)
            case Namespace() as namespace:
                ends = self.facts.namespaces.put(namespace, gone=gone)
                listed = self.facts.queues.access.put_namespace(namespace, gone=gone)
                return self.facts.pod_affinity.put_namespace(namespace, gone=gone) or ends or listed
            case ResourceQuota() as quota:
                problem, matters = self.facts.quotas_and_budgets.put_quota(quota, gone=gone)
                self._problems.note(f"resourcequota {change.key}", problem)
                return matters
            case PodDisruptionBudget() as budget:
                return self._apply_budget(budget, gone=gone)
            case storage:
                return self.facts.volumes.put(storage, gone=gone)

    def _apply_node(self, node: Node, *, gone: bool) -> bool:
        name = node.metadata.name
        matters, problem = (self.facts.nodes.drop(name), "") if gone else self.facts.nodes.put(node)
        self._problems.note(f"node {name}", problem)
        return matters

    def _apply_budget(self, budget: PodDisruptionBudget, *, gone: bool) -> bool:
        """Apply a budget. If it allows more evictions than before, the pods it covered are no longer exempt."""
        before = self.facts.quotas_and_budgets.budget(budget.key)
        looser = self.facts.quotas_and_budgets.put_budget(budget, gone=gone)
        if looser and before is not None:
            self.overlays.evictions.budget_loosened(before, self.pods)
        return looser

    def _apply_pod(self, key: str, pod: Pod, *, gone: bool) -> bool:
        before = self.pods.get(key)
        uid = pod.metadata.uid
        # Another pod of the same name has been created: an assumed bind of its predecessor is void.
        if before is not None and before.uid != uid:
            self.overlays.assumed.pop(before.uid, None)
        if gone:
            self.overlays.pod_deleted(uid)
            self.facts.pods.pending_facts.pop(key, None)
            self._problems.note(f"pod {key}", "")
            return self._replace(before, None)
        # The fact shows a node: whether ours or another one, the assumption is no longer needed.
        if pod.spec.node_name:
            self.overlays.assumed.pop(uid, None)
        self.overlays.conditions.seen(pod)
        assumed = self.overlays.assumed.get(uid)
        row = self._reader.row(pod, assumed_node=assumed.node if assumed else "")
        row = self.overlays.over_pod(row)
        if row.status in (TaskStatus.PENDING, TaskStatus.BINDING):
            self.facts.pods.pending_facts[key] = pod
        else:
            self.facts.pods.pending_facts.pop(key, None)
        self._problems.note(f"pod {key}", row.shape.problem)
        return self._replace(before, row)

    def _replace(self, before: PodRow | None, after: PodRow | None) -> bool:
        """Replace the row of a pod, and update everything that is counted from it."""
        self.facts.replace_pod(before, after)
        self._groups.replace_pod(before, after)
        return not same_for_sessions(before, after)

    def _apply_group(self, key: str, group: PodGroup, *, gone: bool) -> bool:
        self._mark_dirty(key)
        if gone:
            self._groups.specs.pop(key, None)
            self.overlays.group_deleted(key, group)
            self._problems.note(f"podgroup {key}", "")
            return True
        self.overlays.missing_groups.created(key)
        before = self._groups.specs.get(key)
        written = self.overlays.statuses.observe(key, group)
        spec = self._groups.specs[key] = read_group(group)
        self._problems.note(f"podgroup {key}", spec.problem)
        same_spec = before is not None and before.group.spec == group.spec
        same_uid = before is not None and before.group.metadata.uid == group.metadata.uid
        return not (same_spec and same_uid and same_status(before, written, group))

    def _mark_dirty(self, group: str) -> None:
        self._groups.mark_dirty(group)

    @property
    def problems(self) -> dict[str, str]:
        """The problem of each invalid object, by `kind key`."""
        misplaced = {f"queue {name}": why for name, why in self.facts.queues.misplaced().items()}
        return {**misplaced, **self._problems}

    # -- what we did -----------------------------------------------------------------------------

    def bindable(self, key: str, uid: str) -> bool:
        """Whether the pod still waits, so that a bind decided on a snapshot may be sent."""
        row = self.pods.get(key)
        return row is not None and row.uid == uid and row.status is TaskStatus.PENDING

    def assume(self, assumed: AssumedBind) -> None:
        """Count the pod as bound, because we send its bind or a live read shows that it is bound.

        A live read may arrive after the fact it refers to. In that case there is nothing to assume.
        """
        row = self.pods.get(assumed.key)
        if row is not None and (
            row.uid != assumed.uid or assumed.key not in self.facts.pods.pending_facts
        ):
            return
        self.overlays.assumed[assumed.uid] = assumed
        if row is not None:
            bound = msgspec.structs.replace(row, status=TaskStatus.BINDING, node=assumed.node)
            self._replace(row, bound)

    def unassume(self, key: str, uid: str, *, now: float | None) -> None:
        """Remove an assumed bind after a live read; with `now` the pod enters bind backoff."""
        # The row is read again from the fact, because the assumed row replaced it.
        self.overlays.assumed.pop(uid, None)
        if now is not None:
            self.overlays.bind_backoff.failed(key, uid, now=now)
        pod = self.facts.pods.pending_facts.get(key)
        if pod is not None and pod.metadata.uid == uid:
            self._replace(self.pods.get(key), self.overlays.gates.over(self._reader.row(pod)))

    def remove_gate(self, key: str, uid: str, *, failed_at: float | None = None) -> None:
        """Count the gate of a pod as removed; with `failed_at` the write failed, and the pod enters backoff."""
        row = self.pods.get(key)
        if row is not None and row.uid == uid:
            if failed_at is not None:
                self.overlays.bind_backoff.failed(key, uid, now=failed_at)
            self._replace(row, self.overlays.gates.put(row, removed=failed_at is None))

    def evict(self, key: str, uid: str) -> None:
        """Count the pod as terminating, because we evict it."""
        row = self.pods.get(key)
        if row is not None and row.uid == uid:
            self._replace(row, self.overlays.evictions.begin(row))

    def unevict(self, key: str, uid: str, *, now: float | None) -> None:
        """The pod was not evicted; with `now` the API server refused, and the pod is exempt for a while."""
        row = self.pods.get(key)
        if row is not None and row.uid == uid:
            self._replace(row, self.overlays.evictions.undo(row, now=now))

    def assume_status(self, key: str, uid: str, *, status: PodGroupStatus, now: float) -> None:
        """Record a status that is going to be written."""
        self.overlays.statuses.put(key, uid, status=status, now=now)
        self._mark_dirty(key)
        self.overlays.enqueued.status_decided(key, status, now=now)

    def status_written(
        self, key: str, uid: str, *, status: PodGroupStatus, version: str, now: float
    ) -> None:
        """The API server has accepted a status."""
        if self.overlays.statuses.written(key, uid, status=status, version=version, now=now):
            self._mark_dirty(key)
            if (spec := self._groups.specs.get(key)) is not None:
                self.overlays.statuses.observe(key, spec.group)

    def status_failed(self, key: str, uid: str, *, status: PodGroupStatus) -> None:
        """A status was not written; that of the fact counts again."""
        if self.overlays.statuses.failed(key, uid, status=status):
            self._mark_dirty(key)

    # -- for a session ---------------------------------------------------------------------------

    def forget_absent(self) -> None:
        """The view is complete: overlays of pods that are not in it are removed."""
        self.overlays.forget_absent(self.pods, self._groups.with_members())
        self._adopts = True

    def refresh(self, *, now: float, groups_max: int) -> bool:
        """Recount some of the changed groups, and some pods for new terms; returns whether more remain."""
        for key in self._groups.dirty(groups_max):
            self._recount(key, now)
            self._groups.counted(key)
        counting = self.facts.pod_affinity.count_some(self.pods, pods_max=groups_max * PODS_A_GROUP)
        return counting or self._groups.dirty_count() > 0

    def snapshot(self, session_id: str, *, now: float) -> Snapshot:
        """A copy for one session."""
        facts, overlays = self.facts, self.overlays
        # Expired entries change rows, so they are processed before the groups are refreshed.
        for key in overlays.bind_backoff.expired(self.pods, now):
            self._mark_dirty(key)
        overlays.enqueued.expire(now)
        overlays.conditions.expire(now)
        self.refresh(now=now, groups_max=self._groups.dirty_count())
        groups = self._groups.undecided()
        if self._adopts:
            self._adopts = False
            for row in groups:  # take over nominations of the previous leader
                overlays.evictions.adopt(row, now=now)
        self._gang_times.seen(now)
        nodes = facts.nodes.table()
        terminating = facts.pods.terminating
        return Snapshot(
            session_id=session_id,
            nodes=nodes,
            images=facts.nodes.images.table(nodes.static),
            groups=tuple(groups),
            pod_affinity=facts.pod_affinity.table(self.pods),
            all_groups=dict(self._groups.rows),
            terminating_pods=tuple(terminating[key] for key in sorted(terminating)),
            terminating_namespaces=facts.namespaces.names(),
            evictions=self._eviction_state(now),
            queues=facts.queues.table(),
            allowed=facts.queues.access.table(),
            use=facts.queues.use(),
            priorities=PriorityClasses(
                values=dict(facts.queues.priorities),
                default=facts.queues.default_priority,
                never_preempting=frozenset(facts.queues.never_preempting),
            ),
            partial_since=self._gang_times.partial_since(),
            minimum_met_at=self._gang_times.minimum_met_at(),
            quotas=facts.quotas_and_budgets.quotas(),
            budgets=facts.quotas_and_budgets.budgets(),
            volumes=facts.volumes.table(now),
            # Computed last: what has expired is dropped by now, so only future times remain.
            next_expiry=first_expiry(self._timed(), now=now),
            pod_condition_seconds=self.pod_condition_seconds,
        )

    def _eviction_state(self, now: float) -> EvictionState:
        evictions = self.overlays.evictions
        return EvictionState(
            refused_victims=evictions.refused_victims(now),
            eviction_backoff=evictions.eviction_backoff(now),
            release_backoff=evictions.release_backoff(now),
            # Expired nominations are dropped before the remaining ones are copied.
            expired_nominations=evictions.expire_nominations(now),
            nominated=evictions.nominated(),
        )

    def _timed(self) -> tuple[Expiring, ...]:
        """All parts of the cache with entries that expire."""
        return (*self.overlays.timed(), self.facts.volumes)

    def shift(self, seconds: float) -> None:
        """The API server's clock was changed: durations that we wait for stay the same."""
        for part in self._timed():
            part.shift(seconds)
        self._gang_times.shift(seconds)

    def _recount(self, key: str, now: float) -> None:
        """Create the row of one group again."""
        overlays, queues = self.overlays, self.facts.queues
        # What the old row added to its queue is removed first. If the new row cannot be created, the
        # group counts for nothing, instead of for what it was.
        old = self._groups.remove(key)
        if old is not None:
            queues.remove_use(old.queue, use_of(old))
        spec, pods = self._groups.specs.get(key), self._groups.members(key)
        if spec is None:
            self._gang_times.drop(key)
            overlays.conditions.drop_group(key)
            # Placed pods of a deleted group still use their queue.
            if (found := overlays.missing_groups.stand_in(key, pods)) is None:
                return
            spec, pods = msgspec.structs.replace(read_group(found[0]), missing=True), found[1]
        in_backoff = frozenset(
            pod.uid for pod in pods if overlays.bind_backoff.active(pod.uid, now)
        )
        try:
            row = make_row(
                spec,
                pods,
                in_backoff=in_backoff,
                written=overlays.statuses.get(key),
                conditions=overlays.conditions,
            )
        except Exception as error:  # noqa: BLE001 - of one group, whatever it is
            self._problems.note(f"podgroup {key}", unreadable(error))
            return
        row = overlays.enqueued.over(overlays.quarantine.over(row))
        self._groups.put(row)
        queues.add_use(row.queue, use_of(row))
        self._gang_times.refresh(row, now)
