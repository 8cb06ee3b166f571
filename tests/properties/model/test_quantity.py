"""Quantities against exact fractions, up to 1e30 and beyond."""

import contextlib
import math
from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

from vc.model.values.quantity import (
    INT64_MAX,
    QUANTITY_LENGTH_MAX,
    QuantityError,
    format_quantity,
    parse_quantity,
)

SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "P": Fraction(10**15), "E": Fraction(10**18), "Ki": Fraction(2**10), "Mi": Fraction(2**20),
    "Gi": Fraction(2**30), "Ti": Fraction(2**40), "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}  # fmt: skip
EXPONENTS = st.integers(-120, 120)
NUMBERS = st.tuples(
    st.sampled_from(["", "+", "-"]),
    st.integers(0, 10**30),
    st.none() | st.from_regex(r"[0-9]{0,25}", fullmatch=True),
)
DECIMALS = st.sampled_from([0, 3, 9])


def exact(value: Fraction, decimals: int) -> int:
    """What Kubernetes means: up, away from zero, and no further than 64 bits."""
    magnitude: int = min(math.ceil(abs(value) * 10**decimals), INT64_MAX)
    return magnitude if value >= 0 else -magnitude


def written(number: tuple[str, int, str | None]) -> tuple[str, Fraction]:
    sign, whole, fraction = number
    text = f"{sign}{whole}" + ("" if fraction is None else f".{fraction}")
    return text, Fraction(f"{sign}{whole}.{fraction or 0}")


@given(number=NUMBERS, suffix=st.sampled_from(sorted(SUFFIXES)), decimals=DECIMALS)
def test_every_suffix_is_exact(
    number: tuple[str, int, str | None], suffix: str, decimals: int
) -> None:
    text, value = written(number)
    assume(len(text + suffix) <= QUANTITY_LENGTH_MAX)
    expected = exact(value * SUFFIXES[suffix], decimals)
    assert parse_quantity(text + suffix, decimals=decimals) == expected


@given(number=NUMBERS, exponent=EXPONENTS, decimals=DECIMALS, letter=st.sampled_from("eE"))
def test_every_exponent_is_exact(
    number: tuple[str, int, str | None], exponent: int, decimals: int, letter: str
) -> None:
    text, value = written(number)
    whole = f"{text}{letter}{exponent}"
    assume(len(whole) <= QUANTITY_LENGTH_MAX)
    expected = exact(value * Fraction(10) ** exponent, decimals)
    assert parse_quantity(whole, decimals=decimals) == expected


@given(value=st.floats(allow_nan=False, allow_infinity=False), decimals=DECIMALS)
def test_floats_mean_what_is_written(value: float, decimals: int) -> None:
    assert parse_quantity(value, decimals=decimals) == exact(Fraction(repr(value)), decimals)


@given(units=st.integers(-INT64_MAX, INT64_MAX), decimals=st.sampled_from([0, 3]))
def test_formatted_amounts_are_read_back(units: int, decimals: int) -> None:
    assert parse_quantity(format_quantity(units, decimals=decimals), decimals=decimals) == units


@given(text=st.text(max_size=80))
def test_any_text_is_a_quantity_or_an_error(text: str) -> None:
    with contextlib.suppress(QuantityError):
        assert abs(parse_quantity(text)) <= INT64_MAX
