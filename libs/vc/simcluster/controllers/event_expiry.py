"""Expiry of events: they are kept for an hour, and never more than a bound.

No timer is needed: each new event removes the expired ones.
"""

from collections import deque
from functools import partial
from typing import Final

from vc.clock import Clock
from vc.simcluster.schema.builtin_resources import EVENTS
from vc.simcluster.store.background import BackgroundSteps
from vc.simcluster.store.store import DELETED, Change, Key, Store, Table

EVENT_TTL_SECONDS: Final = 3600.0
EVENTS_MAX: Final = 10_000


class EventExpiry:
    """Remembers when each event was last written, oldest first."""

    def __init__(self, store: Store, clock: Clock, background: BackgroundSteps) -> None:
        self._store = store
        self._clock = clock
        self._background = background
        self._written: deque[tuple[float, Key, int]] = deque()

    def observe(self, table: Table, change: Change) -> None:
        if table.resource.storage != EVENTS.storage or change.type == DELETED:
            return
        now = self._clock.monotonic()
        # An event that is counted up has several entries; only the newest one matches its version.
        self._written.append((now, change.record.key, change.version))
        while self._written and (
            len(self._written) > EVENTS_MAX or now - self._written[0][0] > EVENT_TTL_SECONDS
        ):
            _, key, version = self._written.popleft()
            # As a background step, because listeners of the store must not write.
            self._background.add(partial(self._expire, key, version))

    def _expire(self, key: Key, version: int) -> None:
        """Remove the event unless it was written again since."""
        record = self._store.find(EVENTS, key)
        if record is not None and record.version == version:
            self._store.remove(EVENTS, key)
