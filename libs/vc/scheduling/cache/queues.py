"""Queues, the resources that their groups use, and priority classes."""

from typing import Final

import msgspec

from vc.model.api.keys import HIERARCHY, HIERARCHY_WEIGHTS, OVERUSE_TOLERANCE
from vc.model.api.scheduling import PriorityClass, Queue
from vc.model.queue_access import allow_list, honors_non_preemptable
from vc.model.values.bounded import read_decimal
from vc.model.values.resources import Resources
from vc.scheduling.cache.queue_access import QueueAccess
from vc.scheduling.cache.snapshot import QueueUse
from vc.scheduling.cache.support import unsupported_in_queue
from vc.scheduling.model.amounts import Problems, read_amounts
from vc.scheduling.model.pod_group_status import read_time
from vc.scheduling.model.queue_ancestors import misplaced
from vc.scheduling.model.rows import QueueRow

TOLERANCE_MAX: Final = 1_000_000
PATH_MAX: Final = 32
"""The maximum number of steps of a hierarchy path."""
WEIGHT_MAX: Final = 1_000_000.0


class QueueTableBuilder:
    """Rows per queue, and sums per queue name. The sums are kept even if the queue does not exist."""

    def __init__(self) -> None:
        self._rows: dict[str, QueueRow] = {}
        self._misplaced: dict[str, str] | None = None
        """The problem of each queue with an invalid parent; None after a queue changed, until it is
        computed again."""
        self._table: dict[str, QueueRow] = {}
        """The rows that sessions get, sorted by name; computed together with the problems."""
        self._use: dict[str, QueueUse] = {}
        self.priorities: dict[str, int] = {}
        self._global_defaults: dict[str, int] = {}
        self.never_preempting: dict[str, None] = {}
        self.access = QueueAccess()

    def put(self, queue: Queue, *, gone: bool) -> tuple[str, bool]:
        """Apply a queue. Returns its problem, and whether a session could decide differently."""
        name = queue.metadata.name
        before = self._rows.get(name)
        # Any change of a queue may affect the ancestors of other queues.
        self._misplaced = None
        listed = self.access.put_queue(queue, gone=gone)
        if gone:
            self._rows.pop(name, None)
            return "", before is not None
        row = self._rows[name] = _row(queue)
        problem = row.problem or _odd_annotations(queue, row)
        return problem, listed or before is None or _decides(before) != _decides(row)

    def put_priority(self, priority: PriorityClass, *, gone: bool) -> bool:
        """Apply a priority class. Returns whether a session could decide differently."""
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
        """The priority of groups without a class; the highest, if there are several global defaults."""
        return max(self._global_defaults.values(), default=0)

    def add_use(self, queue: str, use: QueueUse) -> None:
        """Add the resources that a group uses."""
        total = self._use.setdefault(queue, QueueUse())
        _add(total, use, times=1)

    def remove_use(self, queue: str, use: QueueUse) -> None:
        """Remove the resources that a group used."""
        _add(self._use[queue], use, times=-1)

    def table(self) -> dict[str, QueueRow]:
        """A copy, sorted by name. Queues with an invalid parent are included, without their guarantee."""
        self.misplaced()
        return dict(self._table)

    def misplaced(self) -> dict[str, str]:
        """The problem of each queue with an invalid parent; computed again only after a queue changed."""
        if self._misplaced is None:
            found = self._misplaced = misplaced({n: row.parent for n, row in self._rows.items()})
            self._table = {
                name: _left_out(self._rows[name], found[name])
                if name in found
                else self._rows[name]
                for name in sorted(self._rows)
            }
        return self._misplaced

    def use(self) -> dict[str, QueueUse]:
        """A copy, sorted by name."""
        return {
            # Sorted, because the order of additions depends on the order of events.
            name: QueueUse(
                allocated=Resources(sorted(use.allocated.items())),
                enqueued=Resources(sorted(use.enqueued.items())),
                elastic=Resources(sorted(use.elastic.items())),
                reserved=Resources(sorted(use.reserved.items())),
            )
            for name, use in sorted(self._use.items())
        }


def _left_out(row: QueueRow, problem: str) -> QueueRow:
    """An invalid queue must not withhold resources from others."""
    return msgspec.structs.replace(row, problem=row.problem or problem, guarantee=())


