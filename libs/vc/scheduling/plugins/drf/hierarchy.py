"""Dominant shares over a tree that queues write as paths: `root/sci/dev` with weights `100/50/50`.

Jobs are the leaves of the tree. A job is saturated when one resource that it requests is fully
satisfied, or when the cluster has no more of one. The share of a tree node is the share of
everything below it. Unsaturated children are first scaled down to the smallest share among them, so
that a child above its part does not count against its siblings. Queues are compared from the top
down: unsaturated before saturated, then by share divided by weight.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from vc.model.values.resources import Resources
from vc.scheduling.model.amounts import NOT_REQUESTED, Amounts
from vc.scheduling.model.rows import GroupRow, QueueRow
from vc.scheduling.plugins.queue_shares.tree import SHARE_POINTS, ShareClaim, fill

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session

Path = tuple[str, ...]
_WEIGHT_DEFAULT: Final = 1000
"""A weight of 1, in thousandths."""


_FINE: Final = 10**9
"""Number of parts of a unit when amounts and shares are divided by weights, which may be large."""


class SubtreeUse(msgspec.Struct, frozen=True):
    """Use below one node of the tree: amounts, dominant share, and whether all of it is saturated."""

    allocated: Amounts
    share: int
    saturated: bool


class _Sum:
    """Sum over the children of a tree node; one child can change without a full recount."""

    def __init__(self, parts: Mapping[str, SubtreeUse]) -> None:
        self._parts = dict(parts)
        self._count()

    def _count(self) -> None:
        # A child without any use is left out: scaled down to its share, all others would be
        # nothing.
        open_shares = [s.share for s in self._parts.values() if not s.saturated and s.share]
        self._least = min(open_shares, default=0)
        """Smallest unsaturated share: the other unsaturated children are scaled down to it."""
        self.open = sum(not usage.saturated for usage in self._parts.values())
        self.total = Resources()
        for usage in self._parts.values():
            self._add(usage, sign=1)

    def _add(self, usage: SubtreeUse, *, sign: int) -> None:
        scaled = not usage.saturated and usage.share
        for name, amount in usage.allocated.items():
            # Saturated children count in full, because they do not compete for more.
            part = amount * self._least // usage.share if scaled else amount
            self.total[name] += sign * part

    def change(self, key: str, after: SubtreeUse) -> None:
        """Replace one child; recount all of them only when the smallest share may change."""
        before = self._parts[key]
        self._parts[key] = after
        shares = [s.share for s in (before, after) if not s.saturated and s.share]
        # The smallest share is the scale of all other children. If the old or new value can be that
        # minimum, every scaled amount is outdated.
        if shares and (not self._least or min(shares) <= self._least):
            self._count()
            return
        self.open += before.saturated - after.saturated
        self._add(before, sign=-1)
        self._add(after, sign=1)


class _Jobs(msgspec.Struct):
    """Sum over the jobs of one queue, and the state in which it was computed."""

    demanded: tuple[str, ...]
    sum: _Sum
    seen: int
    """Number of the queue's placements that the sum includes."""


