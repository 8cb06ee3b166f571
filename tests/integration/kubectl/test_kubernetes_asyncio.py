"""The stock asyncio client works on the embedded cluster unchanged."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes_asyncio import client, config, watch

from tests.integration.kubectl import backends

_GROUP: dict[str, Any] = {"group": "batch.volcano.sh", "version": "v1alpha1", "plural": "jobs"}
_WAIT_SECONDS_MAX = 10.0


@pytest.fixture(name="api")
async def _api(tmp_path: Path) -> AsyncIterator[client.ApiClient]:
    async with backends.start("embedded", tmp_path) as backend:
        settings = client.Configuration()
        await config.load_kube_config(
            config_file=str(backend.kubeconfig), client_configuration=settings
        )
        async with client.ApiClient(settings) as api:
            yield api


def _pod(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {"app": "x"}},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }


async def test_pods_are_listed_in_pages_and_by_label(api: client.ApiClient) -> None:
    core: Any = client.CoreV1Api(api)
    for number in range(5):
        await core.create_namespaced_pod("default", _pod(f"p{number}"))
    names: list[str] = []
    token = ""
    while True:
        page = await core.list_namespaced_pod(
            "default", label_selector="app=x", limit=2, _continue=token
        )
        names += [pod.metadata.name for pod in page.items]
        token = page.metadata._continue
        if not token:
            break
    assert names == ["p0", "p1", "p2", "p3", "p4"]


async def test_a_watch_sees_creation_change_and_end(api: client.ApiClient) -> None:
    core: Any = client.CoreV1Api(api)
    listed = await core.list_namespaced_pod("default")
    seen: list[tuple[str, str]] = []

    async def look() -> None:
        async with watch.Watch() as watcher:
            async for event in watcher.stream(
                core.list_namespaced_pod,
                "default",
                resource_version=listed.metadata.resource_version,
                timeout_seconds=10,
            ):
                seen.append((event["type"], event["object"].metadata.name))
                if event["type"] == "DELETED":
                    return

    async with asyncio.timeout(_WAIT_SECONDS_MAX):
        looking = asyncio.create_task(look())
        await core.create_namespaced_pod("default", _pod("p"))
        await core.patch_namespaced_pod("p", "default", {"metadata": {"labels": {"a": "b"}}})
        await core.delete_namespaced_pod("p", "default", grace_period_seconds=0)
        await looking
    assert seen == [("ADDED", "p"), ("MODIFIED", "p"), ("DELETED", "p")]


async def test_a_watch_from_a_version_that_is_not_there_says_so(api: client.ApiClient) -> None:
    core: Any = client.CoreV1Api(api)

    async def look() -> None:
        async with watch.Watch() as watcher:
            async for _event in watcher.stream(
                core.list_namespaced_pod, "default", resource_version="999999", timeout_seconds=5
            ):
                pytest.fail("nothing can be watched from a version that does not exist yet")

    with pytest.raises(client.ApiException) as caught:
        await look()
    assert caught.value.status in (410, 504)


async def test_custom_objects_are_written_and_watched(api: client.ApiClient) -> None:
    custom: Any = client.CustomObjectsApi(api)
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"tasks": [{"name": "worker", "replicas": 1}]},
    }
    made = await custom.create_namespaced_custom_object(**_GROUP, namespace="default", body=job)
    assert made["spec"]["queue"] == "default"
    status = {"status": {"state": {"phase": "Running"}}}
    await custom.patch_namespaced_custom_object_status(
        **_GROUP, namespace="default", name="train", body=status,
        _content_type="application/merge-patch+json",
    )  # fmt: skip
    listed = await custom.list_namespaced_custom_object(**_GROUP, namespace="default")
    assert [item["status"]["state"]["phase"] for item in listed["items"]] == ["Running"]
    await custom.delete_namespaced_custom_object(**_GROUP, namespace="default", name="train")
    with pytest.raises(client.ApiException) as caught:
        await custom.get_namespaced_custom_object(**_GROUP, namespace="default", name="train")
    assert caught.value.status == 404


async def test_leases_and_discovery_work(api: client.ApiClient) -> None:
    leases: Any = client.CoordinationV1Api(api)
    lease = {"metadata": {"name": "leader"}, "spec": {"holderIdentity": "a"}}
    made = await leases.create_namespaced_lease("kube-system", lease)
    made.spec.holder_identity = "b"
    changed = await leases.replace_namespaced_lease("leader", "kube-system", made)
    assert changed.spec.holder_identity == "b"
    with pytest.raises(client.ApiException) as caught:
        await leases.replace_namespaced_lease("leader", "kube-system", made)
    assert caught.value.status == 409
    groups = await client.ApisApi(api).get_api_versions()
    assert "batch.volcano.sh" in {group.name for group in groups.groups}
    resources = await client.AppsV1Api(api).get_api_resources()
    assert "deployments" in {resource.name for resource in resources.resources}
