"""The verbs of pods: binding and logs. For evictions see test_disruption_budgets."""

import asyncio

import pytest

from tests.unit.simcluster.stage import make_api, make_pod, play, pod_named, put_pod
from vc.cluster.errors import (
    BadRequestError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)
from vc.model.api.struct import Json, JsonObject
from vc.simcluster import Api
from vc.simcluster.kubelet.nodes import SimulatedNodes
from vc.simcluster.schema.builtin_resources import NAMESPACES, PODS


async def bind(api: Api, binding: JsonObject, *, name: str = "p") -> None:
    await api.bind(namespace="default", name=name, binding=binding)


async def with_pod(**spec: Json) -> Api:
    api = make_api()
    body = make_pod("p")
    body["spec"] |= spec
    await api.create(PODS, body, namespace="default")
    return api


async def test_a_binding_sets_node_and_condition() -> None:
    api = await with_pod()
    await bind(api, {"target": {"kind": "Node", "name": "n"}})
    pod = pod_named(api, "p")
    assert pod["spec"]["nodeName"] == "n"
    (condition,) = pod["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")


async def test_labels_and_annotations_of_a_binding_are_merged_into_the_pod() -> None:
    api = await with_pod()
    meta = {"labels": {"zone": "a"}, "annotations": {"who": "me"}}
    await bind(api, {"metadata": meta, "target": {"name": "n"}})
    meta = pod_named(api, "p")["metadata"]
    assert (meta["labels"], meta["annotations"]) == ({"zone": "a"}, {"who": "me"})


@pytest.mark.parametrize("target", [None, {}, {"name": ""}, {"name": 5}, "n", []])
async def test_a_binding_without_a_node_is_invalid(target: Json) -> None:
    api = await with_pod()
    with pytest.raises(InvalidError, match=r"target\.name: Required value"):
        await bind(api, {"target": target})


async def test_a_pod_is_bound_once() -> None:
    api = await with_pod()
    await bind(api, {"target": {"name": "n"}})
    with pytest.raises(ConflictError, match='pod p is already assigned to node "n"'):
        await bind(api, {"target": {"name": "m"}})
    assert pod_named(api, "p")["spec"]["nodeName"] == "n"


async def test_a_gated_pod_is_not_bound() -> None:
    """https://kubernetes.io/docs/concepts/scheduling-eviction/pod-scheduling-readiness/"""
    api = await with_pod(schedulingGates=[{"name": "wait"}])
    with pytest.raises(ConflictError, match=r"non-empty \.spec\.schedulingGates"):
        await bind(api, {"target": {"name": "n"}})


async def test_a_terminating_pod_is_not_bound() -> None:
    api = make_api()
    body = make_pod("p")
    body["metadata"]["finalizers"] = ["example.com/wait"]
    await api.create(PODS, body, namespace="default")
    await api.delete(PODS, name="p", namespace="default")
    with pytest.raises(ConflictError, match="is being deleted"):
        await bind(api, {"target": {"name": "n"}})


async def test_the_uid_of_a_binding_is_a_precondition() -> None:
    api = await with_pod()
    with pytest.raises(ConflictError):
        await bind(api, {"metadata": {"uid": "another"}, "target": {"name": "n"}})
    uid = pod_named(api, "p")["metadata"]["uid"]
    await bind(api, {"metadata": {"uid": uid}, "target": {"name": "n"}})


async def test_an_absent_pod_is_not_found() -> None:
    with pytest.raises(NotFoundError, match='pods "p" not found'):
        await bind(make_api(), {"target": {"name": "n"}})


async def test_a_terminating_namespace_takes_no_bindings() -> None:
    api = make_api()
    space = {"metadata": {"name": "team", "finalizers": ["example.com/wait"]}}
    await api.create(NAMESPACES, space)
    body = make_pod("p")
    body["metadata"]["finalizers"] = ["example.com/wait"]
    await api.create(PODS, body, namespace="team")
    await api.delete(NAMESPACES, name="team")
    with pytest.raises(ForbiddenError, match="because it is being terminated") as caught:
        await api.bind(namespace="team", name="p", binding={"target": {"name": "n"}})
    assert "NamespaceTerminating" in str(caught.value.details["causes"])


def test_logs_of_a_pod() -> None:
    async def story(api: Api, _nodes: SimulatedNodes) -> None:
        await put_pod(api, make_pod("p", run_seconds=1))
        with pytest.raises(BadRequestError, match="is waiting to start: ContainerCreating"):
            api.logs(namespace="default", name="p")
        await asyncio.sleep(2)
        lines = api.logs(namespace="default", name="p").splitlines()
        assert "started on node-0" in lines[0]
        assert "exited with code 0" in lines[1]
        assert api.logs(namespace="default", name="p", tail_lines=1).splitlines() == lines[1:]
        assert api.logs(namespace="default", name="p", tail_lines=0) == ""
        assert api.logs(namespace="default", name="p", container="main").splitlines() == lines

    play(story)


async def test_logs_name_the_containers_to_choose_from() -> None:
    api = make_api()
    body = make_pod("p")
    body["spec"]["containers"].append({"name": "side", "image": "x"})
    await api.create(PODS, body, namespace="default")
    with pytest.raises(BadRequestError, match=r"choose one of: \[main side\]"):
        api.logs(namespace="default", name="p")
    with pytest.raises(BadRequestError, match="container absent is not valid for pod p"):
        api.logs(namespace="default", name="p", container="absent")
    with pytest.raises(NotFoundError):
        api.logs(namespace="default", name="absent")
