"""Namespaces: the initial ones, content without a namespace, and the deletion of one.

https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
"""

import msgspec
import pytest

from tests.unit.simcluster.stage import make_api
from vc.cluster.errors import ForbiddenError, NotFoundError
from vc.model.api.kinds import CONFIGMAPS
from vc.model.api.struct import JsonObject
from vc.simcluster import Api
from vc.simcluster.apply.patches import MERGE_PATCH
from vc.simcluster.schema.builtin_resources import NAMESPACES


def names(api: Api) -> list[str]:
    return [msgspec.json.decode(item)["metadata"]["name"] for item in api.list(NAMESPACES).items]


async def create_namespace(api: Api, name: str = "team", **meta: object) -> JsonObject:
    return await api.create(NAMESPACES, {"metadata": {"name": name, **meta}})


async def create_content(api: Api, name: str = "c", **meta: object) -> None:
    resource = api.registry.for_kind(CONFIGMAPS)
    await api.create(resource, {"metadata": {"name": name, **meta}}, namespace="team")


def test_a_cluster_starts_with_four_namespaces() -> None:
    assert names(make_api()) == ["default", "kube-node-lease", "kube-public", "kube-system"]


async def test_a_new_namespace_is_active_and_labelled_with_its_name() -> None:
    space = await create_namespace(make_api())
    assert space["status"] == {"phase": "Active"}
    assert space["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}
    assert space["spec"] == {"finalizers": ["kubernetes"]}


async def test_content_needs_its_namespace() -> None:
    api = make_api()
    with pytest.raises(NotFoundError, match='namespaces "team" not found'):
        await create_content(api)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_the_namespaces_of_the_system_cannot_be_deleted(name: str) -> None:
    api = make_api()
    with pytest.raises(ForbiddenError, match="this namespace may not be deleted"):
        await api.delete(NAMESPACES, name=name)
    assert name in names(api)


async def test_a_deleted_namespace_takes_its_content_with_it() -> None:
    api = make_api()
    await create_namespace(api)
    await create_content(api, "a")
    await create_content(api, "b")
    answer = await api.delete(NAMESPACES, name="team")
    assert answer["status"]["phase"] == "Terminating"
    api.run_controllers()
    assert "team" not in names(api)
    assert api.list(api.registry.for_kind(CONFIGMAPS), namespace="team").items == []


async def test_a_namespace_stays_until_the_finalizers_of_its_content_are_removed() -> None:
    api = make_api()
    resource = api.registry.for_kind(CONFIGMAPS)
    await create_namespace(api)
    await create_content(api, finalizers=["example.com/wait"])
    await api.delete(NAMESPACES, name="team")
    api.run_controllers()
    assert api.get(NAMESPACES, name="team")["status"]["phase"] == "Terminating"
    patch = {"metadata": {"finalizers": None}}
    await api.patch(resource, patch, content_type=MERGE_PATCH, name="c", namespace="team")
    api.run_controllers()
    assert "team" not in names(api)


async def test_a_terminating_namespace_takes_no_new_content() -> None:
    api = make_api()
    await create_namespace(api)
    await create_content(api, finalizers=["example.com/wait"])
    await api.delete(NAMESPACES, name="team")
    api.run_controllers()
    with pytest.raises(ForbiddenError, match="because it is being terminated") as caught:
        await create_content(api, "late")
    assert "metadata.namespace" in str(caught.value.details["causes"])


async def test_own_finalizers_of_a_namespace_keep_it_when_it_is_empty() -> None:
    api = make_api()
    await create_namespace(api, finalizers=["example.com/wait"])
    await api.delete(NAMESPACES, name="team")
    api.run_controllers()
    assert "team" in names(api)
    await api.patch(
        NAMESPACES, {"metadata": {"finalizers": None}}, content_type=MERGE_PATCH, name="team"
    )
    api.run_controllers()
    assert "team" not in names(api)


async def test_a_namespace_may_be_created_again() -> None:
    api = make_api()
    first = await create_namespace(api)
    await api.delete(NAMESPACES, name="team")
    api.run_controllers()
    second = await create_namespace(api)
    assert first["metadata"]["uid"] != second["metadata"]["uid"]
    await create_content(api)


def test_the_uid_of_kube_system_identifies_the_cluster() -> None:
    one, two = (
        make_api(seed=seed).get(NAMESPACES, name="kube-system")["metadata"]["uid"]
        for seed in (1, 2)
    )
    assert one != two
