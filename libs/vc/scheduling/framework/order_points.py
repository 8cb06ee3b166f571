"""Extension points that order queues, jobs and the tasks of a job."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from vc.scheduling.framework.extension_point import Combine, ConfiguredPlugins, ExtensionPoint
from vc.scheduling.model.rows import GroupRow, QueueRow, Run

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session

OrderKey = tuple[Any, ...]
"""A sort key, compared only with keys of the same plugin; smaller comes first."""


class QueueOrder(Protocol):
    """Which queue comes first; evaluated again after each job."""

    def queue_order_key(self, session: "Session", queue: QueueRow) -> OrderKey: ...


class JobOrder(Protocol):
    """Which job of a queue comes first."""

    def job_order_key(self, session: "Session", group: GroupRow) -> OrderKey: ...


class TaskOrder(Protocol):
    """Which pods of a job come first."""

    def task_order_key(self, session: "Session", group: GroupRow, run: Run) -> OrderKey: ...


QUEUE_ORDER: Final = ExtensionPoint[QueueOrder](QueueOrder, Combine.SORT_KEY, "queueorder")
JOB_ORDER: Final = ExtensionPoint[JobOrder](JobOrder, Combine.SORT_KEY, "joborder")
TASK_ORDER: Final = ExtensionPoint[TaskOrder](TaskOrder, Combine.SORT_KEY, "taskorder")


class OrderPoints:
    """The order of queues, jobs and tasks over all plugins of a configuration."""

    def __init__(self, plugins: ConfiguredPlugins) -> None:
        self._queue_order = plugins.all(QUEUE_ORDER)
        self._job_order = plugins.all(JOB_ORDER)
        self._task_order = plugins.all(TASK_ORDER)

    def queue_order_key(self, session: "Session", queue: QueueRow) -> OrderKey:
        """The keys of the plugins in tier order, then creation time, then uid. The order is total."""
        keys = [plugin.queue_order_key(session, queue) for plugin in self._queue_order]
        # The last elements break all ties, so that a replay sorts the same way.
        return (*keys, queue.created, queue.uid, queue.name)

    def job_order_key(self, session: "Session", group: GroupRow) -> OrderKey:
        """The keys of the plugins in tier order, then creation time, then uid. The order is total."""
        keys = [plugin.job_order_key(session, group) for plugin in self._job_order]
        return (*keys, group.created, group.uid, group.key)

    def in_task_order(
        self, session: "Session", group: GroupRow, runs: Sequence[Run]
    ) -> tuple[Run, ...]:
        """Runs in task order. Ties are broken by task and index, so the order is total."""
        # Most jobs have one run, for which no keys are needed.
        if len(runs) < 2:
            return tuple(runs)
        # The position breaks ties, so that runs themselves are never compared.
        keyed = sorted((self._task_key(session, group, run), at) for at, run in enumerate(runs))
        return tuple(runs[at] for _, at in keyed)

    def _task_key(self, session: "Session", group: GroupRow, run: Run) -> OrderKey:
        keys = [plugin.task_order_key(session, group, run) for plugin in self._task_order]
        return (*keys, (run.task, run.pods[0].index, run.pods[0].name))
