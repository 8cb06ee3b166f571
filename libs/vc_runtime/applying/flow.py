"""Which write goes out next, and how many of a kind at a time.

*Order.* Binds go before what makes or removes objects, that before statuses, and those before events;
within a class what was begun first goes first, so a gang that was begun is finished before the next one.
A part of the requests is never given to the upper two classes while a lower one waits, so none starves.

*Back-pressure.* Every kind of write has a window: how many of it may be under way. An answer that takes
half of the time a request may take, or none, or "too many requests", halves the window, at most once for
requests that were sent together; every other answer lets it grow by one a round. So an overloaded API
server is asked for less before requests time out, and one that is slow but answers well within the time is
asked for as much as before. No window closes: what it holds back waits, and is neither dropped nor repeated.
"""

import enum
import heapq
from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

from vc_messages.effects import (
    BindPod,
    CreateObject,
    DeleteObject,
    Effect,
    PatchObject,
    PublishMessage,
    RecordEvent,
)

SLOW_SECONDS: Final = 2.5
"""An answer that takes longer is a sign of overload; requests end after twice as long."""
WINDOW_MIN: Final = 2
RESERVED_SHARE: Final = 8
"""One request in so many, and at least one, is kept for statuses and events that wait."""


class Priority(enum.IntEnum):
    """Lower goes first."""

    BIND = 0
    CREATE = 1
    """And whatever else makes or removes objects, or changes what they ask for."""
    STATUS = 2
    EVENT = 3


class Lane(NamedTuple):
    """Writes that have a window and a priority in common."""

    priority: Priority
    kind: str


def lane_of(effect: Effect) -> Lane:
    """Where a write stands in line."""
    match effect:
        case BindPod():
            return Lane(Priority.BIND, "bind")
        case RecordEvent():
            return Lane(Priority.EVENT, "event")
        case PublishMessage():
            return Lane(Priority.STATUS, "message")
        case PatchObject(kind=kind, patch=patch):
            tells = "status" in patch
            return Lane(Priority.STATUS if tells else Priority.CREATE, f"patch {kind.short}")
        case CreateObject(kind=kind):
            return Lane(Priority.CREATE, f"create {kind.short}")
        case DeleteObject(kind=kind):
            return Lane(Priority.CREATE, f"delete {kind.short}")
    return Lane(Priority.CREATE, "evict")


class Window:
    """How many writes of one kind may be under way; grows and shrinks with the answers."""

    def __init__(self, most: int) -> None:
        self._most = float(most)
        self._least = float(min(WINDOW_MIN, most))
        self.size = float(most)
        self._cut_at = float("-inf")

    def answered(self, *, sent_at: float, now: float, overloaded: bool) -> None:
        """Requests that were sent before the last cut say nothing about what is under way since."""
        if not overloaded and now - sent_at < SLOW_SECONDS:
            self.size = min(self._most, self.size + 1.0 / self.size)
        elif sent_at > self._cut_at:
            self._cut_at = now
            self.size = max(self._least, self.size / 2)


class Flow:
    """The line itself: who waits, who is under way. It neither waits nor looks at a clock."""

    def __init__(self, requests_max: int) -> None:
        self._requests_max = requests_max
        self._reserved = max(requests_max // RESERVED_SHARE, min(1, requests_max - 1))
        self._windows: dict[str, Window] = {}
        """By kind of write: bounded by the code, which names the kinds."""
        self._under_way: Counter[str] = Counter()
        self._all = 0
        """Under way, of every kind."""
        self._upper = 0
        """Of those under way, binds and writes that make or remove objects."""
        self._waiting: dict[Lane, list[tuple[int, int, Callable[[], bool]]]] = {}
        self._came = 0

    def window(self, kind: str) -> Window:
        if kind not in self._windows:
            self._windows[kind] = Window(self._requests_max)
        return self._windows[kind]

    def wait(self, lane: Lane, turn: int, go: Callable[[], bool]) -> None:
        """Stand in line: `go` is called when it is our turn, and is False when nobody is there any more.

        Lower turns go first."""
        self._came += 1
        heapq.heappush(self._waiting.setdefault(lane, []), (turn, self._came, go))
        self.admit()

    def admit(self) -> None:
        """Let go whoever may."""
        while (lane := self._next()) is not None:
            _, _, go = heapq.heappop(self._waiting[lane])
            if not self._waiting[lane]:
                del self._waiting[lane]
            if go():
                self._all += 1
                self._under_way[lane.kind] += 1
                self._upper += lane.priority <= Priority.CREATE

    def leave(self, lane: Lane) -> None:
        """One is no longer under way."""
        self._all -= 1
        self._under_way[lane.kind] -= 1
        self._upper -= lane.priority <= Priority.CREATE
        self.admit()

    def _next(self) -> Lane | None:
        if not self._waiting or self._all >= self._requests_max:
            return None
        open_lanes = [lane for lane in self._waiting if self._has_room(lane)]
        if not open_lanes:
            return None
        return min(open_lanes, key=lambda lane: (lane.priority, self._waiting[lane][0][:2]))

    def _has_room(self, lane: Lane) -> bool:
        if self._under_way[lane.kind] >= int(self.window(lane.kind).size):
            return False
        if lane.priority > Priority.CREATE or not self._lower_waits():
            return True
        return self._upper < self._requests_max - self._reserved

    def _lower_waits(self) -> bool:
        return any(lane.priority > Priority.CREATE for lane in self._waiting)
