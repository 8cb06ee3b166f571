"""Priority of writes, and flow control of concurrent writes per kind.

*Order.* Binds come first, then writes that create or delete objects, then statuses, then events.
Within a class the oldest decision comes first, so that a started gang is completed before the next
one. A share of the requests is never used by the upper two classes while a lower one waits, so that
no class starves.

*Back-pressure.* Every kind of write has a window: the number of concurrent requests. A response
that takes half of the request time-out, no response, or "too many requests" halves the window, at
most once for requests that were sent together. Every other response grows it by one per round. An
overloaded API server thus receives fewer requests before they time out, and one that is slow but
responds well within the time-out receives as many as before. A window never closes: writes beyond
it wait, and are neither dropped nor repeated.
"""

import enum
import heapq
from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

from vc.messages.effects import (
    BindPod,
    CreateObject,
    DeleteObject,
    Effect,
    PatchObject,
    PublishMessage,
    RecordEvent,
)

SLOW_SECONDS: Final = 2.5
"""A slower response is a sign of overload; requests time out after twice this time."""
WINDOW_MIN: Final = 2
RESERVED_SHARE: Final = 8
"""One in this many requests, and at least one, is reserved for waiting statuses and events."""


class WritePriority(enum.IntEnum):
    """WritePriority classes; lower values are sent first."""

    BIND = 0
    CREATE = 1
    """Also all other writes that create or delete objects or change their spec."""
    STATUS = 2
    EVENT = 3


class Lane(NamedTuple):
    """Writes that share a window and a priority."""

    priority: WritePriority
    kind: str


def lane_of(effect: Effect) -> Lane:
    """The lane of an effect."""
    match effect:
        case BindPod():
            return Lane(WritePriority.BIND, "bind")
        case RecordEvent():
            return Lane(WritePriority.EVENT, "event")
        case PublishMessage():
            return Lane(WritePriority.STATUS, "message")
        case PatchObject(kind=kind, patch=patch):
            is_status = "status" in patch
            return Lane(
                WritePriority.STATUS if is_status else WritePriority.CREATE, f"patch {kind.short}"
            )
        case CreateObject(kind=kind):
            return Lane(WritePriority.CREATE, f"create {kind.short}")
        case DeleteObject(kind=kind):
            return Lane(WritePriority.CREATE, f"delete {kind.short}")
    return Lane(WritePriority.CREATE, "evict")


class Window:
    """Limit of concurrent writes of one kind; adapts to the responses."""

    def __init__(self, most: int) -> None:
        self._most = float(most)
        self._least = float(min(WINDOW_MIN, most))
        self.size = float(most)
        self._cut_at = float("-inf")

    def answered(self, *, sent_at: float, now: float, overloaded: bool) -> None:
        """Adapt to a response. Slow responses to requests sent before the last cut are ignored,
        because they do not reflect the smaller window.
        """
        if not overloaded and now - sent_at < SLOW_SECONDS:
            # Additive increase: about one more request per round of responses.
            self.size = min(self._most, self.size + 1.0 / self.size)
        # Requests sent before the cut belong to the same overload and must not halve again.
        elif sent_at > self._cut_at:
            self._cut_at = now
            # A closed window would get no response any more, and so could never grow again.
            self.size = max(self._least, self.size / 2)


class FlowControl:
    """The queue of waiting and running writes. It neither blocks nor reads a clock."""

    def __init__(self, requests_max: int) -> None:
        self._requests_max = requests_max
        # At least one request is reserved, unless there is only one in total.
        self._reserved = max(requests_max // RESERVED_SHARE, min(1, requests_max - 1))
        self._windows: dict[str, Window] = {}
        """By kind of write; bounded, because the code names the kinds."""
        self._under_way: Counter[str] = Counter()
        self._all = 0
        """Number of running writes of all kinds."""
        self._upper = 0
        """Number of running binds and writes that create or delete objects."""
        self._waiting: dict[Lane, list[tuple[int, int, Callable[[], bool]]]] = {}
        self._came = 0

    def window(self, kind: str) -> Window:
        if kind not in self._windows:
            self._windows[kind] = Window(self._requests_max)
        return self._windows[kind]

    def wait(self, lane: Lane, turn: int, go: Callable[[], bool]) -> None:
        """Queue a write. `go` starts it, and returns False if its caller was cancelled.

        Lower turns start first.
        """
        # The number orders writes of one turn by arrival, and keeps the heap from comparing
        # functions.
        self._came += 1
        heapq.heappush(self._waiting.setdefault(lane, []), (turn, self._came, go))
        self.admit()

    def admit(self) -> None:
        """Start all writes that may start now."""
        while (lane := self._next()) is not None:
            _, _, go = heapq.heappop(self._waiting[lane])
            if not self._waiting[lane]:
                del self._waiting[lane]
            # A caller that was cancelled while waiting uses no slot.
            if go():
                self._all += 1
                self._under_way[lane.kind] += 1
                self._upper += lane.priority <= WritePriority.CREATE

    def leave(self, lane: Lane) -> None:
        """A running write has ended."""
        self._all -= 1
        self._under_way[lane.kind] -= 1
        self._upper -= lane.priority <= WritePriority.CREATE
        self.admit()

    def _next(self) -> Lane | None:
        if not self._waiting or self._all >= self._requests_max:
            return None
        open_lanes = [lane for lane in self._waiting if self._has_free_slot(lane)]
        if not open_lanes:
            return None
        # Within a priority the oldest decision first, so that a started gang is completed.
        return min(open_lanes, key=lambda lane: (lane.priority, self._waiting[lane][0][:2]))

    def _has_free_slot(self, lane: Lane) -> bool:
        if self._under_way[lane.kind] >= int(self.window(lane.kind).size):
            return False
        # The reserve is only kept while a lower class waits; otherwise it would lie idle.
        if lane.priority > WritePriority.CREATE or not self._lower_waits():
            return True
        return self._upper < self._requests_max - self._reserved

    def _lower_waits(self) -> bool:
        return any(lane.priority > WritePriority.CREATE for lane in self._waiting)
