"""The one reader of what tenants write: within bounds or None, and never an exception."""

import time
from typing import Any

import pytest

from vc.model.values import bounded, bounded_yaml

BILLION_LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)
"""Some 300 bytes that stand for more than a thousand million values."""


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12), ("+7", 7), ("-3", -3), (5, 5), ("007", 7),
        ("9" * 5_000, None), ("0" * 5_000 + "1", None), ("٣", None), ("1_000", None), (" 1", None),
        ("1.0", None), ("", None), (None, None), (True, None), (10**30, None), ([], None),
    ],
)  # fmt: skip
def test_integers(text: Any, number: int | None) -> None:
    assert bounded.read_integer(text) == number


@pytest.mark.parametrize(("text", "number"), [("3", 3), ("-1", None), ("+1", None), (2**31, None)])
def test_counts(text: Any, number: int | None) -> None:
    assert bounded.read_count(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("1.5", 1.5), ("1e3", 1000.0), ("nan", None), ("inf", None), ("1e999", None)],
)
def test_decimals(text: str, number: float | None) -> None:
    assert bounded.read_decimal(text) == number


@pytest.mark.parametrize(
    "text", ["9999999-01-01", "2026-13-01T00:00:00Z", "x", "2" * 100, 7, None, "", b"2026-01-01"]
)
def test_what_is_no_time_is_none(text: Any) -> None:
    assert bounded.read_time(text) is None


@pytest.mark.parametrize(
    "text", ["0001-01-01T00:00:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
)
def test_the_ends_of_the_calendar_are_times(text: str) -> None:
    """A time without an offset of the year 1 overflows where the machine's zone is asked."""
    assert isinstance(bounded.read_time(text), float)


def test_durations_and_quantities_are_read_or_none() -> None:
    assert bounded.read_duration("1h") == 3600
    assert bounded.read_duration("9" * 5_000 + "h") is None
    assert bounded.read_quantity("500m", decimals=3) == 500
    assert bounded.read_quantity("9" * 5_000, decimals=3) is None
    assert bounded.read_quantity([1], decimals=3) is None


def test_a_refused_text_is_shown_in_a_bounded_way() -> None:
    assert len(bounded.shown("x" * 5_000)) < 100


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 20_000, "nested deeper"),
        (BILLION_LAUGHS, "stand for more than"),
        ("a: &a [*a]", "within what it stands for"),
        ("a: 0x" + "f" * 5_000, "a number of"),
        ("a: " + "1" * 5_000, "a number of"),
        ("a: !!int ''", "cannot be read"),
        ("a: [", "flow"),
        (b"\xff\xfe\x00", "position|character|UTF"),
        ("x" * (bounded_yaml.BYTES_MAX + 1), "are read at the most"),
    ],
)
def test_yaml_is_bounded_in_time_and_size(text: str | bytes, why: str) -> None:
    began = time.perf_counter()
    with pytest.raises(bounded_yaml.YamlError, match=why):
        bounded_yaml.load(text)
    assert time.perf_counter() - began < 5


def test_aliases_are_fine_as_such() -> None:
    assert bounded_yaml.load("a: &x {b: 1}\nc: *x\n") == {"a": {"b": 1}, "c": {"b": 1}}
