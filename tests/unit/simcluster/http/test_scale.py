"""The scale subresource over HTTP, as `kubectl scale` uses it."""

from typing import Any

import aiohttp
import pytest

from vc.model.api.struct import JsonObject

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SCALE = f"{DEPLOYMENTS}/web/scale"
MERGE = {"Content-Type": "application/merge-patch+json"}


def deployment() -> JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "x"}]},
            },
        },
    }


@pytest.fixture(autouse=True)
async def _deployment(http: aiohttp.ClientSession) -> None:
    async with http.post(DEPLOYMENTS, json=deployment()) as response:
        assert response.status == 201, await response.text()


async def replicas(http: aiohttp.ClientSession) -> Any:
    async with http.get(f"{DEPLOYMENTS}/web") as response:
        return (await response.json())["spec"]["replicas"]


async def test_scale_is_an_object_of_autoscaling(http: aiohttp.ClientSession) -> None:
    async with http.get(SCALE) as response:
        scale = await response.json()
    assert (scale["apiVersion"], scale["kind"]) == ("autoscaling/v1", "Scale")
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"] == {"replicas": 0, "selector": "app=web"}
    assert scale["metadata"]["name"] == "web"


async def test_scale_is_replaced(http: aiohttp.ClientSession) -> None:
    async with http.put(SCALE, json={"spec": {"replicas": 5}}) as response:
        assert (await response.json())["spec"] == {"replicas": 5}
    assert await replicas(http) == 5


async def test_scale_is_patched(http: aiohttp.ClientSession) -> None:
    async with http.patch(SCALE, json={"spec": {"replicas": 0}}, headers=MERGE) as response:
        assert (await response.json())["spec"] == {"replicas": 0}
    assert await replicas(http) == 0


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_a_dry_run_changes_nothing(http: aiohttp.ClientSession, method: str) -> None:
    """https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run"""
    async with http.request(
        method,
        SCALE,
        params={"dryRun": "All"},
        json={"spec": {"replicas": 7}},
        headers=MERGE if method == "PATCH" else {},
    ) as response:
        assert (response.status, (await response.json())["spec"]) == (200, {"replicas": 7})
    assert await replicas(http) == 2


async def test_an_unknown_dry_run_is_refused(http: aiohttp.ClientSession) -> None:
    body = {"spec": {"replicas": 7}}
    async with http.put(SCALE, params={"dryRun": "Some"}, json=body) as response:
        assert response.status == 400
    assert await replicas(http) == 2


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [("DELETE", {}, 405), ("POST", {}, 405), ("PATCH", {"Content-Type": "application/json"}, 415)],
)
async def test_other_methods_and_types_are_refused(
    http: aiohttp.ClientSession, method: str, headers: dict[str, str], status: int
) -> None:
    async with http.request(method, SCALE, data=b"{}", headers=headers) as response:
        assert response.status == status


async def test_a_kind_without_scale_has_no_such_path(http: aiohttp.ClientSession) -> None:
    async with http.get("/api/v1/namespaces/default/configmaps/c/scale") as response:
        assert response.status == 404
