"""Queues, what their groups take, and priority classes."""

from typing import Final

from vc_model.keys import OVERUSE_TOLERANCE
from vc_model.scheduling import PriorityClass, Queue
from vc_scheduler.logic.amounts import Amounts, Problems, read_amounts
from vc_scheduler.logic.groups import read_time
from vc_scheduler.logic.rows import QueueRow
from vc_scheduler.logic.snapshot import QueueUse

TOLERANCE_MAX: Final = 1_000_000


class QueueColumns:
    """Rows per queue; sums per queue name, kept whether the queue exists or not."""

    def __init__(self) -> None:
        self._rows: dict[str, QueueRow] = {}
        self._use: dict[str, QueueUse] = {}
        self.priorities: dict[str, int] = {}
        self._global_defaults: dict[str, int] = {}
        self.never_preempting: dict[str, None] = {}

    def put(self, queue: Queue, *, gone: bool) -> tuple[str, bool]:
        """Take a queue in: what is wrong with it, and whether a session could tell the difference."""
        name = queue.metadata.name
        before = self._rows.get(name)
        if gone:
            self._rows.pop(name, None)
            return "", before is not None
        row = self._rows[name] = _row(queue)
        return row.problem, before is None or _decides(before) != _decides(row)

    def put_priority(self, priority: PriorityClass, *, gone: bool) -> bool:
        """Take a priority class in."""
        name = priority.metadata.name
        before = (self.priorities.pop(name, None), self._global_defaults.pop(name, None))
        self.never_preempting.pop(name, None)
        if gone:
            return True
        self.priorities[name] = priority.value
        if priority.preemption_policy == "Never":
            self.never_preempting[name] = None
        if priority.global_default:
            self._global_defaults[name] = priority.value
        return before != (priority.value, self._global_defaults.get(name))

    @property
    def default_priority(self) -> int:
        """Of groups that name no class; the highest, should there be two global defaults."""
        return max(self._global_defaults.values(), default=0)

    def add(self, queue: str, use: QueueUse) -> None:
        """A group takes its part."""
        total = self._use.setdefault(queue, QueueUse())
        _add(total.allocated, use.allocated, sign=1)
        _add(total.promised, use.promised, sign=1)
        _add(total.elastic, use.elastic, sign=1)

    def take_off(self, queue: str, use: QueueUse) -> None:
        """A group gives its part back."""
        total = self._use[queue]
        _add(total.allocated, use.allocated, sign=-1)
        _add(total.promised, use.promised, sign=-1)
        _add(total.elastic, use.elastic, sign=-1)

    def table(self) -> dict[str, QueueRow]:
        """A copy, by name."""
        return {name: self._rows[name] for name in sorted(self._rows)}

    def use(self) -> dict[str, QueueUse]:
        """A copy, by name."""
        return {
            name: QueueUse(
                allocated=dict(sorted(use.allocated.items())),
                promised=dict(sorted(use.promised.items())),
                elastic=dict(sorted(use.elastic.items())),
            )
            for name, use in sorted(self._use.items())
        }


def _row(queue: Queue) -> QueueRow:
    problems = Problems()
    spec = queue.spec
    return QueueRow(
        name=queue.metadata.name,
        uid=queue.metadata.uid,
        state=queue.status.state,
        weight=max(1, spec.weight),
        priority=spec.priority,
        created=read_time(queue.metadata.creation_timestamp),
        parent=spec.parent,
        capability=tuple(sorted(read_amounts(spec.capability, problems).items())),
        guarantee=tuple(sorted(read_amounts(spec.guarantee.resource, problems).items())),
        deserved=tuple(sorted(read_amounts(spec.deserved, problems).items())),
        reclaimable=spec.reclaimable is not False,
        fifo=spec.dequeue_strategy == "fifo",
        tolerance=_tolerance(queue),
        allocated_status=tuple(sorted(read_amounts(queue.status.allocated, Problems()).items())),
        problem=str(problems),
    )


def _decides(row: QueueRow) -> tuple[object, ...]:
    """What a session looks at."""
    said = (row.capability, row.guarantee, row.deserved, row.reclaimable, row.tolerance, row.fifo)
    return (row.uid, row.open, row.weight, row.priority, row.parent, row.problem, *said)


def _tolerance(queue: Queue) -> int:
    """The overuse tolerance in thousandths; what is no fraction of 0 or more counts as none."""
    written = queue.metadata.annotations.get(OVERUSE_TOLERANCE, "")
    try:
        return max(0, min(round(float(written) * 1000), TOLERANCE_MAX)) if written else 0
    except (ValueError, OverflowError):
        return 0


def _add(total: Amounts, amounts: Amounts, *, sign: int) -> None:
    for name, amount in amounts.items():
        left = total.get(name, 0) + sign * amount
        if left:
            total[name] = left
        else:
            total.pop(name, None)
