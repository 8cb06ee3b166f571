"""Keeps the garbage collector from walking what stays: facts, rows, and what hangs on them.

A full collection walks every tracked object of the process and holds everybody up meanwhile: with
50,000 pods that is a second, again and again while they are read. They are trees, which reference
counts free; so what has survived is put aside (`gc.freeze`) after every so many changes, and full
collections walk only what is younger. Given up: a cycle that became garbage between its second
collection and a freeze is never found; young ones are collected right before.
"""

import gc
from typing import Final

CHANGES_BETWEEN: Final = 1_000
"""The facts of so many pods are some 60,000 objects, a walk of about 10 milliseconds."""
_MIDDLE: Final = 1


class LongLived:
    """Counts changes, and puts aside what they left."""

    def __init__(self) -> None:
        self._changes = 0

    def took(self, changes: int) -> bool:
        """So many more were applied; whether everything alive was put aside."""
        self._changes += changes
        if self._changes < CHANGES_BETWEEN:
            return False
        self._changes = 0
        gc.collect(_MIDDLE)
        gc.freeze()
        return True
