"""Long-lived objects are frozen out of the garbage collector; cycles that are garbage are freed before."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from vc.runtime.hosting.long_lived import CHANGES_BETWEEN, LongLived


class Node:
    """May point at itself."""

    itself: "Node"


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_nothing_happens_before_enough_changes() -> None:
    settled = LongLived()
    assert not settled.took(CHANGES_BETWEEN - 1)
    before = gc.get_freeze_count()
    assert settled.took(1)
    assert gc.get_freeze_count() > before
    assert not settled.took(1), "it counts again"


def test_a_cycle_that_is_garbage_is_freed_first() -> None:
    node = Node()
    node.itself = node
    known = weakref.ref(node)
    del node
    assert LongLived().took(CHANGES_BETWEEN)
    assert known() is None
