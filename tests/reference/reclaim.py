"""Which queue may take back what, and who gives; the reference's way."""

from tests.reference.cluster import Amounts, Queue, add, total
from tests.reference.session import Session


class ByWeight:
    """proportion: all that is needed is deserved up to where the lines meet."""

    def __init__(self, session: Session, queue: str, needed: Amounts) -> None:
        self.session = session
        self.needed = needed
        self.line = session.cluster.line(queue)
        self.fair = session.shares.deserved

    def _deserves(self, queue: Queue, has: Amounts) -> bool:
        """With the job, it has no more than it deserves."""
        fair = self.fair[queue.name]
        if not fair:
            return queue is not self.line[0]
        named = [name for name in self.needed if name in fair]
        return bool(named) and all(has.get(n, 0) + self.needed[n] <= fair[n] for n in named)

    def may_take(self, has: dict[str, Amounts]) -> bool:
        return self._deserves(self.line[0], has[self.line[0].name])

    def may_ask(self, theirs: list[Queue]) -> bool:
        has = self.session.allocated
        return all(self._deserves(mine, has[mine.name]) for mine in self.line if mine not in theirs)

    def gives(self, theirs: list[Queue], has: dict[str, Amounts], freed: Amounts) -> bool:
        for queue in theirs:
            fair = self.fair[queue.name]
            if not any(
                has[queue.name].get(n, 0) > fair.get(n, 0) for n in freed if n in self.needed
            ):
                return False
        return True

    def spare(self, queue: Queue) -> Amounts:
        """The most that it could give."""
        fair = self.fair[queue.name]
        return {
            name: max(0, has - max(fair.get(name, 0), queue.guarantee.get(name, 0)))
            for name, has in self.session.allocated[queue.name].items()
        }

    def takes(self, spare: Amounts) -> Amounts:
        """What of it ours may have."""
        mine, taken = self.fair[self.line[0].name], _taken(self.session, self.line[0])
        return {
            name: min(amount, max(0, mine.get(name, 0) - taken.get(name, 0)))
            for name, amount in spare.items()
        }


class ByDeserved(ByWeight):
    """capacity: one resource that is deserved is enough, here or so many levels above."""

    def may_take(self, has: dict[str, Amounts]) -> bool:
        for queue in self.line[: 1 + self.session.level]:
            for name, amount in self.needed.items():
                fair = self.fair[queue.name].get(name)
                if fair is not None and has[queue.name].get(name, 0) + amount <= fair:
                    return True
        return False

    def may_ask(self, theirs: list[Queue]) -> bool:
        return True

    def gives(self, theirs: list[Queue], has: dict[str, Amounts], freed: Amounts) -> bool:
        if not set(freed) & set(self.needed):
            return False
        for queue in theirs if self.session.level else theirs[:1]:
            listed = set(freed) & set(self.fair[queue.name])
            over = [n for n in listed if has[queue.name].get(n, 0) > self.fair[queue.name][n]]
            if listed and not over:
                return False
        return True

    def spare(self, queue: Queue) -> Amounts:
        fair, has = self.fair[queue.name], self.session.allocated[queue.name]
        over = {name for name in fair if has.get(name, 0) > fair[name]}
        found: Amounts = {}
        for name, amount in has.items():
            least = queue.guarantee.get(name, 0)
            kept = least if over - {name} else max(least, fair.get(name, 0))
            found[name] = max(0, amount - kept)
        return found

    def takes(self, spare: Amounts) -> Amounts:
        taken = {queue.name: _taken(self.session, queue) for queue in self.line}
        return spare if self.may_take(taken) else {}


def rule_of(session: Session, queue: str, needed: Amounts) -> ByWeight:
    """Of the plugin that says what queues deserve."""
    return (ByDeserved if session.plugin == "capacity" else ByWeight)(session, queue, needed)


def _taken(session: Session, queue: Queue) -> Amounts:
    """What it has and was promised, without what runs beyond minimums."""
    taken = total([session.allocated[queue.name], session.promised[queue.name]])
    add(taken, session.elastic[queue.name], -1)
    return taken
