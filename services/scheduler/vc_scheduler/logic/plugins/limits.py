"""Nobody beyond its capability, nor into what siblings are guaranteed; for proportion and capacity."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from vc_messages.sessions import Reason
from vc_scheduler.logic import reasons
from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.recoverable import preemptable
from vc_scheduler.logic.rows import GroupRow, QueueRow
from vc_scheduler.logic.shapes import Shape

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session


Line = Sequence[QueueRow]
"""A queue and those above it."""


class Limits:
    """Checks along a queue's line."""

    def __init__(self, limits: Mapping[str, Amounts], *, flat: bool = False) -> None:
        self._limits = limits
        self._flat = flat

    def _line(self, session: "Session", queue: str) -> list[QueueRow]:
        """Without hierarchy the queue alone."""
        return session.line(queue)[: 1 if self._flat else None]

    def refuse_enqueue(self, session: "Session", group: GroupRow) -> Reason | None:
        """minResources beside what is allocated and promised; lower priorities can make room."""
        needed = group.charged_minimum
        line = self._line(session, group.queue)
        taken = {row.name: session.committed(row.name) for row in line}
        if self._holds(line, needed, taken):
            return None
        freed = preemptable(session, group)
        lower = {
            name: {n: amount - freed.get(n, 0) for n, amount in amounts.items()}
            for name, amounts in taken.items()
        }
        if self._holds(line, needed, lower):
            return None
        return self._reason(line, needed, taken)

    def refuse_pods(
        self, session: "Session", group: GroupRow, *, shape: Shape, count: int
    ) -> Reason | None:
        """`count` pods beside what is allocated."""
        needed = {name: amount * count for name, amount in shape.request}
        line = self._line(session, group.queue)
        taken = {row.name: session.allocated(row.name) for row in line}
        if not self._holds(line, needed, taken):
            return self._reason(line, needed, taken)
        return session.guarantees.refuse(group.queue, needed)

    def _holds(self, line: Line, needed: Amounts, taken: Mapping[str, Amounts]) -> bool:
        return not any(_over(needed, self._left(row, taken)) for row in line)

    def _left(self, row: QueueRow, taken: Mapping[str, Amounts]) -> Amounts:
        has = taken[row.name]
        return {name: most - has.get(name, 0) for name, most in self._limits[row.name].items()}

    def _reason(self, line: Line, needed: Amounts, taken: Mapping[str, Amounts]) -> Reason:
        """Names the queue whose capability must be raised: its own, or one above it.

        A queue's limit is not only its capability: what is left above it may be kept for others.
        """
        for row in line:
            has = taken[row.name]
            own = {name: most - has.get(name, 0) for name, most in row.capability}
            if _over(needed, own):
                return reasons.over_capability(row.name, needed, own)
        for at, row in enumerate(line):
            for name, left in self._left(row, taken).items():
                if name in needed and needed[name] > left:
                    above = [r.name for r in line[at + 1 :] if self._binds(r, name)]
                    return reasons.guaranteed(
                        above[0] if above else "", name, needed=needed[name], available=left
                    )
        raise AssertionError("a queue that holds it was asked why it does not")

    def _binds(self, row: QueueRow, resource: str) -> bool:
        """Whether its own capability is its limit: what is above it may leave it less than that."""
        most = dict(row.capability).get(resource)
        return most is not None and most == self._limits[row.name].get(resource)


def _over(needed: Amounts, available: Amounts) -> bool:
    return any(name in available and amount > available[name] for name, amount in needed.items())
