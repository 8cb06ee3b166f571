"""priority: jobs of a higher priority class come first."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vc.scheduling.framework.order_points import OrderKey
from vc.scheduling.model.rows import GroupRow, Run

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session


class PriorityPlugin:
    """Orders jobs and tasks by the value of their priority class."""

    name: ClassVar[str] = "priority"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments  # the plugin has no arguments

    def task_order_key(self, session: "Session", group: GroupRow, run: Run) -> OrderKey:
        del session, group
        return (-run.priority,)

    def job_starving(self, session: "Session", group: GroupRow) -> bool:
        """Whether some pods of the job are not placed.

        Without the answer of the gang plugin, a job above its minimum may also preempt in order to
        grow.
        """
        held = group.key in session.reservations.partial  # a partial reservation still waits
        return held or any(session.waiting_pods(run) for run in group.runs)

    def job_order_key(self, session: "Session", group: GroupRow) -> OrderKey:
        return (-session.priority(group),)
