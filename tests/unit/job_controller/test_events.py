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
from tests.unit.job_controller.test_service import failing, on_stack, phase
from vc_job_controller.logic import Decision, Trouble, decide
from vc_job_controller.telling import trouble_of
from vc_messages.effects import CreateObject, DeleteObject, Effect, PatchObject, RecordEvent
from vc_model.kinds import EVENTS, JOBS, PODS
from vc_runtime.effects import Outcome, OutcomeStatus

REFUSED = Trouble("WriteRefused", "Pod 'j-worker-0': exceeded quota: pods", "FailedCreate")


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
    decision = decide(observed(job("Pending"), podgroup=podgroup(), trouble=REFUSED), now=NOW)
    assert recorded(decision) == [("Warning", "FailedCreate", REFUSED.message)]
    kinds = [type(effect) for effect in decision.effects]
    assert kinds.index(RecordEvent) < kinds.index(CreateObject), (
        "what follows a create that is refused again is skipped"
    )


def test_a_refused_create_that_the_status_already_names_is_not_told_again() -> None:
    of = job("Pending")
    first = decide(observed(of, podgroup=podgroup(), trouble=REFUSED), now=NOW)
    told = msgspec.structs.replace(of, status=written_status(of, first))
    assert recorded(decide(observed(told, podgroup=podgroup(), trouble=REFUSED), now=NOW)) == []


def test_an_action_of_a_policy_is_told_once() -> None:
    of = job("Running", policies=[policy("RestartJob", "PodFailed")], notes={"alive-worker": "0-1"})
    seen = observed(of, pod(0, "Failed", exit_code=3), pod(1), podgroup=podgroup("Running"))
    decision = decide(seen, now=NOW)
    executed = [event for event in recorded(decision) if event[1] == "ExecuteAction"]
    assert [event[0] for event in executed] == ["Normal"]
    assert executed[0][2].startswith("Start to execute action RestartJob")
    assert "PodFailed with exit code 3 of worker-0" in executed[0][2]
    assert isinstance(decision.effects[0], PatchObject), "the intent is written before it is told"
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
    assert trouble_of(outcome) == Trouble("WriteRefused", "Pod 'p': exceeded quota", reason)


# -- on the stack --------------------------------------------------------------------------------


def test_pods_that_the_api_server_refuses_are_told_with_its_words() -> None:
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


def test_actions_and_the_failure_of_a_job_are_told() -> None:
    async def scenario(stack: Stack) -> None:
        await stack.submit(failing("a", event="PodFailed", action="RestartJob"))
        await phase(stack, "a", "Failed", seconds=120)
        await stack.clock.sleep(1)
        (executed, *_) = events_of(stack, "a", "ExecuteAction")
        assert executed["message"].startswith("Start to execute action RestartJob")
        (failed,) = events_of(stack, "a", "JobFailed")
        assert failed["type"] == "Warning"

    on_stack(scenario)
