"""Pods placed in this session, counted by run, by group and by shape.

A run is a sequence of equal pods, and its pods are placed in order. So one number per run says which
of its pods are placed and which still wait.
"""

from vc.model.values.resources import Resources
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.rows import GroupRow, PodRow, Run
from vc.scheduling.model.shapes import Shape


class PlacedPods:
    """Counts of placed pods. Statements change them through `Session.count_placed`."""

    def __init__(self) -> None:
        self._by_run: dict[str, int] = {}
        """By the first pod of each run: the number of its pods placed on nodes."""
        self._by_shape: dict[tuple[str, bytes], int] = {}
        """By group and shape."""
        self._amounts: dict[str, Resources] = {}
        """By group: the requests of its placed pods."""
        self.log: dict[str, list[str]] = {}
        """By queue: the groups with pods placed or withdrawn, oldest first. Plugins read the new
        entries."""

    def waiting(self, run: Run) -> tuple[PodRow, ...]:
        """The pods of a run that are not placed yet."""
        return run.pods[self._by_run.get(run.pods[0].key, 0) :]

    def amounts(self, group: GroupRow) -> Amounts:
        """The requests of the group's pods placed in this session."""
        return self._amounts.get(group.key, {})

    def charged(self, group: GroupRow, shape: Shape, pods: int) -> int:
        """The part of `pods` that is new to the allocation of the queue, when so many pods are
        placed (or, if negative, removed). Pods with a reservation are already counted."""
        if not group.reserved_pods:
            return pods
        reserved = dict(group.reserved_pods).get(shape.key, 0)
        placed = self._by_shape.get((group.key, shape.key), 0)
        return max(0, placed + pods - reserved) - max(0, placed - reserved)

    def count(self, group: GroupRow, run: Run, amounts: Amounts, *, pods: int) -> None:
        """Count pods of a run with these requests in total; negative numbers remove them."""
        first, known = run.pods[0].key, (group.key, run.shape.key)
        self._by_run[first] = self._by_run.get(first, 0) + pods
        self._by_shape[known] = self._by_shape.get(known, 0) + pods
        self._amounts.setdefault(group.key, Resources()).add(amounts)
        self.log.setdefault(group.queue, []).append(group.key)
