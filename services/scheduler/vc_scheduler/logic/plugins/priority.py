"""priority: jobs of a higher priority class go first."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vc_scheduler.logic.framework import OrderKey
from vc_scheduler.logic.rows import GroupRow, Run

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session


class Priority:
    """Job order by the value of the group's priority class."""

    name: ClassVar[str] = "priority"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments  # it takes none

    def task_key(self, session: "Session", group: GroupRow, run: Run) -> OrderKey:
        del session, group
        return (-run.priority,)

    def starves(self, session: "Session", group: GroupRow) -> bool:
        """Some of its pods lie nowhere: without gang's word jobs have others evicted to grow, too."""
        held = group.key in session.parts  # what only holds room waits, too
        return held or any(session.waiting_pods(run) for run in group.runs)

    def job_key(self, session: "Session", group: GroupRow) -> OrderKey:
        return (-session.priority(group),)
