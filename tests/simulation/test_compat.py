"""A cluster whose compatibility setting is changed, or mixed, while jobs run.

No job may get a second pod group, lose pods or start anew because of it.
"""

from collections import Counter

import msgspec
import pytest

from tests.simulation.stack import CORE, Stack, gang_job
from vc.clock import run_virtual
from vc.model.api.kinds import JOBS, PODGROUPS
from vc.model.api.scheduling import PodGroup

SERVICES = (*CORE, "plugin-svc")


def groups_of(stack: Stack) -> list[PodGroup]:
    resource = stack.api.registry.for_kind(PODGROUPS)
    return [msgspec.json.decode(raw, type=PodGroup) for raw in stack.api.list(resource).items]


async def scale(stack: Stack, replicas: int) -> None:
    spec = gang_job("a", replicas=replicas, min_available=1, run_seconds=6000)["spec"]
    await stack.cluster.patch(JOBS, {"spec": {"tasks": spec["tasks"]}}, name="a", namespace="default")  # fmt: skip
    await stack.until(
        lambda: stack.job("a").status.running == replicas, seconds=60, what=f"{replicas} run"
    )


@pytest.mark.parametrize(("first", "second"), [("lenient", "upstream"), ("upstream", "lenient")])
def test_a_job_keeps_its_pod_group_when_the_setting_changes(
    first: str, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYROCLAST_COMPAT", first)

    async def main() -> None:
        async with Stack(services=SERVICES) as stack:
            job = gang_job("a", replicas=2, min_available=1, run_seconds=6000, plugins={"svc": []})
            made = await stack.submit(job)
            await stack.until(lambda: stack.job("a").status.running == 2, seconds=60, what="runs")
            (before,) = groups_of(stack)
            uid = made["metadata"]["uid"]
            assert before.metadata.name == ("a" if first == "lenient" else f"a-{uid}")
            monkeypatch.setenv("PYROCLAST_COMPAT", second)
            for service in SERVICES:
                stack.kill(service)
            await scale(stack, 3)
            await scale(stack, 2)
            (after,) = groups_of(stack)
            assert (after.metadata.name, after.metadata.uid) == (before.metadata.name, before.metadata.uid)  # fmt: skip
            groups = {p.metadata.annotations["scheduling.k8s.io/group-name"] for p in stack.pods()}
            assert groups == {before.metadata.name}
            assert stack.job("a").status.retry_count == 0
            assert stack.created.total() == 3
            assert stack.problems == []

    run_virtual(main())


@pytest.mark.parametrize("seed", range(4))
def test_replicas_with_different_settings_leave_one_pod_group_a_job(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Partitions go from one job-controller to the other and back while jobs arrive."""
    monkeypatch.setenv("PYROCLAST_COMPAT", "lenient")

    async def main() -> None:
        services = (*CORE, "job-controller@2")
        async with Stack(seed=seed, services=services) as stack:
            await stack.clock.sleep(5)
            names = [f"job-{n}" for n in range(12)]
            for number, name in enumerate(names):
                await stack.submit(gang_job(name, replicas=2, cpu="1", run_seconds=600))
                await stack.clock.sleep(0.3)
                if number % 4 == 1:
                    setting = "upstream" if number % 8 == 1 else "lenient"
                    monkeypatch.setenv("PYROCLAST_COMPAT", setting)
                    stack.kill("job-controller" if number % 8 == 1 else "job-controller@2")
            await stack.until(
                lambda: all(stack.job(name).status.running == 2 for name in names),
                seconds=240,
                what="all run",
            )
            owners = Counter(g.metadata.owner_references[0].uid for g in groups_of(stack))
            assert set(owners.values()) == {1}
            assert len(owners) == len(names)
            assert stack.created.total() == 2 * len(names)
            assert stack.problems == []

    run_virtual(main())
