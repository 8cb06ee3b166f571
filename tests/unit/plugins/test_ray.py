"""The ray plugin: commands and ports of head and workers, and the Service of the head."""

import pytest

from tests.unit.job_controller.builders import job, task
from tests.unit.plugins.requests import answer, decorated_spec, owned, request, with_containers
from vc.jobplugin.answers import ObjectReference
from vc.messages.effects import CreateObject, DeleteObject
from vc.model.api.kinds import SERVICES
from vc.plugin_ray.logic import RayCore

HEAD = with_containers("head", 1, "head", "logs")
WORKER = with_containers("worker", 2, "worker")
RAY = job("Pending", tasks=[HEAD, WORKER, task("watch", 1)])


def test_the_head_starts_a_cluster_and_only_its_container_is_changed() -> None:
    decorated = answer(RayCore(), of=RAY)
    head, logs = decorated_spec(decorated, HEAD, 0)["containers"]
    assert head["command"] == [
        "sh",
        "-c",
        (
            "ray start --head --block --dashboard-host=0.0.0.0 --port=6379 --dashboard-port=8265"
            " --ray-client-server-port=10001"
        ),
    ]
    assert "args" not in head
    assert {p["name"]: p["containerPort"] for p in head["ports"]} == {
        "gcs": 6379,
        "dashboard": 8265,
        "client-server": 10001,
    }
    assert logs == {"name": "logs", "args": ["mine"]}


def test_workers_join_the_head() -> None:
    decorated = answer(RayCore(), "--port=7", of=RAY)
    (worker,) = decorated_spec(decorated, WORKER, 1)["containers"]
    assert worker["command"] == ["sh", "-c", "ray start --block --address=j-head-0.j:7"]
    assert decorated.decoration is not None
    assert "watch" not in decorated.decoration.tasks


def test_the_service_of_the_head_comes_and_goes() -> None:
    (made,) = answer(RayCore(), of=RAY).effects
    assert isinstance(made, CreateObject)
    assert (made.kind, made.name) == (SERVICES, "j-head-svc")
    assert made.body["spec"]["selector"]["volcano.sh/task-spec"] == "head"
    assert [p["port"] for p in made.body["spec"]["ports"]] == [6379, 8265, 10001]
    removal, reference = request(RAY, verb="remove"), ObjectReference(SERVICES, "ns", "j-head-svc")
    assert RayCore().looks_at(removal) == [reference]
    (ended,) = RayCore().remove(removal, {reference: owned()}).effects
    assert isinstance(ended, DeleteObject)
    assert RayCore().remove(removal, {reference: owned("another job")}).effects == ()


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        ("--head=nope", "the job has no such task; its tasks are head, worker, watch"),
        ("--worker=nope", "the job has no such task"),
        ("--worker=head", "argument --worker=head: this task is the head (--head), and"),
        ("--headContainer=x", "task head has no such container; its containers are"),
        ("--clientPort=0", "write a number from 1 to 65535"),
    ],
    ids=[
        "no such head task",
        "no such worker task",
        "the head task as worker",
        "no such container of the head",
        "a port out of range",
    ],
)
def test_an_argument_that_cannot_work_is_a_problem(argument: str, problem: str) -> None:
    assert problem in answer(RayCore(), argument, of=RAY).problem


def test_a_head_task_of_the_workers_default_name_starts_a_cluster_without_workers() -> None:
    of = job("Pending", tasks=[with_containers("worker", 1, "head")])
    decorated = answer(RayCore(), "--head=worker", of=of)
    assert decorated.problem == ""
    assert decorated.decoration is not None
    assert list(decorated.decoration.tasks) == ["worker"]


def test_an_argument_that_is_none_is_ignored_with_a_warning() -> None:
    decorated = answer(RayCore(), "--nope=1", of=RAY)
    assert decorated.problem == ""
    assert "'--nope' is not known and ignored" in decorated.warnings[0]
