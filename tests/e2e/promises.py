"""Asks `/invariants` again and again while a scenario hurts something, not only when all is over.

The dashboard may be the one that is hurt, and its view may be old: it says nothing then, and such a look
counts for itself. What it names is excused only as long as the fault can explain it, by promise: the time
in which a killed scheduler is back, or its half bound gang is released. An epoch that went back is never
excused.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final

from vc.dashboard.logic.invariants import (
    EPOCHS_GROW,
    GANGS_WHOLE,
    NO_ORPHANS,
    NODES_FIT,
    QUEUES_ALLOCATED,
    QUEUES_EXIST,
    QUEUES_FIT,
    TRANSIENT_SECONDS_MAX,
)
from vc.scheduling.actions.release import GANG_RELEASE_SECONDS

LOOK_SECONDS: Final = 1.0
PARTITION_SKEW_SECONDS: Final = 3.0
"""One pod's end and the next one's bind lie in different partitions, which are read one after the other."""
EXCUSED_SECONDS: Final = {
    NODES_FIT: PARTITION_SKEW_SECONDS,
    QUEUES_FIT: PARTITION_SKEW_SECONDS,
    GANGS_WHOLE: GANG_RELEASE_SECONDS + TRANSIENT_SECONDS_MAX,
    QUEUES_ALLOCATED: GANG_RELEASE_SECONDS + TRANSIENT_SECONDS_MAX,
    NO_ORPHANS: GANG_RELEASE_SECONDS + TRANSIENT_SECONDS_MAX,
    QUEUES_EXIST: TRANSIENT_SECONDS_MAX,
    EPOCHS_GROW: 0.0,
}
"""For how long each may have been seen before a fault explains it no longer."""
BROKEN_KEPT_MAX: Final = 20

Ask = Callable[[], Awaitable[dict[str, Any]]]


class Promises:
    """Looks until cancelled; `broken` is what nothing excuses."""

    def __init__(self, ask: Ask) -> None:
        """`ask` gives the dashboard's answer, empty when there is none."""
        self._ask = ask
        self.forget()

    def forget(self) -> None:
        """Begin a new account."""
        self.looks: Counter[str] = Counter()
        """`fresh`, `stale` or `unanswered`."""
        self.excused: Counter[str] = Counter()
        """Violations that were named and explained, by promise, each time they were seen."""
        self.broken: list[str] = []

    def __str__(self) -> str:
        fresh, total = self.looks["fresh"], self.looks.total()
        excused = ", ".join(f"{name} x{times}" for name, times in sorted(self.excused.items()))
        return f"/invariants fresh in {fresh} of {total} looks, excused: {excused or 'none'}"

    async def run(self) -> None:
        while True:
            self.take(await self._ask())
            await asyncio.sleep(LOOK_SECONDS)

    def take(self, answer: dict[str, Any]) -> None:
        """One answer of the dashboard."""
        if not answer:
            self.looks["unanswered"] += 1
            return
        self.looks["stale" if answer["stale"] else "fresh"] += 1
        for promise in answer["invariants"]:
            for violation in promise["violations"]:
                self._judge(promise["name"], violation)

    def _judge(self, name: str, violation: dict[str, Any]) -> None:
        if violation["seconds"] < EXCUSED_SECONDS[name]:
            self.excused[name] += 1
            return
        told = (
            f"{name}: {violation['object']}: {violation['message']}, {violation['seconds']:.0f} s"
        )
        if len(self.broken) < BROKEN_KEPT_MAX:
            self.broken.append(told)
