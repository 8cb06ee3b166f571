"""Odd requests get an answer of the 4xx sort, soon, and the server answers the next one."""

import time
from typing import Any, Final

import aiohttp
import msgspec
import pytest

from tests.unit.model.test_bounded import BILLION_LAUGHS

PODS: Final = "/api/v1/namespaces/default/pods"
JOBS: Final = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"


def pod(**changes: Any) -> Any:
    body: Any = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }  # fmt: skip
    for path, value in changes.items():
        at = body
        *way, last = path.split("__")
        for step in way:
            at = at[int(step) if step.isdigit() else step]
        at[last] = value
    return body


ODD: Final[dict[str, Any]] = {
    "an affinity that is a text": pod(spec__affinity="x"),
    "tolerations that are a number": pod(spec__tolerations=7),
    "a toleration that is a text": pod(spec__tolerations=["x"]),
    "volumes that are an object": pod(spec__volumes={}),
    "a node selector of numbers": pod(spec__nodeSelector={"a": 1}),
    "a node name that is a list": pod(spec__nodeName=["n"]),
    "gates that are texts": pod(spec__schedulingGates=["x"]),
    "limits that are a text": pod(spec__containers__0__resources={"limits": "x"}),
    "requests that are a list": pod(spec__containers__0__resources={"requests": ["x"]}),
    "ports that are a text": pod(spec__containers__0__ports="x"),
    "init containers that are a text": pod(spec__initContainers="x"),
    "overhead that is a number": pod(spec__overhead=3),
    "spread constraints that are texts": pod(spec__topologySpreadConstraints=["x"]),
    "a restart policy that is a list": pod(spec__restartPolicy=[]),
    "a scheduler name that is an object": pod(spec__schedulerName={}),
    "labels that are a text": pod(metadata__labels="x"),
    "owners that are texts": pod(metadata__ownerReferences=["x"]),
    "a name that is a number": pod(metadata__name=3),
    "metadata that is a list": pod(metadata=["x"]),
}


@pytest.mark.parametrize("odd", ODD)
async def test_a_pod_of_other_types_is_refused(odd: str, http: aiohttp.ClientSession) -> None:
    async with http.post(PODS, json=ODD[odd]) as response:
        status = await response.json()
    assert response.status in (400, 422), status
    assert status["kind"] == "Status"
    assert len(status["message"]) > 10
    async with http.get(PODS) as response:
        assert (await response.json())["items"] == [], "nothing of it was stored"


@pytest.mark.parametrize(
    ("method", "body", "content_type"),
    [
        ("POST", BILLION_LAUGHS, "application/yaml"),
        ("PATCH", BILLION_LAUGHS, "application/apply-patch+yaml"),
        ("POST", "[" * 20_000, "application/yaml"),
        ("POST", "a: 0x" + "f" * 5_000, "application/yaml"),
        ("POST", '{"a":' * 5_000, "application/json"),
        ("POST", '{"a": 1e999}', "application/json"),
        ("PATCH", '[{"op":"add","path":"a~9","value":1}]', "application/json-patch+json"),
        ("PATCH", "7", "application/merge-patch+json"),
    ],
)
async def test_a_body_that_is_a_trap_is_refused_soon(
    method: str, body: str, content_type: str, http: aiohttp.ClientSession
) -> None:
    async with http.post(JOBS.replace("jobs", "podgroups"), json={}):
        pass
    began = time.perf_counter()
    path = PODS if method == "POST" else f"{PODS}/p"
    async with http.request(
        method, path, data=body.encode(), headers={"Content-Type": content_type}
    ) as response:
        status = msgspec.json.decode(await response.read())
    assert 400 <= response.status < 500, status
    assert time.perf_counter() - began < 5
