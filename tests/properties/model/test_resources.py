"""The laws of `Resources`: sums do not depend on order, and comparisons agree with differences."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from vc.model.values.resources import Resources

NAMES = st.sampled_from(["cpu", "memory", "pods", "nvidia.com/gpu"])
AMOUNTS = st.dictionaries(NAMES, st.integers(-(2**70), 2**70)).map(Resources)
"""Beyond int64: sums over a queue may exceed it, and stay exact."""
NATURAL = st.dictionaries(NAMES, st.integers(0, 2**70)).map(Resources)


@given(AMOUNTS, AMOUNTS, AMOUNTS)
def test_sums_do_not_depend_on_order_or_grouping(a: Resources, b: Resources, c: Resources) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert Resources.total([a, b, c]) == Resources.total([c, a, b]) == a + b + c


@given(AMOUNTS, AMOUNTS)
def test_what_was_added_can_be_subtracted(a: Resources, b: Resources) -> None:
    back = a + b - b
    assert all(back[name] == a[name] for name in {**a, **b})
    running = Resources(a)
    running.add(b)
    running.add(b, times=-1)
    running.drop_zeros()
    without_zeros = Resources(a)
    without_zeros.drop_zeros()
    assert running == without_zeros


@given(AMOUNTS, st.integers(0, 40))
def test_scaling_is_repeated_addition(a: Resources, times: int) -> None:
    assert a.scaled(times) == (Resources.total([a] * times) if times else Resources.fromkeys(a, 0))
    summed = Resources()
    summed.add(a, times=times)
    assert summed == a.scaled(times)


@given(AMOUNTS, AMOUNTS)
def test_pairs_count_like_a_mapping(a: Resources, b: Resources) -> None:
    assert a + tuple(b.items()) == a + b
    assert a - tuple(b.items()) == a - b


@given(NATURAL, NATURAL)
def test_what_fits_is_exactly_what_misses_nothing(need: Resources, available: Resources) -> None:
    missing = need.missing_in(available)
    assert need.fits_in(available) == (not missing)
    assert missing == (need - available).positive()
    assert need.fits_in(available + missing)


@given(NATURAL, NATURAL)
def test_the_largest_covers_both_and_the_smallest_fits_in_both(a: Resources, b: Resources) -> None:
    largest, smallest = a.largest(b), a.smallest(b)
    assert a.fits_in(largest)
    assert b.fits_in(largest)
    assert smallest.fits_in(a)
    assert smallest.fits_in(b)
    assert largest + smallest == a + b


@given(AMOUNTS, st.sets(NAMES))
def test_only_and_without_split_the_amounts(a: Resources, names: set[str]) -> None:
    assert a.only(names) + a.without(names) == a
    assert not a.only(names).keys() & a.without(names).keys()


@given(AMOUNTS, AMOUNTS)
def test_operators_leave_their_operands_unchanged(a: Resources, b: Resources) -> None:
    before = copy.deepcopy((a, b))
    assert all(type(found) is Resources for found in (a + b, a - b, a.largest(b), a.smallest(b)))
    assert all(type(found) is Resources for found in (a.scaled(2), a.positive(), a.missing_in(b)))
    assert (a, b) == before


def test_a_resource_that_is_not_named_counts_as_zero_and_is_not_added_by_reading() -> None:
    amounts = Resources(cpu=2000)
    assert amounts["memory"] == 0
    assert amounts == {"cpu": 2000}


def test_a_zero_amount_keeps_its_name() -> None:
    """A limit of zero is not the same as no limit."""
    assert Resources(cpu=1) - {"cpu": 1} == {"cpu": 0}
    assert Resources(cpu=1) + {"nvidia.com/gpu": 0} == {"cpu": 1, "nvidia.com/gpu": 0}
