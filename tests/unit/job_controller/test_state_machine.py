"""Every cell of the state machine's table: phase × order, and where phases next_phase by themselves."""

from dataclasses import dataclass, field

import pytest

from tests.unit.job_controller.builders import (
    NOW,
    command,
    created,
    deleted,
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
from vc.job_controller.logic.phases import ALLOWED, STEPS, TRANSITIONS
from vc.messages.effects import DeleteObject
from vc.model.api.job import Job
from vc.model.api.kinds import COMMANDS, JOBS
from vc.model.api.pod import Pod

ORDERS = (
    "RestartJob", "RestartTask", "RestartPod", "RestartPartition", "AbortJob", "TerminateJob",
    "CompleteJob", "ResumeJob",
)  # fmt: skip


@dataclass(frozen=True)
class Ordered:
    """A command to a job in a phase with one running and one succeeded pod."""

    phase: str
    order: str
    becomes: str
    retry: int = 0
    version: int = 0
    ends: tuple[str, ...] = ()
    """Pods that are deleted at once."""
    group: tuple[str, ...] = ()


_KILL = ("j-worker-0",)
_BOTH = ("j-worker-0", "j-worker-1")
_DROPS = ("DeleteObject",)

COMMANDED = [
    Ordered("Pending", "RestartJob", "Restarting", 1, 1, _BOTH, _DROPS),
    Ordered("Running", "RestartJob", "Restarting", 1, 1, _BOTH, _DROPS),
    Ordered("Pending", "AbortJob", "Aborting", 0, 0, _KILL, _DROPS),
    Ordered("Running", "AbortJob", "Aborting", 0, 0, _KILL, _DROPS),
    Ordered("Running", "TerminateJob", "Terminating", 0, 0, _KILL, _DROPS),
    Ordered("Running", "CompleteJob", "Completing", 0, 0, _KILL, _DROPS),
    Ordered("Aborting", "ResumeJob", "Restarting", 1, 0, _KILL, ()),
    Ordered("Aborted", "ResumeJob", "Restarting", 1, 0, _KILL, ()),
    Ordered("Aborting", "AbortJob", "Aborting", 0, 0, _KILL, _DROPS),
    Ordered("Terminating", "ResumeJob", "Terminating", 0, 0, _KILL, _DROPS),
    Ordered("Completing", "RestartJob", "Completing", 0, 0, _KILL, _DROPS),
    Ordered("Completed", "RestartJob", "Completed", 0, 0, _KILL, _DROPS),
    Ordered("Failed", "ResumeJob", "Failed", 0, 0, _KILL, _DROPS),
    Ordered("Terminated", "ResumeJob", "Terminated", 0, 0, _KILL, _DROPS),
]


@pytest.mark.parametrize("case", COMMANDED, ids=lambda c: f"{c.order} of a job that is {c.phase}")
def test_commands(case: Ordered) -> None:
    of = job(case.phase)
    seen = observed(
        of,
        pod(0, "Running"),
        pod(1, "Succeeded"),
        podgroup=podgroup("Running"),
        commands=(command(case.order),),
    )
    decision = decide(seen, now=NOW)
    status = written_status(of, decision)
    assert status.state.phase == case.becomes
    assert status.retry_count == case.retry
    assert status.version == case.version
    assert tuple(deleted(decision)) == case.ends
    assert tuple(group_effects(decision)) == case.group
    ended = [e for e in decision.effects if isinstance(e, DeleteObject) and e.kind is COMMANDS]
    assert [e.uid for e in ended] == ["command-1"]


def test_an_order_waits_while_the_job_restarts() -> None:
    of = job("Restarting", notes={"restart": "whole"}, version=1, retry=1)
    seen = observed(of, pod(0, "Running"), commands=(command("AbortJob"),))
    decision = decide(seen, now=NOW)
    assert written_status(of, decision).state.phase == "Restarting"
    assert not [e for e in decision.effects if isinstance(e, DeleteObject) and e.kind is COMMANDS]


def test_a_command_that_was_carried_out_is_only_deleted() -> None:
    of = job("Running", notes={"command": "command-1"})
    seen = observed(of, pod(0), pod(1), podgroup=podgroup(), commands=(command("AbortJob"),))
    decision = decide(seen, now=NOW)
    assert written_status(of, decision).state.phase == "Running"
    ended = [e for e in decision.effects if isinstance(e, DeleteObject) and e.kind is COMMANDS]
    assert len(ended) == 1


def test_a_command_for_an_earlier_job_of_the_name_is_only_deleted() -> None:
    of = job("Running")
    late = command("AbortJob", target="an-older-job")
    decision = decide(observed(of, pod(0), pod(1), commands=(late,)), now=NOW)
    assert written_status(of, decision).state.phase == "Running"


def test_the_uid_of_a_command_is_noted_with_its_effect() -> None:
    of = job("Running")
    seen = observed(of, pod(0), pod(1), commands=(command("AbortJob"),))
    status = written_status(of, decide(seen, now=NOW))
    assert status.controlled_resources["command"] == "command-1"
    assert status.state.phase == "Aborting"


def test_the_oldest_command_goes_first() -> None:
    of = job("Running")
    seen = observed(
        of,
        pod(0),
        commands=(
            command("TerminateJob", uid="younger", age=1),
            command("AbortJob", uid="older", age=2),
        ),
    )
    assert written_status(of, decide(seen, now=NOW)).state.phase == "Aborting"


@dataclass(frozen=True)
class Settling:
    """Where a phase goes by what the pods show."""

    says: str
    job: Job
    pods: tuple[Pod, ...] = ()
    becomes: str = ""
    creates: tuple[str, ...] = field(default=())


def two(**spec: object) -> Job:
    return job("Running", **spec)  # type: ignore[arg-type]


SETTLING = [
    Settling("a new job is pending", job(""), becomes="Pending"),
    Settling(
        "a gang that is not whole stays pending", job(), (pod(0), pod(1, "Pending")), "Pending"
    ),
    Settling("a gang that is up runs", job(), (pod(0), pod(1)), "Running"),
    Settling("pods that ended count as up", job(), (pod(0, "Failed"), pod(1)), "Running"),
    Settling("one running pod too few is no reason to go back", two(), (pod(0),), "Running"),
    Settling("too many pending pods are", two(), (pod(0), pod(1, "Pending")), "Pending"),
    Settling(
        "all pods well: completed", two(), (pod(0, "Succeeded"), pod(1, "Succeeded")), "Completed"
    ),
    Settling("one bad of all: failed", two(), (pod(0, "Succeeded"), pod(1, "Failed")), "Failed"),
    Settling(
        "one bad is fine when the gang needs fewer",
        two(min_available=1, tasks=[task(min_available=1)]),
        (pod(0, "Succeeded"), pod(1, "Failed")),
        "Completed",
    ),
    Settling(
        "a task below its own minimum fails the job",
        two(min_available=2, tasks=[task("a", 1), task("b", 2, min_available=1)]),
        (pod(0, "Failed", of="a"), pod(0, "Succeeded", of="b"), pod(1, "Succeeded", of="b")),
        "Failed",
    ),
    Settling(
        "the task's minimum does not count when the job's is smaller",
        two(min_available=1, tasks=[task("a", 1), task("b", 2, min_available=1)]),
        (pod(0, "Failed", of="a"), pod(0, "Succeeded", of="b"), pod(1, "Failed", of="b")),
        "Completed",
    ),
    Settling(
        "minSuccess completes early", two(min_success=1), (pod(0, "Succeeded"), pod(1)), "Completed"
    ),
    Settling(
        "minSuccess not reached: failed",
        two(min_success=2, min_available=1, tasks=[task(min_available=1)]),
        (pod(0, "Succeeded"), pod(1, "Failed")),
        "Failed",
    ),
    Settling("scaled to zero is not completed", two(tasks=[task(replicas=0)]), (), "Running"),
    Settling(
        "an index that succeeded counts though its pod is gone",
        job("Running", notes={"completed-worker": "0"}),
        (pod(1, "Succeeded"),),
        "Completed",
    ),
    Settling("a kill waits for the last pod", job("Aborting"), (pod(0, going=True),), "Aborting"),
    Settling("no pod alive: aborted", job("Aborting"), (pod(0, "Failed"),), "Aborted"),
    Settling("no pod alive: completed", job("Completing"), (pod(0, "Succeeded"),), "Completed"),
    Settling("no pod alive: terminated", job("Terminating"), (), "Terminated"),
    Settling(
        "out of retries: failed",
        job("Restarting", retry=3, notes={"restart": "unfinished"}),
        (),
        "Failed",
    ),
    Settling(
        "a restart waits until its pods were asked to go",
        job("Restarting", retry=1, version=1, notes={"restart": "whole"}),
        (pod(0), pod(1, going=True)),
        "Restarting",
    ),
    Settling(
        "a restart waits until enough places are free",
        job("Restarting", retry=1, version=1, notes={"restart": "whole"}),
        (pod(0, going=True), pod(1, going=True)),
        "Restarting",
    ),
    Settling(
        "a restart goes on when the pods are gone",
        job("Restarting", retry=1, version=1, notes={"restart": "whole"}),
        (),
        "Pending",
    ),
    Settling(
        "a smaller gang goes on earlier",
        job("Restarting", retry=1, version=1, notes={"restart": "whole"}, min_available=1),
        (pod(0, going=True),),
        "Pending",
    ),
]


@pytest.mark.parametrize("case", SETTLING, ids=lambda c: c.says)
def test_settling(case: Settling) -> None:
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


@pytest.mark.parametrize("phase", ["Completed", "Failed", "Terminated", "Aborted"])
def test_a_job_that_is_over_goes_when_its_time_has_come(phase: str) -> None:
    early = job(phase, since=NOW - 10, ttl_seconds_after_finished=60)
    waiting = decide(observed(early), now=NOW)
    assert waiting.wake_after_seconds == 50
    late = job(phase, since=NOW - 60, ttl_seconds_after_finished=60)
    gone = [e for e in decide(observed(late), now=NOW).effects if isinstance(e, DeleteObject)]
    assert [(e.kind, e.uid, e.propagation) for e in gone] == [(JOBS, "job-1", "Foreground")]


def test_no_pod_is_made_while_the_gang_waits() -> None:
    of = job("Pending")
    assert created(decide(observed(of, podgroup=podgroup("Pending")), now=NOW)) == []
    let_in = decide(observed(of, podgroup=podgroup("Inqueue")), now=NOW)
    assert created(let_in) == ["j-worker-0", "j-worker-1"]
