"""Which invariants the scenarios of `tests/e2e` excuse during a fault, and which they do not."""

from typing import Any

import pytest

from tests.e2e.promises import EXCUSED_SECONDS, Promises
from vc.dashboard.logic.cluster_index import ClusterIndex
from vc.dashboard.logic.invariants import EPOCHS_GROW, report


def answer(name: str = "", *, seconds: float = 0.0, stale: str = "") -> dict[str, Any]:
    violation = {"object": "it", "message": "is wrong", "seconds": seconds}
    promises = [{"name": name, "violations": [violation]}] if name else []
    return {"stale": stale, "invariants": promises}


async def nobody() -> dict[str, Any]:
    return {}


def test_every_promise_of_the_dashboard_has_its_excuse() -> None:
    told = report(ClusterIndex(), [], {}, now=0.0, stale="")
    assert [promise.name for promise in told.invariants] == list(EXCUSED_SECONDS)


@pytest.mark.parametrize("name", EXCUSED_SECONDS)
def test_a_violation_is_excused_for_its_time_and_not_longer(name: str) -> None:
    promises = Promises(nobody)
    excused = EXCUSED_SECONDS[name]
    if excused:
        promises.take(answer(name, seconds=excused - 0.1))
    assert promises.broken == []
    promises.take(answer(name, seconds=excused))
    assert promises.broken == [f"{name}: it: is wrong, {excused:.0f} s"]
    promises.forget()
    assert promises.broken == []


def test_an_epoch_that_goes_back_is_never_excused() -> None:
    promises = Promises(nobody)
    promises.take(answer(EPOCHS_GROW))
    assert len(promises.broken) == 1


def test_looks_are_counted_by_what_they_are_worth() -> None:
    promises = Promises(nobody)
    for each in ({}, {}, answer(stale="no progress"), answer()):
        promises.take(each)
    assert promises.looks == {"unanswered": 2, "stale": 1, "fresh": 1}
    assert str(promises) == "/invariants fresh in 1 of 4 looks, excused: none"