class Paths:
    """The tree of paths in one session; shares follow the placements of the session."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._weights: dict[Path, int] = {}
        self._children: dict[Path, dict[Path, None]] = {}
        self._queue_at: dict[Path, list[str]] = {}
        self._jobs: dict[str, list[GroupRow]] = {}
        self._job_requests: dict[str, Amounts] = {}
        """By job: the amounts it has at the start of the session plus the amounts it waits for."""
        self._known: dict[str, _Jobs] = {}
        self._counted_at = -1
        self._demands: tuple[str, ...] = ()
        self._usages: dict[Path, SubtreeUse] = {}
        """By tree node; valid until the next placement or removal."""
        self._deserved: dict[str, Amounts] | None = None
        self._tops = [
            name for name in session.snapshot.queues if len(session.accounts.ancestors(name)) == 1
        ]
        """Queues without a parent; their amounts include all their descendants."""
        for queue in session.snapshot.queues.values():
            self._add(queue)
        for group in session.snapshot.all_groups.values():
            self._jobs.setdefault(group.queue, []).append(group)
        for jobs in self._jobs.values():
            jobs.sort(key=_by_key)

    def _add(self, queue: QueueRow) -> None:
        path = path_of(queue)
        weights = queue.path_weights or (_WEIGHT_DEFAULT,) * len(path)
        for depth in range(len(path)):
            node = path[: depth + 1]
            # Queues may write different weights for a common ancestor. The first one counts for all
            # of them, because a tree node can have only one weight.
            self._weights.setdefault(node, weights[depth])
            if depth:
                self._children.setdefault(path[:depth], {})[node] = None
        self._queue_at.setdefault(path, []).append(queue.name)

    def key(self, queue: QueueRow) -> tuple[tuple[bool, int], ...]:
        """Return (saturated, share divided by weight) for each level, from the top down."""
        path = path_of(queue)
        # `accounts.changed` grows with every change of a queue's amounts, so its length is a version number.
        if self._counted_at != len(self._session.accounts.changed):
            self._counted_at = len(self._session.accounts.changed)
            self._demands = self._demanded()
            self._usages = {}
        key: list[tuple[bool, int]] = []
        # The root is the same for all queues and is left out of the key.
        for depth in range(1, len(path)):
            node = path[: depth + 1]
            usage = self._usage_at(node)
            # Saturated queues come last: what they would be given, they could not use.
            key.append((usage.saturated, usage.share * _FINE // self._weights[node]))
        return tuple(key)

    def _demanded(self) -> tuple[str, ...]:
        """Return the resources of which the cluster has some left."""
        session = self._session
        total = Resources.total(session.accounts.allocated(queue) for queue in self._tops)
        names = session.snapshot.nodes.resources
        return tuple(n for n in names if total[n] < session.cluster_amounts(n)[0])

    def _usage_at(self, node: Path) -> SubtreeUse:
        known = self._usages.get(node)
        if known is None:
            below = [self._usage_at(child) for child in self._children.get(node, {})]
            below += [self._of_queue(queue) for queue in self._queue_at.get(node, [])]
            parts = {str(at): usage for at, usage in enumerate(below)}
            known = self._usages[node] = self._sum_of(_Sum(parts))
        return known

    def _of_queue(self, queue: str) -> SubtreeUse:
        """Sum over the jobs of a queue; only jobs with new placements are recounted."""
        demanded = self._demands
        placements = self._session.placed.log.get(queue, [])
        known = self._known.get(queue)
        # Saturation depends on the demanded resources, so a change of that set affects every job.
        if known is None or known.demanded != demanded:
            usages = {g.key: self._of_job(g, demanded) for g in self._jobs.get(queue, [])}
            known = self._known[queue] = _Jobs(demanded, _Sum(usages), len(placements))
        # Only the jobs that were placed since then; a full recount per job would be quadratic.
        for key in dict.fromkeys(placements[known.seen :]):
            group = self._session.snapshot.all_groups[key]
            known.sum.change(key, self._of_job(group, demanded))
        known.seen = len(placements)
        return self._sum_of(known.sum)

    def _of_job(self, group: GroupRow, demanded: tuple[str, ...]) -> SubtreeUse:
        has = self._session.group_allocated(group)
        requested = self._job_requests.get(group.key)
        if requested is None:
            requested = self._job_requests[group.key] = request_of(group)
        wanted = {n: amount for n, amount in requested.items() if n not in NOT_REQUESTED and amount}
        # As in Volcano: one satisfied or exhausted resource is enough, because a job cannot use more of
        # the others without it. A job that requests nothing is saturated.
        saturated = all(has.get(name, 0) >= amount for name, amount in wanted.items()) or any(
            has.get(name, 0) >= amount or name not in demanded for name, amount in wanted.items()
        )
        return SubtreeUse(has, self._share(has), saturated)

    def _share(self, amounts: Amounts) -> int:
        """Return the dominant share.

        Use of a resource that the cluster lacks counts as the whole cluster.
        """
        shares = [0]
        for name, amount in amounts.items():
            there = self._session.cluster_amounts(name)[0]
            if amount and name not in NOT_REQUESTED:
                shares.append(amount * SHARE_POINTS // there if there else SHARE_POINTS)
        return max(shares)

    def _sum_of(self, below: _Sum) -> SubtreeUse:
        return SubtreeUse(dict(below.total), self._share(below.total), not below.open)

    # -- deserved amounts ------------------------------------------------------------------------

    def deserved(self) -> dict[str, Amounts]:
        """Divide the cluster by the weights of the paths; no queue deserves more than it requests."""
        if self._deserved is None:
            self._deserved = {name: {} for name in self._session.snapshot.queues}
            tops: list[Path] = [path for path in self._weights if len(path) == 1]
            # Computed before the division: a tree node deserves at most what everything
            # below it requests.
            requested = {path: self._request_below(path) for path in self._weights}
            for resource in self._session.snapshot.nodes.resources:
                total = self._session.shared_amount(resource)
                self._divide(tops, resource, total, requested)
        return self._deserved

    def _request_below(self, node: Path) -> Resources:
        parts = [self._request_below(child) for child in self._children.get(node, {})]
        for queue in self._queue_at.get(node, []):
            parts += [request_of(group) for group in self._jobs.get(queue, [])]
        return Resources.total(parts)

    def _divide(
        self, nodes: list[Path], resource: str, total: int, requested: Mapping[Path, Amounts]
    ) -> None:
        assert self._deserved is not None
        # Amounts are scaled by `_FINE`: with large weights, one step of the water level would
        # otherwise be many units, and small clusters could not be divided fairly.
        claims = [
            ShareClaim(
                name="/".join(node),
                weight=self._weights[node],
                least=0,
                most=requested[node].get(resource, 0) * _FINE,
            )
            for node in nodes
        ]
        # No guarantees here (`least=0`): annotated paths have weights only.
        shares = fill(total * _FINE, claims)
        for node in nodes:
            # Rounded down, so that the children never divide more than their parent has.
            mine = shares["/".join(node)] // _FINE
            for queue in self._queue_at.get(node, []):
                self._deserved[queue][resource] = mine
            self._divide(list(self._children.get(node, {})), resource, mine, requested)


def path_of(queue: QueueRow) -> Path:
    """Return the annotated path; a queue without one is a child of the root."""
    return queue.path or ("root", queue.name)


def request_of(group: GroupRow) -> Resources:
    """Return what a job has plus what its waiting pods request."""
    total = Resources(group.allocated)
    for run in group.runs:
        total.add(run.shape.request, times=len(run.pods))
    return total


def _by_key(group: GroupRow) -> str:
    return group.key
