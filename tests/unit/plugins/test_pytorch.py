"""The pytorch plugin: MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK."""

import msgspec
import pytest

from tests.unit.job_controller.builders import job, task
from tests.unit.plugins.requests import (
    answer,
    decorated_spec,
    of_task,
    variables,
    with_containers,
)
from vc.plugin_pytorch.logic import PytorchCore


def test_pods_get_master_world_size_and_rank() -> None:
    decorated = answer(PytorchCore())
    known = {"MASTER_ADDR": "j-master-0.j", "MASTER_PORT": "23456", "WORLD_SIZE": "3"}
    assert variables(decorated, "master") == {**known, "RANK": "index+0"}
    assert variables(decorated, "worker") == {**known, "RANK": "index+1"}
    assert of_task(decorated, "worker").ports[0]["name"] == "pytorchjob-port"
    assert of_task(decorated, "worker").init_containers == []


@pytest.mark.parametrize("masters", [1, 2, 3])
def test_every_pod_has_a_rank_of_its_own(masters: int) -> None:
    """Processes of equal rank never form a group: torch.distributed waits for the missing ranks."""
    tasks = [with_containers("master", masters, "m"), with_containers("worker", 2, "w")]
    decorated = answer(PytorchCore(), of=job("Pending", tasks=tasks))
    ranks, sizes = [], set()
    for of in tasks:
        for index in range(of.replicas):
            (container,) = decorated_spec(decorated, of, index)["containers"]
            env = {variable["name"]: variable["value"] for variable in container["env"]}
            ranks.append(int(env["RANK"]))
            sizes.add(int(env["WORLD_SIZE"]))
            assert env["MASTER_ADDR"] == "j-master-0.j", "rank 0 is the address"
    assert ranks == list(range(masters + 2))
    assert sizes == {masters + 2}


def test_workers_wait_for_the_master_if_requested() -> None:
    decorated = answer(PytorchCore(), "--wait-master-enabled", "--wait-master-timeout=60")
    (waiting,) = of_task(decorated, "worker").init_containers
    assert waiting["name"] == "wait-for-master"
    assert "nc -z -w 2 j-master-0.j 23456" in waiting["command"][2]
    assert of_task(decorated, "master").init_containers == []


def test_an_explicit_hostname_is_the_address_of_the_master() -> None:
    template = {"spec": {"hostname": "boss", "subdomain": "dom", "containers": []}}
    boss = msgspec.structs.replace(task("master", 1), template=template)
    decorated = answer(PytorchCore(), of=job(tasks=[boss]))
    assert variables(decorated, "master")["MASTER_ADDR"] == "boss.dom"


def test_one_task_cannot_be_master_and_worker() -> None:
    problem = answer(PytorchCore(), "--worker=master").problem
    assert "argument --worker=master: this task is the master (--master), and" in problem


def test_a_master_task_of_the_workers_default_name_has_no_workers() -> None:
    of = job("Pending", tasks=[task("worker", 1)])
    env = variables(answer(PytorchCore(), "--master=worker", of=of), "worker")
    assert (env["WORLD_SIZE"], env["RANK"]) == ("1", "index+0")


@pytest.mark.parametrize("argument", ["--master=nope", "--worker=nope"])
def test_a_task_that_does_not_exist_is_a_problem(argument: str) -> None:
    assert "its tasks are master, worker" in answer(PytorchCore(), argument).problem
