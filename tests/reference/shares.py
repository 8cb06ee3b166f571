"""Shares of queues in the reference: deserved, upper limits, and guarantees of others."""

import bisect

from tests.reference.cluster import Amounts, Cluster, Queue, add, total

MILLION = 1_000_000
FULL_AND_MORE = 1_000 * MILLION


class Shares:
    """Over one cluster, as it was when the session began."""

    def __init__(self, cluster: Cluster, waiting: dict[str, Amounts], plugin: str) -> None:
        """`waiting`: by queue, what its jobs ask for beside what they have."""
        self._cluster = cluster
        self._own = {
            name: total([*(j.allocated for j in cluster.jobs.values() if j.queue == name), waiting.get(name, {})])
            for name in cluster.queues
        }  # fmt: skip
        self._unowned = cluster.unowned()
        self._bears_unowned = "root" if "root" in cluster.queues else ""
        self.limits: dict[str, Amounts] = {}
        self._limit("", {})
        self.deserved: dict[str, Amounts] = {name: {} for name in cluster.queues}
        if plugin == "proportion":
            named = total([*self._own.values(), *(q.guarantee for q in cluster.queues.values())])
            for resource in named:
                self._fill("", resource, cluster.total(resource))
        else:
            for queue in cluster.queues.values():
                self.deserved[queue.name] = self._written(queue)

    def guarantee(self, queue: Queue) -> Amounts:
        below = total(self.guarantee(child) for child in self._cluster.children(queue.name))
        return {n: max(queue.guarantee.get(n, 0), below.get(n, 0)) for n in {**queue.guarantee, **below}}  # fmt: skip

    def _request(self, queue: Queue) -> Amounts:
        below = [self._request(child) for child in self._cluster.children(queue.name)]
        unowned = self._unowned if queue.name == self._bears_unowned else {}
        return total([self._own[queue.name], unowned, *below])

    def _limit(self, parent: str, above: Amounts) -> None:
        """A queue may have its capability, and no more than its siblings' guarantees leave."""
        siblings = self._cluster.children(parent)
        for queue in siblings:
            most = dict(above)
            for other in siblings:
                for name, kept in self.guarantee(other).items() if other is not queue else ():
                    most[name] = max(0, most.get(name, self._shared(name)) - kept)
            for name, amount in queue.capability.items():
                most[name] = min(most.get(name, amount), amount)
            self.limits[queue.name] = most
            self._limit(queue.name, most)

    def _shared(self, resource: str) -> int:
        return max(0, self._cluster.total(resource) - self._unowned.get(resource, 0))

    def _fill(self, parent: str, resource: str, amount: int) -> None:
        """Water in basins as wide as their weights, with a floor and a lid each."""
        basins: list[tuple[str, int, int, int]] = []
        for queue in self._cluster.children(parent):
            asked = self._request(queue).get(resource, 0)
            most = min(asked, self.limits[queue.name].get(resource, asked))
            basins.append((queue.name, queue.weight, self.guarantee(queue).get(resource, 0), most))
        own = self._own.get(parent, {}).get(resource, 0)
        if own:
            basins.append(("", 1, 0, own))
        unowned = self._unowned.get(resource, 0) if parent == self._bears_unowned else 0
        if unowned:
            basins.append(("(no queue)", 1, unowned, unowned))

        def levels(level: int) -> dict[str, int]:
            return {n: max(floor, min(width * level, lid)) for n, width, floor, lid in basins}

        level = bisect.bisect_right(range(amount + 1), amount, key=lambda at: sum(levels(at).values())) - 1  # fmt: skip
        shares = levels(max(0, level))
        left = amount - sum(shares.values())
        for name in shares:
            more = max(0, min(left, levels(max(0, level) + 1)[name] - shares[name]))
            shares[name] += more
            left -= more
        for queue in self._cluster.children(parent):
            self.deserved[queue.name][resource] = shares[queue.name]
            self._fill(queue.name, resource, shares[queue.name])

    def _written(self, queue: Queue) -> Amounts:
        """By capacity: what it says, or what those below it deserve."""
        children = self._cluster.children(queue.name)
        fair = dict(queue.deserved) or total(self._written(child) for child in children)
        limit = self.limits[queue.name]
        for name, amount in fair.items():
            there = self._cluster.total(name)
            fair[name] = min(amount, limit.get(name, there), there)
        for name, least in self.guarantee(queue).items():
            fair[name] = max(fair.get(name, 0), least)
        return fair


def share(has: Amounts, fair: Amounts) -> int:
    """The largest part, in millionths."""
    parts = [
        min(FULL_AND_MORE, amount * MILLION // fair[name]) if fair.get(name) else FULL_AND_MORE
        for name, amount in has.items()
        if amount > 0
    ]
    return max(parts, default=0)


def holds(cluster: Cluster, allocated: dict[str, Amounts], queue: Queue, resource: str) -> int:
    """What a queue has and must be able to have."""
    children = cluster.children(queue.name)
    below = sum(allocated[child.name].get(resource, 0) for child in children)
    held = sum(holds(cluster, allocated, child, resource) for child in children)
    own = allocated[queue.name].get(resource, 0) - below
    return max(queue.guarantee.get(resource, 0), own + held)


def with_more(
    allocated: dict[str, Amounts], line: list[Queue], more: Amounts
) -> dict[str, Amounts]:
    """As if the queues of a line had more."""
    after = {name: dict(has) for name, has in allocated.items()}
    for queue in line:
        add(after[queue.name], more)
    return after
