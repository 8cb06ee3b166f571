"""Ages as kubectl shows them."""

import pytest

from vc.model.values.ages import age, human_duration

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 365 * 86_400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1.5, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (10 * _MINUTE, "10m"),
        (179 * _MINUTE, "179m"),
        (3 * _HOUR, "3h"),
        (3 * _HOUR + 5 * _MINUTE, "3h5m"),
        (8 * _HOUR + 59 * _MINUTE, "8h"),
        (47 * _HOUR, "47h"),
        (2 * _DAY, "2d"),
        (3 * _DAY + 4 * _HOUR, "3d4h"),
        (40 * _DAY + 3 * _HOUR, "40d"),
        (2 * _YEAR + 7 * _DAY, "2y7d"),
        (9 * _YEAR + 7 * _DAY, "9y"),
    ],
)
def test_a_duration_is_short_and_has_two_units_while_young(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


def test_the_age_of_an_api_time() -> None:
    assert age("1970-01-01T00:00:10Z", now=70.0) == "60s"


@pytest.mark.parametrize("timestamp", [None, "", "yesterday"])
def test_an_age_that_cannot_be_told_is_unknown(timestamp: str | None) -> None:
    assert age(timestamp, now=70.0) == "<unknown>"
