"""Containment: an object that cannot be processed becomes a problem row; all others proceed.

Every boundary where foreign input is decoded, projected, applied to a view, decided on or written
processes one object at a time inside `contain`. Any exception there (ValueError for a number with
5,000 digits, RecursionError for nested lists, TypeError for an affinity that is no object) concerns
that object alone. The object is left out until it changes. It is reported in one log line, a
counter, a gauge of current rows, `/healthz`, and an event on the object. A batch is never wrapped,
because one object would then affect the others. Our own faults are not hidden: they appear as rows
too.
"""

import asyncio
import logging
from collections import OrderedDict
from types import TracebackType
from typing import Final, Self

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge

from vc.messages.effects import RecordEvent
from vc.model.api.kinds import Kind
from vc.model.api.meta import split_key
from vc.model.faults import describe

ROWS_MAX: Final = 1_000
"""Rows that are kept; beyond it the oldest are dropped, and only the counter includes them."""
UNWRITTEN_MAX: Final = 200
"""Events that wait until we may write them."""
ERROR_CHARACTERS_MAX: Final = 300
SHOWN_MAX: Final = 20
"""Rows that `/healthz` lists."""
REASON: Final = "CannotBeProcessed"


class ProblemRow(msgspec.Struct, frozen=True, kw_only=True):
    """An object and what could not be done with it."""

    boundary: str
    """The boundary: decode, project, apply, decide or write."""
    kind: str
    key: str
    error: str

    def __str__(self) -> str:
        return f"{self.boundary} of {self.kind} {self.key[:200]!r}: {self.error}"


class ProblemRows:
    """The problem rows of one service."""

    def __init__(self, service: str, *, registry: CollectorRegistry, log: logging.Logger) -> None:
        self._service = service
        self._log = log
        self._rows: OrderedDict[tuple[str, str, str], ProblemRow] = OrderedDict()
        self._unwritten: list[RecordEvent] = []
        self._wake: asyncio.Event | None = None
        labels = ("service", "boundary", "kind")
        self._contained = Counter(
            "pyroclast_contained_failures",
            "Objects and records that could not be processed and were left out, by where and kind.",
            labels,
            registry=registry,
        )
        self._current = Gauge(
            "pyroclast_problem_rows",
            "Objects that are left out now, until they change or are deleted.",
            labels,
            registry=registry,
        )

    # -- containing ------------------------------------------------------------------------------

    def contain(self, boundary: str, kind: Kind | str, key: str, *, uid: str = "") -> "Contained":
        """A context manager for one object:
        `with problems.contain("apply", PODS, change.key): ...`.
        """
        return Contained(self, boundary, kind, key, uid)

    def caught(
        self,
        boundary: str,
        kind: Kind | str,
        key: str,
        *,
        error: BaseException | str,
        uid: str = "",
    ) -> None:
        """Record a failure: a row, a log line, a count, and an event on the object."""
        short = kind if isinstance(kind, str) else kind.short
        described = (
            error if isinstance(error, str) else f"{type(error).__name__}: {describe(error)}"
        )
        text = described[:ERROR_CHARACTERS_MAX]
        problem = ProblemRow(boundary=boundary, kind=short, key=key, error=text)
        self._contained.labels(self._service, boundary, short).inc()
        place = (boundary, short, key)
        known = self._rows.pop(place, None)
        self._rows[place] = problem
        if known is None:
            self._current.labels(self._service, boundary, short).inc()
        # A repeated failure with the same error is neither logged nor written as an event again.
        if known == problem:
            return
        self._log.error("object left out problem=%s", problem, exc_info=_own_fault(error))
        # A tenant could create any number of bad objects; memory must stay bounded.
        if len(self._rows) > ROWS_MAX:
            self._drop(next(iter(self._rows)))
        if not isinstance(kind, str):
            self._queue_event(kind, key, uid, f"{self._service} cannot {boundary} it: {text}")

    def resolved(self, boundary: str, kind: Kind | str, key: str) -> None:
        """Remove the row of an object that was processed or is gone."""
        if self._rows:
            self._drop((boundary, kind if isinstance(kind, str) else kind.short, key))

    def forget(self, boundary: str) -> None:
        """Drop the rows of a boundary, because a new view processes all objects again."""
        for place in [place for place in self._rows if place[0] == boundary]:
            self._drop(place)

    def _drop(self, place: tuple[str, str, str]) -> None:
        if self._rows.pop(place, None) is not None:
            self._current.labels(self._service, *place[:2]).dec()

    # -- reporting -------------------------------------------------------------------------------

    def rows(self) -> list[ProblemRow]:
        """The current rows, oldest first."""
        return list(self._rows.values())

    def lines(self) -> list[str]:
        """Lines for `/healthz`: the newest rows and the number of the others."""
        shown = [str(problem) for problem in reversed(self._rows.values())][:SHOWN_MAX]
        more = len(self._rows) - len(shown)
        return [*shown, f"and {more} more"] if more > 0 else shown

    def _queue_event(self, kind: Kind, key: str, uid: str, message: str) -> None:
        namespace, name = split_key(key)
        event = RecordEvent(
            kind=kind,
            namespace=namespace,
            name=name,
            uid=uid,
            type="Warning",
            reason=REASON,
            message=f"{message}; everything else goes on",
        )
        # Only the newest events are kept while another replica leads.
        self._unwritten = [*self._unwritten, event][-UNWRITTEN_MAX:]
        if self._wake is not None:
            self._wake.set()

    def take_unwritten(self) -> list[RecordEvent]:
        """Returns the events to be written; each is returned once."""
        events, self._unwritten = self._unwritten, []
        return events

    async def wait_for_unwritten(self) -> None:
        """Wait until there is an event to write."""
        while not self._unwritten:
            self._wake = asyncio.Event()
            await self._wake.wait()


class Contained:
    """Confines a failure to one object; `failed` is True if there was one."""

    __slots__ = ("_boundary", "_key", "_kind", "_problems", "_uid", "failed")

    def __init__(
        self, problems: ProblemRows, boundary: str, kind: Kind | str, key: str, uid: str
    ) -> None:
        self._problems = problems
        self._boundary = boundary
        self._kind = kind
        self._key = key
        self._uid = uid
        self.failed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, sort: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        if error is None:
            self._problems.resolved(self._boundary, self._kind, self._key)
            return False
        if not isinstance(error, Exception):  # cancellation or exit
            return False
        self.failed = True
        self._problems.caught(self._boundary, self._kind, self._key, error=error, uid=self._uid)
        return True


def _own_fault(error: BaseException | str) -> BaseException | None:
    """The exception whose traceback is logged. Invalid input needs none;
    other errors may be our own fault.
    """
    return None if isinstance(error, str | ValueError | RecursionError) else error
