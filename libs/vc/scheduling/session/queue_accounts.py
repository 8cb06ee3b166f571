"""Queue accounts: what each queue has allocated, reserved and enqueued during one session.

Every amount is counted in the queue of the job and in all its ancestors, so the amounts of a queue
include those of its descendants. Sums are Python integers. Only this module changes them; other
modules call `count_placed`, `count_reserved`, `count_terminating` and `count_enqueued`.
"""

import functools
from collections.abc import Mapping
from typing import Final

from vc.model.api.keys import ROOT_QUEUE
from vc.model.values.resources import Resources
from vc.scheduling.cache.snapshot import QueueUse
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.queue_ancestors import at_the_top
from vc.scheduling.model.rows import QueueRow

QUEUE_DEPTH_MAX: Final = 32
"""The maximum number of queue levels considered; ancestors beyond it are ignored."""


class QueueAccounts:
    """The amounts of all queues, with the decisions of the session so far."""

    def __init__(self, queues: Mapping[str, QueueRow], use: Mapping[str, QueueUse]) -> None:
        self._queues = queues
        self._ancestors: dict[str, list[QueueRow]] = {}
        self._circular = at_the_top({name: row.parent for name, row in queues.items()})
        self._allocated: dict[str, Resources] = {}
        """Resources of placed pods, and of pods with a reservation."""
        self._reserved: dict[str, Resources] = {}
        """The part of `_allocated` that no pod uses yet. Never more than `_allocated`."""
        self._enqueued: dict[str, Resources] = {}
        """What enqueued groups claim beyond what they have."""
        self._enqueued_total = Resources()
        """The same over all groups, including those whose queue does not exist."""
        self._elastic: dict[str, Resources] = {}
        """The part of `_allocated` that surplus pods use."""
        self.unowned = Resources()
        """Resources of pods whose queue does not exist. They occupy nodes, so they are not shared
        among queues."""
        self.changed: list[str] = []
        """Queues whose allocation changed, oldest first. Caches of sums read the new entries."""
        for name, amounts in use.items():
            self._roll_up(name, amounts)

    # -- the tree --------------------------------------------------------------------------------

    def ancestors(self, queue: str) -> list[QueueRow]:
        """The queue and its ancestors, as far as they exist. A queue in a parent cycle counts as
        top level."""
        known = self._ancestors.get(queue)
        if known is None:
            known = self._ancestors[queue] = []
            row = self._queues.get(queue)
            while row is not None and len(known) < QUEUE_DEPTH_MAX:
                known.append(row)
                above = "" if row.name in self._circular else row.parent
                row = self._queues.get(above)
        return known

    @functools.cached_property
    def common_top(self) -> str:
        """The one queue above all others, such as `root`, whose amounts rank no job; empty if there
        is none."""
        tops = {rows[-1].name: None for name in self._queues if (rows := self.ancestors(name))}
        return next(iter(tops)) if len(tops) == 1 else ""

    # -- amounts ---------------------------------------------------------------------------------

    def allocated(self, queue: str) -> Resources:
        """Resources allocated to the queue and its descendants, including placements of this
        session."""
        return self._allocated.setdefault(queue, Resources())

    def reserved(self, queue: str) -> Resources:
        """The part of `allocated` that is only reserved, for pods that are not bound yet."""
        return self._reserved.setdefault(queue, Resources())

    def committed(self, queue: str) -> Resources:
        """Allocated and enqueued resources of a queue, without those of surplus pods."""
        # Surplus pods can be evicted for a minimum, so they do not keep another group Pending.
        total = self.allocated(queue) + self._enqueued.get(queue, {})
        total.add(self._elastic.get(queue, {}), times=-1)
        return total

    def enqueued_total(self, resource: str) -> int:
        """Enqueued resources of the groups of all queues."""
        return self._enqueued_total.get(resource, 0)

    # -- changes ---------------------------------------------------------------------------------

    def count_enqueued(self, queue: str, claim: Amounts) -> None:
        """Add what a group claims when it is enqueued; negative amounts when it is withdrawn."""
        self._roll_up(queue, QueueUse(enqueued=Resources(claim)))

    def count_placed(self, queue: str, added: Amounts, from_reservation: Amounts | None) -> None:
        """Count placed pods (with negative amounts, removed ones).

        `added` is new to the allocation. `from_reservation` was allocated before, as a reservation
        that ends with the placement.
        """
        self.changed.append(queue)
        for row in self.ancestors(queue):
            self.allocated(row.name).add(added)
            if from_reservation is not None:
                self.reserved(row.name).add(from_reservation, times=-1)

    def count_reserved(self, queue: str, amounts: Amounts, *, sign: int) -> None:
        """Allocate a reservation for waiting pods, or with sign -1 remove it."""
        self.changed.append(queue)
        for row in self.ancestors(queue):
            self.allocated(row.name).add(amounts, times=sign)
            self.reserved(row.name).add(amounts, times=sign)

    def mark_reserved(self, queue: str, amounts: Amounts) -> None:
        """Mark allocated amounts as reserved only; with negative amounts, as in use again."""
        for row in self.ancestors(queue):
            self.reserved(row.name).add(amounts)

    def count_terminating(self, queue: str, freed: Amounts, *, sign: int) -> None:
        """Remove (-1) or restore (1) the resources of terminating pods."""
        self.changed.append(queue)
        for row in self.ancestors(queue):
            self.allocated(row.name).add(freed, times=sign)

    def _roll_up(self, queue: str, use: QueueUse) -> None:
        """Add the amounts of one queue to it and its ancestors."""
        # A queue that does not exist has no row and no ancestors, but an account of its own.
        names = [row.name for row in self.ancestors(queue)] or [queue]
        self._enqueued_total.add(use.enqueued)
        if queue not in self._queues:
            self.unowned.add(use.allocated)
            if ROOT_QUEUE in self._queues:  # root owns pods of no other queue
                self._allocated.setdefault(ROOT_QUEUE, Resources()).add(use.allocated)
        for name in names:
            self._allocated.setdefault(name, Resources()).add(use.allocated)
            self._enqueued.setdefault(name, Resources()).add(use.enqueued)
            self._elastic.setdefault(name, Resources()).add(use.elastic)
            self._allocated[name].add(use.reserved)
            self._reserved.setdefault(name, Resources()).add(use.reserved)
