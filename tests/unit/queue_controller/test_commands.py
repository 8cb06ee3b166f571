"""Commands for queues: carried out once, noted, deleted; refused from other namespaces."""

from dataclasses import dataclass

import msgspec
import pytest

from tests.unit.queue_controller.objects import command, flat, queue, statuses
from vc.messages.effects import DeleteObject, PatchObject, RecordEvent
from vc.model.api.job import Command
from vc.model.api.scheduling import (
    Queue,
)
from vc.queue_controller.logic.decide import COMMAND_NOTE


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
    events = [e for e in effects if isinstance(e, RecordEvent)]
    assert ["only those of namespace volcano-system count" in e.message for e in events] == [True]
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
