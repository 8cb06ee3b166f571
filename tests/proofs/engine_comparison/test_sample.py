"""The comparison of engines works on this checkout, and notices what differs."""

from typing import Any

from tests.proofs.engine_comparison.__main__ import REPOSITORY, compare
from tests.proofs.engine_comparison.clusters import scenario
from tests.proofs.engine_comparison.comparison import first_difference

SEEDS = range(50)


def test_this_engine_decides_as_itself() -> None:
    """The worker finds the packages of the checkout, and the clusters make it bind, evict and refuse."""
    counted = compare(REPOSITORY, [REPOSITORY], SEEDS, same=True)[REPOSITORY]
    assert counted.faults == []
    assert counted.numbers["scenarios equal"] == len(SEEDS)
    assert not [name for name in counted.numbers if name.startswith("raised")]
    for decided in ("binds", "evictions", "gates", "reasons"):
        assert counted.numbers[decided] > 0, decided


def test_a_seed_draws_the_same_scenario_again() -> None:
    assert scenario(7) == scenario(7)
    assert scenario(7) != scenario(8)


def session(**changes: Any) -> dict[str, Any]:
    return {"enqueued": [], "binds": [], "wake_at": None, "reasons": [], "statuses": [], **changes}


def test_what_differs_is_named_with_its_path() -> None:
    drawn = {"seed": 3, "objects": [], "turns": []}
    reason = {"group": "ns/a", "reason": {"permanent": False, "needed_pods": 2}}
    other = {"group": "ns/a", "reason": {"permanent": False, "needed_pods": 3}}
    old, new = [session(), session(reasons=[reason])], [session(), session(reasons=[other])]
    assert first_difference(drawn, old, old) is None
    found = first_difference(drawn, old, new)
    assert found is not None
    assert (found.seed, found.session, found.known) == (3, 1, "")
    assert found.fields == ("reasons.ns/a.reason.needed_pods",)


def test_deliberate_changes_explain_nothing_between_checkouts_of_the_same_behaviour() -> None:
    drawn = {"seed": 3, "objects": [], "turns": []}
    old, new = [session(wake_at=1.0)], [session(wake_at=2.0)]
    known, strict = first_difference(drawn, old, new), first_difference(drawn, old, new, same=True)
    assert known is not None
    assert known.known
    assert strict is not None
    assert strict.known == ""
