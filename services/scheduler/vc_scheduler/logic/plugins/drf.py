"""drf: of two jobs of a queue, the one with the smaller dominant share goes first (behaviour.md 5.7).

With `enablePreemptable: true` written, a job that waits also takes the room of jobs of equal priority, as
long as it has no more than they then (`actions/equals.py`). Unwritten it is off, as in Volcano's chart.

With `enableHierarchy: true` queues are ordered, and deserve, along the paths that their annotations
`volcano.sh/hierarchy` and `volcano.sh/hierarchy-weights` write: see `hdrf`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.conf import HIERARCHY
from vc_scheduler.logic.framework import OrderKey
from vc_scheduler.logic.plugins.hdrf import Paths
from vc_scheduler.logic.rows import GroupRow, QueueRow
from vc_scheduler.logic.shares import SHARE_POINTS

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session


_FINE: Final = 10**12
"""A share of 1 where shares are told apart by `_EVEN`."""
_EVEN: Final = 10**6
"""Shares that differ by no more than a millionth are even."""


class Drf:
    """Job order by the largest part of the cluster that a job has of any resource."""

    name: ClassVar[str] = "drf"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments  # it takes none

    def job_key(self, session: "Session", group: GroupRow) -> OrderKey:
        return (dominant_share(session, session.group_allocated(group), points=SHARE_POINTS),)

    def yields(self, session: "Session", *, taker: Amounts, giver: Amounts) -> bool:
        """Who takes has no more than who gives then."""
        shares = [dominant_share(session, has, points=_FINE) for has in (taker, giver)]
        return shares[0] - shares[1] <= _EVEN


class HierarchicalDrf(Drf):
    """And queue order along their paths, top down."""

    def __init__(self, arguments: Mapping[str, str]) -> None:
        super().__init__(arguments)
        self._paths: Paths | None = None

    def _known(self, session: "Session") -> Paths:
        if self._paths is None:
            self._paths = Paths(session)
        return self._paths

    def queue_key(self, session: "Session", queue: QueueRow) -> OrderKey:
        return self._known(session).key(queue)

    def deserved(self, session: "Session") -> Mapping[str, Amounts]:
        return self._known(session).deserved()


def dominant_share(session: "Session", has: Amounts, *, points: int) -> int:
    """The largest part of the cluster in any resource; all of it where the cluster has none."""
    most = 0
    for name, amount in has.items():
        total = session.cluster_amounts(name)[0]
        most = max(most, amount * points // total if total else points * (amount > 0))
    return most


def make_drf(arguments: Mapping[str, str]) -> Drf:
    """The plugin that the configuration asks for."""
    return HierarchicalDrf(arguments) if arguments.get(HIERARCHY) == "true" else Drf(arguments)
