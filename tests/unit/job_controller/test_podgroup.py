"""The PodGroup of a job: created first, and replaced with each attempt."""

from tests.unit.job_controller.builders import (
    NOW,
    created,
    events,
    group_effects,
    job,
    observed,
    podgroup,
    written_status,
)
from vc.job_controller.logic import decide
from vc.messages.effects import CreateObject, PatchObject
from vc.model.api.kinds import JOBS


def test_a_new_job_says_pending_and_takes_its_place_in_the_queue() -> None:
    of = job("", queue="q", priority_class_name="high")
    decision = decide(observed(of), now=NOW)
    patch, group = decision.effects
    assert isinstance(patch, PatchObject)
    assert (patch.kind, patch.subresource, patch.resource_version) == (JOBS, "status", "10")
    assert isinstance(group, CreateObject)
    assert group.name == "j"
    assert group.owner_uid == "job-1"
    assert group.body["spec"] == {
        "minMember": 2,
        "minTaskMember": {"worker": 2},
        "queue": "q",
        "priorityClassName": "high",
        "minResources": {"count/pods": "2", "cpu": "2", "pods": "2", "requests.cpu": "2"},
    }


def test_a_job_without_its_queue_waits_and_says_so() -> None:
    of = job("")
    decision = decide(observed(of, queue=None), now=NOW)
    status = written_status(of, decision)
    assert (status.state.phase, status.state.reason) == ("Pending", "QueueNotFound")
    assert group_effects(decision) == []
    assert events(decision) == ["QueueNotFound"]


def test_a_group_of_an_attempt_that_is_over_is_replaced() -> None:
    of = job("Pending", version=1)
    decision = decide(observed(of, podgroup=podgroup(version=0)), now=NOW)
    assert group_effects(decision) == ["DeleteObject"]
    assert created(decision) == []
