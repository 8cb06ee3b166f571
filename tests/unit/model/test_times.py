"""Times and durations as the API writes them."""

import msgspec
import pytest

from vc.model.values.times import (
    DurationError,
    format_duration,
    format_micro_time,
    format_time,
    parse_duration,
    parse_time,
)


class Case(msgspec.Struct, frozen=True):
    """A duration in Go's syntax and its seconds."""

    id: str
    seconds: float


DURATIONS = [
    Case("300s", 300),
    Case("10m", 600),
    Case("1h30m", 5400),
    Case("1.5s", 1.5),
    Case(".5m", 30),
    Case("100ms", 0.1),
    Case("1s500ms", 1.5),
    Case("2us", 2e-6),
    Case("2µs", 2e-6),
    Case("3ns", 3e-9),
    Case("0", 0),
    Case("0s", 0),
    Case("-10s", -10),
    Case("+10s", 10),
    Case("1m1h", 3660),
]


@pytest.mark.parametrize("case", DURATIONS, ids=lambda case: case.id)
def test_durations(case: Case) -> None:
    assert parse_duration(case.id) == pytest.approx(case.seconds)


@pytest.mark.parametrize(
    "text", ["", "10", "s", "1d", "1 h", "1h ", "ten", "1h30", "--1s", "٣s", "1s" * 40, "-", "1hm"]
)
def test_no_durations(text: str) -> None:
    with pytest.raises(DurationError, match="is not a duration; write one like 300s"):
        parse_duration(text)


def test_times_are_read_and_written_in_utc() -> None:
    assert parse_time("2026-01-02T03:04:05Z") == 1767323045
    assert parse_time("2026-01-02T04:04:05+01:00") == 1767323045
    assert parse_time("2026-01-02T03:04:05.250000Z") == 1767323045.25
    assert format_time(1767323045.9) == "2026-01-02T03:04:05Z"
    assert format_micro_time(1767323045.25) == "2026-01-02T03:04:05.250000Z"


@pytest.mark.parametrize("text", [None, ""])
def test_no_time_is_none(text: str | None) -> None:
    assert parse_time(text) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59.9, "59s"), (60, "1m0s"), (3723, "1h2m3s"), (360000, "100h0m0s"), (-5, "0s")],
)
def test_durations_are_written_as_go_does(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
