"""Reclaim rules of the reference: which queue may reclaim, and from which queues."""

from tests.reference.cluster import Amounts, Queue, add, total
from tests.reference.session import Session


class ByWeight:
    """proportion: every needed resource must be deserved, in all ancestors that the queues do not share."""

    def __init__(self, session: Session, queue: str, needed: Amounts) -> None:
        self.session = session
        self.needed = needed
        self.ancestors = session.cluster.line(queue)
        self.fair = session.shares.deserved

    def _deserves(self, queue: Queue, has: Amounts) -> bool:
        """Whether the queue has at most its deserved share with the job added."""
        fair = self.fair[queue.name]
        if not fair:
            return queue is not self.ancestors[0]
        named = [name for name in self.needed if name in fair]
        return bool(named) and all(has.get(n, 0) + self.needed[n] <= fair[n] for n in named)

    def may_reclaim(self, has: dict[str, Amounts]) -> bool:
        return self._deserves(self.ancestors[0], has[self.ancestors[0].name])

    def may_reclaim_from(self, theirs: list[Queue]) -> bool:
        has = self.session.allocated
        return all(
            self._deserves(mine, has[mine.name]) for mine in self.ancestors if mine not in theirs
        )

    def may_evict(self, theirs: list[Queue], has: dict[str, Amounts], freed: Amounts) -> bool:
        for queue in theirs:
            fair = self.fair[queue.name]
            if not any(
                has[queue.name].get(n, 0) > fair.get(n, 0) for n in freed if n in self.needed
            ):
                return False
        return True

    def surplus(self, queue: Queue) -> Amounts:
        """The most that may be reclaimed from a queue."""
        fair = self.fair[queue.name]
        return {
            name: max(0, has - max(fair.get(name, 0), queue.guarantee.get(name, 0)))
            for name, has in self.session.allocated[queue.name].items()
        }

    def claimable(self, surplus: Amounts) -> Amounts:
        """The part of a surplus that the claimant queue may get."""
        mine, taken = self.fair[self.ancestors[0].name], _taken(self.session, self.ancestors[0])
        return {
            name: min(amount, max(0, mine.get(name, 0) - taken.get(name, 0)))
            for name, amount in surplus.items()
        }


class ByDeserved(ByWeight):
    """capacity: one deserved resource is sufficient, in the queue or in an ancestor up to the configured level."""

    def may_reclaim(self, has: dict[str, Amounts]) -> bool:
        for queue in self.ancestors[: 1 + self.session.level]:
            for name, amount in self.needed.items():
                fair = self.fair[queue.name].get(name)
                if fair is not None and has[queue.name].get(name, 0) + amount <= fair:
                    return True
        return False

    def may_reclaim_from(self, theirs: list[Queue]) -> bool:
        return True

    def may_evict(self, theirs: list[Queue], has: dict[str, Amounts], freed: Amounts) -> bool:
        if not set(freed) & set(self.needed):
            return False
        for queue in theirs if self.session.level else theirs[:1]:
            listed = set(freed) & set(self.fair[queue.name])
            over = [n for n in listed if has[queue.name].get(n, 0) > self.fair[queue.name][n]]
            if listed and not over:
                return False
        return True

    def surplus(self, queue: Queue) -> Amounts:
        fair, has = self.fair[queue.name], self.session.allocated[queue.name]
        over = {name for name in fair if has.get(name, 0) > fair[name]}
        found: Amounts = {}
        for name, amount in has.items():
            least = queue.guarantee.get(name, 0)
            kept = least if over - {name} else max(least, fair.get(name, 0))
            found[name] = max(0, amount - kept)
        return found

    def claimable(self, surplus: Amounts) -> Amounts:
        taken = {queue.name: _taken(self.session, queue) for queue in self.ancestors}
        return surplus if self.may_reclaim(taken) else {}


def rule_of(session: Session, queue: str, needed: Amounts) -> ByWeight:
    """The rule of the plugin that computes deserved shares."""
    return (ByDeserved if session.plugin == "capacity" else ByWeight)(session, queue, needed)


def _taken(session: Session, queue: Queue) -> Amounts:
    """Allocated and enqueued resources of a queue, without its surplus pods."""
    taken = total([session.allocated[queue.name], session.enqueued[queue.name]])
    add(taken, session.elastic[queue.name], -1)
    return taken
