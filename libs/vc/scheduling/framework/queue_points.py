"""Extension points that decide on queues: overused, allocatable, deserved shares and reclaim."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from vc.messages.sessions import Reason
from vc.scheduling.framework.extension_point import Combine, ConfiguredPlugins, ExtensionPoint
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.rows import GroupRow, QueueRow
from vc.scheduling.model.shapes import Shape

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session

Ancestors = Sequence[QueueRow]
"""A queue followed by its ancestors."""


class Overused(Protocol):
    """Whether a queue may start no further pods."""

    def overused_refusal(self, session: "Session", queue: QueueRow) -> Reason | None: ...


class Allocatable(Protocol):
    """Whether the queue of a job may run more of its pods."""

    def allocatable_refusal(
        self, session: "Session", group: GroupRow, *, shape: Shape, count: int
    ) -> Reason | None: ...


class FlatQueueLimits(Protocol):
    """Whether only the queue's own capability limits it (True), or its ancestors' as well."""

    def flat_queue_limits(self) -> bool: ...


class DeservedShares(Protocol):
    """The deserved resources of queues, on which reclaim is based."""

    def deserved_shares(self, session: "Session") -> Mapping[str, Amounts]:
        """The deserved resources by queue, including parent queues."""
        ...


class ReclaimRule(Protocol):
    """The reclaim rule for one claimant queue and the amounts that a job of it needs."""

    def may_reclaim(self) -> bool:
        """Whether the claimant queue may reclaim anything for this job."""
        ...

    def may_reclaim_from(self, victim: Ancestors) -> bool:
        """Whether it may reclaim from a queue, which is given with its ancestors."""
        ...

    def permits(self, rows: Ancestors, has: Mapping[str, Amounts], freed: Amounts) -> bool:
        """Whether the victim queues `rows` may lose the amounts `freed`.

        `rows` are a queue and its ancestors that are not ancestors of the claimant; `has` is what
        each of them has now. Only the names of the needed resources matter, not their amounts. Pods
        that are refused one by one are also refused together, and when the queues have less.
        """
        ...

    def proximity(self, victim: Ancestors) -> int:
        """Return how close the queue is to the claimant; closer queues are tried first."""
        ...

    def surplus(self, row: QueueRow) -> Amounts:
        """Return an upper bound of what can be reclaimed from a queue."""
        ...

    def claimable(self, surplus: Amounts) -> Amounts:
        """Return an upper bound of what the claimant may add to its allocated and enqueued amounts."""
        ...


class QueueReclaim(Protocol):
    """The reclaim rule of a plugin that also defines the deserved shares."""

    def queue_reclaim_rule(
        self, session: "Session", queue: str, needed: Amounts
    ) -> ReclaimRule: ...


OVERUSED: Final = ExtensionPoint[Overused](Overused, Combine.FIRST_REFUSAL, "overused", opt_in=True)
ALLOCATABLE: Final = ExtensionPoint[Allocatable](Allocatable, Combine.FIRST_REFUSAL, "allocatable")
FLAT_QUEUE_LIMITS: Final = ExtensionPoint[FlatQueueLimits](
    FlatQueueLimits, Combine.FIRST_PLUGIN, "allocatable"
)
DESERVED_SHARES: Final = ExtensionPoint[DeservedShares](
    DeservedShares, Combine.FIRST_PLUGIN, "reclaimable"
)
# The same method under a second switch: Volcano's Preemptive limits a claimant to its share.
PREEMPTIVE: Final = ExtensionPoint[DeservedShares](DeservedShares, Combine.ANY_AGREES, "preemptive")
QUEUE_RECLAIM: Final = ExtensionPoint[QueueReclaim](
    QueueReclaim, Combine.FIRST_PLUGIN, "reclaimable"
)


class QueuePoints:
    """Decisions on queues over all plugins of a configuration."""

    def __init__(self, plugins: ConfiguredPlugins) -> None:
        self._overused = plugins.all(OVERUSED)
        self.overused_enabled = bool(self._overused)
        """Whether a queue may have to stop between two pods of a job."""
        self._allocatable = plugins.all(ALLOCATABLE)
        limits = plugins.first(FLAT_QUEUE_LIMITS)
        self.flat_limits = None if limits is None else limits.flat_queue_limits()
        """Whether ancestors do not limit a queue; None if no plugin limits queues."""
        self.shares = plugins.first(DESERVED_SHARES)
        self.preemptive = bool(plugins.all(PREEMPTIVE))
        """Whether a queue may reclaim only up to what it deserves."""
        # The rule belongs to the shares: a rule of another plugin would compare amounts with shares
        # that it did not compute.
        shares: object = self.shares
        rules = [rule for rule in plugins.all(QUEUE_RECLAIM) if rule is shares]
        self.reclaim = rules[0] if rules else None
        """The plugin of `shares`, if it has a reclaim rule of its own."""

    def overused_refusal(self, session: "Session", queue: QueueRow) -> Reason | None:
        """Why a queue may start no further pods; None if it may."""
        for plugin in self._overused:
            reason = plugin.overused_refusal(session, queue)
            if reason is not None:
                return reason
        return None

    def allocatable_refusal(
        self, session: "Session", group: GroupRow, *, shape: Shape, count: int
    ) -> Reason | None:
        """Why the queue of a job may not run `count` more of its pods; None if it may."""
        for plugin in self._allocatable:
            reason = plugin.allocatable_refusal(session, group, shape=shape, count=count)
            if reason is not None:
                return reason
        return None
