"""Gang jobs through all services, in virtual time."""

from tests.simulation.stack import Stack, gang_job
from vc_clock import run_virtual
from vc_simcluster.node_pools import NodePool


def completed(stack: Stack, name: str) -> bool:
    return stack.job(name).status.state.phase == "Completed"


def bound(stack: Stack, job: str) -> int:
    return sum(
        bool(pod.spec.node_name)
        for pod in stack.pods()
        if pod.metadata.labels.get("volcano.sh/job-name") == job
    )


def of_job(stack: Stack, job: str) -> int:
    return sum(pod.metadata.labels.get("volcano.sh/job-name") == job for pod in stack.pods())


def test_a_gang_goes_from_submission_to_completed() -> None:
    async def main() -> None:
        async with Stack() as stack:
            await stack.submit(gang_job("train"))
            await stack.until(lambda: completed(stack, "train"), seconds=60, what="completed")
            job = stack.job("train")
            assert job.status.succeeded == 4
            assert job.status.retry_count == 0
            assert [c.status for c in job.status.conditions] == ["Pending", "Running", "Completed"]
            assert set(stack.created.values()) == {1}
            assert stack.problems == []

    run_virtual(main())


def test_a_fragmented_gang_is_not_bound_until_the_node_it_lacks_appears() -> None:
    async def main() -> None:
        async with Stack() as stack:
            await stack.submit(gang_job("big", replicas=9, cpu="40", run_seconds=600))
            await stack.until(lambda: of_job(stack, "big") == 9, seconds=30, what="nine pods")
            await stack.clock.sleep(60)
            assert of_job(stack, "big") == 9
            assert bound(stack, "big") == 0
            await stack.nodes.add_nodes(NodePool(count=1, name_prefix="tenth-"))
            await stack.until(lambda: bound(stack, "big") == 9, seconds=30, what="all bound")
            assert stack.problems == []

    run_virtual(main())


def test_two_gangs_of_which_only_one_fits_run_one_after_the_other() -> None:
    async def main() -> None:
        async with Stack() as stack:
            for name in ("one", "two"):
                await stack.submit(gang_job(name, replicas=6, cpu="40", run_seconds=20))
            overlaps = 0
            while not (completed(stack, "one") and completed(stack, "two")):
                assert stack.clock.monotonic() < 300
                for name in ("one", "two"):
                    assert bound(stack, name) in (0, 6), "a gang is bound whole or not at all"
                running = [
                    name
                    for name in ("one", "two")
                    if stack.job(name).status.state.phase == "Running"
                ]
                overlaps += len(running) > 1
                await stack.clock.sleep(0.5)
            assert overlaps == 0
            assert stack.problems == []

    run_virtual(main())


def test_many_jobs_complete_and_nothing_is_doubled() -> None:
    async def main() -> None:
        async with Stack() as stack:
            names = [f"job-{number}" for number in range(20)]
            for name in names:
                await stack.submit(gang_job(name, replicas=5, run_seconds=3))
            await stack.until(
                lambda: all(completed(stack, name) for name in names),
                seconds=300,
                what="all completed",
            )
            assert len(stack.created) == 100
            assert set(stack.created.values()) == {1}
            assert stack.problems == []

    run_virtual(main())
