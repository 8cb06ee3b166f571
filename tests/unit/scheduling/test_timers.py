"""Each registered wake-up is needed: a situation in which only that wake-up opens the session in time.

The situations (`situations.py`) run under `life.py`, which detects a decision that becomes possible at a time without a
registered wake-up. Every call of `Session.wake` in the sources, and every kind of entry of the cache that expires, is
removed in turn, and some situation must fail. A wake-up that is added without a situation fails here.
"""

import ast
import contextlib
import copy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest

import vc.scheduling
from tests.unit.scheduling.situations import SITUATIONS
from vc.scheduling.cache.overlays import evictions
from vc.scheduling.cache.overlays.bind_backoff import BindBackoff
from vc.scheduling.cache.overlays.enqueued import EnqueuedGroups
from vc.scheduling.cache.overlays.evictions import Evictions
from vc.scheduling.cache.overlays.pod_conditions import ConditionOverlay
from vc.scheduling.cache.volumes import VolumeTableBuilder
from vc.scheduling.session.session import Session

SOURCES: Final = Path(vc.scheduling.__file__).parent


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.__name__)
def test_every_session_that_is_needed_was_asked_for(situation: Callable[[], None]) -> None:
    situation()


# -- timers ------------------------------------------------------------------------------------------


class Site(msgspec.Struct, frozen=True):
    """A call of `wake`."""

    path: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.path}:{self.function}"


def wake_sites() -> list[Site]:
    """Every call of `wake` in the sources."""
    return [
        Site(str(path.relative_to(SOURCES)), call.lineno, function.name)
        for path in sorted(SOURCES.rglob("*.py"))
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "wake"
    ]


@contextlib.contextmanager
def without_call(site: Site) -> Iterator[None]:
    wake = Session.wake
    path = str(SOURCES / site.path)

    def muted(self: Session, at: float) -> None:
        caller = sys._getframe(1)
        if (caller.f_code.co_filename, caller.f_lineno) != (path, site.line):
            wake(self, at)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "wake", muted)
        yield


ENTRIES: Final[dict[str, tuple[type, str]]] = {
    "binds that failed": (BindBackoff, "_entries"),
    "claims without a volume": (VolumeTableBuilder, "_given_at"),
    "choices that were refused": (VolumeTableBuilder, "_choices"),
    "victims that were refused": (Evictions, "_refused"),
    "gangs that were not released": (Evictions, "_release_backoff"),
    "jobs whose victims were refused": (Evictions, "_replans"),
    "nominations": (Evictions, "_nominated"),
    "conditions that were not written": (ConditionOverlay, "_entries"),
    "claims of enqueued groups": (EnqueuedGroups, "_claims"),
}
"""Every kind of entry of the cache that ends at a time: whose, and where it is kept."""


class _Nothing(dict[str, float]):
    """An empty table, also where its owner asks for more than a table."""

    rests_until = ()


@contextlib.contextmanager
def without_entries(part: type, attribute: str) -> Iterator[None]:
    expiries = part.expiries  # type: ignore[attr-defined]  # each of `ENTRIES` is an `Expiring`

    def muted(self: object) -> list[float]:
        blind = copy.copy(self)
        vars(blind)[attribute] = _Nothing()
        return list(expiries(blind))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part, "expiries", muted)
        yield


@contextlib.contextmanager
def without_times(constant: str) -> Iterator[None]:
    """Of nominations, those times that are counted with this constant."""
    expiries = Evictions.expiries

    def muted(self: Evictions) -> list[float]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(evictions, constant, float("-inf"))
            return expiries(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Evictions, "expiries", muted)
        yield


def read_by_expiries() -> set[tuple[str, str]]:
    """Class and attribute of every table that a method `expiries` reads."""
    return {
        (part.name, found.attr)
        for path in sorted(SOURCES.rglob("*.py"))
        for part in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(part, ast.ClassDef)
        for method in part.body
        if isinstance(method, ast.FunctionDef) and method.name == "expiries"
        for found in ast.walk(method)
        if isinstance(found, ast.Attribute)
        and isinstance(found.value, ast.Name)
        and found.value.id == "self"
    }


def noticed() -> bool:
    """Whether a situation misses a session."""
    for situation in SITUATIONS:
        try:
            situation()
        except AssertionError:
            return True
    return False


@pytest.mark.parametrize("site", wake_sites(), ids=str)
def test_each_call_of_wake_is_needed(site: Site) -> None:
    with without_call(site):
        assert noticed(), f"{site.path}:{site.line}: add a situation that needs this timer"


@pytest.mark.parametrize("kind", ENTRIES)
def test_each_kind_of_entry_that_ends_at_a_time_is_needed(kind: str) -> None:
    with without_entries(*ENTRIES[kind]):
        assert noticed(), f"{kind}: add a situation that needs this timer"


@pytest.mark.parametrize("constant", ["EVICTION_COOLDOWN_SECONDS", "NOMINATION_SECONDS"])
def test_both_times_of_a_nomination_are_needed(constant: str) -> None:
    with without_times(constant):
        assert noticed()


def test_no_kind_of_entry_that_ends_at_a_time_is_left_out() -> None:
    assert read_by_expiries() == {(part.__name__, table) for part, table in ENTRIES.values()}
