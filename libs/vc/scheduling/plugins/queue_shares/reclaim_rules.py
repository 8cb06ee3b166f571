"""Rules of reclaim: which queue may reclaim, and from which queue.

`ByAll` is the rule of proportion and of hierarchical drf. With the job included, the claimant queue
and each of its ancestors below the common ancestor stay within their deserved share of all
resources that the job requests. A victim queue has more than its deserved share of some needed
resource.

`ByOne` is the rule of capacity (docs/behaviour.md 5.7). One resource within the deserved share is
enough for the claimant. A queue is a victim queue while it exceeds its deserved share of any
resource that the victim uses. A queue deserves nothing of resources that it does not list, so pods
that use only those can always be evicted.

`actions/reclaim` checks what all rules share: whether a queue is reclaimable, and that it keeps its
guarantee.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.rows import QueueRow

if TYPE_CHECKING:
    from vc.scheduling.framework.registry import Shares
    from vc.scheduling.session.session import Session

Line = Sequence[QueueRow]
"""A queue followed by its ancestors."""


class TakingBack(Protocol):
    """The rule for one claimant queue and the amounts that a job of it needs."""

    def may_take(self) -> bool:
        """Whether the claimant queue may reclaim anything for this job."""
        ...

    def may_ask(self, theirs: Line) -> bool:
        """Whether it may reclaim from a queue with these ancestors."""
        ...

    def gives(self, rows: Line, has: Mapping[str, Amounts], freed: Amounts) -> bool:
        """Whether the victim queues `rows` may lose the amounts `freed`.

        `rows` are a queue and its ancestors that are not ancestors of the claimant; `has` is what
        each of them has now. Only the names of the needed resources matter, not their amounts. Pods
        that are refused one by one are also refused together, and when the queues have less.
        """
        ...

    def nearness(self, theirs: Line) -> int:
        """Return how close the queue is to the claimant; closer queues are tried first."""
        ...

    def spare(self, row: QueueRow) -> Amounts:
        """Return an upper bound of what can be reclaimed from a queue."""
        ...

    def takes(self, spare: Amounts) -> Amounts:
        """Return an upper bound of what the claimant may add to its allocated and enqueued amounts."""
        ...


class OwnRule(Protocol):
    """A plugin that defines deserved shares and has its own reclaim rule."""

    def taking_back(self, session: "Session", queue: str, needed: Amounts) -> TakingBack: ...


def taking_back(shares: "Shares", session: "Session", queue: str, needed: Amounts) -> TakingBack:
    """Return the reclaim rule of the plugin that defines the deserved shares."""
    if hasattr(type(shares), "taking_back"):  # cheaper than a runtime protocol
        own: TakingBack = cast("OwnRule", shares).taking_back(session, queue, needed)
        return own
    return ByAll(session, shares.deserved(session), queue, needed)


class ByAll:
    """The queue and its ancestors deserve every resource that the job needs."""

    def __init__(
        self, session: "Session", deserved: Mapping[str, Amounts], queue: str, needed: Amounts
    ) -> None:
        self._session = session
        self._deserved = deserved
        self._needed = needed
        self._line = session.accounts.ancestors(queue)
        self._within = {row.name: self._deserves(row) for row in self._line}

    def _deserves(self, row: QueueRow) -> bool:
        fair, has = self._deserved.get(row.name, {}), self._session.accounts.allocated(row.name)
        if not fair:
            return (
                row is not self._line[0]
            )  # an ancestor without a deserved share does not forbid reclaim
        # Resources without a deserved amount are not compared, but one must be: a queue cannot
        # reclaim only resources for which it deserves nothing.
        named = [name for name in self._needed if name in fair]
        return bool(named) and all(has.get(n, 0) + self._needed[n] <= fair[n] for n in named)

    def may_take(self) -> bool:
        return bool(self._line) and self._within[self._line[0].name]

    def may_ask(self, theirs: Line) -> bool:
        shared = {row.name: None for row in theirs}
        return all(within for name, within in self._within.items() if name not in shared)

    def gives(self, rows: Line, has: Mapping[str, Amounts], freed: Amounts) -> bool:
        """Each queue has more than it deserves of some resource that is freed and needed."""
        useful = [name for name in freed if name in self._needed]
        return all(self._exceeds(row, has[row.name], useful) for row in rows)

    def _exceeds(self, row: QueueRow, has: Amounts, names: Sequence[str]) -> bool:
        fair = self._deserved.get(row.name, {})
        return any(has.get(name, 0) > tolerated(row, fair.get(name, 0)) for name in names)

    def nearness(self, theirs: Line) -> int:
        """Return 0: this rule treats all victim queues as equally close."""
        del theirs
        return 0

    def spare(self, row: QueueRow) -> Amounts:
        """Return what the queue has beyond its deserved share and its guarantee."""
        fair, least = self._deserved.get(row.name, {}), dict(row.guarantee)
        return {
            name: max(0, amount - max(fair.get(name, 0), least.get(name, 0)))
            for name, amount in self._session.accounts.allocated(row.name).items()
        }

    def takes(self, spare: Amounts) -> Amounts:
        """Limit `spare` to what the claimant deserves and has not committed yet."""
        queue = self._line[0].name
        fair, taken = self._deserved.get(queue, {}), self._session.accounts.committed(queue)
        return {
            name: min(amount, max(0, fair.get(name, 0) - taken.get(name, 0)))
            for name, amount in spare.items()
        }


class ByOne:
    """One resource within the deserved share of the queue is enough.

    With `level` above 0, the deserved share of one of that many ancestors is enough, too.
    """

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
        self._line = session.accounts.ancestors(queue)[: 1 if flat else None]

    def may_take(self) -> bool:
        return any(
            self._deserves_one(row, self._session.accounts.allocated(row.name))
            for row in self._asking()
        )

    def _asking(self) -> Line:
        """Return the claimant and the ancestors of which one must deserve a needed resource."""
        return self._line[: 1 + self._level]

    def _deserves_one(self, row: QueueRow, has: Amounts) -> bool:
        fair = self._deserved.get(row.name, {})
        return any(
            name in fair and has.get(name, 0) + amount <= fair[name]
            for name, amount in self._needed.items()
        )

    def may_ask(self, theirs: Line) -> bool:
        """Return True: this rule does not depend on the ancestors of the victim queue."""
        del theirs
        return True

    def gives(self, rows: Line, has: Mapping[str, Amounts], freed: Amounts) -> bool:
        """The victim queue exceeds its share, and the victim frees a needed resource.

        With `level` above 0, each ancestor of the victim queue must exceed its share, too.
        """
        if not any(name in self._needed for name in freed):
            return False
        asked = rows if self._level else rows[:1]
        return all(self._exceeds(row, has[row.name], freed) for row in asked)

    def _exceeds(self, row: QueueRow, has: Amounts, freed: Amounts) -> bool:
        """Whether the queue exceeds its share of a freed resource, or lists none of the freed ones."""
        fair = self._deserved.get(row.name, {})
        listed = [name for name in freed if name in fair]
        return not listed or any(has.get(n, 0) > tolerated(row, fair[n]) for n in listed)

    def nearness(self, theirs: Line) -> int:
        """Return the number of common ancestors."""
        shared = {row.name: None for row in self._line}
        return 0 if self._flat else sum(row.name in shared for row in theirs)

    def spare(self, row: QueueRow) -> Amounts:
        """Return what the queue has beyond its deserved share.

        The deserved share of a resource is not kept when the queue exceeds another one: a pod may
        then be evicted for that resource and frees this one with it.
        """
        fair, least = self._deserved.get(row.name, {}), dict(row.guarantee)
        has = self._session.accounts.allocated(row.name)
        over = [name for name, amount in fair.items() if has.get(name, 0) > tolerated(row, amount)]
        found: Amounts = {}
        for name, amount in has.items():
            kept = 0 if any(other != name for other in over) else fair.get(name, 0)
            found[name] = max(0, amount - max(kept, least.get(name, 0)))
        return found

    def takes(self, spare: Amounts) -> Amounts:
        """Return all of `spare`, or nothing when the claimant deserves no needed resource."""
        may = any(
            self._deserves_one(row, self._session.accounts.committed(row.name))
            for row in self._asking()
        )
        return spare if may else {}


def tolerated(row: QueueRow, fair: int) -> int:
    """Return the amount a queue may have before it exceeds its share."""
    return fair * (1000 + row.tolerance) // 1000