def _row(queue: Queue) -> QueueRow:
    problems = Problems()
    spec = queue.spec
    path, weights = _path(queue)
    capability = tuple(sorted(read_amounts(spec.capability, problems).items()))
    guarantee = tuple(sorted(read_amounts(spec.guarantee.resource, problems).items()))
    deserved = tuple(sorted(read_amounts(spec.deserved, problems).items()))
    return QueueRow(
        name=queue.metadata.name,
        uid=queue.metadata.uid,
        state=queue.status.state,
        weight=max(1, spec.weight),
        priority=spec.priority,
        created=read_time(queue.metadata.creation_timestamp),
        parent=spec.parent,
        capability=capability,
        guarantee=guarantee if not str(problems) else (),  # must not withhold resources
        deserved=deserved,
        reclaimable=spec.reclaimable is not False,
        fifo=spec.dequeue_strategy == "fifo",
        tolerance=_tolerance(queue),
        honors_non_preemptable=honors_non_preemptable(queue.metadata.annotations),
        path=path,
        path_weights=weights,
        # The status is overwritten anyway, so an unreadable one is not reported as a problem.
        allocated_status=tuple(sorted(read_amounts(queue.status.allocated, Problems()).items())),
        problem=str(problems),
        unsupported=unsupported_in_queue(queue),
    )


def _decides(row: QueueRow) -> tuple[object, ...]:
    """The fields that affect decisions. A change of others, such as the status, opens no session."""
    said = (
        row.honors_non_preemptable,
        row.capability,
        row.guarantee,
        row.deserved,
        row.reclaimable,
        row.tolerance,
        row.fifo,
    )
    return (
        row.path,
        row.path_weights,
        row.uid,
        row.open,
        row.weight,
        row.priority,
        row.parent,
        row.problem,
        row.unsupported,
        *said,
    )


def _path(queue: Queue) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The hierarchy path and its weights; empty if they are invalid or do not match."""
    annotations = queue.metadata.annotations
    steps = [step.strip() for step in annotations.get(HIERARCHY, "").split("/")]
    written = annotations.get(HIERARCHY_WEIGHTS, "")
    given = [read_decimal(weight.strip()) for weight in written.split("/")] if written else [1.0]
    # Without weights every step has weight 1.
    given *= 1 if written else len(steps)
    weights = [round(min(weight, WEIGHT_MAX) * 1000) for weight in given if weight is not None]
    if not all(steps) or len(weights) != len(steps) or len(steps) > PATH_MAX or min(weights) < 1:
        return (), ()
    return tuple(steps), tuple(weights)


def _odd_annotations(queue: Queue, row: QueueRow) -> str:
    """The annotations that are ignored as invalid. The queue itself stays usable."""
    annotations = queue.metadata.annotations
    odd: list[str] = []
    if annotations.get(HIERARCHY) and not row.path:
        odd.append(f"{HIERARCHY} and {HIERARCHY_WEIGHTS} need as many steps as weights above 0")
    tolerance = annotations.get(OVERUSE_TOLERANCE, "")
    if tolerance and not _is_fraction(tolerance):
        odd.append(f"{OVERUSE_TOLERANCE} {tolerance[:64]!r} is not a fraction of 0 or more")
    allowed = allow_list(annotations)
    if allowed is not None and allowed.problem:
        odd.append(f"no namespace is selected: {allowed.problem}")
    return "; ".join(odd)


def _is_fraction(written: str) -> bool:
    return read_decimal(written.strip(), least=0) is not None


def _tolerance(queue: Queue) -> int:
    """The overuse tolerance in thousandths; 0 if it is not a fraction of 0 or more."""
    written = queue.metadata.annotations.get(OVERUSE_TOLERANCE, "")
    fraction = read_decimal(written.strip(), least=0)
    return 0 if fraction is None else round(min(fraction, TOLERANCE_MAX / 1000) * 1000)


def _add(total: QueueUse, use: QueueUse, *, times: int) -> None:
    for sum_, amounts in (
        (total.allocated, use.allocated),
        (total.enqueued, use.enqueued),
        (total.elastic, use.elastic),
        (total.reserved, use.reserved),
    ):
        sum_.add(amounts, times=times)
        # Zero entries are removed, so that the sums do not depend on the history.
        sum_.drop_zeros()
