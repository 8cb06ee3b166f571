"""Events of a vcjob where `kubectl describe vcjob` shows them: refused creates, actions, failures."""

from collections.abc import Callable

import msgspec
import pytest

from tests.simulation.stack import Stack, gang_job
from tests.unit.job_controller.builders import (
    NOW,
    job,
    observed,
    pod,
    podgroup,
    policy,
    written_status,
)
from tests.unit.job_controller.stack import failing, on_stack, phase
from vc.job_controller.decision_log import blocker_of
from vc.job_controller.logic import Blocker, Decision, decide
from vc.messages.effects import CreateObject, DeleteObject, Effect, PatchObject, RecordEvent
from vc.model.api.kinds import EVENTS, JOBS, PODS
from vc.runtime.applying.effects import Outcome, OutcomeStatus

REFUSED = Blocker("WriteRefused", "Pod 'j-worker-0': exceeded quota: pods", "FailedCreate")


def recorded(decision: Decision) -> list[tuple[str, str, str]]:
    return [(e.type, e.reason, e.message) for e in decision.effects if isinstance(e, RecordEvent)]


def events_of(stack: Stack, name: str, reason: str) -> list[dict[str, str]]:
    """Events that `kubectl describe vcjob` finds: by kind, name and uid of the job."""
    uid = stack.job(name).metadata.uid
    listed = stack.api.list(stack.api.registry.for_kind(EVENTS)).items
    found = [msgspec.json.decode(raw) for raw in listed]
    return [
        event
        for event in found
        if event["reason"] == reason
        and event["involvedObject"]["kind"] == JOBS.kind
        and event["involvedObject"]["uid"] == uid
    ]


# -- decisions -----------------------------------------------------------------------------------


def test_a_refused_create_is_an_event_before_the_create_is_tried_again() -> None:
    decision = decide(observed(job("Pending"), podgroup=podgroup(), blocker=REFUSED), now=NOW)
    assert recorded(decision) == [("Warning", "FailedCreate", REFUSED.message)]
    kinds = [type(effect) for effect in decision.effects]
    assert kinds.index(RecordEvent) < kinds.index(CreateObject), (
        "what follows a create that is refused again is skipped"
    )


def test_a_refused_create_that_the_status_already_names_has_no_second_event() -> None:
    of = job("Pending")
    first = decide(observed(of, podgroup=podgroup(), blocker=REFUSED), now=NOW)
    reported = msgspec.structs.replace(of, status=written_status(of, first))
    assert recorded(decide(observed(reported, podgroup=podgroup(), blocker=REFUSED), now=NOW)) == []


def test_an_action_of_a_policy_has_one_event() -> None:
    of = job("Running", policies=[policy("RestartJob", "PodFailed")], notes={"alive-worker": "0-1"})
    seen = observed(of, pod(0, "Failed", exit_code=3), pod(1), podgroup=podgroup("Running"))
    decision = decide(seen, now=NOW)
    executed = [event for event in recorded(decision) if event[1] == "ExecuteAction"]
    assert [event[0] for event in executed] == ["Normal"]
    assert executed[0][2].startswith("Start to execute action RestartJob")
    assert "PodFailed with exit code 3 of worker-0" in executed[0][2]
    assert isinstance(decision.effects[0], PatchObject), (
        "the intent is written before it has an Event"
    )
    after = msgspec.structs.replace(of, status=written_status(of, decision))
    again = decide(observed(after, pod(1), podgroup=podgroup("Running")), now=NOW)
    assert "ExecuteAction" not in [event[1] for event in recorded(again)]


def test_a_job_that_failed_says_so_as_a_warning() -> None:
    of = job("Running", notes={"alive-worker": "0-1"})
    seen = observed(of, pod(0, "Failed"), pod(1, "Failed"), podgroup=podgroup("Running"))
    failed = [event for event in recorded(decide(seen, now=NOW)) if event[1] == "JobFailed"]
    assert [event[0] for event in failed] == ["Warning"]


def _create() -> Effect:
    return CreateObject(kind=PODS, namespace="ns", name="p", body={})


def _delete() -> Effect:
    return DeleteObject(kind=PODS, namespace="ns", name="p", uid="u")


@pytest.mark.parametrize(
    ("effect", "reason"),
    [(_create, "FailedCreate"), (_delete, "FailedDelete")],
    ids=["create", "delete"],
)
def test_a_refused_write_has_the_event_reason_of_its_verb(
    effect: Callable[[], Effect], reason: str
) -> None:
    outcome = Outcome(effect=effect(), status=OutcomeStatus.REFUSED, error="exceeded quota")
    assert blocker_of(outcome) == Blocker("WriteRefused", "Pod 'p': exceeded quota", reason)


def test_a_name_that_another_object_has_is_reported_without_an_event() -> None:
    outcome = Outcome(effect=_create(), status=OutcomeStatus.FOREIGN, error="Pod 'p' is not ours")
    assert blocker_of(outcome) == Blocker("NameTaken", "Pod 'p' is not ours")


@pytest.mark.parametrize("status", [OutcomeStatus.DONE, OutcomeStatus.UNAVAILABLE])
def test_a_write_that_is_done_or_retried_is_no_blocker(status: OutcomeStatus) -> None:
    assert blocker_of(Outcome(effect=_create(), status=status, error="timeout")) is None


def test_a_refused_patch_has_no_event_of_its_own() -> None:
    patch = PatchObject(kind=JOBS, namespace="ns", name="j", patch={})
    outcome = Outcome(effect=patch, status=OutcomeStatus.REFUSED, error="invalid")
    assert blocker_of(outcome) == Blocker("WriteRefused", "Job 'j': invalid", "")


# -- on the stack --------------------------------------------------------------------------------


def test_refused_pods_are_reported_with_the_message_of_the_api_server() -> None:
    async def scenario(stack: Stack) -> None:
        manifest = gang_job("a", replicas=2, plugins={})
        manifest["spec"]["tasks"][0]["template"]["spec"]["priorityClassName"] = "missing"
        await stack.submit(manifest)
        await stack.until(
            lambda: bool(events_of(stack, "a", "FailedCreate")), seconds=20, what="FailedCreate"
        )
        (event,) = events_of(stack, "a", "FailedCreate")
        assert event["type"] == "Warning"
        assert "no PriorityClass with name missing was found" in event["message"]
        await stack.clock.sleep(60)
        assert len(events_of(stack, "a", "FailedCreate")) == 1, "one object, however often tried"

    on_stack(scenario)


def test_actions_and_the_failure_of_a_job_have_events() -> None:
    async def scenario(stack: Stack) -> None:
        await stack.submit(failing("a", event="PodFailed", action="RestartJob"))
        await phase(stack, "a", "Failed", seconds=120)
        await stack.clock.sleep(1)
        (executed, *_) = events_of(stack, "a", "ExecuteAction")
        assert executed["message"].startswith("Start to execute action RestartJob")
        (failed,) = events_of(stack, "a", "JobFailed")
        assert failed["type"] == "Warning"

    on_stack(scenario)
