"""drf: of two jobs of a queue, the one with the smaller dominant share goes first."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vc_scheduler.logic.framework import OrderKey
from vc_scheduler.logic.rows import GroupRow
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
