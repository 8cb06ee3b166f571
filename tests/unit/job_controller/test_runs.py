"""When a run's pods were made and bound is recorded with the phase they led to, and stays."""

import msgspec
import pytest

from tests.unit.job_controller.builders import NOW, job, observed, pod, podgroup, written_status
from vc.job_controller.logic import decide
from vc.job_controller.logic.notes import read_notes, write_notes
from vc.job_controller.logic.runs import RUNS_RECORDED_MAX, with_run
from vc.model.api.pod import Pod, PodCondition, PodSpec
from vc.model.values.times import format_time


def bound(index: int, *, node: str, made: float, at: float, phase: str = "Running") -> Pod:
    found = pod(index, phase, created_at=made)
    scheduled = PodCondition(
        type="PodScheduled", status="True", last_transition_time=format_time(at)
    )
    return msgspec.structs.replace(
        found,
        spec=PodSpec(node_name=node),
        status=msgspec.structs.replace(found.status, conditions=[scheduled]),
    )


PODS = [
    bound(0, node="a", made=NOW - 9, at=NOW - 5),
    bound(1, node="b", made=NOW - 8, at=NOW - 4),
]
RECORD = (
    f"made={format_time(NOW - 9)},bound={format_time(NOW - 4)},"
    f"ran={format_time(NOW)},pods=2,nodes=2"
)


def test_a_job_that_comes_up_records_it_in_the_patch_that_brings_the_phase() -> None:
    decision = decide(observed(job("Pending"), *PODS, podgroup=podgroup("Running")), now=NOW)
    status = written_status(job("Pending"), decision)
    assert status.state.phase == "Running"
    assert status.controlled_resources["run-1"] == RECORD


def test_later_pods_do_not_change_it() -> None:
    """A drain: other pods, made later, elsewhere."""
    ran = job("Running", notes={"run-1": RECORD, "alive-worker": "0-1"})
    later = [bound(0, node="c", made=NOW + 90, at=NOW + 95), PODS[1]]
    for pods in (later, [], PODS):
        decision = decide(observed(ran, *pods, podgroup=podgroup("Running")), now=NOW + 100)
        status = written_status(ran, decision)
        assert status.controlled_resources["run-1"] == RECORD
        assert "run-2" not in status.controlled_resources


def test_a_second_run_has_a_record_of_its_own() -> None:
    again = job("Pending", notes={"run-1": "pods=1"})
    decision = decide(observed(again, *PODS, podgroup=podgroup("Running")), now=NOW)
    noted = written_status(again, decision).controlled_resources
    assert (noted["run-1"], noted["run-2"]) == ("pods=1", RECORD)


def test_records_are_bounded_and_the_first_stays() -> None:
    recorded: dict[str, str] = {}
    for _ in range(30):
        recorded = with_run(recorded, PODS, before="Pending", phase="Running", at="")
    assert len(recorded) == RUNS_RECORDED_MAX
    assert sorted(recorded, key=int) == ["1", *(str(n) for n in range(24, 31))]


@pytest.mark.parametrize(
    ("before", "phase"),
    [("Running", "Completing"), ("Pending", "Pending"), ("Restarting", "Pending")],
)
def test_only_what_leaves_pending_is_a_run(before: str, phase: str) -> None:
    assert with_run({}, PODS, before=before, phase=phase, at="") == {}
    assert with_run({}, [], before="Pending", phase="Running", at="") == {}


def test_records_are_read_as_they_were_written() -> None:
    resources = {"run-1": RECORD, "run-x": "another writer's", "plugin-env": "env"}
    notes = read_notes(resources)
    assert notes.runs == {"1": RECORD}
    assert notes.others == {"run-x": "another writer's", "plugin-env": "env"}
    assert write_notes(notes) == resources
