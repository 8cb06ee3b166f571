"""A scheduler that dies and starts from its checkpoint, or from none: nothing is lost or doubled.

In every case jobs run and wait while the scheduler is dead, and something happens to what it left.
Whether it then started warm or cold is read in its log.
"""

from collections.abc import Callable

import msgspec
import pytest

from tests.simulation.stack import Stack, gang_job
from vc.clock import run_virtual
from vc.runtime.consuming.checkpoint_writer import CHECKPOINT_PERIOD_SECONDS
from vc.scheduler.service import CHECKPOINT

JOBS_COUNT = 4
PODS_EACH = 3


class Case(msgspec.Struct, frozen=True):
    """What happens while the scheduler is dead, and how it must start afterwards."""

    id: str
    happens: Callable[[Stack], object]
    told: str


def _stop_cache(stack: Stack) -> None:
    stack.snapshot.stop()


def _leave_it(_: Stack) -> None:
    """It stays as it was."""


CASES = [
    Case("the checkpoint is good", _leave_it, "warm start objects="),
    Case("the topics were compacted", lambda stack: stack.bus.compact(), "warm start objects="),
    Case("the topics were deleted", lambda stack: stack.bus.delete_topics(), "of incarnation"),
    Case("the cache was flushed", lambda stack: stack.snapshot.flush(), "no whole one"),
    Case("a piece was lost", lambda stack: stack.snapshot.damage(CHECKPOINT), "no whole one"),
    Case("the cache is away", _stop_cache, "does not answer"),
]


def completed(stack: Stack) -> bool:
    return all(
        stack.job(f"job-{number}").status.state.phase == "Completed" for number in range(JOBS_COUNT)
    )


async def jobs_while_the_scheduler_dies(stack: Stack, happens: Callable[[Stack], object]) -> None:
    """Two jobs before, one while it is dead, one after."""
    for number in range(2):
        await stack.submit(gang_job(f"job-{number}", replicas=PODS_EACH, run_seconds=30))
    await stack.clock.sleep(CHECKPOINT_PERIOD_SECONDS + 5)
    stack.pause("scheduler")
    await stack.submit(gang_job("job-2", replicas=PODS_EACH, run_seconds=4))
    await stack.clock.sleep(3)
    happens(stack)
    await stack.clock.sleep(1)
    stack.resume("scheduler")
    await stack.submit(gang_job("job-3", replicas=PODS_EACH, run_seconds=4))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_job_completes_once(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with Stack(seed=5) as stack:
            await jobs_while_the_scheduler_dies(stack, case.happens)
            await stack.until(lambda: completed(stack), seconds=300, what="all completed")
            assert all(stack.job(f"job-{n}").status.retry_count == 0 for n in range(JOBS_COUNT))
            assert stack.created.total() == JOBS_COUNT * PODS_EACH
            assert stack.problems == []

    with caplog.at_level("INFO", logger="pyroclast.scheduler"):
        run_virtual(main())
    starts = [line for line in caplog.messages if line.startswith(("warm start", "cold start"))]
    assert len(starts) == 2, starts
    assert "no whole one" in starts[0]
    assert case.told in starts[1]


@pytest.mark.parametrize("seed", range(8))
def test_a_scheduler_that_dies_again_and_again_starts_warm_every_time(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    deaths = 5

    async def main() -> None:
        async with Stack(seed=seed) as stack:
            for number in range(JOBS_COUNT):
                job = gang_job(f"job-{number}", replicas=PODS_EACH, run_seconds=15 + 7 * number)
                await stack.submit(job)
            await stack.clock.sleep(CHECKPOINT_PERIOD_SECONDS + 5)
            for _ in range(deaths):
                stack.kill("scheduler")
                await stack.clock.sleep(1.3 + seed)
            await stack.until(lambda: completed(stack), seconds=300, what="all completed")
            assert stack.created.total() == JOBS_COUNT * PODS_EACH
            assert stack.problems == []

    with caplog.at_level("INFO", logger="pyroclast.scheduler"):
        run_virtual(main())
    warm = [line for line in caplog.messages if line.startswith("warm start")]
    assert len(warm) == deaths


async def long_job(stack: Stack) -> None:
    """One that outlives two checkpoints and, if it dies, the scheduler."""
    await stack.submit(gang_job("job-0", replicas=PODS_EACH, run_seconds=25))
    await stack.until(
        lambda: stack.job("job-0").status.state.phase == "Completed", seconds=300, what="completed"
    )
    assert stack.job("job-0").status.retry_count == 0
    assert stack.created.total() == PODS_EACH
    assert stack.problems == []


def test_a_scheduler_may_die_at_every_call_of_the_cache() -> None:
    async def whole() -> list[str]:
        async with Stack() as stack:
            await long_job(stack)
            return list(stack.lives["scheduler"][0].points)

    async def dying(number: int) -> None:
        async with Stack(die_at=("scheduler", number)) as stack:
            await long_job(stack)
            assert len(stack.lives["scheduler"]) == 2

    points = run_virtual(whole())
    numbers = [number for number, point in enumerate(points) if " snapshot." in point]
    assert {"before snapshot.load", "after snapshot.save"} <= {points[n] for n in numbers}
    for number in numbers:
        run_virtual(dying(number))


def test_a_flush_is_noticed_and_the_checkpoint_written_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with Stack() as stack:
            await stack.clock.sleep(3 * CHECKPOINT_PERIOD_SECONDS)
            assert await stack.snapshot.digest(CHECKPOINT) is not None
            stack.snapshot.flush()
            await stack.clock.sleep(CHECKPOINT_PERIOD_SECONDS + 1)
            assert await stack.snapshot.digest(CHECKPOINT) is not None
            assert stack.problems == []

    with caplog.at_level("INFO", logger="pyroclast.scheduler"):
        run_virtual(main())
    assert sum("checkpoint lost, writing it again" in line for line in caplog.messages) == 1


def test_an_outage_of_the_cache_is_told_once_and_scheduling_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with Stack() as stack:
            for _ in range(2):
                stack.snapshot.stop()
                await stack.clock.sleep(5 * CHECKPOINT_PERIOD_SECONDS)
                stack.snapshot.start()
                await stack.clock.sleep(CHECKPOINT_PERIOD_SECONDS + 1)
                assert await stack.snapshot.digest(CHECKPOINT) is not None
            stack.snapshot.stop()
            for number in range(JOBS_COUNT):
                await stack.submit(gang_job(f"job-{number}", replicas=PODS_EACH))
            await stack.until(lambda: completed(stack), seconds=60, what="all completed")
            assert stack.problems == []

    with caplog.at_level("INFO", logger="pyroclast.scheduler"):
        run_virtual(main())
    assert sum("checkpoint not written" in line for line in caplog.messages) == 2
