"""Dominant shares down a tree that queues write as paths: `root/sci/dev` with weights `100/50/50`.

The leaves are jobs. A leaf is saturated when a resource it asks for is fully satisfied, or when nobody
can have more of one. A node's share is that of what is below it, with unsaturated children scaled down
to the smallest of them, so that one child that takes more than its part does not count against its
siblings. Queues are compared from the top down: unsaturated before saturated, then share by weight.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from vc_scheduler.logic.amounts import NOT_REQUESTED, Amounts
from vc_scheduler.logic.rows import GroupRow, QueueRow
from vc_scheduler.logic.shares import SHARE_POINTS, Claim, fill

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session

Path = tuple[str, ...]
_WEIGHT_DEFAULT: Final = 1000
"""A weight of 1, in thousandths."""


_FINE: Final = 10**9
"""Amounts and shares are divided by weights in such parts of a unit: weights may be large numbers."""


class Standing(msgspec.Struct, frozen=True):
    """What is below a node: how much, the largest part of the cluster in it, and whether it is full."""

    allocated: Amounts
    share: int
    saturated: bool


class _Sum:
    """What stands below a node, added up: one part may change without counting the others anew."""

    def __init__(self, parts: Mapping[str, Standing]) -> None:
        self._parts = dict(parts)
        self._count()

    def _count(self) -> None:
        open_shares = [s.share for s in self._parts.values() if not s.saturated and s.share]
        self._least = min(open_shares, default=0)
        """The smallest share that is open: the others are scaled down to it."""
        self.open = sum(not standing.saturated for standing in self._parts.values())
        self.total: Amounts = {}
        for standing in self._parts.values():
            self._add(standing, sign=1)

    def _add(self, standing: Standing, *, sign: int) -> None:
        scaled = not standing.saturated and standing.share
        for name, amount in standing.allocated.items():
            part = amount * self._least // standing.share if scaled else amount
            self.total[name] = self.total.get(name, 0) + sign * part

    def change(self, key: str, after: Standing) -> None:
        """Only another smallest share counts everybody anew."""
        before = self._parts[key]
        self._parts[key] = after
        shares = [s.share for s in (before, after) if not s.saturated and s.share]
        if shares and (not self._least or min(shares) <= self._least):
            self._count()
            return
        self.open += before.saturated - after.saturated
        self._add(before, sign=-1)
        self._add(after, sign=1)


class _Jobs(msgspec.Struct):
    """The jobs of one queue together."""

    demanded: tuple[str, ...]
    sum: _Sum
    seen: int
    """How many of the queue's placements are counted in it."""


