"""The status of a job: counters, phases, blockers, and how rarely they are written."""

import msgspec

from tests.unit.job_controller.builders import (
    NOW,
    created,
    events,
    group_spec,
    job,
    observed,
    pod,
    podgroup,
    reply,
    written_status,
)
from vc.job_controller.logic import Blocker, decide
from vc.messages.effects import PatchObject
from vc.messages.plugins import JobDecoration
from vc.model.api.job import Job
from vc.model.api.kinds import JOBS


def up_to_date() -> Job:
    """A running job whose status says all there is."""
    of = job("Running")
    seen = observed(of, pod(0), pod(1), podgroup=podgroup("Running"))
    return msgspec.structs.replace(of, status=written_status(of, decide(seen, now=NOW)))


def test_nothing_new_is_nothing_written() -> None:
    of = up_to_date()
    spec = group_spec(of)
    group = msgspec.structs.replace(
        podgroup("Running"), spec=msgspec.convert(spec, type=type(podgroup().spec))
    )
    decision = decide(observed(of, pod(0), pod(1), podgroup=group), now=NOW)
    assert decision.effects == ()
    assert decision.wake_after_seconds is None


def test_counters_wait_until_they_are_due_but_phases_do_not() -> None:
    of = up_to_date()
    early = observed(of, pod(0, "Succeeded"), pod(1), counters_due=False)
    waiting = decide(early, now=NOW)
    assert not [e for e in waiting.effects if isinstance(e, PatchObject) and e.kind is JOBS]
    assert waiting.late
    over = observed(of, pod(0, "Succeeded"), pod(1, "Succeeded"), counters_due=False)
    assert written_status(of, decide(over, now=NOW)).state.phase == "Completed"


def test_the_first_pods_do_not_wait_for_what_was_noted_of_plugins() -> None:
    of = job("Pending", plugins={"env": []}, min_available=2)
    of = msgspec.structs.replace(of, status=msgspec.structs.replace(of.status, min_available=2))
    answered = {"env": reply("env", observed(of), decoration=JobDecoration())}
    decision = decide(observed(of, podgroup=podgroup(), replies=answered), now=NOW)
    assert created(decision) == ["j-worker-0", "j-worker-1"]
    assert not [e for e in decision.effects if isinstance(e, PatchObject) and e.kind is JOBS]
    assert decision.late
    seen = observed(of, pod(0, "Pending"), pod(1, "Pending"), podgroup=podgroup(), replies=answered)
    status = written_status(of, decide(seen, now=NOW))
    assert status.controlled_resources["plugin-env"] == "env"


def test_a_job_that_is_over_keeps_its_counters_when_its_pods_are_cleaned_away() -> None:
    of = up_to_date()
    over = observed(of, pod(0, "Succeeded"), pod(1, "Succeeded"))
    status = written_status(of, decide(over, now=NOW))
    done = msgspec.structs.replace(of, status=status)
    after = written_status(done, decide(observed(done), now=NOW))
    assert (after.succeeded, after.task_status_count["worker"].phase) == (2, {"Succeeded": 2})


def test_what_could_not_be_written_is_said_and_taken_back() -> None:
    of = up_to_date()
    refused = Blocker("WriteRefused", "Pod 'j-worker-0': over quota")
    decision = decide(observed(of, pod(0), pod(1), blocker=refused), now=NOW)
    status = written_status(of, decision)
    assert (status.state.reason, status.state.message) == (refused.reason, refused.message)
    assert events(decision) == ["WriteRefused"]
    blocked = msgspec.structs.replace(of, status=status)
    assert events(decide(observed(blocked, pod(0), pod(1), blocker=refused), now=NOW)) == []
    cleared = written_status(blocked, decide(observed(blocked, pod(0), pod(1)), now=NOW))
    assert cleared.state.reason == ""
