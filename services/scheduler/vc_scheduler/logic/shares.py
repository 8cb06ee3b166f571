"""What each queue deserves and what it may have at most, down the tree of queues.

Amounts are shared out per resource, level by level: the cluster among the queues at the top, then
what a queue deserves among those below it. A queue gets its weight's part, never more than it can use
and never less than its guarantee; what it leaves goes to the others (weighted water-filling).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from vc_model.keys import ROOT_QUEUE
from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.lineage import at_the_top
from vc_scheduler.logic.rows import PENDING, QueueRow

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session

SHARE_POINTS: Final = 1_000_000
"""A share of 1, in fixed point."""
SHARE_MAX: Final = 1_000 * SHARE_POINTS
"""Of a queue that has something and deserves nothing."""
WEIGHT_MAX: Final = 65_535
"""Of a queue; more is not allowed by the API."""
_UNBOUNDED: Final = 2**62
_UNOWNED: Final = "(no queue)"
"""Claims what pods have whose queue does not exist; no queue can have this name."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What one queue may say about one resource."""

    name: str
    weight: int
    least: int
    most: int


def fill(total: int, claims: list[Claim]) -> dict[str, int]:
    """Share `total` out by weight, each between its least and its most; least wins."""
    low, high = 0, max(0, total)
    if sum(_at(claim, high) for claim in claims) <= total:
        low = high  # there is enough for all, as mostly
    while low < high:  # the highest level at which all together do not get more than there is
        middle = (low + high + 1) // 2
        if sum(_at(claim, middle) for claim in claims) <= total:
            low = middle
        else:
            high = middle - 1
    shares = {claim.name: _at(claim, low) for claim in claims}
    rest = total - sum(shares.values())
    for claim in claims:  # less than one weight each is left
        more = max(0, min(rest, _at(claim, low + 1) - shares[claim.name]))
        shares[claim.name] += more
        rest -= more
    return shares


def _at(claim: Claim, level: int) -> int:
    return max(claim.least, min(claim.weight * level, claim.most))


