"""drf: within a queue, the job with the smaller dominant share comes first (docs/behaviour.md 5.7).

With `enablePreemptable: true` a starving job may also preempt surplus pods of jobs of equal
priority, as long as its share does not exceed theirs afterwards
(`actions/preempt/equal_priority.py`). The switch is off by default, as in Volcano's chart.

With `enableHierarchy: true` the annotations `volcano.sh/hierarchy` and
`volcano.sh/hierarchy-weights` of queues form a tree that decides queue order and deserved shares:
see `hierarchy`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from vc.scheduling.conf.model import HIERARCHY
from vc.scheduling.framework.order_points import OrderKey
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.rows import GroupRow, QueueRow
from vc.scheduling.plugins.drf.hierarchy import Paths
from vc.scheduling.plugins.queue_shares.tree import SHARE_POINTS

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session


_FINE: Final = 10**12
"""A share of 1 in fixed point, where `_EVEN` decides whether two shares are equal."""
_EVEN: Final = 10**6
"""Shares that differ by at most one millionth are equal."""


class Drf:
    """Orders jobs by dominant share: their largest part of the cluster in any resource."""

    name: ClassVar[str] = "drf"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments  # the plugin has no arguments

    def job_order_key(self, session: "Session", group: GroupRow) -> OrderKey:
        return (dominant_share(session, session.group_allocated(group), points=SHARE_POINTS),)

    def equal_priority_preemptable(
        self, session: "Session", *, preemptor: Amounts, victim: Amounts
    ) -> bool:
        """Whether, after the preemption, the preemptor's share is at most the victim's."""
        shares = [dominant_share(session, has, points=_FINE) for has in (preemptor, victim)]
        # Shares that differ by rounding only count as equal, and equal shares are fair.
        return shares[0] - shares[1] <= _EVEN


class HierarchicalDrf(Drf):
    """Also orders queues along their annotated paths, from the top down."""

    def __init__(self, arguments: Mapping[str, str]) -> None:
        super().__init__(arguments)
        self._paths: Paths | None = None

    def _known(self, session: "Session") -> Paths:
        if self._paths is None:
            self._paths = Paths(session)
        return self._paths

    def queue_order_key(self, session: "Session", queue: QueueRow) -> OrderKey:
        return self._known(session).key(queue)

    def deserved_shares(self, session: "Session") -> Mapping[str, Amounts]:
        return self._known(session).deserved()


def dominant_share(session: "Session", has: Amounts, *, points: int) -> int:
    """Return the largest part of the cluster that `has` uses of any resource.

    Use of a resource that the cluster does not have counts as the whole cluster.
    """
    most = 0
    for name, amount in has.items():
        total = session.cluster_amounts(name)[0]
        most = max(most, amount * points // total if total else points * (amount > 0))
    return most


def make_drf(arguments: Mapping[str, str]) -> Drf:
    """Return the variant of the plugin that the arguments select."""
    return HierarchicalDrf(arguments) if arguments.get(HIERARCHY) == "true" else Drf(arguments)
