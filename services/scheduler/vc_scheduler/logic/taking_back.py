"""Which queue may take back what, and which queue gives: the rules of reclaim.

`ByAll` is that of proportion and of drf along paths: with the job a queue, and each above it up to where the
lines meet, has no more than it deserves of all that the job asks for; who has too much of something that
is needed gives. `ByOne` is that of capacity (behaviour.md 5.7): one resource is enough, and a queue gives
while it has too much of any resource that the victim uses. Resources that a queue does not list it does
not deserve, and pods that use none of those it lists can go at once.

What no rule decides is the same for all and asked in `actions/reclaim.py`: whether a queue is reclaimable,
and that it keeps what it is guaranteed.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.rows import QueueRow

if TYPE_CHECKING:
    from vc_scheduler.logic.framework import Shares
    from vc_scheduler.logic.session import Session

Line = Sequence[QueueRow]
"""A queue and those above it."""


class TakingBack(Protocol):
    """For one queue, and what a job of it needs."""

    def may_take(self) -> bool:
        """Whether the queue may take anything back for this job."""
        ...

    def may_ask(self, theirs: Line) -> bool:
        """Whether it may from a queue with this line."""
        ...

    def gives(self, rows: Line, has: Mapping[str, Amounts], freed: Amounts) -> bool:
        """Whether so much may go from queues of a line that are not above ours, who have this now.

        Of what the job needs it counts which resources, not how much. Who gives none of some pods gives
        them neither together nor with less.
        """
        ...

    def nearness(self, theirs: Line) -> int:
        """Nearer queues are asked before others."""
        ...

    def spare(self, row: QueueRow) -> Amounts:
        """The most a queue could give; an upper bound."""
        ...

    def takes(self, spare: Amounts) -> Amounts:
        """What of that the queue may have beside what it has and was promised; an upper bound."""
        ...


class OwnRule(Protocol):
    """A plugin that says what queues deserve and has a rule of its own."""

    def taking_back(self, session: "Session", queue: str, needed: Amounts) -> TakingBack: ...


def taking_back(shares: "Shares", session: "Session", queue: str, needed: Amounts) -> TakingBack:
    """The rule of the plugin that says what queues deserve."""
    if hasattr(type(shares), "taking_back"):  # asked per job: a runtime protocol would cost more
        own: TakingBack = cast("OwnRule", shares).taking_back(session, queue, needed)
        return own
    return ByAll(session, shares.deserved(session), queue, needed)


class ByAll:
    """All that a job needs is deserved, by its queue and those above it."""

    def __init__(
        self, session: "Session", deserved: Mapping[str, Amounts], queue: str, needed: Amounts
    ) -> None:
        self._session = session
        self._deserved = deserved
        self._needed = needed
        self._line = session.line(queue)
        self._within = {row.name: self._deserves(row) for row in self._line}

    def _deserves(self, row: QueueRow) -> bool:
        fair, has = self._deserved.get(row.name, {}), self._session.allocated(row.name)
        if not fair:
            return (
                row is not self._line[0]
            )  # a queue above that says nothing does not stand in the way
        named = [name for name in self._needed if name in fair]
        return bool(named) and all(has.get(n, 0) + self._needed[n] <= fair[n] for n in named)

    def may_take(self) -> bool:
        return bool(self._line) and self._within[self._line[0].name]

    def may_ask(self, theirs: Line) -> bool:
        shared = {row.name: None for row in theirs}
        return all(within for name, within in self._within.items() if name not in shared)

    def gives(self, rows: Line, has: Mapping[str, Amounts], freed: Amounts) -> bool:
        """Each of them has too much of something that is needed."""
        useful = [name for name in freed if name in self._needed]
        return all(self._exceeds(row, has[row.name], useful) for row in rows)

    def _exceeds(self, row: QueueRow, has: Amounts, names: Sequence[str]) -> bool:
        fair = self._deserved.get(row.name, {})
        return any(has.get(name, 0) > tolerated(row, fair.get(name, 0)) for name in names)

    def nearness(self, theirs: Line) -> int:
        del theirs
        return 0

    def spare(self, row: QueueRow) -> Amounts:
        fair, least = self._deserved.get(row.name, {}), dict(row.guarantee)
        return {
            name: max(0, amount - max(fair.get(name, 0), least.get(name, 0)))
            for name, amount in self._session.allocated(row.name).items()
        }

    def takes(self, spare: Amounts) -> Amounts:
        queue = self._line[0].name
        fair, taken = self._deserved.get(queue, {}), self._session.committed(queue)
        return {
            name: min(amount, max(0, fair.get(name, 0) - taken.get(name, 0)))
            for name, amount in spare.items()
        }


class ByOne:
    """One resource that the queue deserves is enough, or that one of the `level` queues above it does."""

    def __init__(
        self,
        session: "Session",
        deserved: Mapping[str, Amounts],
        queue: str,
        needed: Amounts,
        *,
        level: int,
        flat: bool,
    ) -> None:
        self._session = session
        self._deserved = deserved
        self._needed = needed
        self._flat = flat
        self._level = 0 if flat else level
        self._line = session.line(queue)[: 1 if flat else None]

    def may_take(self) -> bool:
        return any(
            self._deserves_one(row, self._session.allocated(row.name)) for row in self._asking()
        )

    def _asking(self) -> Line:
        """The queues one of which must deserve it."""
        return self._line[: 1 + self._level]

    def _deserves_one(self, row: QueueRow, has: Amounts) -> bool:
        fair = self._deserved.get(row.name, {})
        return any(
            name in fair and has.get(name, 0) + amount <= fair[name]
            for name, amount in self._needed.items()
        )

    def may_ask(self, theirs: Line) -> bool:
        del theirs
        return True

    def gives(self, rows: Line, has: Mapping[str, Amounts], freed: Amounts) -> bool:
        """The queue has too much, and with `level` each one above it; the victim has what is needed."""
        if not any(name in self._needed for name in freed):
            return False
        asked = rows if self._level else rows[:1]
        return all(self._exceeds(row, has[row.name], freed) for row in asked)

    def _exceeds(self, row: QueueRow, has: Amounts, freed: Amounts) -> bool:
        """It has too much of a resource that the victim uses, or lists none of them."""
        fair = self._deserved.get(row.name, {})
        listed = [name for name in freed if name in fair]
        return not listed or any(has.get(n, 0) > tolerated(row, fair[n]) for n in listed)

    def nearness(self, theirs: Line) -> int:
        """How many queues are above both."""
        shared = {row.name: None for row in self._line}
        return 0 if self._flat else sum(row.name in shared for row in theirs)

    def spare(self, row: QueueRow) -> Amounts:
        """Beyond what it deserves, unless its pods may go for another resource."""
        fair, least = self._deserved.get(row.name, {}), dict(row.guarantee)
        has = self._session.allocated(row.name)
        over = [name for name, amount in fair.items() if has.get(name, 0) > tolerated(row, amount)]
        found: Amounts = {}
        for name, amount in has.items():
            kept = 0 if any(other != name for other in over) else fair.get(name, 0)
            found[name] = max(0, amount - max(kept, least.get(name, 0)))
        return found

    def takes(self, spare: Amounts) -> Amounts:
        """All of it, or nothing when no resource is deserved."""
        may = any(
            self._deserves_one(row, self._session.committed(row.name)) for row in self._asking()
        )
        return spare if may else {}


def tolerated(row: QueueRow, fair: int) -> int:
    """What a queue may have before it has too much."""
    return fair * (1000 + row.tolerance) // 1000
