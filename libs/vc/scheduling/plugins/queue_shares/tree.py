"""Fair share: deserved amounts and limits of queues along the queue tree.

Amounts are divided per resource and level by level: the cluster among the top queues, then the
share of each queue among its children. The division is weighted water-filling. A queue gets the
part of its weight, but never more than it requests and never less than its guarantee. The remainder
is divided among the other queues.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from vc.model.api.keys import ROOT_QUEUE
from vc.model.values.resources import Resources
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.queue_ancestors import at_the_top
from vc.scheduling.model.rows import PENDING, QueueRow

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session

SHARE_POINTS: Final = 1_000_000
"""A share of 1 in fixed point."""
SHARE_MAX: Final = 1_000 * SHARE_POINTS
"""The share of a queue that uses a resource of which it deserves nothing."""
WEIGHT_MAX: Final = 65_535
"""Largest weight of a queue that the API allows."""
_UNBOUNDED: Final = 2**62
_UNOWNED: Final = "(no queue)"
"""Name of the claim of pods whose queue does not exist; no queue can have this name."""


class ShareClaim(msgspec.Struct, frozen=True, kw_only=True):
    """The claim of one queue to one resource: its weight, and its smallest and largest amount."""

    name: str
    weight: int
    least: int
    most: int


def fill(total: int, claims: list[ShareClaim]) -> dict[str, int]:
    """Divide `total` by weight, each claim between `least` and `most`; `least` has precedence."""
    low, high = 0, max(0, total)
    if sum(_at(claim, high) for claim in claims) <= total:
        low = high  # the common case: there is enough for all claims
    while low < high:  # the highest water level at which the sum stays within the total
        middle = (low + high + 1) // 2
        if sum(_at(claim, middle) for claim in claims) <= total:
            low = middle
        else:
            high = middle - 1
    shares = {claim.name: _at(claim, low) for claim in claims}
    rest = total - sum(shares.values())
    for claim in claims:  # the integer level leaves less than one more step for all claims
        more = max(0, min(rest, _at(claim, low + 1) - shares[claim.name]))
        shares[claim.name] += more
        rest -= more
    return shares


def _at(claim: ShareClaim, level: int) -> int:
    """Return the amount of a claim at a water level."""
    return max(claim.least, min(claim.weight * level, claim.most))


class Tree:
    """The queues of a session as a tree, with their requests."""

    def __init__(self, session: "Session", *, flat: bool = False) -> None:
        """Build the tree; with `flat` every queue stands alone, as if no queue had a parent."""
        self._flat = flat
        self._session = session
        self._queues = session.snapshot.queues
        self._circular = at_the_top({name: row.parent for name, row in self._queues.items()})
        self.children: dict[str, list[QueueRow]] = {}
        for row in self._queues.values():
            self.children.setdefault(self.parent(row), []).append(row)
        self._own = _requests(session)
        self._unowned_at = ROOT_QUEUE if not flat and ROOT_QUEUE in self._queues else ""
        """The queue that is charged for pods without a queue; empty means the cluster itself."""
        self._requests: dict[str, Resources] = {}
        self._guarantees: dict[str, Resources] = {}
        self._limits: dict[str, Amounts] = {}
        self.resources = sorted(
            {name: None for amounts in self._own.values() for name in amounts}
            | {name: None for row in self._queues.values() for name, _ in row.guarantee}
        )

    def parent(self, row: QueueRow) -> str:
        """Return the parent's name; queues without a parent or in a cycle are children of `root`."""
        if self._flat or row.name == ROOT_QUEUE:
            return ""
        if row.parent in self._queues and row.name not in self._circular:
            return row.parent
        return ROOT_QUEUE if ROOT_QUEUE in self._queues else ""

    def leaves(self, name: str) -> list[QueueRow]:
        """Return the leaf queues below a queue, sorted by name."""
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

    def request(self, name: str) -> Resources:
        """Return what a queue and its descendants have plus what they wait for."""
        known = self._requests.get(name)
        if known is None:
            known = Resources(self._own.get(name, {}))
            if name == self._unowned_at:
                known.add(self._session.accounts.unowned)
            for child in self.children.get(name, []):
                known.add(self.request(child.name))
            self._requests[name] = known
        return known

    def guarantee(self, row: QueueRow) -> Resources:
        """Return the larger of the queue's guarantee and the sum of its children's, per resource."""
        known = self._guarantees.get(row.name)
        if known is None:
            children = self.children.get(row.name, [])
            below = Resources.total(self.guarantee(child) for child in children)
            known = self._guarantees[row.name] = Resources(row.guarantee).largest(below)
        return known

    def limits(self) -> dict[str, Amounts]:
        """Return the most each queue may have: its capability, less the guarantees of its siblings."""
        # From the top down: the limit of a parent is the starting point of its children's.
        if not self._limits:
            self._limit_below("", {}, self._limits)
        return self._limits

    def _limit_below(self, name: str, above: Amounts, found: dict[str, Amounts]) -> None:
        """Compute the limits of the children of `name`, whose own limit is `above`."""
        rows = self.children.get(name, [])
        together = Resources.total(self.guarantee(row) for row in rows)
        for row in rows:
            limit = dict(above)
            own = self.guarantee(row)
            for resource, amount in together.items():
                # The guarantees of siblings are never lent, so they are subtracted from the limit
                # above.
                others = amount - own[resource]
                if others:
                    total = limit.get(resource, self._session.shared_amount(resource))
                    limit[resource] = max(0, total - others)
            for resource, most in row.capability:
                # A capability above the limit of the parent has no effect.
                limit[resource] = min(limit.get(resource, most), most)
            found[row.name] = limit
        for row in rows:
            self._limit_below(row.name, found[row.name], found)

    def by_weight(self, weights: Mapping[str, int] | None = None) -> dict[str, Amounts]:
        """Return the deserved amounts by weight; `weights` overrides the written weights."""
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
        """Divide `total` of a resource among the children of `name`, and recursively below them."""
        limits = self.limits()
        # A queue that has its share already is not divided again, so the recursion always ends.
        rows = [r for r in self.children.get(name, []) if resource not in deserved.get(r.name, {})]
        claims = [
            ShareClaim(
                name=row.name,
                weight=weights.get(row.name, row.weight),
                least=self.guarantee(row)[resource],
                most=min(
                    self.request(row.name)[resource],
                    limits[row.name].get(resource, _UNBOUNDED),
                ),
            )
            for row in rows
        ]
        own = self._own.get(name, Resources())[resource]
        if own:  # jobs of a queue with children compete with the children
            claims.append(ShareClaim(name="", weight=1, least=0, most=own))
        unowned = self._session.accounts.unowned.get(resource, 0) if name == self._unowned_at else 0
        if unowned:  # these pods occupy nodes, so no queue can deserve their resources
            claims.append(ShareClaim(name=_UNOWNED, weight=1, least=unowned, most=unowned))
        shares = fill(total, claims)
        for row in rows:
            deserved.setdefault(row.name, {})[resource] = shares[row.name]
            self._fill_below(row.name, resource, shares[row.name], weights, deserved)


def _requests(session: "Session") -> dict[str, Resources]:
    """Return per queue, without its descendants, what it has plus what waits.

    A pending group without pods requests its minimum.
    """
    total = {name: Resources(use.allocated) for name, use in session.snapshot.use.items()}
    for group in session.snapshot.groups:
        amounts = total.setdefault(group.queue, Resources())
        if session.phase(group) == PENDING and not group.runs:
            amounts.add(group.charged_minimum)
        for run in group.runs:
            amounts.add(run.shape.request, times=len(run.pods))
    return total


def share_of(allocated: Mapping[str, int], deserved: Mapping[str, int]) -> int:
    """Return the largest ratio of allocated to deserved over all resources, in fixed point."""
    shares = [
        min(SHARE_MAX, amount * SHARE_POINTS // deserved[name]) if deserved.get(name) else SHARE_MAX
        for name, amount in allocated.items()
        # A resource that the queue does not use says nothing about its share. Without this
        # condition every queue would be at the maximum for resources of which it deserves nothing.
        if amount > 0
    ]
    return max(shares, default=0)
