"""The queue state machine's table, the tree, counters and commands."""

from dataclasses import dataclass

import msgspec
import pytest

from vc.messages.effects import CreateObject, DeleteObject, Effect, PatchObject, RecordEvent
from vc.model.api.job import Command
from vc.model.api.keys import CLOSED_BY_PARENT
from vc.model.api.kinds import QUEUES
from vc.model.api.meta import ObjectMeta, OwnerReference
from vc.model.api.scheduling import (
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    Queue,
    QueueSpec,
    QueueStatus,
)
from vc.queue_controller.logic import Observed, decide
from vc.queue_controller.logic.decide import COMMAND_NOTE
from vc.queue_controller.logic.states import QueueAction, next_state
from vc.queue_controller.logic.tree import top_down

STATES = [
    ("Open", QueueAction.NOTHING, 0, "Open"),
    ("Open", QueueAction.OPEN, 1, "Open"),
    ("Open", QueueAction.CLOSE, 0, "Closed"),
    ("Open", QueueAction.CLOSE, 1, "Closing"),
    ("", QueueAction.NOTHING, 0, "Open"),
    ("Unknown", QueueAction.NOTHING, 1, "Open"),
    ("Unknown", QueueAction.CLOSE, 1, "Closing"),
    ("Closing", QueueAction.NOTHING, 1, "Closing"),
    ("Closing", QueueAction.NOTHING, 0, "Closed"),
    ("Closing", QueueAction.OPEN, 1, "Open"),
    ("Closing", QueueAction.CLOSE, 1, "Closing"),
    ("Closed", QueueAction.NOTHING, 0, "Closed"),
    ("Closed", QueueAction.NOTHING, 1, "Closing"),
    ("Closed", QueueAction.OPEN, 0, "Open"),
    ("Closed", QueueAction.CLOSE, 0, "Closed"),
]


@pytest.mark.parametrize(
    ("state", "action", "groups", "becomes"),
    STATES,
    ids=[f"{s or 'new'} with {g} groups, action {w.name}" for s, w, g, _ in STATES],
)
def test_states(state: str, action: QueueAction, groups: int, becomes: str) -> None:
    assert next_state(state, action, groups=groups) == becomes


def queue(name: str, state: str = "Open", *, parent: str = "root", **notes: str) -> Queue:
    return Queue(
        metadata=ObjectMeta(name=name, uid=f"uid-{name}", annotations=dict(notes)),
        spec=QueueSpec(parent="" if name == "root" else parent),
        status=QueueStatus(state=state),
    )


def group(of: str, phase: str, number: int = 0) -> PodGroup:
    return PodGroup(
        metadata=ObjectMeta(name=f"{of}-{phase}-{number}", namespace="ns"),
        spec=PodGroupSpec(queue=of),
        status=PodGroupStatus(phase=phase),
    )


def command(action: str, target: str, *, uid: str = "c1", target_uid: str = "") -> Command:
    return Command(
        metadata=ObjectMeta(name=uid, namespace="default", uid=uid),
        action=action,
        target=OwnerReference(
            api_version=QUEUES.api_version,
            kind="Queue",
            name=target,
            uid=target_uid or f"uid-{target}",
        ),
    )


ROOT, DEFAULT = queue("root"), queue("default")


def flat(*queues: Queue, **others: object) -> list[Effect]:
    seen = Observed(queues=(ROOT, DEFAULT, *queues), **others)  # type: ignore[arg-type]
    return [effect for effects in decide(seen) for effect in effects]


def statuses(effects: list[Effect]) -> dict[str, object]:
    return {
        e.name: e.patch["status"]
        for e in effects
        if isinstance(e, PatchObject) and e.subresource == "status"
    }


def test_root_and_default_are_made() -> None:
    made = [e for effects in decide(Observed()) for e in effects]
    assert all(isinstance(e, CreateObject) for e in made)
    assert [(e.name, e.body["spec"]) for e in made if isinstance(e, CreateObject)] == [
        ("root", {"weight": 1, "reclaimable": False}),
        ("default", {"weight": 1, "reclaimable": True, "parent": "root"}),
    ]


