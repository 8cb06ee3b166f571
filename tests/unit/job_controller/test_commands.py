"""Commands: what an order does in each phase, and when a Command is deleted."""

from dataclasses import dataclass

import pytest

from tests.unit.job_controller.builders import (
    NOW,
    command,
    deleted,
    group_effects,
    job,
    observed,
    pod,
    podgroup,
    written_status,
)
from vc.job_controller.logic import decide
from vc.messages.effects import DeleteObject
from vc.model.api.kinds import COMMANDS


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
