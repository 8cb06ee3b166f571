"""Exponential backoff of pods whose bind failed."""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc.model.values.backoff import exponential_seconds
from vc.scheduling.model.rows import PodRow, Task

HOLD_SECONDS_FIRST: Final = 1.0
HOLD_SECONDS_MAX: Final = 30.0


class BackoffEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The backoff of one pod."""

    key: str
    until: float
    failures: int


class BindBackoff:
    """By pod uid; bounded by the number of waiting pods."""

    def __init__(self) -> None:
        self._holds: dict[str, BackoffEntry] = {}

    def failed(self, key: str, uid: str, *, now: float) -> None:
        """Another bind of the pod failed."""
        known = self._holds.get(uid)
        failures = known.failures + 1 if known else 1
        until = now + exponential_seconds(
            failures, first_seconds=HOLD_SECONDS_FIRST, longest_seconds=HOLD_SECONDS_MAX
        )
        self._holds[uid] = BackoffEntry(key=key, until=until, failures=failures)

    def drop(self, uid: str) -> None:
        self._holds.pop(uid, None)

    def holds(self, uid: str, now: float) -> bool:
        hold = self._holds.get(uid)
        return hold is not None and hold.until > now

    def expired(self, pods: Mapping[str, PodRow], now: float) -> list[str]:
        """The groups whose pods may be tried again. The number of failures is kept as long as the
        pod waits."""
        groups: list[str] = []
        for uid, hold in list(self._holds.items()):
            row = pods.get(hold.key)
            if row is None or row.uid != uid or row.status is not Task.PENDING:
                self.drop(uid)
            elif hold.until <= now:
                groups.append(row.group)
        return groups

    def shift(self, seconds: float) -> None:
        """The clock was changed: the remaining backoff stays the same."""
        for uid, hold in self._holds.items():
            self._holds[uid] = msgspec.structs.replace(hold, until=hold.until + seconds)

    def expiries(self) -> list[float]:
        """When pods may be tried again."""
        return [hold.until for hold in self._holds.values()]
