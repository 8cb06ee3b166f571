"""What env, pytorch and mpi answer: variables, ports and the tasks that they need."""

import msgspec
import pytest

from tests.unit.job_controller.builders import job, task
from tests.unit.plugins.requests import answer, of_task, variables
from vc.jobplugin.answers import Core
from vc.plugin_env.logic import EnvCore
from vc.plugin_mpi.logic import MpiCore
from vc.plugin_pytorch.logic import PytorchCore


def test_env_tells_index_and_number() -> None:
    assert variables(answer(EnvCore()), "worker") == {
        "VC_TASK_INDEX": "index+0",
        "VC_TASK_NUM": "2",
        "VK_TASK_INDEX": "index+0",
        "VK_TASK_NUM": "2",
    }


def test_torch_knows_master_size_and_rank() -> None:
    decorated = answer(PytorchCore())
    known = {"MASTER_ADDR": "j-master-0.j", "MASTER_PORT": "23456", "WORLD_SIZE": "3"}
    assert variables(decorated, "master") == {**known, "RANK": "0"}
    assert variables(decorated, "worker") == {**known, "RANK": "index+1"}
    assert of_task(decorated, "worker").ports[0]["name"] == "pytorchjob-port"
    assert of_task(decorated, "worker").init_containers == []


def test_workers_wait_for_the_master_if_wanted() -> None:
    decorated = answer(PytorchCore(), "--wait-master-enabled", "--wait-master-timeout=60")
    (waiting,) = of_task(decorated, "worker").init_containers
    assert waiting["name"] == "wait-for-master"
    assert "nc -z -w 2 j-master-0.j 23456" in waiting["command"][2]
    assert of_task(decorated, "master").init_containers == []


def test_an_explicit_hostname_is_the_masters_address() -> None:
    template = {"spec": {"hostname": "boss", "subdomain": "dom", "containers": []}}
    boss = msgspec.structs.replace(task("master", 1), template=template)
    assert (
        variables(answer(PytorchCore(), of=job(tasks=[boss])), "master")["MASTER_ADDR"]
        == "boss.dom"
    )


def test_mpi_tells_the_master_its_workers() -> None:
    decorated = answer(MpiCore(), "--port=2222")
    assert variables(decorated, "master") == {"MPI_HOST": "j-worker-0.j,j-worker-1.j"}
    assert variables(decorated, "worker") == {}
    assert of_task(decorated, "worker").ports[0]["containerPort"] == 2222


@pytest.mark.parametrize(
    ("core", "argument"),
    [
        (PytorchCore(), "--master=nope"),
        (PytorchCore(), "--worker=nope"),
        (MpiCore(), "--master=nope"),
        (MpiCore(), "--worker=nope"),
    ],
    ids=["torch master", "torch worker", "mpi master", "mpi worker"],
)
def test_a_task_that_does_not_exist_is_a_problem(core: Core, argument: str) -> None:
    assert "its tasks are master, worker" in answer(core, argument).problem
