"""maxRetry: restarts use up the retries of a job, and the last attempt fails it."""

from tests.simulation.stack import Stack
from tests.unit.job_controller.builders import (
    NOW,
    deleted,
    failed,
    job,
    observed,
    pod,
    podgroup,
    policy,
    written_status,
)
from tests.unit.job_controller.stack import failing, on_stack, phase
from vc.job_controller.logic import decide


def test_the_last_attempt_leaves_its_finished_pods_for_their_logs() -> None:
    of = job("Running", retry=2, max_retry=3, policies=[policy("RestartJob", "PodFailed")])
    seen = observed(of, failed(0), pod(1), podgroup=podgroup())
    decision = decide(seen, now=NOW)
    status = written_status(of, decision)
    assert (status.state.phase, status.retry_count, status.version) == ("Restarting", 3, 0)
    assert deleted(decision) == ["j-worker-1"]


def test_a_failing_job_restarts_until_its_retries_are_used_up() -> None:
    async def scenario(stack: Stack) -> None:
        await stack.submit(failing("a", event="PodFailed", action="RestartJob"))
        await phase(stack, "a", "Failed", seconds=120)
        job = stack.job("a")
        assert (job.status.retry_count, job.status.version) == (3, 2)
        assert {p.status.phase for p in stack.pods()} == {"Failed"}  # kept for their logs

    stack = on_stack(scenario)
    assert sum(stack.created.values()) == 6