class Paths:
    """The tree of one session; places of queues follow what is placed."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._weights: dict[Path, int] = {}
        self._children: dict[Path, dict[Path, None]] = {}
        self._queue_at: dict[Path, list[str]] = {}
        self._jobs: dict[str, list[GroupRow]] = {}
        self._asked_by: dict[str, Amounts] = {}
        """By job: what it has at the start and waits for."""
        self._known: dict[str, _Jobs] = {}
        self._counted_at = -1
        self._demands: tuple[str, ...] = ()
        self._standings: dict[Path, Standing] = {}
        """Of nodes, as long as nothing was placed or taken back since they were counted."""
        self._deserved: dict[str, Amounts] | None = None
        self._tops = [name for name in session.snapshot.queues if len(session.line(name)) == 1]
        """Queues without a parent: they have the sums of those below."""
        for queue in session.snapshot.queues.values():
            self._add(queue)
        for group in session.snapshot.everybody.values():
            self._jobs.setdefault(group.queue, []).append(group)
        for jobs in self._jobs.values():
            jobs.sort(key=_by_key)

    def _add(self, queue: QueueRow) -> None:
        path = path_of(queue)
        weights = queue.path_weights or (_WEIGHT_DEFAULT,) * len(path)
        for depth in range(len(path)):
            node = path[: depth + 1]
            self._weights.setdefault(node, weights[depth])
            if depth:
                self._children.setdefault(path[:depth], {})[node] = None
        self._queue_at.setdefault(path, []).append(queue.name)

    def key(self, queue: QueueRow) -> tuple[tuple[bool, int], ...]:
        """From the top down: saturated, share by weight."""
        path = path_of(queue)
        if self._counted_at != len(self._session.touched):
            self._counted_at = len(self._session.touched)
            self._demands = self._demanded()
            self._standings = {}
        key: list[tuple[bool, int]] = []
        for depth in range(1, len(path)):
            node = path[: depth + 1]
            standing = self._standing(node)
            key.append((standing.saturated, standing.share * _FINE // self._weights[node]))
        return tuple(key)

    def _demanded(self) -> tuple[str, ...]:
        """Resources that the cluster has more of."""
        session = self._session
        total: Amounts = {}
        for queue in self._tops:
            for name, amount in session.allocated(queue).items():
                total[name] = total.get(name, 0) + amount
        names = session.snapshot.nodes.resources
        return tuple(n for n in names if total.get(n, 0) < session.cluster_amounts(n)[0])

    def _standing(self, node: Path) -> Standing:
        known = self._standings.get(node)
        if known is None:
            below = [self._standing(child) for child in self._children.get(node, {})]
            below += [self._of_queue(queue) for queue in self._queue_at.get(node, [])]
            parts = {str(at): standing for at, standing in enumerate(below)}
            known = self._standings[node] = self._together(_Sum(parts))
        return known

    def _of_queue(self, queue: str) -> Standing:
        """Its jobs together: only those of which something was placed since are counted anew."""
        demanded = self._demands
        placements = self._session.placements.get(queue, [])
        known = self._known.get(queue)
        if known is None or known.demanded != demanded:
            standings = {g.key: self._of_job(g, demanded) for g in self._jobs.get(queue, [])}
            known = self._known[queue] = _Jobs(demanded, _Sum(standings), len(placements))
        for key in dict.fromkeys(placements[known.seen :]):
            group = self._session.snapshot.everybody[key]
            known.sum.change(key, self._of_job(group, demanded))
        known.seen = len(placements)
        return self._together(known.sum)

    def _of_job(self, group: GroupRow, demanded: tuple[str, ...]) -> Standing:
        has = self._session.group_allocated(group)
        asked = self._asked_by.get(group.key)
        if asked is None:
            asked = self._asked_by[group.key] = request_of(group)
        wanted = {n: amount for n, amount in asked.items() if n not in NOT_REQUESTED and amount}
        saturated = all(has.get(name, 0) >= amount for name, amount in wanted.items()) or any(
            has.get(name, 0) >= amount or name not in demanded for name, amount in wanted.items()
        )
        return Standing(has, self._share(has), saturated)

    def _share(self, amounts: Amounts) -> int:
        """The dominant one; something of what the cluster has nothing of is all of it."""
        shares = [0]
        for name, amount in amounts.items():
            there = self._session.cluster_amounts(name)[0]
            if amount and name not in NOT_REQUESTED:
                shares.append(amount * SHARE_POINTS // there if there else SHARE_POINTS)
        return max(shares)

    def _together(self, below: _Sum) -> Standing:
        return Standing(dict(below.total), self._share(below.total), not below.open)

    # -- what queues deserve ---------------------------------------------------------------------

    def deserved(self) -> dict[str, Amounts]:
        """The cluster shared out by the weights of the paths, nobody more than asked for."""
        if self._deserved is None:
            self._deserved = {name: {} for name in self._session.snapshot.queues}
            tops: list[Path] = [path for path in self._weights if len(path) == 1]
            asked = {path: self._asked(path) for path in self._weights}
            for resource in self._session.snapshot.nodes.resources:
                total = self._session.shared_amount(resource)
                self._share_out(tops, resource, total, asked)
        return self._deserved

    def _asked(self, node: Path) -> Amounts:
        total: Amounts = {}
        parts = [self._asked(child) for child in self._children.get(node, {})]
        for queue in self._queue_at.get(node, []):
            parts += [request_of(group) for group in self._jobs.get(queue, [])]
        for part in parts:
            for name, amount in part.items():
                total[name] = total.get(name, 0) + amount
        return total

    def _share_out(
        self, nodes: list[Path], resource: str, total: int, asked: dict[Path, Amounts]
    ) -> None:
        assert self._deserved is not None
        claims = [
            Claim(
                name="/".join(node),
                weight=self._weights[node],
                least=0,
                most=asked[node].get(resource, 0) * _FINE,
            )
            for node in nodes
        ]
        shares = fill(total * _FINE, claims)
        for node in nodes:
            mine = shares["/".join(node)] // _FINE
            for queue in self._queue_at.get(node, []):
                self._deserved[queue][resource] = mine
            self._share_out(list(self._children.get(node, {})), resource, mine, asked)


def path_of(queue: QueueRow) -> Path:
    """As it writes; a queue that writes none stands below the root."""
    return queue.path or ("root", queue.name)


def request_of(group: GroupRow) -> Amounts:
    """What a job has and waits for."""
    total = dict(group.allocated)
    for run in group.runs:
        for name, amount in run.shape.request:
            total[name] = total.get(name, 0) + amount * len(run.pods)
    return total


def _by_key(group: GroupRow) -> str:
    return group.key
