"""The tree of queues: required queues, parents, and closing and opening everything below a queue."""

from tests.unit.queue_controller.objects import ROOT, command, flat, group, queue, statuses
from vc.messages.effects import CreateObject, PatchObject, RecordEvent
from vc.model.api.keys import CLOSED_BY_PARENT
from vc.queue_controller.logic import Observed, decide
from vc.queue_controller.logic.tree import top_down


def test_root_and_default_are_made() -> None:
    made = [e for effects in decide(Observed()) for e in effects]
    assert all(isinstance(e, CreateObject) for e in made)
    assert [(e.name, e.body["spec"]) for e in made if isinstance(e, CreateObject)] == [
        ("root", {"weight": 1, "reclaimable": False}),
        ("default", {"weight": 1, "reclaimable": True, "parent": "root"}),
    ]


def test_a_queue_without_a_parent_gets_the_root() -> None:
    patches = [e for e in flat(queue("a", parent="")) if isinstance(e, PatchObject)]
    assert [(p.name, p.patch) for p in patches] == [("a", {"spec": {"parent": "root"}})]


def test_closing_closes_everything_below_and_marks_it() -> None:
    effects = flat(
        queue("a"),
        queue("b", parent="a"),
        groups=(group("b", "Running"),),
        commands=(command("CloseQueue", "a"),),
    )
    assert statuses(effects) == {
        "a": {"state": "Closed"},
        "b": {"state": "Closing", "running": 1},
    }
    marked = [
        e.name
        for e in effects
        if isinstance(e, PatchObject)
        and e.patch.get("metadata", {}).get("annotations", {}).get(CLOSED_BY_PARENT) == "true"
    ]
    assert marked == ["b"]


def test_opening_opens_what_was_closed_with_it_and_nothing_else() -> None:
    effects = flat(
        queue("a", "Closed"),
        queue("b", "Closed", parent="a", **{CLOSED_BY_PARENT: "true"}),
        queue("c", "Closed", parent="a"),
        commands=(command("OpenQueue", "a"),),
    )
    assert statuses(effects) == {"a": {"state": "Open"}, "b": {"state": "Open"}}


def test_a_queue_below_a_closed_one_is_not_opened() -> None:
    effects = flat(
        queue("a", "Closed"),
        queue("b", "Closed", parent="a"),
        commands=(command("OpenQueue", "b"),),
    )
    assert statuses(effects) == {}
    assert [e.reason for e in effects if isinstance(e, RecordEvent)] == ["CommandRefused"]


def test_circles_and_orphans_are_visited_once() -> None:
    circle = [queue("a", parent="b"), queue("b", parent="a"), queue("c", parent="gone"), ROOT]
    assert sorted(q.metadata.name for q in top_down(circle)) == ["a", "b", "c", "root"]
