"""Every row of the policy rules: what happened, which policy applies, when it is due."""

from dataclasses import dataclass

import msgspec
import pytest

from tests.unit.job_controller.builders import (
    NOW,
    created,
    deleted,
    failed,
    group_effects,
    job,
    observed,
    pod,
    podgroup,
    policy,
    task,
    written_status,
)
from vc.job_controller.logic import decide
from vc.job_controller.logic.notes import read_notes
from vc.model.api.job import Job, JobStatus
from vc.model.api.pod import Pod

ALIVE = {"alive-worker": "0-1"}


@dataclass(frozen=True)
class Case:
    says: str
    job: Job
    pods: tuple[Pod, ...]
    becomes: str
    group: str = "Running"


CASES = [
    Case("no policy: a failed pod only counts", job("Running"), (failed(), pod(1)), "Running"),
    Case(
        "a job's policy on a failed pod",
        job("Running", policies=[policy("AbortJob", "PodFailed")]),
        (failed(), pod(1)),
        "Aborting",
    ),
    Case(
        "the single event field works as the list does",
        job("Running", policies=[policy("AbortJob", event="PodFailed")]),
        (failed(), pod(1)),
        "Aborting",
    ),
    Case(
        "a task's policy goes before the job's",
        job(
            "Running",
            tasks=[task(policies=[policy("TerminateJob", "PodFailed")])],
            policies=[policy("AbortJob", "PodFailed")],
        ),
        (failed(), pod(1)),
        "Terminating",
    ),
    Case(
        "a task's policy for something else leaves the decision to the job's",
        job(
            "Running",
            tasks=[task(policies=[policy("TerminateJob", "PodEvicted")])],
            policies=[policy("AbortJob", "PodFailed")],
        ),
        (failed(), pod(1)),
        "Aborting",
    ),
    Case(
        "the first policy that matches wins",
        job("Running", policies=[policy("AbortJob", "*"), policy("TerminateJob", "PodFailed")]),
        (failed(), pod(1)),
        "Aborting",
    ),
    Case(
        "an exit code",
        job("Running", policies=[policy("CompleteJob", exitCode=3)]),
        (failed(code=3), pod(1)),
        "Completing",
    ),
    Case(
        "another exit code",
        job("Running", policies=[policy("CompleteJob", exitCode=4)]),
        (failed(code=3), pod(1)),
        "Running",
    ),
    Case(
        "a pod that vanished was evicted",
        job("Running", notes=ALIVE, policies=[policy("AbortJob", "PodEvicted")]),
        (pod(1),),
        "Aborting",
    ),
    Case(
        "a pod that is going was evicted",
        job("Running", notes=ALIVE, policies=[policy("AbortJob", "PodEvicted")]),
        (pod(0, going=True), pod(1)),
        "Aborting",
    ),
    Case(
        "even if it says on its way out that it succeeded",
        job("Running", notes=ALIVE, policies=[policy("AbortJob", "PodEvicted")]),
        (pod(0, "Succeeded", going=True), pod(1)),
        "Aborting",
    ),
    Case(
        "a pod that was released on purpose was not",
        job("Running", notes=ALIVE, policies=[policy("AbortJob", "PodEvicted")]),
        (pod(0, going=True, released=True), pod(1)),
        "Running",
    ),
    Case(
        "a pod that was never seen cannot be lost",
        job("Running", notes={"alive-worker": "1"}, policies=[policy("AbortJob", "PodEvicted")]),
        (pod(1),),
        "Running",
    ),
    Case(
        "nor one that had succeeded",
        job(
            "Running",
            notes={"alive-worker": "1", "completed-worker": "0"},
            policies=[policy("AbortJob", "PodEvicted")],
        ),
        (pod(1),),
        "Running",
    ),
    Case(
        "a task whose pods all succeeded is completed",
        job(
            "Running",
            tasks=[task("m", 1, policies=[policy("CompleteJob", "TaskCompleted")]), task("w", 1)],
        ),
        (pod(0, "Succeeded", of="m"), pod(0, of="w")),
        "Completing",
    ),
    Case(
        "with one pod still running it is not",
        job("Running", tasks=[task(policies=[policy("CompleteJob", "TaskCompleted")])]),
        (pod(0, "Succeeded"), pod(1)),
        "Running",
    ),
    Case(
        "a task that restarts in place too often has failed",
        job("Running", tasks=[task(max_retry=4, policies=[policy("AbortJob", "TaskFailed")])]),
        (pod(0, restarts=2), pod(1, restarts=2)),
        "Aborting",
    ),
    Case(
        "fewer restarts are fine",
        job("Running", tasks=[task(max_retry=5, policies=[policy("AbortJob", "TaskFailed")])]),
        (pod(0, restarts=2), pod(1, restarts=2)),
        "Running",
    ),
    Case(
        "a task without a limit never fails",
        job("Running", tasks=[task(max_retry=-1, policies=[policy("AbortJob", "TaskFailed")])]),
        (pod(0, restarts=99), pod(1)),
        "Running",
    ),
    Case(
        "a gang the scheduler calls unknown",
        job("Running", policies=[policy("AbortJob", "Unknown")]),
        (pod(0), pod(1)),
        "Aborting",
        group="Unknown",
    ),
    Case(
        "under its other name JobUnknown",
        job("Running", policies=[policy("AbortJob", "JobUnknown")]),
        (pod(0), pod(1)),
        "Aborting",
        group="Unknown",
    ),
    Case(
        "pending needs a time-out to be an event",
        job("Pending", policies=[policy("AbortJob", "PodPending")]),
        (pod(0, "Pending"), pod(1, "Pending")),
        "Pending",
    ),
    Case(
        "pending for long enough",
        job("Pending", policies=[policy("AbortJob", "PodPending", timeout="59s")]),
        (pod(0, "Pending", created_at=NOW - 60), pod(1, "Pending", created_at=NOW)),
        "Aborting",
    ),
    Case(
        "anything with a time-out matches pending too",
        job("Pending", policies=[policy("AbortJob", "*", timeout="59s")]),
        (pod(0, "Pending", created_at=NOW - 60), pod(1)),
        "Aborting",
    ),
    Case(
        "events of an attempt that is over are not heard",
        job("Running", version=1, policies=[policy("AbortJob", "PodFailed")]),
        (failed(version=0), pod(1, version=1)),
        "Running",
    ),
    Case(
        "an action that does nothing here changes nothing",
        job("Running", policies=[policy("ResumeJob", "PodFailed")]),
        (failed(), pod(1)),
        "Running",
    ),
    Case(
        "in a job that is over nothing is heard",
        job("Completed", policies=[policy("RestartJob", "PodFailed")]),
        (failed(),),
        "Completed",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.says)
def test_policies(case: Case) -> None:
    seen = observed(
        case.job, *case.pods, podgroup=podgroup(case.group, version=case.job.status.version)
    )
    assert written_status(case.job, decide(seen, now=NOW)).state.phase == case.becomes


def test_a_time_out_wakes_the_controller() -> None:
    of = job("Pending", policies=[policy("AbortJob", "PodPending", timeout="100s")])
    seen = observed(of, pod(0, "Pending", created_at=NOW - 60), counters_due=True)
    assert decide(seen, now=NOW).wake_after_seconds == 40


def test_a_failure_waits_for_its_time_out() -> None:
    of = job("Running", policies=[policy("AbortJob", "PodFailed", timeout="10s")])
    seen = observed(of, failed(ended_at=NOW - 4), pod(1), podgroup=podgroup())
    decision = decide(seen, now=NOW)
    assert written_status(of, decision).state.phase == "Running"
    assert decision.wake_after_seconds == 6
    assert written_status(of, decide(seen, now=NOW + 6)).state.phase == "Aborting"


EVICTION = job(
    "Running",
    policies=[policy("AbortJob", "PodEvicted", timeout="10s")],
    notes={"alive-worker": "0-1"},
)


def after(of: Job, status: JobStatus) -> Job:
    return msgspec.structs.replace(of, status=status)


def test_a_lost_pod_is_replaced_and_its_loss_remembered_until_the_time_out_is_over() -> None:
    lost = observed(EVICTION, pod(1), podgroup=podgroup("Running"), counters_due=False)
    first = decide(lost, now=NOW)
    noted = written_status(EVICTION, first)
    assert noted.state.phase == "Running"
    assert noted.controlled_resources["lost-worker"] == f"0@{NOW:.3f}"
    assert first.wake_after_seconds is not None
    assert first.wake_after_seconds <= 10
    later = after(EVICTION, noted)
    waiting = observed(later, pod(0, "Pending"), pod(1), podgroup=podgroup("Running"))
    still = written_status(later, decide(waiting, now=NOW + 9))
    assert still.state.phase == "Pending"  # of a gang that is not whole
    assert "lost-worker" in still.controlled_resources
    due = decide(waiting, now=NOW + 10)
    assert written_status(later, due).state.phase == "Aborting"
    assert "lost-worker" not in written_status(later, due).controlled_resources


def test_a_loss_is_over_when_a_pod_runs_in_its_place() -> None:
    of = after(
        EVICTION,
        msgspec.structs.replace(
            EVICTION.status,
            controlled_resources={"alive-worker": "0-1", "lost-worker": f"0@{NOW:.3f}"},
        ),
    )
    back = observed(of, pod(0), pod(1), podgroup=podgroup("Running"))
    decision = decide(back, now=NOW + 60)
    status = written_status(of, decision)
    assert status.state.phase == "Running"
    assert "lost-worker" not in status.controlled_resources


def test_a_loss_without_a_time_out_is_acted_on_at_once() -> None:
    of = job("Running", policies=[policy("AbortJob", "PodEvicted")], notes={"alive-worker": "0-1"})
    seen = observed(of, pod(1), podgroup=podgroup("Running"))
    assert written_status(of, decide(seen, now=NOW)).state.phase == "Aborting"


@pytest.mark.parametrize("text", ["", "x", "1@", "@5", "1@x", "-1@3"])
def test_a_note_of_losses_that_cannot_be_read_is_none(text: str) -> None:
    assert read_notes({"lost-worker": text}).lost == {"worker": {}}


def test_restarting_a_task_keeps_the_others_and_the_group() -> None:
    of = job(
        "Running",
        tasks=[
            task("a", 2, policies=[policy("RestartTask", "PodFailed")]),
            task("b", 1),
        ],
        notes={"alive-a": "0-1", "alive-b": "0", "completed-b": "0"},
    )
    seen = observed(
        of, failed(0, of="a"), pod(1, of="a"), pod(0, of="b"), podgroup=podgroup("Running")
    )
    decision = decide(seen, now=NOW)
    status = written_status(of, decision)
    assert status.state.phase == "Restarting"
    assert status.controlled_resources["restart"] == "task/a"
    assert status.controlled_resources["completed-b"] == "0"
    assert (status.retry_count, status.version) == (1, 0)
    assert deleted(decision) == ["j-a-0", "j-a-1"]
    assert group_effects(decision) == []


def test_restarting_a_pod_restarts_no_other() -> None:
    of = job("Running", policies=[policy("RestartPod", "PodFailed")])
    decision = decide(observed(of, failed(1), pod(0), podgroup=podgroup()), now=NOW)
    assert written_status(of, decision).controlled_resources["restart"] == "pod/worker/1"
    assert deleted(decision) == ["j-worker-1"]


def test_a_pod_of_this_retry_is_not_restarted_again() -> None:
    of = job("Restarting", retry=1, notes={"restart": "task/worker"})
    seen = observed(of, pod(0, retry=1), pod(1, retry=0, going=True), podgroup=podgroup())
    decision = decide(seen, now=NOW)
    assert deleted(decision) == []


def test_a_pod_that_only_seems_lost_is_neither_evicted_nor_made_again() -> None:
    of = job("Running", notes=ALIVE, policies=[policy("RestartJob", "PodEvicted")])
    seen = observed(of, pod(1), podgroup=podgroup("Running"), pods_complete=False)
    decision = decide(seen, now=NOW)
    status = written_status(of, decision)
    assert status.state.phase == "Running"
    assert created(decision) == []
    assert status.controlled_resources["alive-worker"] == "0-1"
    assert decision.wake_after_seconds is not None


def test_pods_that_only_seem_lost_are_looked_for_again_until_they_are_seen_or_gone() -> None:
    first = job("Running", notes=ALIVE)
    whole = observed(first, pod(0), pod(1), podgroup=podgroup("Running"))
    of = after(first, written_status(first, decide(whole, now=NOW)))
    assert read_notes(of.status.controlled_resources).plugins_for, (
        "the plugins have answered: nothing else would wake us"
    )
    seen = observed(of, pod(1), podgroup=podgroup("Running"), pods_complete=False)
    decision = decide(seen, now=NOW)
    assert created(decision) == []
    assert decision.wake_after_seconds is not None


def test_a_lost_pod_without_a_policy_is_made_again() -> None:
    of = job("Running", notes=ALIVE)
    decision = decide(observed(of, pod(1), podgroup=podgroup("Running")), now=NOW)
    assert created(decision) == ["j-worker-0"]
