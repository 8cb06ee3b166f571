"""The working state of one session: the snapshot, the decisions made so far, and their sums.

Actions and plugins read the session; statements change it; nothing in it outlives the session. Each
part of the state is an object of its own, changed only by its own methods: queue accounts
(`queue_accounts.py`), placed pods (`placed_pods.py`), decisions (`decided.py`) and reservations
(`reservations/state.py`). Caches belong to the modules that use them (`Session.cached`).
Where order matters, iteration follows a total order.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar, cast

from vc.messages.sessions import Reason
from vc.model.values.resources import Resources
from vc.scheduling.cache.pod_groups import use_of
from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.framework.framework import Framework
from vc.scheduling.model.deadlines import Deadlines
from vc.scheduling.model.node_table import Filtered
from vc.scheduling.model.rows import INQUEUE, PENDING, GroupRow, PodRow, Run
from vc.scheduling.model.shapes import Shape
from vc.scheduling.model.volume_rows import ClaimChoice
from vc.scheduling.reservations.state import Reservations
from vc.scheduling.session.cluster_totals import ClusterTotals
from vc.scheduling.session.decided import DecidedSoFar
from vc.scheduling.session.enqueue_claim import bounded_claim, claimed
from vc.scheduling.session.node_capacity import NodeCapacity
from vc.scheduling.session.placed_pods import PlacedPods
from vc.scheduling.session.pod_affinity import PodAffinity
from vc.scheduling.session.queue_accounts import QueueAccounts
from vc.scheduling.session.volumes import Claims

FOLLOW_UP_SECONDS: Final = 1.0
"""Delay until the session after an eviction or a take-over, even without an event. Queues no longer
count the victims then, so other jobs may be enqueued, and timers that start with the eviction are
registered."""

T = TypeVar("T")


class Session:
    """What is known and decided so far in one session."""

    def __init__(self, snapshot: Snapshot, framework: Framework, now: float) -> None:
        self.snapshot = snapshot
        self.framework = framework
        self.now = now
        self.node_capacity = NodeCapacity(snapshot.nodes, framework, snapshot.images)
        claims = Claims(snapshot.volumes, snapshot.nodes)
        self.pod_affinity = PodAffinity(snapshot.pod_affinity, snapshot.nodes.static, claims)
        self.accounts = QueueAccounts(snapshot.queues, snapshot.use)
        self.placed = PlacedPods()
        self.decided = DecidedSoFar()
        self.reservations = Reservations()
        self.totals = ClusterTotals(snapshot.nodes)
        self.refused: dict[str, Reason] = {}
        """The reason of each group that was refused; later actions do not try these groups again."""
        self._phases: dict[str, str] = {}
        """Phases that this session changed, by group."""
        self._deadlines = Deadlines(now=now)
        self._deadlines.add(snapshot.next_expiry)
        self._cached: dict[object, Any] = {}

    def cached(self, make: Callable[["Session"], T]) -> T:
        """The result of `make(session)`, computed once per session.

        A module keeps what it caches in a class (or function result) of its own, and passes that
        class here. So a cache ends with its session, and the session does not know it.
        """
        known = self._cached.get(make)
        if known is None:
            known = self._cached[make] = make(self)
        return cast("T", known)

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
        """Move a group to Inqueue; its minResources count as enqueued unless they can never be
        satisfied."""
        self._phases[group.key] = INQUEUE
        self.decided.enqueue(group, bounded_claim(self, group))
        self.accounts.count_enqueued(group.queue, claimed(self, group))

    def send_back(self, group: GroupRow, reason: Reason) -> None:
        """Return a group to Pending with a reason, and release its enqueued resources."""
        self.refuse(group, reason)
        self.withdraw(group)

    def withdraw(self, group: GroupRow) -> None:
        """Count a group as Pending, without enqueued resources, until it is enqueued again."""
        self._phases[group.key] = PENDING
        released = {name: -amount for name, amount in use_of(group).enqueued.items()}
        self.accounts.count_enqueued(group.queue, released)

    def priority(self, group: GroupRow) -> int:
        """The lower of the priority of the group's class (or the global default) and that of its
        pods: a user who may write a PodGroup may not be entitled to its class, but the creator of
        pods is entitled to theirs."""
        own = self.snapshot.priorities.default
        if group.priority_class:
            own = self.snapshot.priorities.values.get(group.priority_class, 0)
        return own if group.pods_priority is None else min(own, group.pods_priority)

    def starving(self, group: GroupRow) -> bool:
        """Whether the group lacks its minimum and this scheduler is responsible for it."""
        return (
            not group.foreign
            and not self.decided.binds.get(group.key)
            and bool(self.framework.jobs.missing(group))
        )

    def waiting_pods(self, run: Run) -> tuple[PodRow, ...]:
        """The pods of a run that are not placed yet."""
        return self.placed.waiting(run)

    def bound_now(self, group: GroupRow) -> int:
        """The number of the group's pods that this session binds."""
        return len(self.decided.binds.get(group.key, ()))

    def refuse(self, group: GroupRow, reason: Reason) -> None:
        """Refuse a group for the rest of the session, with this reason."""
        self.refused[group.key] = reason

    def group_allocated(self, group: GroupRow) -> Resources:
        """Resources allocated to a group, including placements of this session."""
        return Resources(group.allocated) + self.placed.amounts(group)

    def beside(self, pod: PodRow) -> Filtered:
        """The nodes allowed for one pod, given all pods placed so far."""
        return self.framework.nodes.pod_filtered(
            self.pod_affinity, pod, self.node_capacity.filtered(pod.shape)
        )

    # -- the cluster -----------------------------------------------------------------------------

    def cluster_amounts(self, resource: str) -> tuple[int, int]:
        """Allocatable and, as of the start of the session, used amounts, summed over ready nodes."""
        return self.totals.amounts(resource)

    def shared_amount(self, resource: str) -> int:
        """What queues share: allocatable on ready nodes, minus the resources of pods without a
        queue."""
        unowned = self.accounts.unowned.get(resource, 0)
        return max(0, self.totals.amounts(resource)[0] - unowned)

    # -- placements, for statements --------------------------------------------------------------

    def count_placed(self, group: GroupRow, run: Run, *, pods: int) -> None:
        """Count pods of a run as placed, or with a negative number as no longer placed."""
        request = run.shape.request
        amounts = {name: amount * pods for name, amount in request}
        # The queue is charged for what the counts say before these pods are added to them.
        charged = self.placed.charged(group, run.shape, pods)
        self.placed.count(group, run, amounts, pods=pods)
        # Pods with a reservation are already in the allocation of the queue. Only the others are
        # added, and the reservation of the former ends.
        if charged == pods:
            self.accounts.count_placed(group.queue, amounts, None)
            return
        added = {name: amount * charged for name, amount in request}
        had = {name: amount * (pods - charged) for name, amount in request}
        self.accounts.count_placed(group.queue, added, had)

    def charged(self, group: GroupRow, shape: Shape, pods: int) -> int:
        """The part of `pods` for which the queue needs quota that is not reserved yet."""
        return self.placed.charged(group, shape, pods)

    def mark_reserved(self, group: GroupRow, run: Run, *, pods: int) -> None:
        """Mark so many placed pods of a run as reserved only; with a negative number, undo it."""
        amounts = {name: amount * pods for name, amount in run.shape.request}
        self.accounts.mark_reserved(group.queue, amounts)

    def evict(self, group: GroupRow, victims: list[PodRow]) -> None:
        """Commit evictions for a group."""
        self.decided.evict(group, victims)
        self.wake(self.now + FOLLOW_UP_SECONDS)

    def await_claims(self, group: GroupRow, choices: Iterable[ClaimChoice], reason: Reason) -> None:
        """Reserve the placements of a group until its claims are bound, and write the choices.

        The reservation is recorded so that later actions neither evict for the group nor try it
        again.
        """
        self.decided.choose_volumes(choices)
        self.reservations.wait(group, reason)
        self.refuse(group, reason)
