"""tensorflow and ray: what pods finally get, index and all."""

import json
from typing import Any

import msgspec
import pytest

from tests.builders.contexts import memory_context
from tests.unit.job_controller.builders import job, task
from tests.unit.plugins.requests import answer, of_task, owned, request
from vc.cli.pyroclast.services import build_of
from vc.jobplugin.answers import Core, Decorated, MakesNothing, ObjectReference
from vc.jobs.pods.decoration import IndexMarks, decorate
from vc.messages.effects import CreateObject, DeleteObject
from vc.messages.topics import PLUGINS
from vc.model.api.job import Job, TaskSpec
from vc.model.api.kinds import SERVICES
from vc.plugin_mpi.logic import MpiCore
from vc.plugin_ray.logic import RayCore
from vc.plugin_tensorflow.logic import TensorflowCore


def with_containers(name: str, replicas: int, *containers: str) -> TaskSpec:
    spec: dict[str, Any] = {"containers": [{"name": c, "args": ["mine"]} for c in containers]}
    return msgspec.structs.replace(task(name, replicas), template={"spec": spec})


def pod(decorated: Decorated, of: TaskSpec, index: int) -> dict[str, Any]:
    """The spec of a pod after decoration."""
    spec: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(of.template["spec"]))
    decorate(spec, [of_task(decorated, of.name)])
    return IndexMarks(spec).filled(index)


# -- tensorflow --------------------------------------------------------------------------------------


def tf_config(of: Job, task_: str, index: int, *arguments: str) -> Any:
    decorated = answer(TensorflowCore(), *arguments, of=of)
    chosen = next(t for t in of.spec.tasks if t.name == task_)
    (variable,) = pod(decorated, chosen, index)["containers"][0]["env"]
    assert variable["name"] == "TF_CONFIG"
    return json.loads(variable["value"])


TF = job("Pending", tasks=[task("ps", 1), task("worker", 2), task("watch", 1)])
CLUSTER = {"ps": ["j-ps-0.j:2222"], "worker": ["j-worker-0.j:2222", "j-worker-1.j:2222"]}


def test_every_pod_knows_the_cluster_and_its_place() -> None:
    assert tf_config(TF, "worker", 1) == {
        "cluster": CLUSTER,
        "task": {"type": "worker", "index": 1},
    }


def test_a_task_without_a_role_is_of_its_own_type() -> None:
    assert tf_config(TF, "watch", 0) == {"cluster": CLUSTER, "task": {"type": "watch", "index": 0}}


def test_roles_and_port_by_argument() -> None:
    config = tf_config(TF, "watch", 0, "--evaluator=watch", "--port=9")
    assert config["cluster"]["evaluator"] == ["j-watch-0.j:9"]
    assert config["task"] == {"type": "evaluator", "index": 0}


def test_a_single_pod_has_no_cluster() -> None:
    decorated = answer(TensorflowCore(), of=job(tasks=[task("worker", 1)]))
    assert decorated.decoration is not None
    assert decorated.decoration.tasks == {}


# -- ray ---------------------------------------------------------------------------------------------

HEAD = with_containers("head", 1, "head", "logs")
WORKER = with_containers("worker", 2, "worker")
RAY = job("Pending", tasks=[HEAD, WORKER, task("watch", 1)])


def test_the_head_starts_a_cluster_and_only_its_container_is_changed() -> None:
    decorated = answer(RayCore(), of=RAY)
    head, logs = pod(decorated, HEAD, 0)["containers"]
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
    (worker,) = pod(decorated, WORKER, 1)["containers"]
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
    ("core", "of", "argument", "said"),
    [
        (RayCore(), TF, "--head=nope", "the job has no such task; its tasks are ps, worker, watch"),
        (RayCore(), RAY, "--worker=nope", "the job has no such task"),
        (
            RayCore(),
            RAY,
            "--headContainer=x",
            "task head has no such container; its containers are",
        ),
        (RayCore(), RAY, "--clientPort=0", "write a number from 1 to 65535"),
        (TensorflowCore(), TF, "--chief=nope", "the job has no such task"),
    ],
    ids=[
        "ray without its head",
        "ray without its workers",
        "ray without the head's container",
        "a port that is none",
        "tensorflow without its chief",
    ],
)
def test_what_is_wrong_is_said(core: Core, of: Job, argument: str, said: str) -> None:
    assert said in answer(core, argument, of=of).problem


def test_an_argument_that_is_none_is_ignored_with_a_warning() -> None:
    decorated = answer(RayCore(), "--nope=1", of=RAY)
    assert decorated.problem == ""
    assert "'--nope' is not known and ignored" in decorated.warnings[0]


def test_the_port_of_mpi_is_on_init_containers_too() -> None:
    of = with_containers("master", 1, "main")
    of.template["spec"]["initContainers"] = [{"name": "prepare"}]
    spec = pod(answer(MpiCore(), of=job(tasks=[of, task("worker", 1)])), of, 0)
    for container in (*spec["containers"], *spec["initContainers"]):
        assert [port["name"] for port in container["ports"]] == ["mpijob-port"]


# -- all -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLUGINS)
def test_a_core_announces_that_it_makes_nothing_if_it_does(name: str) -> None:
    """The job-controller does not ask such a plugin to take anything away."""
    core = build_of(f"plugin-{name}")(memory_context(f"plugin-{name}"))._core  # type: ignore[attr-defined]
    assert core.announcement.makes_nothing is isinstance(core, MakesNothing)
