"""Bus and cache wiped, stopped or gone in the middle of jobs: nothing is lost, nothing is doubled."""

from collections.abc import Callable

import msgspec
import pytest

from tests.simulation.stack import CORE, Stack, gang_job
from vc.clock import run_virtual
from vc.messages.topics import SESSIONS

JOBS_COUNT = 6
PODS_EACH = 3


class Case(msgspec.Struct, frozen=True):
    """Something that happens while jobs come and go."""

    id: str
    happens: Callable[[Stack, int], None]


def _wipe(stack: Stack, turn: int) -> None:
    if turn in (2, 5):
        stack.bus.delete_topics()


def _stop_bus(stack: Stack, turn: int) -> None:
    if turn == 2:
        stack.bus.stop()
    if turn == 4:
        stack.bus.start()


def _flush_cache(stack: Stack, _: int) -> None:
    stack.snapshot.flush()


def _compact(stack: Stack, _: int) -> None:
    stack.bus.compact()


def _forget_history(stack: Stack, _: int) -> None:
    stack.api.compact()


def _kill_all(stack: Stack, turn: int) -> None:
    if turn in (2, 4):
        for name in CORE:
            stack.kill(name)


CASES = [
    Case("all topics are deleted, twice", _wipe),
    Case("the bus is away for a while", _stop_bus),
    Case("the snapshot cache is flushed again and again", _flush_cache),
    Case("the topics are compacted again and again", _compact),
    Case("the API server forgets its history again and again", _forget_history),
    Case("every process dies at once, twice", _kill_all),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_job_completes_once(case: Case) -> None:
    async def main() -> None:
        async with Stack(seed=3) as stack:
            for turn in range(JOBS_COUNT):
                case.happens(stack, turn)
                await stack.submit(gang_job(f"job-{turn}", replicas=PODS_EACH, run_seconds=4))
                await stack.clock.sleep(2.5)
            await stack.until(
                lambda: all(
                    stack.job(f"job-{turn}").status.state.phase == "Completed"
                    for turn in range(JOBS_COUNT)
                ),
                seconds=300,
                what="all completed",
            )
            assert all(stack.job(f"job-{n}").status.retry_count == 0 for n in range(JOBS_COUNT))
            assert stack.created.total() == JOBS_COUNT * PODS_EACH
            assert stack.problems == []

    run_virtual(main())


def test_no_session_opens_while_the_watcher_is_silent() -> None:
    async def main() -> None:
        async with Stack() as stack:
            await stack.submit(gang_job("first"))
            await stack.until(
                lambda: stack.job("first").status.state.phase == "Running",
                seconds=60,
                what="running",
            )
            stack.pause("watcher")
            await stack.clock.sleep(8)
            before = await stack.bus.end_offsets(SESSIONS.name)
            await stack.submit(gang_job("second"))
            await stack.clock.sleep(60)
            assert await stack.bus.end_offsets(SESSIONS.name) == before
            assert stack.job("second").status.state.phase == ""
            stack.resume("watcher")
            await stack.until(
                lambda: stack.job("second").status.state.phase == "Completed",
                seconds=120,
                what="completed",
            )
            assert stack.problems == []

    run_virtual(main())


def test_the_same_name_deleted_and_created_again_is_another_job() -> None:
    async def main() -> None:
        async with Stack() as stack:
            uids = set()
            for _ in range(10):
                made = await stack.submit(gang_job("again", replicas=2, run_seconds=60))
                uids.add(made["metadata"]["uid"])
                await stack.clock.sleep(1.7)
                await stack.delete_job("again")
            last = await stack.submit(gang_job("again", replicas=2, run_seconds=3))
            await stack.until(
                lambda: stack.job("again").status.state.phase == "Completed",
                seconds=120,
                what="completed",
            )
            job = stack.job("again")
            assert job.metadata.uid == last["metadata"]["uid"]
            assert job.status.retry_count == 0
            assert len(uids) == 10
            assert max(stack.created.values()) == 1
            assert stack.problems == []

    run_virtual(main())
