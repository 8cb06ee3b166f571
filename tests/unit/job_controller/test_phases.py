"""Reconcile, phase by phase: the table of the state machine, and the transitions that follow from the pods."""

from dataclasses import dataclass, field

import pytest

from tests.unit.job_controller.builders import (
    NOW,
    created,
    job,
    observed,
    pod,
    podgroup,
    policy,
    task,
    written_status,
)
from vc.job_controller.logic import decide
from vc.job_controller.logic.phases import ALLOWED, STEPS, TRANSITIONS
from vc.model.api.job import Job
from vc.model.api.pod import Pod

ORDERS = (
    "RestartJob", "RestartTask", "RestartPod", "RestartPartition", "AbortJob", "TerminateJob",
    "CompleteJob", "ResumeJob",
)  # fmt: skip


@dataclass(frozen=True)
class Transition:
    """Where a phase goes by what the pods show."""

    says: str
    job: Job
    pods: tuple[Pod, ...] = ()
    becomes: str = ""
    creates: tuple[str, ...] = field(default=())


def two(**spec: object) -> Job:
    return job("Running", **spec)  # type: ignore[arg-type]


BY_PODS = [
    Transition("a new job is pending", job(""), becomes="Pending"),
    Transition(
        "a gang that is not whole stays pending", job(), (pod(0), pod(1, "Pending")), "Pending"
    ),
    Transition("a gang that is up runs", job(), (pod(0), pod(1)), "Running"),
    Transition("pods that ended count as up", job(), (pod(0, "Failed"), pod(1)), "Running"),
    Transition("one running pod too few is no reason to go back", two(), (pod(0),), "Running"),
    Transition("too many pending pods are", two(), (pod(0), pod(1, "Pending")), "Pending"),
    Transition(
        "all pods well: completed", two(), (pod(0, "Succeeded"), pod(1, "Succeeded")), "Completed"
    ),
    Transition("one bad of all: failed", two(), (pod(0, "Succeeded"), pod(1, "Failed")), "Failed"),
    Transition(
        "one bad is fine when the gang needs fewer",
        two(min_available=1, tasks=[task(min_available=1)]),
        (pod(0, "Succeeded"), pod(1, "Failed")),
        "Completed",
    ),
    Transition(
        "a task below its own minimum fails the job",
        two(min_available=2, tasks=[task("a", 1), task("b", 2, min_available=1)]),
        (pod(0, "Failed", of="a"), pod(0, "Succeeded", of="b"), pod(1, "Succeeded", of="b")),
        "Failed",
    ),
    Transition(
        "the task's minimum does not count when the job's is smaller",
        two(min_available=1, tasks=[task("a", 1), task("b", 2, min_available=1)]),
        (pod(0, "Failed", of="a"), pod(0, "Succeeded", of="b"), pod(1, "Failed", of="b")),
        "Completed",
    ),
    Transition(
        "minSuccess completes early", two(min_success=1), (pod(0, "Succeeded"), pod(1)), "Completed"
    ),
    Transition(
        "minSuccess not reached: failed",
        two(min_success=2, min_available=1, tasks=[task(min_available=1)]),
        (pod(0, "Succeeded"), pod(1, "Failed")),
        "Failed",
    ),
    Transition("scaled to zero is not completed", two(tasks=[task(replicas=0)]), (), "Running"),
    Transition(
        "an index that succeeded counts though its pod is gone",
        job("Running", notes={"completed-worker": "0"}),
        (pod(1, "Succeeded"),),
        "Completed",
    ),
    Transition("a kill waits for the last pod", job("Aborting"), (pod(0, going=True),), "Aborting"),
    Transition("no pod alive: aborted", job("Aborting"), (pod(0, "Failed"),), "Aborted"),
    Transition("no pod alive: completed", job("Completing"), (pod(0, "Succeeded"),), "Completed"),
    Transition("no pod alive: terminated", job("Terminating"), (), "Terminated"),
    Transition(
        "out of retries: failed",
        job("Restarting", retry=3, notes={"restart": "unfinished"}),
        (),
        "Failed",
    ),
    Transition(
        "a restart waits until all deletions were requested",
        job("Restarting", retry=1, version=1, notes={"restart": "whole"}),
        (pod(0), pod(1, going=True)),
        "Restarting",
    ),
    Transition(
        "a restart waits until enough places are free",
        job("Restarting", retry=1, version=1, notes={"restart": "whole"}),
        (pod(0, going=True), pod(1, going=True)),
        "Restarting",
    ),
    Transition(
        "a restart goes on when the pods are gone",
        job("Restarting", retry=1, version=1, notes={"restart": "whole"}),
        (),
        "Pending",
    ),
    Transition(
        "a smaller gang goes on earlier",
        job("Restarting", retry=1, version=1, notes={"restart": "whole"}, min_available=1),
        (pod(0, going=True),),
        "Pending",
    ),
]


@pytest.mark.parametrize("case", BY_PODS, ids=lambda c: c.says)
def test_transition_by_pods(case: Transition) -> None:
    decision = decide(observed(case.job, *case.pods, podgroup=podgroup("Running")), now=NOW)
    after = written_status(case.job, decision)
    assert after.state.phase == case.becomes
    if case.job.status.state.phase != case.becomes:
        assert after.conditions[-1].status == case.becomes
        assert after.state.last_transition_time is not None


def test_every_phase_is_in_the_table() -> None:
    assert set(STEPS) | {""} == set(TRANSITIONS) == set(ALLOWED)
    for steps in STEPS.values():
        assert set(steps) <= set(ORDERS)


def test_a_phase_has_one_condition_and_the_newest_is_last() -> None:
    of = job("Running", policies=[policy("RestartJob", "PodFailed")])
    decision = decide(observed(of, pod(0, "Failed", exit_code=1), pod(1)), now=NOW)
    once = written_status(of, decision)
    assert [c.status for c in once.conditions] == ["Restarting"]


def test_a_job_that_is_being_deleted_is_left_alone() -> None:
    import msgspec

    of = job("Running")
    going = msgspec.structs.replace(
        of, metadata=msgspec.structs.replace(of.metadata, deletion_timestamp="2027-01-01T00:00:00Z")
    )
    assert decide(observed(going, pod(0)), now=NOW).effects == ()


def test_no_pod_is_made_while_the_gang_waits() -> None:
    of = job("Pending")
    assert created(decide(observed(of, podgroup=podgroup("Pending")), now=NOW)) == []
    enqueued = decide(observed(of, podgroup=podgroup("Inqueue")), now=NOW)
    assert created(enqueued) == ["j-worker-0", "j-worker-1"]
