"""Free resources of nodes, read once for many pod shapes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vc.scheduling.model.node_table import Filtered, Ints, Mask
from vc.scheduling.session.batch_fit import capacity
from vc.scheduling.session.free_resources import NODE_SETS_MAX, FreeResources, FreeResourcesCache

AMOUNTS = st.integers(0, 2**60)
ROWS = st.lists(st.tuples(AMOUNTS, AMOUNTS), max_size=6)


def table(rows: list[tuple[int, int]]) -> Ints:
    return np.array(rows, dtype=np.int64).reshape(len(rows), 2)


def passed(*mask: bool) -> Filtered:
    return Filtered(mask=np.array(mask), left=(("ready", sum(mask)),))


@given(ROWS, AMOUNTS)
def test_sums_are_those_of_the_rows(rows: list[tuple[int, int]], amount: int) -> None:
    free_resources = FreeResources(table(rows))
    for column in (0, 1):
        free = [row[column] for row in rows]
        assert free_resources.total(column) == free_resources.total(column) == sum(free)
        assert free_resources.most(column) == max(free, default=0)
        assert free_resources.lacking(column, amount) == sum(one < amount for one in free)


@given(ROWS, st.tuples(AMOUNTS, AMOUNTS))
def test_a_cheap_no_is_a_no(rows: list[tuple[int, int]], asked: tuple[int, int]) -> None:
    request = np.array(asked, dtype=np.int64)
    if FreeResources(table(rows)).fits_none(request):
        assert not capacity(table(rows), request).any()


def test_more_than_any_node_has_is_a_cheap_no() -> None:
    free_resources = FreeResources(table([(4, 1), (1, 4)]))
    assert free_resources.fits_none(np.array([5, 0]))
    assert not free_resources.fits_none(np.array([3, 3])), "which node has both it does not say"


class Free:
    """Counts how often it is gone through."""

    def __init__(self) -> None:
        self.asked = 0
        self.amounts = table([(1, 1), (2, 2)])

    def of(self, mask: Mask) -> Ints:
        self.asked += 1
        return self.amounts[mask]


def test_nodes_are_gone_through_once_in_a_state() -> None:
    free, every, last = Free(), passed(True, True), passed(False, True)
    known = FreeResourcesCache(free.of)
    assert known.of(every, state=1) is known.of(every, state=1)
    assert known.of(last, state=1).total(0) == 2
    assert free.asked == 2
    free.amounts = table([(1, 1), (7, 7)])
    assert known.of(every, state=2).most(0) == 7


def test_no_more_than_so_many_are_kept() -> None:
    free, first = Free(), passed(True, True)
    known = FreeResourcesCache(free.of)
    known.of(first)
    others = [passed(True, False) for _ in range(NODE_SETS_MAX)]
    for other in others:
        known.of(other)
    known.of(first)
    assert free.asked == NODE_SETS_MAX + 2
