"""Changes are remembered for five minutes, as etcd compacts: what a finished job went through is not state.

No timer: a write pushes old changes out, of every table. Of each table the newest change stays, so that whoever
watches a kind of which nothing happens is not told that it came too late.
"""

from collections import deque
from typing import Final

from vc_clock import Clock
from vc_simcluster.store import Change, Store, Table

HISTORY_SECONDS: Final = 300.0
MARK_SECONDS: Final = 30.0
"""Between two moments whose version is remembered."""


class HistoryExpiry:
    """Knows which version the store had when."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._marks: deque[tuple[float, int]] = deque()

    def observe(self, _: Table, change: Change) -> None:
        now = self._clock.monotonic()
        if self._marks and now - self._marks[-1][0] < MARK_SECONDS:
            return
        self._marks.append((now, change.version))
        version = 0
        while self._marks[0][0] < now - HISTORY_SECONDS:
            version = self._marks.popleft()[1]
        if version:
            for table in self._store.tables():
                table.forget_until(version)
