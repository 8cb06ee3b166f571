"""The shell on the in-memory stack: real watcher, real plugins, a scheduler that enqueues all jobs."""

import asyncio

import pytest

from tests.simulation.stack import Stack, gang_job
from tests.unit.job_controller.stack import (
    SERVICES_NEEDED,
    WITH_ALL_PLUGINS,
    calls,
    exists,
    failing,
    on_stack,
    phase,
)
from vc.job_controller.config import Config
from vc.model.api.kinds import JOBS, PODGROUPS, PODS, SECRETS, SERVICES


def test_a_gang_completes_with_few_writes() -> None:
    async def scenario(stack: Stack) -> None:
        await stack.submit(gang_job("a", replicas=50, run_seconds=2))
        await phase(stack, "a", "Completed")
        await stack.clock.sleep(3)
        job = stack.job("a")
        assert job.status.succeeded == 50
        assert [c.status for c in job.status.conditions] == ["Pending", "Running", "Completed"]
        assert not exists(stack, PODGROUPS, "a")

    stack = on_stack(scenario)
    written = calls(stack)
    assert written["cluster.create"] == 51  # pods and pod group
    assert written["cluster.patch"] <= 8
    assert written["cluster.delete"] == 1
    assert set(stack.created.values()) == {1}


def test_more_jobs_than_are_worked_on_at_a_time_all_get_their_turn() -> None:
    async def scenario(stack: Stack) -> None:
        names = [f"job-{number}" for number in range(Config().jobs_at_once + 10)]
        await asyncio.gather(
            *(stack.submit(gang_job(name, replicas=2, run_seconds=1)) for name in names)
        )
        for name in names:
            await phase(stack, name, "Completed")

    assert set(on_stack(scenario).created.values()) == {1}


def test_a_plugin_that_is_down_blocks_only_its_own_jobs() -> None:
    async def scenario(stack: Stack) -> None:
        await stack.clock.sleep(3)
        stack.pause("plugin-env")
        await stack.submit(gang_job("waits", run_seconds=1))
        await stack.submit(gang_job("goes", run_seconds=1, plugins={}))
        await phase(stack, "goes", "Completed")
        await stack.clock.sleep(3)
        state = stack.job("waits").status.state
        assert (state.phase, state.reason) == ("Pending", "PluginPending")
        assert "env" in state.message
        await stack.clock.sleep(60)
        stack.resume("plugin-env")
        await phase(stack, "waits", "Completed")
        assert stack.job("waits").status.state.reason == ""

    on_stack(scenario)


def test_a_job_made_again_under_its_name_gets_pods_of_its_own() -> None:
    async def scenario(stack: Stack) -> None:
        await stack.submit(gang_job("a", run_seconds=60))
        await phase(stack, "a", "Running")
        await stack.cluster.delete(JOBS, name="a", namespace="default", propagation="Background")
        second = await stack.submit(gang_job("a", run_seconds=1))
        await phase(stack, "a", "Completed", seconds=90)
        owners = {p.metadata.owner_references[0].uid for p in stack.pods()}
        assert owners == {second["metadata"]["uid"]}

    on_stack(scenario)


def test_a_foreign_service_of_the_jobs_name_is_a_condition_and_stays() -> None:
    async def scenario(stack: Stack) -> None:
        foreign = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "a"},
            "spec": {"ports": [{"port": 80}]},
        }
        await stack.cluster.create(SERVICES, foreign, namespace="default")
        await stack.submit(gang_job("a", run_seconds=1, plugins={"svc": []}))
        await stack.until(
            lambda: stack.job("a").status.state.reason == "PluginProblem",
            seconds=20,
            what="the job says what is wrong",
        )
        assert "Service 'a'" in stack.job("a").status.state.message
        assert exists(stack, SERVICES, "a")
        await stack.cluster.delete(SERVICES, name="a", namespace="default")
        await phase(stack, "a", "Completed", seconds=40)

    on_stack(scenario, WITH_ALL_PLUGINS)


def test_mpi_completes_with_its_master_and_cleans_up() -> None:
    async def scenario(stack: Stack) -> None:
        manifest = gang_job("m", plugins={"mpi": ["--master=boss", "--worker=hand"]})
        worker = manifest["spec"]["tasks"][0]
        worker |= {"name": "hand", "replicas": 2}
        master = gang_job("m", run_seconds=3)["spec"]["tasks"][0]
        master |= {
            "name": "boss",
            "replicas": 1,
            "policies": [{"event": "TaskCompleted", "action": "CompleteJob"}],
        }
        worker["template"]["metadata"]["annotations"] = {}
        manifest["spec"]["tasks"] = [master, worker]
        manifest["spec"]["minAvailable"] = 3
        await stack.submit(manifest)
        await phase(stack, "m", "Running")
        assert exists(stack, SECRETS, "m-ssh")
        boss = stack.api.get(
            stack.api.registry.for_kind(PODS), name="m-boss-0", namespace="default"
        )["spec"]
        env = {e["name"]: e.get("value") for e in boss["containers"][0]["env"]}
        assert env["MPI_HOST"] == "m-hand-0.m,m-hand-1.m"
        assert {m["mountPath"] for m in boss["containers"][0]["volumeMounts"]} >= {
            "/root/.ssh",
            "/etc/volcano",
        }
        await phase(stack, "m", "Completed", seconds=60)
        assert [p.metadata.name for p in stack.pods()] == ["m-boss-0"]
        await stack.clock.sleep(10)
        assert not exists(stack, SECRETS, "m-ssh")
        assert not exists(stack, SERVICES, "m")

    on_stack(scenario, WITH_ALL_PLUGINS)


def test_two_replicas_share_the_jobs_and_one_takes_over() -> None:
    from vc.cli.pyroclast import services

    services.SERVICES["job-controller-2"] = "vc.job_controller"

    async def scenario(stack: Stack) -> None:
        await stack.clock.sleep(2)
        for number in range(12):
            await stack.submit(gang_job(f"j{number}", replicas=2, run_seconds=10))
        await stack.clock.sleep(2)
        stack.pause("job-controller")
        for number in range(12):
            await phase(stack, f"j{number}", "Completed", seconds=120)

    try:
        stack = on_stack(scenario, (*SERVICES_NEEDED, "job-controller-2"))
    finally:
        del services.SERVICES["job-controller-2"]
    assert set(stack.created.values()) == {1}


@pytest.mark.slow
@pytest.mark.parametrize("service", ["job-controller", "plugin-env", "queue-controller"])
def test_a_service_that_dies_at_any_call_loses_and_doubles_nothing(service: str) -> None:
    async def scenario(stack: Stack) -> None:
        await stack.submit(failing("bad", event="PodFailed", action="RestartJob"))
        await stack.submit(gang_job("good", replicas=3, run_seconds=1))
        await phase(stack, "good", "Completed", seconds=120)
        await phase(stack, "bad", "Failed", seconds=240)
        assert stack.job("bad").status.retry_count == 3

    undisturbed = on_stack(scenario)
    points = len(undisturbed.lives[service][0].points)
    for point in range(0, points, max(1, points // 25)):
        stack = on_stack(scenario, die_at=(service, point))
        for pod, times in stack.created.items():
            attempts = 3 if "bad" in pod else 1
            assert times <= attempts, f"{pod} made {times} times after a death at point {point}"