class Tree:
    """The queues of a session as a tree, and what they ask for."""

    def __init__(self, session: "Session", *, flat: bool = False) -> None:
        """`flat`: every queue stands alone, as if none had a parent."""
        self._flat = flat
        self._session = session
        self._queues = session.snapshot.queues
        self._circular = at_the_top({name: row.parent for name, row in self._queues.items()})
        self.children: dict[str, list[QueueRow]] = {}
        for row in self._queues.values():
            self.children.setdefault(self.parent(row), []).append(row)
        self._own = _requests(session)
        self._unowned_at = ROOT_QUEUE if not flat and ROOT_QUEUE in self._queues else ""
        """The queue whose share bears what pods without a queue have; empty: the cluster itself."""
        self._requests: dict[str, Amounts] = {}
        self._guarantees: dict[str, Amounts] = {}
        self._limits: dict[str, Amounts] = {}
        self.resources = sorted(
            {name: None for amounts in self._own.values() for name in amounts}
            | {name: None for row in self._queues.values() for name, _ in row.guarantee}
        )

    def parent(self, row: QueueRow) -> str:
        """Its parent; queues without one, or in a circle, are below `root` where that exists."""
        if self._flat or row.name == ROOT_QUEUE:
            return ""
        if row.parent in self._queues and row.name not in self._circular:
            return row.parent
        return ROOT_QUEUE if ROOT_QUEUE in self._queues else ""

    def leaves(self, name: str) -> list[QueueRow]:
        """The queues below it that have none below them, by name."""
        found: dict[str, QueueRow] = {}
        seen: dict[str, None] = {name: None}
        below = list(self.children.get(name, []))
        while below:
            row = below.pop()
            if row.name in seen:
                continue
            seen[row.name] = None
            children = self.children.get(row.name, [])
            below += children
            if not children:
                found[row.name] = row
        return [found[leaf] for leaf in sorted(found)]

    def request(self, name: str) -> Amounts:
        """What a queue and those below it have and wait for."""
        known = self._requests.get(name)
        if known is None:
            known = dict(self._own.get(name, {}))
            if name == self._unowned_at:
                _add(known, self._session.unowned)
            for child in self.children.get(name, []):
                _add(known, self.request(child.name))
            self._requests[name] = known
        return known

    def guarantee(self, row: QueueRow) -> Amounts:
        """Its own, or what those below it are guaranteed together when that is more."""
        known = self._guarantees.get(row.name)
        if known is None:
            below: Amounts = {}
            for child in self.children.get(row.name, []):
                _add(below, self.guarantee(child))
            own = dict(row.guarantee)
            known = {name: max(own.get(name, 0), below.get(name, 0)) for name in {**own, **below}}
            self._guarantees[row.name] = known
        return known

    def limits(self) -> dict[str, Amounts]:
        """What each queue may have at most: its capability, and what siblings are guaranteed."""
        if not self._limits:
            self._limit_below("", {}, self._limits)
        return self._limits

    def _limit_below(self, name: str, above: Amounts, found: dict[str, Amounts]) -> None:
        rows = self.children.get(name, [])
        together: Amounts = {}
        for row in rows:
            _add(together, self.guarantee(row))
        for row in rows:
            limit = dict(above)
            own = self.guarantee(row)
            for resource, amount in together.items():
                others = amount - own.get(resource, 0)
                if others:
                    total = limit.get(resource, self._session.shared_amount(resource))
                    limit[resource] = max(0, total - others)
            for resource, most in row.capability:
                limit[resource] = min(limit.get(resource, most), most)
            found[row.name] = limit
        for row in rows:
            self._limit_below(row.name, found[row.name], found)

    def by_weight(self, weights: Mapping[str, int] | None = None) -> dict[str, Amounts]:
        """What each queue deserves when weights alone decide; `weights` other than written."""
        deserved: dict[str, Amounts] = {}
        for resource in self.resources:
            total = self._session.cluster_amounts(resource)[0]
            self._fill_below("", resource, total, weights or {}, deserved)
        return deserved

    def _fill_below(
        self,
        name: str,
        resource: str,
        total: int,
        weights: Mapping[str, int],
        deserved: dict[str, Amounts],
    ) -> None:
        limits = self.limits()
        rows = [r for r in self.children.get(name, []) if resource not in deserved.get(r.name, {})]
        claims = [
            Claim(
                name=row.name,
                weight=weights.get(row.name, row.weight),
                least=self.guarantee(row).get(resource, 0),
                most=min(
                    self.request(row.name).get(resource, 0),
                    limits[row.name].get(resource, _UNBOUNDED),
                ),
            )
            for row in rows
        ]
        own = self._own.get(name, {}).get(resource, 0)
        if own:  # jobs of a queue that has queues below it
            claims.append(Claim(name="", weight=1, least=0, most=own))
        unowned = self._session.unowned.get(resource, 0) if name == self._unowned_at else 0
        if unowned:  # it is taken whatever anybody deserves
            claims.append(Claim(name=_UNOWNED, weight=1, least=unowned, most=unowned))
        shares = fill(total, claims)
        for row in rows:
            deserved.setdefault(row.name, {})[resource] = shares[row.name]
            self._fill_below(row.name, resource, shares[row.name], weights, deserved)


def _requests(session: "Session") -> dict[str, Amounts]:
    """Per queue, without those below it: allocated, and asked for by pods or groups that wait."""
    total = {name: dict(use.allocated) for name, use in session.snapshot.use.items()}
    for group in session.snapshot.groups:
        amounts = total.setdefault(group.queue, {})
        if session.phase(group) == PENDING and not group.runs:
            _add(amounts, group.charged_minimum)
        for run in group.runs:
            _add(amounts, {name: amount * len(run.pods) for name, amount in run.shape.request})
    return total


def share_of(allocated: Mapping[str, int], deserved: Mapping[str, int]) -> int:
    """The largest part of what it deserves that a queue has, in fixed point."""
    shares = [
        min(SHARE_MAX, amount * SHARE_POINTS // deserved[name]) if deserved.get(name) else SHARE_MAX
        for name, amount in allocated.items()
        if amount > 0
    ]
    return max(shares, default=0)


def _add(total: Amounts, amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount
