"""Exponential backoff with jitter, and Retry-After."""

import random

import pytest

from vc.model.values.backoff import (
    FIRST_SECONDS,
    LONGEST_SECONDS,
    delay_seconds,
    exponential_seconds,
    retry_after_seconds,
)


class Fixed:
    """A random source with one value."""

    def __init__(self, value: float) -> None:
        self._value = value

    def random(self) -> float:
        return self._value


def test_the_backoff_doubles_up_to_the_longest_delay() -> None:
    found = [exponential_seconds(n, first_seconds=1.0, longest_seconds=30.0) for n in range(1, 8)]
    assert found == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


@pytest.mark.parametrize("attempt", [0, -1, 1])
def test_the_first_retry_has_the_shortest_delay(attempt: int) -> None:
    assert exponential_seconds(attempt) == FIRST_SECONDS


def test_many_failures_do_not_make_the_number_grow() -> None:
    assert exponential_seconds(10**6) == LONGEST_SECONDS


@pytest.mark.parametrize(("value", "part"), [(0.0, 1.0), (0.5, 0.75), (1.0, 0.5)])
def test_jitter_shortens_a_delay_by_at_most_half(value: float, part: float) -> None:
    assert delay_seconds(4, Fixed(value)) == pytest.approx(exponential_seconds(4) * part)


def test_clients_with_different_seeds_do_not_return_together() -> None:
    delays = {delay_seconds(10, random.Random(seed)) for seed in range(100)}
    assert len(delays) == 100


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_jitter_never_shortens_what_a_server_requested(value: float) -> None:
    assert 2.0 <= retry_after_seconds(2.0, Fixed(value)) <= 3.0
