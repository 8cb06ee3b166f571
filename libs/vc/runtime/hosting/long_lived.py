"""Excludes long-lived objects (facts, rows and their parts) from full garbage collections.

A full collection walks every tracked object and blocks the process. With 50,000 pods that takes a
second, and it repeats while the pods are read. Facts are trees, which reference counting frees.
Therefore surviving objects are frozen (`gc.freeze`) after a fixed number of changes, and full
collections walk only younger objects. The cost: a cycle that became garbage between its second
collection and a freeze is never freed. To keep this rare, young generations are collected right
before each freeze.
"""

import gc
from typing import Final

CHANGES_BETWEEN: Final = 1_000
"""The facts of this many pods are about 60,000 objects,
which a collection walks in 10 milliseconds.
"""
_MIDDLE: Final = 1


class LongLived:
    """Counts changes and freezes the surviving objects after every `CHANGES_BETWEEN` of them."""

    def __init__(self) -> None:
        self._changes = 0

    def took(self, changes: int) -> bool:
        """Counts applied changes; returns whether the live objects were frozen."""
        self._changes += changes
        # Freezing too often would also freeze short-lived objects before they die.
        if self._changes < CHANGES_BETWEEN:
            return False
        self._changes = 0
        # Garbage that is frozen is never freed, so collect the young generations first.
        gc.collect(_MIDDLE)
        gc.freeze()
        return True
