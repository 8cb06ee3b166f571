"""Exponential backoff of pods whose bind failed."""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc.model.values.backoff import exponential_seconds
from vc.scheduling.model.rows import PodRow, TaskStatus

BACKOFF_SECONDS_FIRST: Final = 1.0
BACKOFF_SECONDS_MAX: Final = 30.0


class BackoffEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The backoff of one pod."""

    key: str
    until: float
    failures: int


class BindBackoff:
    """By pod uid; bounded by the number of waiting pods."""

    def __init__(self) -> None:
        self._entries: dict[str, BackoffEntry] = {}

    def failed(self, key: str, uid: str, *, now: float) -> None:
        """Another bind of the pod failed."""
        known = self._entries.get(uid)
        failures = known.failures + 1 if known else 1
        until = now + exponential_seconds(
            failures, first_seconds=BACKOFF_SECONDS_FIRST, longest_seconds=BACKOFF_SECONDS_MAX
        )
        self._entries[uid] = BackoffEntry(key=key, until=until, failures=failures)

    def drop(self, uid: str) -> None:
        self._entries.pop(uid, None)

    def active(self, uid: str, now: float) -> bool:
        entry = self._entries.get(uid)
        return entry is not None and entry.until > now

    def expired(self, pods: Mapping[str, PodRow], now: float) -> list[str]:
        """The groups whose pods may be tried again. The number of failures is kept as long as the
        pod waits."""
        groups: list[str] = []
        for uid, entry in list(self._entries.items()):
            row = pods.get(entry.key)
            # A pod that is bound or gone has no failures to remember; this also bounds the table.
            if row is None or row.uid != uid or row.status is not TaskStatus.PENDING:
                self.drop(uid)
            elif entry.until <= now:
                groups.append(row.group)
        return groups

    def shift(self, seconds: float) -> None:
        """The clock was changed: the remaining backoff stays the same."""
        for uid, entry in self._entries.items():
            self._entries[uid] = msgspec.structs.replace(entry, until=entry.until + seconds)

    def expiries(self) -> list[float]:
        """When pods may be tried again."""
        return [entry.until for entry in self._entries.values()]
