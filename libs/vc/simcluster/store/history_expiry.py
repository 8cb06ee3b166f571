"""Expire the history of changes after five minutes, like etcd's compaction.

No timer is needed: writes drop old changes from all tables. Every table keeps its newest
change, so a watch on a kind without changes does not fail with 410.
"""

from collections import deque
from typing import Final

from vc.clock import Clock
from vc.simcluster.store.store import Change, Store, Table

HISTORY_SECONDS: Final = 300.0
MARK_SECONDS: Final = 30.0
"""Interval between two marks, each of which pairs a time with the store's version."""


class HistoryExpiry:
    """Remembers which version the store had at which time, and drops older history."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._marks: deque[tuple[float, int]] = deque()

    def observe(self, _: Table, change: Change) -> None:
        now = self._clock.monotonic()
        # Marks are sparse: one per interval is precise enough for a limit of five minutes.
        if self._marks and now - self._marks[-1][0] < MARK_SECONDS:
            return
        self._marks.append((now, change.version))
        # Only the newest expired mark matters: it includes the changes before all older ones.
        version = 0
        while self._marks[0][0] < now - HISTORY_SECONDS:
            version = self._marks.popleft()[1]
        if version:
            for table in self._store.tables():
                table.forget_until(version)
