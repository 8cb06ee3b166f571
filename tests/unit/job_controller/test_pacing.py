"""When counters are written: rested, together, and never later than the named times."""

from dataclasses import dataclass

import pytest

from vc.job_controller.pacing import (
    BUSY_REST_SECONDS,
    COUNTERS_PERIOD_SECONDS,
    COUNTERS_REST_SECONDS,
    NO_PODS_REST_SECONDS,
    Pacing,
)

KEY = "ns/j"


@dataclass(frozen=True)
class Case:
    name: str
    pods: int = 3
    busy: bool = False
    written_ago: float | None = None
    due_after: float = COUNTERS_REST_SECONDS


CASES = (
    Case("counters rest for a moment"),
    Case("longer while we are behind", busy=True, due_after=BUSY_REST_SECONDS),
    Case("longer before there are pods", pods=0, due_after=NO_PODS_REST_SECONDS),
    Case("a period after the last write", written_ago=0.1, due_after=COUNTERS_PERIOD_SECONDS - 0.1),
    Case("a write long ago says nothing", written_ago=60.0),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_counters_are_due(case: Case) -> None:
    pacing, now = Pacing(), 100.0
    if case.written_ago is not None:
        pacing.written(KEY, now=now - case.written_ago)
    assert not pacing.is_due(KEY, now=now, pods=case.pods, busy=case.busy), "nothing is late"
    left = pacing.late(KEY, now=now, pods=case.pods, busy=case.busy)
    assert left == pytest.approx(case.due_after)
    early, due = now + left - 0.01, now + left + 0.01
    assert not pacing.is_due(KEY, now=early, pods=case.pods, busy=case.busy)
    assert pacing.is_due(KEY, now=due, pods=case.pods, busy=case.busy)


def test_nothing_is_put_off_twice() -> None:
    pacing, now = Pacing(), 100.0
    first = pacing.late(KEY, now=now, pods=3, busy=False)
    again = pacing.late(KEY, now=now + first / 2, pods=3, busy=False)
    assert again == pytest.approx(first / 2)


def test_a_write_takes_along_what_was_late() -> None:
    pacing = Pacing()
    pacing.late(KEY, now=100.0, pods=3, busy=False)
    pacing.written(KEY, now=100.1)
    assert not pacing.is_due(KEY, now=200.0, pods=3, busy=False)


def test_a_job_that_is_gone_is_forgotten() -> None:
    pacing = Pacing()
    pacing.written(KEY, now=100.0)
    pacing.late(KEY, now=100.0, pods=3, busy=False)
    pacing.forget(KEY)
    assert not pacing.is_due(KEY, now=200.0, pods=3, busy=False)
    left = pacing.late(KEY, now=100.0, pods=3, busy=False)
    assert left == pytest.approx(COUNTERS_REST_SECONDS)
