"""Amounts as people write them, and that none of them says more or less than there is."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vc.model.values.human_amounts import human_amount, human_quantities, human_quantity
from vc.model.values.quantity import decimals_of, parse_quantity


@dataclass(frozen=True)
class Case:
    """An amount and its text."""

    resource: str
    written: str
    shown: str
    rounded_up: str = ""

    @property
    def id(self) -> str:
        return f"{self.written} of {self.resource}"


CASES = [
    Case("nvidia.com/gpu", "76800m", "76.8"),
    Case("nvidia.com/gpu", "8", "8"),
    Case("pods", "8", "8"),
    Case("cpu", "500m", "0.5"),
    Case("cpu", "2500m", "2.5"),
    Case("cpu", "1m", "0.001"),
    Case("cpu", "320", "320"),
    Case("cpu", "1k", "1000"),
    Case("memory", "0", "0"),
    Case("memory", "512", "512"),
    Case("memory", "1536Mi", "1.5Gi"),
    Case("memory", "100Mi", "100Mi"),
    Case("memory", "8000Mi", "8000Mi"),
    Case("memory", "16041544Ki", "15.29Gi", "15.3Gi"),
    Case("memory", "16426541057", "15.29Gi", "15.3Gi"),
    Case("memory", "1048575Mi", "1023.99Gi", "1024Gi"),
    Case("ephemeral-storage", "2Ti", "2Ti"),
    Case("requests.memory", "1Gi", "1Gi"),
    Case("hugepages-2Mi", "4Mi", "4Mi"),
    Case("memory", "-1536Mi", "-1.5Gi"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_an_amount_is_written_as_people_write_it(case: Case) -> None:
    assert human_quantity(case.resource, case.written) == case.shown
    assert human_quantity(case.resource, case.written, up=True) == (case.rounded_up or case.shown)


def test_what_is_no_quantity_stays_as_it_is() -> None:
    assert human_quantity("cpu", "much") == "much"


def test_a_list_is_in_the_order_of_names() -> None:
    assert list(human_quantities({"memory": "1Gi", "cpu": "250m"}).items()) == [
        ("cpu", "0.25"),
        ("memory", "1Gi"),
    ]


@given(
    resource=st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "pods", "ephemeral-storage"]),
    units=st.integers(min_value=0, max_value=2**60),
)
def test_what_is_free_is_never_overstated_and_what_is_missing_never_understated(
    resource: str, units: int
) -> None:
    decimals = decimals_of(resource)
    down = parse_quantity(human_amount(resource, units), decimals=decimals)
    up = parse_quantity(human_amount(resource, units, up=True), decimals=decimals)
    assert down <= units <= up
    if decimals:
        assert down == units == up, "counts and cores are exact"
    else:
        assert up - down <= max(1, units // 100) + 1, "within one per cent"
