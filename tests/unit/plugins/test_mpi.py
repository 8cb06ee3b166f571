"""The mpi plugin: the hosts of the workers for the master, and the port of sshd."""

import pytest

from tests.unit.job_controller.builders import job, task
from tests.unit.plugins.requests import answer, decorated_spec, of_task, variables, with_containers
from vc.plugin_mpi.logic import MpiCore


def test_the_master_gets_the_hosts_of_its_workers() -> None:
    decorated = answer(MpiCore(), "--port=2222")
    assert variables(decorated, "master") == {"MPI_HOST": "j-worker-0.j,j-worker-1.j"}
    assert variables(decorated, "worker") == {}
    assert of_task(decorated, "worker").ports[0]["containerPort"] == 2222


def test_the_port_is_on_init_containers_too() -> None:
    of = with_containers("master", 1, "main")
    of.template["spec"]["initContainers"] = [{"name": "prepare"}]
    spec = decorated_spec(answer(MpiCore(), of=job(tasks=[of, task("worker", 1)])), of, 0)
    for container in (*spec["containers"], *spec["initContainers"]):
        assert [port["name"] for port in container["ports"]] == ["mpijob-port"]


@pytest.mark.parametrize("argument", ["--master=nope", "--worker=nope"])
def test_a_task_that_does_not_exist_is_a_problem(argument: str) -> None:
    assert "its tasks are master, worker" in answer(MpiCore(), argument).problem
