"""The in-memory twin of the cluster adapter. The contract tests compare it with a real server."""

import msgspec
import pytest

from tests.unit.simcluster.stage import make_api, make_pod
from vc.clock import run_virtual
from vc.cluster.errors import BadRequestError, ConflictError, NotFoundError
from vc.cluster.interface import Preconditions
from vc.model.api.kinds import ACCESS_REVIEWS, CONFIGMAPS, PODS
from vc.model.api.struct import JsonObject
from vc.simcluster import StoreCluster
from vc.simcluster.cluster import with_preconditions


def make_cluster(user: str = "") -> StoreCluster:
    return StoreCluster(make_api(), user=user)


async def with_pod() -> tuple[StoreCluster, str]:
    cluster = make_cluster()
    made = await cluster.create(PODS, make_pod("p"), namespace="default")
    return cluster, made["metadata"]["uid"]


async def test_objects_are_created_read_listed_and_deleted() -> None:
    cluster = make_cluster()
    made = await cluster.create(CONFIGMAPS, {"metadata": {"name": "c"}}, namespace="default")
    assert await cluster.get(CONFIGMAPS, name="c", namespace="default") == made
    page = await cluster.list(CONFIGMAPS, namespace="default")
    assert [msgspec.json.decode(item) for item in page.items] == [made]
    assert page.resource_version == made["metadata"]["resourceVersion"]
    await cluster.delete(CONFIGMAPS, name="c", namespace="default")
    with pytest.raises(NotFoundError):
        await cluster.get(CONFIGMAPS, name="c", namespace="default")


async def test_pages_have_a_limit_and_a_continue_token() -> None:
    cluster = make_cluster()
    for name in ("a", "b", "c"):
        await cluster.create(CONFIGMAPS, {"metadata": {"name": name}}, namespace="default")
    first = await cluster.list(CONFIGMAPS, limit=2)
    rest = await cluster.list(CONFIGMAPS, limit=2, continue_token=first.continue_token)
    assert (len(first.items), len(rest.items), rest.continue_token) == (2, 1, "")


async def test_a_response_is_a_copy() -> None:
    cluster = make_cluster()
    body: JsonObject = {"metadata": {"name": "c"}, "data": {"a": "1"}}
    made = await cluster.create(CONFIGMAPS, body, namespace="default")
    made["data"]["a"] = "changed"
    body["data"]["a"] = "changed"
    found = await cluster.get(CONFIGMAPS, name="c", namespace="default")
    assert found["data"] == {"a": "1"}


async def test_replace_needs_a_name() -> None:
    with pytest.raises(BadRequestError, match=r"metadata\.name is required"):
        await make_cluster().replace(CONFIGMAPS, {}, namespace="default")


async def test_replace_checks_the_resource_version() -> None:
    cluster = make_cluster()
    made = await cluster.create(CONFIGMAPS, {"metadata": {"name": "c"}}, namespace="default")
    await cluster.replace(CONFIGMAPS, {**made, "data": {"a": "1"}}, namespace="default")
    with pytest.raises(ConflictError):
        await cluster.replace(CONFIGMAPS, {**made, "data": {"a": "2"}}, namespace="default")


@pytest.mark.parametrize(
    "preconditions", [Preconditions(uid="another"), Preconditions(resource_version="1")]
)
async def test_preconditions_protect_a_patch(preconditions: Preconditions) -> None:
    cluster, _ = await with_pod()
    patch = {"metadata": {"labels": {"a": "b"}}}
    with pytest.raises(ConflictError):
        await cluster.patch(PODS, patch, name="p", namespace="default", preconditions=preconditions)
    found = await cluster.get(PODS, name="p", namespace="default")
    assert not found["metadata"].get("labels")


async def test_a_patch_whose_preconditions_hold_is_applied() -> None:
    cluster, uid = await with_pod()
    patched = await cluster.patch(
        PODS,
        {"metadata": {"labels": {"a": "b"}}},
        name="p",
        namespace="default",
        preconditions=Preconditions(uid=uid),
    )
    assert patched["metadata"]["labels"] == {"a": "b"}


async def test_preconditions_protect_a_deletion() -> None:
    cluster, uid = await with_pod()
    with pytest.raises(ConflictError):
        await cluster.delete(
            PODS, name="p", namespace="default", preconditions=Preconditions(uid="another")
        )
    await cluster.delete(PODS, name="p", namespace="default", preconditions=Preconditions(uid=uid))


async def test_binding_and_eviction_check_the_uid() -> None:
    cluster, uid = await with_pod()
    with pytest.raises(ConflictError):
        await cluster.bind(namespace="default", name="p", uid="another", node="n")
    await cluster.bind(
        namespace="default", name="p", uid=uid, node="n", annotations={"example.com/by": "test"}
    )
    pod = await cluster.get(PODS, name="p", namespace="default")
    assert pod["spec"]["nodeName"] == "n"
    assert pod["metadata"]["annotations"]["example.com/by"] == "test"
    with pytest.raises(ConflictError):
        await cluster.evict(namespace="default", name="p", uid="another")
    await cluster.evict(namespace="default", name="p", uid=uid, grace_seconds=0)
    with pytest.raises(NotFoundError):
        await cluster.get(PODS, name="p", namespace="default")


async def test_access_reviews_are_answered_and_not_stored() -> None:
    cluster = make_cluster()
    spec = {"user": "tenant", "resourceAttributes": {"verb": "get", "resource": "queues"}}
    answer = await cluster.create(ACCESS_REVIEWS, {"spec": spec})
    assert answer["status"] == {"allowed": False}
    admin = {"spec": {"user": "x", "groups": ["system:masters"]}}
    assert (await cluster.create(ACCESS_REVIEWS, admin))["status"] == {"allowed": True}


def test_a_watch_reports_changes_after_a_version() -> None:
    async def story() -> None:
        cluster = make_cluster()
        version = (await cluster.list(CONFIGMAPS)).resource_version
        await cluster.create(CONFIGMAPS, {"metadata": {"name": "c"}}, namespace="default")
        events = [
            event
            async for event in cluster.watch(
                CONFIGMAPS, resource_version=version, timeout_seconds=5
            )
        ]
        assert [event.type for event in events] == ["ADDED"]

    run_virtual(story())


def test_the_date_has_whole_seconds() -> None:
    async def story() -> None:
        date = await make_cluster().date()
        assert date == int(date)

    run_virtual(story())


async def test_closing_the_twin_keeps_the_store() -> None:
    cluster, _ = await with_pod()
    await cluster.close()
    assert await cluster.get(PODS, name="p", namespace="default")


def test_preconditions_become_metadata_of_the_patch() -> None:
    patch: JsonObject = {"metadata": {"labels": {}}, "spec": {}}
    conditions = Preconditions(uid="u", resource_version="7")
    assert with_preconditions(patch, conditions)["metadata"] == {
        "labels": {}, "uid": "u", "resourceVersion": "7",
    }  # fmt: skip
    assert with_preconditions(patch, None) is patch
    assert "uid" not in patch["metadata"]
