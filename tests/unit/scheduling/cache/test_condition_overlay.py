"""Overlay of pod conditions that were decided and are not observed yet, and of gates that are being lifted."""

import msgspec
import pytest

from tests.unit.scheduling.actions.test_scheduling_gates import at_gate
from tests.unit.scheduling.objects import EPOCH, nodes, pod, queue
from tests.unit.scheduling.world import World
from vc.model.api.pod import Pod
from vc.scheduling.cache.overlays.pod_conditions import RETRY_SECONDS, ConditionOverlay
from vc.scheduling.cache.overlays.queue_gates import RemovedGates
from vc.scheduling.model.decisions import PodRef, WaitingPods
from vc.scheduling.model.rows import PodRow, TaskStatus


class Notes:
    """An overlay with notes for two pods of `ns/g` and one of `ns/h`."""

    def __init__(self) -> None:
        self.marked: list[str] = []
        self.overlay = ConditionOverlay(self.marked.append)
        self.put("g", "a", "b")
        self.put("h", "c")
        self.marked.clear()

    def put(self, group: str, *names: str, rewrites: bool = False, now: float = EPOCH) -> None:
        refs = tuple(PodRef(namespace="ns", name=name, uid=name) for name in names)
        waiting = WaitingPods(
            group=f"ns/{group}", uid=group, message="no room", pods=refs, rewrites=rewrites
        )
        self.overlay.put(waiting, now=now)

    def noted(self) -> list[str]:
        return [uid for group in ("ns/g", "ns/h") for uid in self.overlay.messages(group)]


def seen(uid: str, version: str, *, on: str = "") -> Pod:
    made = pod(uid, group="g", on=on)
    metadata = msgspec.structs.replace(made.metadata, uid=uid, resource_version=version)
    return msgspec.structs.replace(made, metadata=metadata)


def test_a_decided_condition_marks_its_group_and_says_its_message() -> None:
    notes = Notes()
    assert notes.overlay.messages("ns/g") == {"a": "no room", "b": "no room"}
    notes.put("h", "d")
    assert notes.marked == ["ns/h"]
    assert notes.noted() == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("written", "fact", "left"),
    [
        pytest.param("", seen("a", "9"), ["a", "b", "c"], id="a fact before the write is answered"),
        pytest.param("5", seen("a", "4"), ["a", "b", "c"], id="a fact older than the write"),
        pytest.param("5", seen("a", "5"), ["b", "c"], id="the fact of the write"),
        pytest.param("5", seen("a", "6"), ["b", "c"], id="a newer fact"),
        pytest.param("", seen("a", "1", on="n"), ["b", "c"], id="a pod that has a node"),
        pytest.param("5", seen("z", "6"), ["a", "b", "c"], id="a pod without a note"),
    ],
)
def test_a_note_stands_until_a_fact_as_new_as_the_write(
    written: str, fact: Pod, left: list[str]
) -> None:
    notes = Notes()
    if written:
        notes.overlay.written("a", written)
    notes.overlay.written("unknown", "7")
    notes.overlay.seen(fact)
    assert notes.noted() == left
    assert notes.marked == ([] if "a" in left else ["ns/g"])


def test_a_failed_write_is_decided_again_when_its_time_has_come() -> None:
    notes = Notes()
    notes.overlay.failed("b", now=EPOCH)
    notes.overlay.failed("unknown", now=EPOCH)
    assert list(notes.overlay.expiries()) == [EPOCH + RETRY_SECONDS]
    notes.overlay.expire(EPOCH + RETRY_SECONDS - 0.1)
    assert notes.noted() == ["a", "b", "c"]
    notes.overlay.expire(EPOCH + RETRY_SECONDS)
    assert notes.noted() == ["a", "c"]
    assert list(notes.overlay.expiries()) == []


def test_times_move_with_the_clock() -> None:
    notes = Notes()
    notes.overlay.failed("b", now=EPOCH)
    notes.overlay.shift(100.0)
    assert list(notes.overlay.expiries()) == [EPOCH + RETRY_SECONDS + 100]
    assert notes.overlay.rewritten_at("ns/g") == EPOCH + 100


def test_a_group_is_rewritten_when_its_first_message_or_a_rewrite_is_decided() -> None:
    notes = Notes()
    notes.put("g", "d", now=EPOCH + 5)
    assert notes.overlay.rewritten_at("ns/g") == EPOCH, "one more pod is no rewrite"
    notes.put("g", "a", rewrites=True, now=EPOCH + 9)
    assert notes.overlay.rewritten_at("ns/g") == EPOCH + 9
    assert notes.overlay.rewritten_at("ns/unknown") == 0.0
    notes.overlay.drop_group("ns/g")
    assert notes.overlay.rewritten_at("ns/g") == 0.0


def test_notes_of_pods_that_are_not_in_a_complete_view_are_dropped() -> None:
    notes = Notes()
    notes.overlay.forget_absent({"ns/a": None, "ns/c": None})
    assert notes.noted() == ["a", "c"]
    assert notes.marked == ["ns/g"]
    notes.overlay.drop("b")
    assert notes.marked == ["ns/g"], "a note is dropped once"


# -- gates ---------------------------------------------------------------------------------------


def gated_row() -> PodRow:
    world = World(nodes(1, cpu=2), queue(capability={"cpu": "1"}), at_gate("g"))
    (row,) = [p for group in world.snapshot().groups for run in group.runs for p in run.pods]
    assert row.queue_gated
    return row


def test_quota_is_reserved_for_a_pod_whose_gate_we_lift_until_it_is_bound() -> None:
    gates, row = RemovedGates(), gated_row()
    assert gates.put(row, removed=True).queue_reserved
    assert gates.over(row).queue_reserved
    bound = msgspec.structs.replace(row, status=TaskStatus.BOUND)
    assert not gates.over(bound).queue_reserved
    assert not gates.over(row).queue_reserved, "a pod that comes back has no quota of its own"


def test_no_quota_is_reserved_for_a_pod_that_is_gone() -> None:
    gates, row = RemovedGates(), gated_row()
    gates.put(row, removed=True)
    gates.pod_deleted(row.uid)
    gates.pod_deleted("unknown")
    assert not gates.over(row).queue_reserved


def test_a_gate_that_was_not_lifted_after_all_holds_nothing() -> None:
    gates, row = RemovedGates(), gated_row()
    reserved = gates.put(row, removed=True)
    assert not gates.put(reserved, removed=False).queue_reserved
    assert not gates.over(row).queue_reserved


def test_an_annotation_alone_holds_nothing() -> None:
    claimed = msgspec.structs.replace(gated_row(), queue_reserved=True)
    assert not RemovedGates().over(claimed).queue_reserved
