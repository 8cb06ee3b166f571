"""Quantities: every suffix, rounding, clamping, and what is no quantity."""

import msgspec
import pytest

from vc.model.values.quantity import (
    INT64_MAX,
    MILLI,
    WHOLE,
    QuantityError,
    decimals_of,
    format_quantity,
    format_resources,
    parse_quantity,
    parse_resources,
)


class Case(msgspec.Struct, frozen=True):
    """A text and its value in milli."""

    id: str
    text: str | int | float
    milli: int


CASES = [
    Case("nano rounds up to a milli", "1n", 1),
    Case("micro", "1500u", 2),
    Case("milli", "500m", 500),
    Case("none", "2", 2_000),
    Case("kilo", "3k", 3_000_000),
    Case("mega", "1M", 10**9),
    Case("giga", "1G", 10**12),
    Case("tera", "1T", 10**15),
    Case("peta", "1P", 10**18),
    Case("exa is clamped", "1E", 10**21),
    Case("kibi", "2Ki", 2_048_000),
    Case("mebi", "1Mi", 1_048_576_000),
    Case("gibi with a fraction", "1.5Gi", 1_610_612_736_000),
    Case("tebi", "1Ti", 2**40 * 1000),
    Case("pebi", "1Pi", 2**50 * 1000),
    Case("exbi is clamped", "1Ei", 2**60 * 1000),
    Case("an exponent", "1e3", 1_000_000),
    Case("a capital exponent", "1E3", 1_000_000),
    Case("a negative exponent", "5e-1", 500),
    Case("a signed exponent", "5e+1", 50_000),
    Case("no digits before the point", ".5", 500),
    Case("no digits after the point", "5.", 5_000),
    Case("a plus sign", "+1", 1_000),
    Case("below zero rounds away from it", "-0.1m", -1),
    Case("an integer", 7, 7_000),
    Case("a float as YAML reads it", 0.1, 100),
    Case("a large float", 1e22, 10**25),
    Case("many digits are exact", "1.000000000000000000000000000001", 1_001),
    Case("zero", "0", 0),
    Case("zero of a suffix", "0Gi", 0),
    Case("small digits and a large exponent are exact", "0." + "0" * 33 + "1e45", 10**14),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_values(case: Case) -> None:
    assert parse_quantity(case.text, decimals=MILLI) == min(case.milli, INT64_MAX)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "m", "Gi", "1ki", "1K", "1mi", "1ni", "1Zi", "1.2.3", "1 Gi", "--1", "0x10", "1e",
        "1e3Gi", "1e3m", "nan", "inf", "1_000", "٣", "1,5", "9" * 65, "1e99999", "one",
    ],
)  # fmt: skip
def test_no_quantities(text: str) -> None:
    with pytest.raises(QuantityError, match="is not a quantity; write one like 500m"):
        parse_quantity(text)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_floats_that_are_no_numbers(value: float) -> None:
    with pytest.raises(QuantityError):
        parse_quantity(value)


def test_values_are_clamped_to_64_bits_both_ways() -> None:
    assert parse_quantity("1e30") == INT64_MAX
    assert parse_quantity("-1e30") == -INT64_MAX
    assert parse_quantity("9223372036854775807") == INT64_MAX
    assert parse_quantity("9223372036854775806") == INT64_MAX - 1


class UnitCase(msgspec.Struct, frozen=True):
    """A resource and the decimal places of its unit."""

    id: str
    decimals: int


UNITS = [
    UnitCase("cpu", MILLI),
    UnitCase("nvidia.com/gpu", MILLI),
    UnitCase("pods", MILLI),
    UnitCase("requests.cpu", MILLI),
    UnitCase("memory", WHOLE),
    UnitCase("requests.memory", WHOLE),
    UnitCase("limits.memory", WHOLE),
    UnitCase("ephemeral-storage", WHOLE),
    UnitCase("storage", WHOLE),
    UnitCase("requests.storage", WHOLE),
    UnitCase("hugepages-2Mi", WHOLE),
]


@pytest.mark.parametrize("case", UNITS, ids=lambda case: case.id)
def test_units(case: UnitCase) -> None:
    assert decimals_of(case.id) == case.decimals


def test_resource_lists() -> None:
    parsed = parse_resources({"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": 2})
    assert parsed == {"cpu": 500, "memory": 2**30, "nvidia.com/gpu": 2000}
    assert format_resources(parsed) == {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"}
    assert parse_resources(None) == {}


def test_an_error_names_the_resource() -> None:
    with pytest.raises(QuantityError, match="memory: 'much' is not a quantity"):
        parse_resources({"cpu": "1", "memory": "much"})


@pytest.mark.parametrize(
    ("units", "decimals", "text"),
    [
        (0, MILLI, "0"), (1500, MILLI, "1500m"), (2000, MILLI, "2"), (-1500, MILLI, "-1500m"),
        (1024, MILLI, "1024m"), (1_024_000, MILLI, "1024"), (0, WHOLE, "0"), (1000, WHOLE, "1000"),
        (1024, WHOLE, "1Ki"), (1536, WHOLE, "1536"), (3 * 2**30, WHOLE, "3Gi"),
        (2**60, WHOLE, "1Ei"), (-(2**20), WHOLE, "-1Mi"), (INT64_MAX, WHOLE, str(INT64_MAX)),
    ],
)  # fmt: skip
def test_formatting(units: int, decimals: int, text: str) -> None:
    assert format_quantity(units, decimals=decimals) == text
