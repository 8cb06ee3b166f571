"""Events are kept for an hour, and never more than a bound: they are news, not state.

No timer: an event that comes pushes the old ones out.
"""

from collections import deque
from functools import partial
from typing import Final

from vc_clock import Clock
from vc_simcluster.builtin_resources import EVENTS
from vc_simcluster.housekeeping import Housekeeping
from vc_simcluster.store import DELETED, Change, Key, Store, Table

EVENT_TTL_SECONDS: Final = 3600.0
EVENTS_MAX: Final = 10_000


class EventExpiry:
    """Remembers when each event was last written, oldest first."""

    def __init__(self, store: Store, clock: Clock, housekeeping: Housekeeping) -> None:
        self._store = store
        self._clock = clock
        self._housekeeping = housekeeping
        self._written: deque[tuple[float, Key, int]] = deque()

    def observe(self, table: Table, change: Change) -> None:
        if table.resource.storage != EVENTS.storage or change.type == DELETED:
            return
        now = self._clock.monotonic()
        self._written.append((now, change.record.key, change.version))
        while self._written and (
            len(self._written) > EVENTS_MAX or now - self._written[0][0] > EVENT_TTL_SECONDS
        ):
            _, key, version = self._written.popleft()
            self._housekeeping.add(partial(self._expire, key, version))

    def _expire(self, key: Key, version: int) -> None:
        """Only if it was not written again since."""
        record = self._store.find(EVENTS, key)
        if record is not None and record.version == version:
            self._store.remove(EVENTS, key)
