"""Queue accounts: what each queue has allocated, reserved and enqueued during one session.

Every amount is counted in the queue of the job and in all its ancestors, so the amounts of a queue
include those of its descendants. Sums are Python integers. Only this module changes them; other
modules call `count_placed`, `count_reserved`, `count_terminating` and `count_enqueued`.
"""

import functools
from collections.abc import Mapping
from typing import Final

from vc.model.api.keys import ROOT_QUEUE
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
        self._allocated: dict[str, Amounts] = {}
        """Resources of placed pods, and of pods with a reservation."""
        self._reserved: dict[str, Amounts] = {}
        """The part of `_allocated` that no pod uses yet. Never more than `_allocated`."""
        self._enqueued: dict[str, Amounts] = {}
        """What enqueued groups claim beyond what they have."""
        self._enqueued_total: Amounts = {}
        """The same over all groups, including those whose queue does not exist."""
        self._elastic: dict[str, Amounts] = {}
        """The part of `_allocated` that surplus pods use."""
        self.unowned: Amounts = {}
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

    def allocated(self, queue: str) -> Amounts:
        """Resources allocated to the queue and its descendants, including placements of this
        session."""
        return self._allocated.setdefault(queue, {})

    def reserved(self, queue: str) -> Amounts:
        """The part of `allocated` that is only reserved, for pods that are not bound yet."""
        return self._reserved.setdefault(queue, {})

    def committed(self, queue: str) -> Amounts:
        """Allocated and enqueued resources of a queue, without those of surplus pods."""
        # Surplus pods can be evicted for a minimum, so they do not keep another group Pending.
        total = dict(self.allocated(queue))
        add_amounts(total, self._enqueued.get(queue, {}), sign=1)
        add_amounts(total, self._elastic.get(queue, {}), sign=-1)
        return total

    def enqueued_total(self, resource: str) -> int:
        """Enqueued resources of the groups of all queues."""
        return self._enqueued_total.get(resource, 0)

    # -- changes ---------------------------------------------------------------------------------

    def count_enqueued(self, queue: str, claim: Amounts) -> None:
        """Add what a group claims when it is enqueued; negative amounts when it is withdrawn."""
        self._roll_up(queue, QueueUse(promised=claim))

    def count_placed(self, queue: str, added: Amounts, from_reservation: Amounts | None) -> None:
        """Count placed pods (with negative amounts, removed ones).

        `added` is new to the allocation. `from_reservation` was allocated before, as a reservation
        that ends with the placement.
        """
        self.changed.append(queue)
        for row in self.ancestors(queue):
            add_amounts(self.allocated(row.name), added, sign=1)
            if from_reservation is not None:
                add_amounts(self.reserved(row.name), from_reservation, sign=-1)

    def count_reserved(self, queue: str, amounts: Amounts, *, sign: int) -> None:
        """Allocate a reservation for waiting pods, or with sign -1 remove it."""
        self.changed.append(queue)
        for row in self.ancestors(queue):
            add_amounts(self.allocated(row.name), amounts, sign=sign)
            add_amounts(self.reserved(row.name), amounts, sign=sign)

    def mark_reserved(self, queue: str, amounts: Amounts) -> None:
        """Mark allocated amounts as reserved only; with negative amounts, as in use again."""
        for row in self.ancestors(queue):
            add_amounts(self.reserved(row.name), amounts, sign=1)

    def count_terminating(self, queue: str, freed: Amounts, *, sign: int) -> None:
        """Remove (-1) or restore (1) the resources of terminating pods."""
        self.changed.append(queue)
        for row in self.ancestors(queue):
            add_amounts(self.allocated(row.name), freed, sign=sign)

    def _roll_up(self, queue: str, use: QueueUse) -> None:
        """Add the amounts of one queue to it and its ancestors."""
        # A queue that does not exist has no row and no ancestors, but an account of its own.
        names = [row.name for row in self.ancestors(queue)] or [queue]
        add_amounts(self._enqueued_total, use.promised, sign=1)
        if queue not in self._queues:
            add_amounts(self.unowned, use.allocated, sign=1)
            if ROOT_QUEUE in self._queues:  # root owns pods of no other queue
                add_amounts(self._allocated.setdefault(ROOT_QUEUE, {}), use.allocated, sign=1)
        for name in names:
            add_amounts(self._allocated.setdefault(name, {}), use.allocated, sign=1)
            add_amounts(self._enqueued.setdefault(name, {}), use.promised, sign=1)
            add_amounts(self._elastic.setdefault(name, {}), use.elastic, sign=1)
            add_amounts(self._allocated[name], use.reserved, sign=1)
            add_amounts(self._reserved.setdefault(name, {}), use.reserved, sign=1)


def add_amounts(total: Amounts, amounts: Amounts, *, sign: int) -> None:
    """Add `amounts` to `total`, or with sign -1 subtract them."""
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + sign * amount