def test_nothing_new_is_nothing_written() -> None:
    assert flat(queue("a")) == []


def test_a_queue_without_a_parent_gets_the_root() -> None:
    patches = [e for e in flat(queue("a", parent="")) if isinstance(e, PatchObject)]
    assert [(p.name, p.patch) for p in patches] == [("a", {"spec": {"parent": "root"}})]


def test_counters_are_written_when_they_change() -> None:
    groups = (
        group("a", "Running"),
        group("a", "Running", 1),
        group("a", ""),
        group("b", "Inqueue"),
    )
    assert statuses(flat(queue("a"), groups=groups)) == {"a": {"pending": 1, "running": 2}}


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


def test_root_is_never_closed() -> None:
    effects = flat(commands=(command("CloseQueue", "root"),))
    assert statuses(effects) == {}


@dataclass(frozen=True)
class Case:
    says: str
    queue: Queue
    command: Command


DONE_WITH = [
    Case(
        "a command that was carried out",
        queue("a", "Closed", **{COMMAND_NOTE: "c1"}),
        command("CloseQueue", "a"),
    ),
    Case(
        "a command for an earlier queue of the name",
        queue("a"),
        command("CloseQueue", "a", target_uid="older"),
    ),
    Case("a command for no queue at all", queue("a"), command("CloseQueue", "nowhere")),
]


@pytest.mark.parametrize("case", DONE_WITH, ids=lambda c: c.says)
def test_is_only_deleted(case: Case) -> None:
    effects = flat(case.queue, commands=(case.command,))
    assert [type(e) for e in effects] == [DeleteObject]


def test_a_command_is_noted_after_its_effect_and_deleted_when_seen_again() -> None:
    effects = flat(queue("a"), commands=(command("CloseQueue", "a"),))
    patches = [e for e in effects if isinstance(e, PatchObject)]
    assert [p.subresource for p in patches] == ["status", ""]
    assert patches[1].patch["metadata"]["annotations"] == {COMMAND_NOTE: "c1"}


def test_circles_and_orphans_are_visited_once() -> None:
    circle = [queue("a", parent="b"), queue("b", parent="a"), queue("c", parent="gone"), ROOT]
    assert sorted(q.metadata.name for q in top_down(circle)) == ["a", "b", "c", "root"]


@pytest.mark.parametrize("action", ["CloseQueue", "OpenQueue"])
def test_without_admission_only_commands_of_our_namespace_count(action: str) -> None:
    """Any tenant can create one in its own namespace."""
    state = "Open" if action == "CloseQueue" else "Closed"
    stranger = command(action, "a")
    effects = flat(
        queue("a", state),
        commands=(stranger,),
        heeded_namespace="volcano-system",
    )
    assert [e for e in effects if isinstance(e, PatchObject) and e.name == "a"] == []
    told = [e for e in effects if isinstance(e, RecordEvent)]
    assert ["only those of namespace volcano-system count" in e.message for e in told] == [True]
    assert [e.name for e in effects if isinstance(e, DeleteObject)] == [stranger.metadata.name]


def test_a_command_of_others_for_a_queue_that_does_not_exist_goes_too() -> None:
    effects = flat(commands=(command("CloseQueue", "gone"),), heeded_namespace="volcano-system")
    assert [type(e) for e in effects] == [DeleteObject]


def test_a_command_of_our_namespace_counts_without_admission() -> None:
    ours = command("CloseQueue", "a")
    metadata = msgspec.structs.replace(ours.metadata, namespace="volcano-system")
    effects = flat(
        queue("a"),
        commands=(msgspec.structs.replace(ours, metadata=metadata),),
        heeded_namespace="volcano-system",
    )
    patches = [e.patch for e in effects if isinstance(e, PatchObject) and e.subresource]
    assert {"status": {"state": "Closed"}} in patches
