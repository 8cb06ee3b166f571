"""Pacing: a slow machine does not cause more sessions."""

import pytest

from vc.scheduler.pacing import (
    QUEUE_STATUS_SECONDS,
    SESSION_REST_SECONDS_MAX,
    QueuePace,
    SessionPace,
)

DEBOUNCE = 0.03


@pytest.mark.parametrize(
    ("took", "rests"),
    [(0.0, DEBOUNCE), (0.01, DEBOUNCE), (0.1, 0.1), (5.0, SESSION_REST_SECONDS_MAX)],
)
def test_a_session_is_followed_by_a_rest_as_long_as_itself_within_bounds(
    took: float, rests: float
) -> None:
    pace = SessionPace(DEBOUNCE)
    assert pace.rest_seconds(100.0) <= 0, "the first one opens at once"
    assert pace.ended(100.0 + took, began=100.0) == pytest.approx(took)
    assert pace.rest_seconds(100.0 + took) == pytest.approx(rests)


def test_a_queue_is_written_once_a_period_and_the_time_of_the_next_is_named() -> None:
    pace = QueuePace()
    assert pace.rest_seconds("q", now=100.0) <= 0
    assert pace.rest_seconds("q", now=100.2) == pytest.approx(QUEUE_STATUS_SECONDS - 0.2)
    assert pace.rest_seconds("other", now=100.2) <= 0
    assert pace.rest_seconds("q", now=100.0 + QUEUE_STATUS_SECONDS) <= 0
