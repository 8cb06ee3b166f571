"""drf: of two jobs of a queue, the one with the smaller dominant share goes first (behaviour.md 5.7).

With `enableHierarchy: true` queues are ordered, and deserve, along the paths that their annotations
`volcano.sh/hierarchy` and `volcano.sh/hierarchy-weights` write: see `hdrf`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.conf import HIERARCHY
from vc_scheduler.logic.framework import OrderKey
from vc_scheduler.logic.plugins.hdrf import Paths
from vc_scheduler.logic.rows import GroupRow, QueueRow
from vc_scheduler.logic.shares import SHARE_POINTS

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session


class Drf:
    """Job order by the largest part of the cluster that a job has of any resource."""

    name: ClassVar[str] = "drf"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments  # it takes none

    def job_key(self, session: "Session", group: GroupRow) -> OrderKey:
        shares = [
            amount * SHARE_POINTS // max(1, session.cluster_amounts(name)[0])
            for name, amount in session.group_allocated(group).items()
        ]
        return (max(shares, default=0),)


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


def make_drf(arguments: Mapping[str, str]) -> Drf:
    """The plugin that the configuration asks for."""
    return HierarchicalDrf(arguments) if arguments.get(HIERARCHY) == "true" else Drf(arguments)
