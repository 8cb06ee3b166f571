"""The working state of one session: the snapshot, the decisions made so far, and their sums.

Actions and plugins read the session; statements change it; nothing in it outlives the session. Sums over queues are
Python integers. Where order matters, iteration follows a total order.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from vc.messages.effects import BindPod
from vc.messages.sessions import Reason
from vc.model.api.keys import ROOT_QUEUE
from vc.scheduling.cache.pod_groups import use_of
from vc.scheduling.cache.snapshot import QueueUse, Snapshot
from vc.scheduling.framework.framework import Framework
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.deadlines import Deadlines
from vc.scheduling.model.node_table import Filtered
from vc.scheduling.model.queue_ancestors import at_the_top
from vc.scheduling.model.rows import INQUEUE, PENDING, GroupRow, PodRow, QueueRow, Run
from vc.scheduling.model.shapes import Shape
from vc.scheduling.model.volume_rows import ClaimChoice
from vc.scheduling.session.enqueue_claim import bounded_claim, claimed
from vc.scheduling.session.feasibility import FeasibilityBound
from vc.scheduling.session.guarantees import Guarantees
from vc.scheduling.session.infeasible import infeasible_first
from vc.scheduling.session.node_capacity import NodeCapacity
from vc.scheduling.session.pod_affinity import PodAffinity
from vc.scheduling.session.reasons import outranked
from vc.scheduling.session.volumes import Claims

if TYPE_CHECKING:
    from vc.scheduling.placement.shortages import Shortage
    from vc.scheduling.placement.simulated_removal import SimulatedRemoval

QUEUE_DEPTH_MAX: Final = 32
"""The maximum number of queue levels considered; ancestors beyond it are ignored."""

FOLLOW_UP_SECONDS: Final = 1.0
"""Delay until the session after an eviction or a take-over, even without an event. Queues no longer count the
victims then, so other jobs may be enqueued, and timers that start with the eviction are registered."""


class Session:
    """What is known and decided so far in one session."""

    def __init__(self, snapshot: Snapshot, framework: Framework, now: float) -> None:
        self.snapshot = snapshot
        self.framework = framework
        self.now = now
        self.node_capacity = NodeCapacity(snapshot.nodes, framework, snapshot.images)
        claims = Claims(snapshot.volumes, snapshot.nodes)
        self.pod_affinity = PodAffinity(snapshot.pod_affinity, snapshot.nodes.static, claims)
        self.choices: list[ClaimChoice] = []
        """Nodes and volumes chosen for unbound claims."""
        self.refused: dict[str, Reason] = {}
        """The reason of each group that was refused; later actions do not try these groups again."""
        self.misfits: dict[tuple[bytes, int, int], Reason] = {}
        """Why so many pods of a shape do not fit, by shape, number and node capacity state."""
        self.shortages: dict[tuple[object, ...], Shortage] = {}
        """What the tasks of a gang lack, keyed by the gang and the node capacity state."""
        self.enqueued: list[str] = []
        self.confirmed: list[str] = []
        """Groups that were already Inqueue and about which this process decides for the first time."""
        self.claims: dict[str, Amounts] = {}
        """What each group enqueued in this session claims."""
        self.binds: dict[str, list[BindPod]] = {}
        """Committed binds by group."""
        self.released: dict[str, list[PodRow]] = {}
        self.evicted: dict[str, list[PodRow]] = {}
        """Victims by the group for which they are evicted."""
        self.places: dict[str, list[tuple[PodRow, int]]] = {}
        """For each preemptor or claimant group: its pods and the rows of the nodes reserved for them."""
        self.taken_over: dict[str, list[str]] = {}
        """By group: the groups of lower priority whose reservations it took over."""
        self.lost_to: dict[str, str] = {}
        """By group that lost its reservation: the group that took it over."""
        self.evicted_uids: dict[str, None] = {}
        self.promised_to: dict[str, Reason] = {}
        """Groups with a reservation that they cannot use yet: pods still terminate or claims are unbound."""
        self.parts: dict[str, Callable[[], None]] = {}
        """By group with a reservation for only a part of its gang: the function that cancels the reservation."""
        self.no_future: dict[tuple[object, ...], None] = {}
        """Gangs that do not fit even after terminating pods are gone, keyed by gang and node capacity state."""
        self._deadlines = Deadlines(now=now)
        self._deadlines.add(snapshot.next_expiry)
        self._phases: dict[str, str] = {}
        self._taken: dict[str, int] = {}
        """By the first pod of each run: the number of its pods placed on nodes."""
        self._allocated: dict[str, Amounts] = {}
        self._held: dict[str, Amounts] = {}
        self._promised: dict[str, Amounts] = {}
        self._promised_total: Amounts = {}
        """Enqueued resources of all queues, including queues that do not exist."""
        self._lines: dict[str, list[QueueRow]] = {}
        self._circular = at_the_top({n: row.parent for n, row in snapshot.queues.items()})
        self._elastic: dict[str, Amounts] = {}
        self.unowned: Amounts = {}
        """Resources of pods whose queue does not exist. They occupy nodes, so they are not shared among queues."""
        for name, use in snapshot.use.items():
            self._roll_up(name, use)
        self._totals: dict[str, tuple[int, int]] = {}
        self._placed_amounts: dict[str, Amounts] = {}
        """By group: the requests of its pods placed in this session."""
        self._placed_pods: dict[tuple[str, bytes], int] = {}
        """By group and shape: the number of pods placed in this session."""
        self.gates: dict[str, list[PodRow]] = {}
        """By group: pods whose queue-allocation gate is removed."""
        self.placements: dict[str, list[str]] = {}
        """By queue: the groups with pods placed or withdrawn, in that order. Plugins read it incrementally."""
        self.touched: list[str] = []
        """Queues whose allocation changed, oldest first; caches of sums follow the new entries."""
        self.gone: dict[int, SimulatedRemoval] = {}
        """Terminating pods, keyed by the number of groups whose victims are included; see `terminating_pods`."""
        self.future: FeasibilityBound | None = None
        """The feasibility bound with all terminating pods gone; None until it is needed."""
        self.moves = 0
        """Pods removed in simulations so far: the cost of preemption attempts is counted, not timed."""
        self._lower: dict[tuple[str, int], Amounts] = {}
        self._told: dict[tuple[int, object], tuple[Reason, Reason]] = {}
        """By id of a refusal and its group: the refusal, kept alive so that its id stays unique, and its report."""

    # -- time ------------------------------------------------------------------------------------

    def wake(self, at: float) -> None:
        """Request a session at that time, even if no event opens one."""
        self._deadlines.add(at)

    @property
    def wake_at(self) -> float | None:
        """The earliest requested wake-up, or None."""
        return self._deadlines.first

    # -- groups ----------------------------------------------------------------------------------

    def phase(self, group: GroupRow) -> str:
        """The phase of a group, including changes made in this session."""
        return self._phases.get(group.key, group.status.phase or PENDING)

    def enqueue(self, group: GroupRow) -> None:
        """Move a group to Inqueue; its minResources count as enqueued unless they can never be satisfied."""
        self._phases[group.key] = INQUEUE
        known = group.status.phase == INQUEUE
        (self.confirmed if known else self.enqueued).append(group.key)
        self.claims[group.key] = bounded_claim(self, group)
        self._roll_up(group.queue, QueueUse(enqueued=claimed(self, group)))

    def send_back(self, group: GroupRow, reason: Reason) -> None:
        """Return a group to Pending with a reason, and release its enqueued resources."""
        self.refuse(group, reason)
        self.withdraw(group)

    def withdraw(self, group: GroupRow) -> None:
        """Count a group as Pending, without enqueued resources, until it is enqueued again."""
        self._phases[group.key] = PENDING
        promised = use_of(group).enqueued.scaled(-1)
        self._roll_up(group.queue, QueueUse(enqueued=promised))

    def priority(self, group: GroupRow) -> int:
        """The lower of the priority of the group's class (or the global default) and that of its pods: a user who
        may write a PodGroup may not be entitled to its class, but the creator of pods is entitled to theirs."""
        own = self.snapshot.priorities.default
        if group.priority_class:
            own = self.snapshot.priorities.values.get(group.priority_class, 0)
        return own if group.pods_priority is None else min(own, group.pods_priority)

    def starving(self, group: GroupRow) -> bool:
        """Whether the group lacks its minimum and this scheduler is responsible for it."""
        return (
            not group.foreign
            and not self.binds.get(group.key)
            and bool(self.framework.jobs.missing(group))
        )

    def waiting_pods(self, run: Run) -> tuple[PodRow, ...]:
        """The pods of a run that are not placed yet."""
        return run.pods[self._taken.get(run.pods[0].key, 0) :]

    def bound_now(self, group: GroupRow) -> int:
        return len(self.binds.get(group.key, ()))

    def refuse(self, group: GroupRow, reason: Reason) -> None:
        """Refuse a group for the rest of the session, with this reason."""
        self.refused[group.key] = reason

    def reason(self, group: GroupRow) -> Reason | None:
        """Why a group waits; None for a group that has its minimum and only lacks surplus pods."""
        waits = self.starving(group) or (self.phase(group) == PENDING and not group.ready)
        reason = self.refused.get(group.key) if waits else None
        if reason is None:
            return None
        told = self._told_of(group, reason)
        return outranked(told, by=self.lost_to[group.key]) if group.key in self.lost_to else told

    def _told_of(self, group: GroupRow, reason: Reason) -> Reason:
        """The reason reported for a refusal. Equal gangs of a queue share the refusal and the report."""
        # Placed pods or several runs make the needs of a group unique, so its report is not shared.
        alike = not group.placed and len(group.runs) < 2
        least = (group.min_resources, group.gated_request)
        who = (group.queue, *least) if alike else group.key
        known = self._told.get((id(reason), who))
        if known is None:
            known = (reason, infeasible_first(self, group, reason))
            self._told[id(reason), who] = known
        return known[1]

    def beside(self, pod: PodRow) -> Filtered:
        """The nodes allowed for one pod, given all pods placed so far."""
        return self.framework.nodes.pod_filtered(
            self.pod_affinity, pod, self.node_capacity.filtered(pod.shape)
        )

    # -- queues ----------------------------------------------------------------------------------

    def line(self, queue: str) -> list[QueueRow]:
        """The queue and its ancestors, as far as they exist. A queue in a parent cycle counts as top level."""
        line = self._lines.get(queue)
        if line is None:
            line = self._lines[queue] = []
            row = self.snapshot.queues.get(queue)
            while row is not None and len(line) < QUEUE_DEPTH_MAX:
                line.append(row)
                above = "" if row.name in self._circular else row.parent
                row = self.snapshot.queues.get(above)
        return line

    @functools.cached_property
    def common_top(self) -> str:
        """The one queue above all others, such as `root`, whose amounts rank no job; empty if there is none."""
        tops = {line[-1].name: None for name in self.snapshot.queues if (line := self.line(name))}
        return next(iter(tops)) if len(tops) == 1 else ""

    def allocated(self, queue: str) -> Amounts:
        """Resources allocated to the queue and its descendants, including placements of this session."""
        return self._allocated.setdefault(queue, {})

    @functools.cached_property
    def reach(self) -> FeasibilityBound:
        """The feasibility bound of empty nodes."""
        return FeasibilityBound(self.node_capacity, self.node_capacity.nodes.allocatable)

    @functools.cached_property
    def largest_nodes(self) -> list[int]:
        """The largest allocatable amount of any single node, by column of the node table."""
        found: list[int] = self.node_capacity.nodes.allocatable.max(axis=0, initial=0).tolist()
        return found

    @functools.cached_property
    def guarantees(self) -> Guarantees:
        """The guarantees of all queues, with their current sums."""
        return Guarantees(self)

    def held(self, queue: str) -> Amounts:
        """The part of `allocated` that is only reserved, for pods that wait for terminating pods."""
        return self._held.setdefault(queue, {})

    def committed(self, queue: str) -> Amounts:
        """Allocated and enqueued resources of a queue, without those of surplus pods."""
        total = dict(self.allocated(queue))
        _add(total, self._promised.get(queue, {}), sign=1)
        _add(total, self._elastic.get(queue, {}), sign=-1)
        return total

    def enqueued_total(self, resource: str) -> int:
        """Enqueued resources of the groups of all queues."""
        return self._promised_total.get(resource, 0)

    def group_allocated(self, group: GroupRow) -> Amounts:
        """Resources allocated to a group, including placements of this session."""
        total = dict(group.allocated)
        _add(total, self._placed_amounts.get(group.key, {}), sign=1)
        return total

    def lower_in_queue(self, queue: str, priority: int) -> Amounts:
        """Resources of jobs in the queue with a lower priority."""
        known = self._lower.get((queue, priority))
        if known is None:
            known = self._lower[queue, priority] = {}
            for group in self.snapshot.all_groups.values():
                if group.queue == queue and group.allocated and self.priority(group) < priority:
                    _add(known, dict(group.allocated), sign=1)
        return known

    def cluster_amounts(self, resource: str) -> tuple[int, int]:
        """Allocatable and, as of the start of the session, used amounts, summed over ready nodes."""
        known = self._totals.get(resource)
        if known is None:
            nodes = self.snapshot.nodes
            column = nodes.resources.get(resource)
            ready = nodes.static.ready
            known = (0, 0)
            if column is not None:
                known = (
                    sum(nodes.allocatable[ready, column].tolist()),
                    sum(nodes.used[ready, column].tolist()),
                )
            self._totals[resource] = known
        return known

    def shared_amount(self, resource: str) -> int:
        """What queues share: allocatable on ready nodes, minus the resources of pods without a queue."""
        return max(0, self.cluster_amounts(resource)[0] - self.unowned.get(resource, 0))

    def _roll_up(self, queue: str, use: QueueUse) -> None:
        names = [row.name for row in self.line(queue)] or [queue]
        _add(self._promised_total, use.enqueued, sign=1)
        if queue not in self.snapshot.queues:
            _add(self.unowned, use.allocated, sign=1)
            if ROOT_QUEUE in self.snapshot.queues:  # root owns pods of no other queue
                _add(self._allocated.setdefault(ROOT_QUEUE, {}), use.allocated, sign=1)
        for name in names:
            _add(self._allocated.setdefault(name, {}), use.allocated, sign=1)
            _add(self._promised.setdefault(name, {}), use.enqueued, sign=1)
            _add(self._elastic.setdefault(name, {}), use.elastic, sign=1)
            _add(self._allocated[name], use.reserved, sign=1)
            _add(self._held.setdefault(name, {}), use.reserved, sign=1)

    # -- placements, for statements --------------------------------------------------------------

    def count_placed(self, group: GroupRow, run: Run, *, pods: int) -> None:
        """Count pods of a run as placed, or with a negative number as no longer placed."""
        first = run.pods[0].key
        self._taken[first] = self._taken.get(first, 0) + pods
        amounts = {name: amount * pods for name, amount in run.shape.request}
        _add(self._placed_amounts.setdefault(group.key, {}), amounts, sign=1)
        self.placements.setdefault(group.queue, []).append(group.key)
        self.touched.append(group.queue)
        charged = self.charged(group, run.shape, pods)
        known = (group.key, run.shape.key)
        self._placed_pods[known] = self._placed_pods.get(known, 0) + pods
        # Pods with a reservation are already in the allocation of the queue. Only the others are added, and the
        # reservation of the former ends.
        new = amounts if charged == pods else {n: a * charged for n, a in run.shape.request}
        for queue in self.line(group.queue):
            _add(self.allocated(queue.name), new, sign=1)
            if charged != pods:
                had = {name: amount * (pods - charged) for name, amount in run.shape.request}
                _add(self.held(queue.name), had, sign=-1)

    def charged(self, group: GroupRow, shape: Shape, pods: int) -> int:
        """The part of `pods` that is new to the allocation of the queue, when so many pods are placed (or, if
        negative, removed). Pods with a reservation are already counted."""
        if not group.reserved_pods:
            return pods
        reserved = dict(group.reserved_pods).get(shape.key, 0)
        placed = self._placed_pods.get((group.key, shape.key), 0)
        return max(0, placed + pods - reserved) - max(0, placed - reserved)

    def count_reserved(self, group: GroupRow, shape: Shape, *, sign: int) -> None:
        """Count a reservation for one waiting pod in the queue and its ancestors, or with sign -1 remove it."""
        amounts = dict(shape.request)
        self.touched.append(group.queue)
        for queue in self.line(group.queue):
            _add(self.allocated(queue.name), amounts, sign=sign)
            _add(self.held(queue.name), amounts, sign=sign)

    def count_held(self, group: GroupRow, run: Run, *, pods: int) -> None:
        """Mark so many placed pods of a run as reserved only."""
        amounts = {name: amount * pods for name, amount in run.shape.request}
        for queue in self.line(group.queue):
            _add(self.held(queue.name), amounts, sign=1)

    def evict(
        self, group: GroupRow, victims: list[PodRow], places: list[tuple[PodRow, int]]
    ) -> None:
        """Commit evictions for a group: the victims, and the nodes reserved for the pods of the group."""
        self.evicted[group.key] = victims
        self.places[group.key] = places
        self.evicted_uids.update({victim.uid: None for victim in victims})
        self.wake(self.now + FOLLOW_UP_SECONDS)

    def take_over(self, group: GroupRow, lost: list[str]) -> None:
        """Transfer the reservations of groups of lower priority to this group."""
        self.taken_over[group.key] = lost
        self.lost_to.update(dict.fromkeys(lost, group.key))
        self.wake(self.now + FOLLOW_UP_SECONDS)

    def count_terminating(self, name: str, freed: Amounts, *, sign: int) -> None:
        """Remove (-1) or restore (1) the resources of terminating pods in a queue and its ancestors."""
        self.touched.append(name)
        for queue in self.line(name):
            _add(self.allocated(queue.name), freed, sign=sign)

    def bind(self, group: GroupRow, pod: PodRow, node: str) -> None:
        """Commit the bind of a pod."""
        bind = BindPod(
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            node=node,
            lifts_gate=pod.queue_gated,
        )
        self.binds.setdefault(group.key, []).append(bind)


def _add(total: Amounts, amounts: Amounts, *, sign: int) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + sign * amount
