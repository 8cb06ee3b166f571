"""Gang jobs through all services, in virtual time."""

import json

import pytest

from tests.simulation.stack import Stack, gang_job
from vc.clock import run_virtual
from vc.model.api.kinds import PODS
from vc.model.api.struct import JsonObject
from vc.simcluster.kubelet.node_pools import NodePool


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


def _pod_name(job: str, index: int, task: str = "worker") -> str:
    return f"{job}-{task}-{index}"


def _with_run_seconds(manifest: JsonObject, *others: tuple[str, float]) -> JsonObject:
    """The job with further tasks of one replica each, by name and how long they run."""
    first = manifest["spec"]["tasks"][0]
    for name, seconds in others:
        template = json.loads(json.dumps(first["template"]))
        template["metadata"]["annotations"]["sim.pyroclast.io/run-seconds"] = str(seconds)
        manifest["spec"]["tasks"].append({"name": name, "replicas": 1, "template": template})
    manifest["spec"]["minAvailable"] = sum(t["replicas"] for t in manifest["spec"]["tasks"])
    return manifest


async def _lose_the_finished_and_a_running_one(stack: Stack, *, kills: str = "") -> None:
    """A gang of two quick workers, a quick one of another task and a slow one: the pods of those that are
    done are deleted, then the slow one."""
    manifest = _with_run_seconds(
        gang_job("train", replicas=2, run_seconds=5), ("side", 5.0), ("last", 60.0)
    )
    await stack.submit(manifest)
    quick = [_pod_name("train", 0), _pod_name("train", 1), _pod_name("train", 0, "side")]
    slow = _pod_name("train", 0, "last")
    await stack.until(
        lambda: stack.job("train").status.succeeded == 3, seconds=60, what="three are done"
    )
    for name in quick:
        await stack.cluster.delete(PODS, name=name, namespace="default")
    if kills:
        stack.kill(kills)
    await stack.clock.sleep(3)
    before = {pod.metadata.name: pod.metadata.uid for pod in stack.pods()}
    assert list(before) == [slow]
    await stack.cluster.delete(PODS, name=slow, namespace="default", grace_seconds=0)
    if kills:
        stack.kill(kills)

    def replaced() -> bool:
        return any(
            pod.metadata.uid != before[slow] and pod.spec.node_name
            for pod in stack.pods()
            if pod.metadata.name == slow
        )

    await stack.until(replaced, seconds=60, what="the replacement is bound")
    await stack.until(lambda: completed(stack, "train"), seconds=120, what="completed")
    assert stack.job("train").status.succeeded == 4
    assert [pod.metadata.name for pod in stack.pods()] == [slow], "what was done is not run again"
    assert stack.problems == []


@pytest.mark.parametrize("kills", ["", "scheduler", "job-controller", "watcher"])
def test_a_gang_whose_finished_pods_are_gone_replaces_a_running_one_that_it_loses(
    kills: str,
) -> None:
    async def main() -> None:
        async with Stack() as stack:
            await _lose_the_finished_and_a_running_one(stack, kills=kills)

    run_virtual(main())
