"""One session's working state: the snapshot, what was decided over it, and the sums that follow.

Actions and plugins ask it; statements change it; nothing outlives it. Sums over queues are Python
integers. Where order matters, everything is walked in a total order.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from vc_messages.effects import BindPod
from vc_messages.sessions import Reason
from vc_model.keys import ROOT_QUEUE
from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.claims import Claims
from vc_scheduler.logic.explain.infeasible import told_first
from vc_scheduler.logic.framework import Framework
from vc_scheduler.logic.groups import use_of
from vc_scheduler.logic.guarantees import Guarantees
from vc_scheduler.logic.lineage import at_the_top
from vc_scheduler.logic.model.claiming import bounded_claim
from vc_scheduler.logic.model.deadlines import Deadlines
from vc_scheduler.logic.peers import Peers
from vc_scheduler.logic.reach import Reach
from vc_scheduler.logic.reasons import outranked
from vc_scheduler.logic.rooms import Rooms
from vc_scheduler.logic.rows import INQUEUE, PENDING, GroupRow, PodRow, QueueRow, Run
from vc_scheduler.logic.shapes import Shape
from vc_scheduler.logic.snapshot import QueueUse, Snapshot
from vc_scheduler.logic.table import Filtered
from vc_scheduler.logic.volume_rows import ClaimChoice

if TYPE_CHECKING:
    from vc_scheduler.logic.leaving import Leaving
    from vc_scheduler.logic.shortages import Shortage

QUEUE_DEPTH_MAX: Final = 32
"""Levels of queues; what is above a longer line is not asked."""

FOLLOW_UP_SECONDS: Final = 1.0
"""After evictions a session follows although nothing happens: queues count the victims no more, so others
may be let in, and the times that begin with an eviction are asked for from then on."""


class Session:
    """What is known and decided so far."""

    def __init__(self, snapshot: Snapshot, framework: Framework, now: float) -> None:
        self.snapshot = snapshot
        self.framework = framework
        self.now = now
        self.rooms = Rooms(snapshot.nodes, framework, snapshot.images)
        claims = Claims(snapshot.volumes, snapshot.nodes)
        self.peers = Peers(snapshot.peers, snapshot.nodes.static, claims)
        self.choices: list[ClaimChoice] = []
        """What unbound claims are given."""
        self.refused: dict[str, Reason] = {}
        """Groups that no later action tries again, and why."""
        self.misfits: dict[tuple[bytes, int, int], Reason] = {}
        """Why so many pods of a shape do not fit, by the state of the rooms: the next gang of the
        same shape and size is refused without looking again."""
        self.shortages: dict[tuple[object, ...], Shortage] = {}
        """What the tasks of a gang lack, by the gang and the state of the rooms."""
        self.enqueued: list[str] = []
        self.confirmed: list[str] = []
        """Groups that were Inqueue already, and that this process decided about for the first time."""
        self.claims: dict[str, Amounts] = {}
        """By group that was let in now: what it claims."""
        self.binds: dict[str, list[BindPod]] = {}
        """Committed binds by group."""
        self.released: dict[str, list[PodRow]] = {}
        self.evicted: dict[str, list[PodRow]] = {}
        """Victims by the group they are evicted for."""
        self.places: dict[str, list[tuple[PodRow, int]]] = {}
        """By group that pods are evicted for: its pods and the rows where they will lie."""
        self.taken_over: dict[str, list[str]] = {}
        """By group: those of lower priority whose promised room it has now."""
        self.lost_to: dict[str, str] = {}
        """By group whose promised room went to another: that one."""
        self.evicted_uids: dict[str, None] = {}
        self.promised_to: dict[str, Reason] = {}
        """Groups whose room will be free when pods that leave are gone; they hold it meanwhile."""
        self.parts: dict[str, Callable[[], None]] = {}
        """By group that holds room for a part of it: gives that up."""
        self.no_future: dict[tuple[object, ...], None] = {}
        """Gangs that pods which leave make no room for, by the state of the rooms."""
        self._deadlines = Deadlines(now=now)
        self._deadlines.add(snapshot.next_expiry)
        self._phases: dict[str, str] = {}
        self._taken: dict[str, int] = {}
        """Per run, by its first pod: how many of its pods lie on nodes."""
        self._allocated: dict[str, Amounts] = {}
        self._held: dict[str, Amounts] = {}
        self._promised: dict[str, Amounts] = {}
        self._promised_total: Amounts = {}
        """Of all queues, whether they exist or not."""
        self._lines: dict[str, list[QueueRow]] = {}
        self._circular = at_the_top({n: row.parent for n, row in snapshot.queues.items()})
        self._elastic: dict[str, Amounts] = {}
        self.unowned: Amounts = {}
        """What pods have whose queue does not exist: they take nodes, so no queue can share it out."""
        for name, use in snapshot.use.items():
            self._roll_up(name, use)
        self._totals: dict[str, tuple[int, int]] = {}
        self._placed_amounts: dict[str, Amounts] = {}
        """By group: what its pods placed in this session ask for."""
        self._placed_pods: dict[tuple[str, bytes], int] = {}
        """By group and shape: how many were placed in this session."""
        self.gates: dict[str, list[PodRow]] = {}
        """By group: pods whose queue-allocation gate is lifted."""
        self.placements: dict[str, list[str]] = {}
        """By queue: the groups of which pods were placed or taken back, one after the other."""
        self.touched: list[str] = []
        """Queues of which pods were placed, taken back or went, one after the other: sums that follow from
        what queues have hold as long as nobody comes to it."""
        self.gone: dict[int, Leaving] = {}
        """Pods that leave anyway, by how many groups' victims are among them; see `those_leaving`."""
        self.future: Reach | None = None
        """What could be placed at most when those are gone that left already."""
        self.moves = 0
        """Pods taken off nodes for trials so far: what trials cost, counted and not timed."""
        self._lower: dict[tuple[str, int], Amounts] = {}
        self._told: dict[tuple[int, object], tuple[Reason, Reason]] = {}
        """By the identity of a refusal, which is held on to, and whose it is: what is told of it."""

    # -- time ------------------------------------------------------------------------------------

    def wake(self, at: float) -> None:
        """A session is wanted then, whatever happens."""
        self._deadlines.add(at)

    @property
    def wake_at(self) -> float | None:
        """When the next session is wanted at the latest."""
        return self._deadlines.first

    # -- groups ----------------------------------------------------------------------------------

    def phase(self, group: GroupRow) -> str:
        """As of now in this session."""
        return self._phases.get(group.key, group.status.phase or PENDING)

    def enqueue(self, group: GroupRow) -> None:
        """Let it in; its minResources are promised from now on, unless they could never run."""
        self._phases[group.key] = INQUEUE
        known = group.status.phase == INQUEUE
        (self.confirmed if known else self.enqueued).append(group.key)
        claim = self.claims[group.key] = bounded_claim(self, group)
        counted = msgspec.structs.replace(group, claim=tuple(claim.items()))
        self._roll_up(group.queue, QueueUse(promised=counted.claimed))

    def send_back(self, group: GroupRow, reason: Reason) -> None:
        """The reverse: it waits outside again, and nothing is promised to it."""
        self.refuse(group, reason)
        self.withdraw(group)

    def withdraw(self, group: GroupRow) -> None:
        """It counts as Pending until a gate lets it in, and claims nothing meanwhile."""
        self._phases[group.key] = PENDING
        promised = {name: -amount for name, amount in use_of(group).promised.items()}
        self._roll_up(group.queue, QueueUse(promised=promised))

    def priority(self, group: GroupRow) -> int:
        """The lower of its class's (or the global default, when it names none) and its pods': who may
        write a group's class need not be allowed to use it, and who makes pods is."""
        own = self.snapshot.default_priority
        if group.priority_class:
            own = self.snapshot.priorities.get(group.priority_class, 0)
        return own if group.pods_priority is None else min(own, group.pods_priority)

    def starving(self, group: GroupRow) -> bool:
        """Has not its minimum yet, and we are to give it."""
        return (
            not group.foreign
            and not self.binds.get(group.key)
            and bool(self.framework.missing(group))
        )

    def waiting_pods(self, run: Run) -> tuple[PodRow, ...]:
        """Pods of a run that lie nowhere yet."""
        return run.pods[self._taken.get(run.pods[0].key, 0) :]

    def bound_now(self, group: GroupRow) -> int:
        return len(self.binds.get(group.key, ()))

    def refuse(self, group: GroupRow, reason: Reason) -> None:
        """No, because."""
        self.refused[group.key] = reason

    def reason(self, group: GroupRow) -> Reason | None:
        """Why it waits; None for a job that has its minimum and only cannot grow."""
        waits = self.starving(group) or (self.phase(group) == PENDING and not group.ready)
        reason = self.refused.get(group.key) if waits else None
        if reason is None:
            return None
        told = self._told_of(group, reason)
        return outranked(told, by=self.lost_to[group.key]) if group.key in self.lost_to else told

    def _told_of(self, group: GroupRow, reason: Reason) -> Reason:
        """What is told of a refusal; equal gangs of a queue share the refusal, and what is told of it."""
        alike = not group.placed and len(group.runs) < 2
        who = (group.queue, group.min_resources) if alike else group.key
        known = self._told.get((id(reason), who))
        if known is None:
            known = (reason, told_first(self, group, reason))
            self._told[id(reason), who] = known
        return known[1]

    def beside(self, pod: PodRow) -> Filtered:
        """The nodes one pod may go to, with everything placed so far where it lies."""
        return self.framework.beside(self.peers, pod, self.rooms.filtered(pod.shape))

    # -- queues ----------------------------------------------------------------------------------

    def line(self, queue: str) -> list[QueueRow]:
        """The queue and those above it, as far as they exist; one above itself stands at the top."""
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
        """The queue above all others, as `root` is; empty when there is none. What it has is the same for
        all, and decides nothing between them."""
        tops = {line[-1].name: None for name in self.snapshot.queues if (line := self.line(name))}
        return next(iter(tops)) if len(tops) == 1 else ""

    def allocated(self, queue: str) -> Amounts:
        """What the queue and those below it have, this session's placements included."""
        return self._allocated.setdefault(queue, {})

    @functools.cached_property
    def reach(self) -> Reach:
        """What empty nodes could take."""
        return Reach(self.rooms, self.rooms.nodes.allocatable)

    @functools.cached_property
    def largest_nodes(self) -> list[int]:
        """The most that a node has in all, by the table's columns."""
        found: list[int] = self.rooms.nodes.allocatable.max(axis=0, initial=0).tolist()
        return found

    @functools.cached_property
    def guarantees(self) -> Guarantees:
        """What queues are guaranteed."""
        return Guarantees(self)

    def held(self, queue: str) -> Amounts:
        """What of that is only held, for pods that wait until others have left."""
        return self._held.setdefault(queue, {})

    def committed(self, queue: str) -> Amounts:
        """Allocated and promised, without what runs beyond its minimum."""
        total = dict(self.allocated(queue))
        _add(total, self._promised.get(queue, {}), sign=1)
        _add(total, self._elastic.get(queue, {}), sign=-1)
        return total

    def promised_total(self, resource: str) -> int:
        """Promised to groups of all queues."""
        return self._promised_total.get(resource, 0)

    def group_allocated(self, group: GroupRow) -> Amounts:
        """What a group has, this session's placements included."""
        total = dict(group.allocated)
        _add(total, self._placed_amounts.get(group.key, {}), sign=1)
        return total

    def lower_in_queue(self, queue: str, priority: int) -> Amounts:
        """What jobs of a lower priority have in a queue."""
        known = self._lower.get((queue, priority))
        if known is None:
            known = self._lower[queue, priority] = {}
            for group in self.snapshot.everybody.values():
                if group.queue == queue and group.allocated and self.priority(group) < priority:
                    _add(known, dict(group.allocated), sign=1)
        return known

    def cluster_amounts(self, resource: str) -> tuple[int, int]:
        """(allocatable, used at the start) over ready nodes."""
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
        """What queues can share: allocatable on ready nodes, less what pods without a queue have."""
        return max(0, self.cluster_amounts(resource)[0] - self.unowned.get(resource, 0))

    def _roll_up(self, queue: str, use: QueueUse) -> None:
        names = [row.name for row in self.line(queue)] or [queue]
        _add(self._promised_total, use.promised, sign=1)
        if queue not in self.snapshot.queues:
            _add(self.unowned, use.allocated, sign=1)
            if ROOT_QUEUE in self.snapshot.queues:  # the owner of what has no other owner
                _add(self._allocated.setdefault(ROOT_QUEUE, {}), use.allocated, sign=1)
        for name in names:
            _add(self._allocated.setdefault(name, {}), use.allocated, sign=1)
            _add(self._promised.setdefault(name, {}), use.promised, sign=1)
            _add(self._elastic.setdefault(name, {}), use.elastic, sign=1)
            _add(self._allocated[name], use.reserved, sign=1)
            _add(self._held.setdefault(name, {}), use.reserved, sign=1)

    # -- placements, for statements --------------------------------------------------------------

    def count_placed(self, group: GroupRow, run: Run, *, pods: int) -> None:
        """So many more (or, negative, fewer) pods of a run lie on nodes."""
        first = run.pods[0].key
        self._taken[first] = self._taken.get(first, 0) + pods
        amounts = {name: amount * pods for name, amount in run.shape.request}
        _add(self._placed_amounts.setdefault(group.key, {}), amounts, sign=1)
        self.placements.setdefault(group.queue, []).append(group.key)
        self.touched.append(group.queue)
        charged = self.charged(group, run.shape, pods)
        known = (group.key, run.shape.key)
        self._placed_pods[known] = self._placed_pods.get(known, 0) + pods
        new = amounts if charged == pods else {n: a * charged for n, a in run.shape.request}
        for queue in self.line(group.queue):
            _add(self.allocated(queue.name), new, sign=1)
            if charged != pods:
                had = {name: amount * (pods - charged) for name, amount in run.shape.request}
                _add(self.held(queue.name), had, sign=-1)

    def charged(self, group: GroupRow, shape: Shape, pods: int) -> int:
        """Of so many pods more (or fewer) that are placed, how many are new to the queue's account: those
        whose room it holds are in it already."""
        if not group.reserved_pods:
            return pods
        reserved = dict(group.reserved_pods).get(shape.key, 0)
        placed = self._placed_pods.get((group.key, shape.key), 0)
        return max(0, placed + pods - reserved) - max(0, placed - reserved)

    def count_reserved(self, group: GroupRow, shape: Shape, *, sign: int) -> None:
        """The queue holds room for a waiting pod, or (-1) does no more."""
        amounts = dict(shape.request)
        self.touched.append(group.queue)
        for queue in self.line(group.queue):
            _add(self.allocated(queue.name), amounts, sign=sign)
            _add(self.held(queue.name), amounts, sign=sign)

    def count_held(self, group: GroupRow, run: Run, *, pods: int) -> None:
        """So many of the placed pods of a run only hold their room."""
        amounts = {name: amount * pods for name, amount in run.shape.request}
        for queue in self.line(group.queue):
            _add(self.held(queue.name), amounts, sign=1)

    def evict(
        self, group: GroupRow, victims: list[PodRow], places: list[tuple[PodRow, int]]
    ) -> None:
        """Committed: these pods make room for the group, whose pods will lie there."""
        self.evicted[group.key] = victims
        self.places[group.key] = places
        self.evicted_uids.update({victim.uid: None for victim in victims})
        self.wake(self.now + FOLLOW_UP_SECONDS)

    def take_over(self, group: GroupRow, lost: list[str]) -> None:
        """Room that was promised to these goes to the group, which has a higher priority."""
        self.taken_over[group.key] = lost
        self.lost_to.update(dict.fromkeys(lost, group.key))
        self.wake(self.now + FOLLOW_UP_SECONDS)

    def count_leaving(self, name: str, freed: Amounts, *, sign: int) -> None:
        """A queue gets back (-1), or has again (1), what pods take of it."""
        self.touched.append(name)
        for queue in self.line(name):
            _add(self.allocated(queue.name), freed, sign=sign)

    def bind(self, group: GroupRow, pod: PodRow, node: str) -> None:
        """Committed."""
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
