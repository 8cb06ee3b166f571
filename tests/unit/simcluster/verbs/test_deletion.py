"""Deletion: grace periods, finalizers, preconditions and propagation policies.

https://kubernetes.io/docs/concepts/architecture/garbage-collection/
"""

import msgspec
import pytest

from tests.unit.simcluster.stage import make_api, make_pod, pod_named, pod_names, put_pod
from vc.cluster.errors import BadRequestError, ConflictError, NotFoundError
from vc.model.api.kinds import CONFIGMAPS
from vc.model.api.struct import Json, JsonObject
from vc.simcluster import Api
from vc.simcluster.apply.patches import MERGE_PATCH
from vc.simcluster.schema.builtin_resources import PODS


async def delete(api: Api, **options: Json) -> JsonObject:
    return await api.delete(PODS, name="p", namespace="default", options=options)


class Grace(msgspec.Struct, frozen=True):
    """A deletion of a pod on a node, and the grace period that it gets."""

    id: str
    seconds: int
    requested: int | None = None
    own: int | None = None


GRACES = [
    Grace("the default is 30 seconds", 30),
    Grace("the pod's own grace period", 5, own=5),
    Grace("the request overrides the pod", 7, requested=7, own=5),
    Grace("a longer request is accepted", 100, requested=100),
    Grace("a negative request means one second", 1, requested=-3),
]


@pytest.mark.parametrize("case", GRACES, ids=lambda case: case.id)
async def test_a_pod_on_a_node_has_a_grace_period(case: Grace) -> None:
    api = make_api()
    body = make_pod("p")
    if case.own is not None:
        body["spec"]["terminationGracePeriodSeconds"] = case.own
    await put_pod(api, body)
    options = {} if case.requested is None else {"gracePeriodSeconds": case.requested}
    left = await delete(api, **options)
    assert left["metadata"]["deletionGracePeriodSeconds"] == case.seconds
    assert left["metadata"]["deletionTimestamp"]


async def test_a_grace_period_of_0_removes_the_pod_at_once() -> None:
    api = make_api()
    await put_pod(api, make_pod("p"))
    answer = await delete(api, gracePeriodSeconds=0)
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    assert pod_names(api) == []


async def test_a_pod_without_a_node_is_removed_at_once() -> None:
    api = make_api()
    await api.create(PODS, make_pod("p"), namespace="default")
    assert (await delete(api))["kind"] == "Status"
    assert pod_names(api) == []


async def test_a_second_deletion_may_only_shorten_the_grace_period() -> None:
    api = make_api()
    await put_pod(api, make_pod("p"))
    await delete(api, gracePeriodSeconds=20)
    longer = await delete(api, gracePeriodSeconds=60)
    assert longer["metadata"]["deletionGracePeriodSeconds"] == 20
    shorter = await delete(api, gracePeriodSeconds=5)
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5


async def test_a_repeated_deletion_writes_nothing() -> None:
    api = make_api()
    await put_pod(api, make_pod("p"))
    first = await delete(api)
    second = await delete(api)
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]


async def with_finalizer() -> Api:
    api = make_api()
    body = make_pod("p")
    body["metadata"]["finalizers"] = ["example.com/wait"]
    await api.create(PODS, body, namespace="default")
    return api


async def test_finalizers_keep_an_object() -> None:
    api = await with_finalizer()
    left = await delete(api)
    assert left["metadata"]["finalizers"] == ["example.com/wait"]
    patch: JsonObject = {"metadata": {"finalizers": []}}
    await api.patch(PODS, patch, content_type=MERGE_PATCH, name="p", namespace="default")
    assert pod_names(api) == []


async def test_a_terminating_object_may_still_be_changed() -> None:
    api = await with_finalizer()
    await delete(api)
    patch = {"metadata": {"labels": {"a": "b"}}}
    await api.patch(PODS, patch, content_type=MERGE_PATCH, name="p", namespace="default")
    assert pod_named(api, "p")["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize(
    "preconditions", [{"uid": "another"}, {"resourceVersion": "1"}], ids=["uid", "version"]
)
async def test_a_failed_precondition_has_no_effect(preconditions: JsonObject) -> None:
    api = await with_finalizer()
    before = pod_named(api, "p")
    with pytest.raises(ConflictError):
        await delete(api, preconditions=preconditions)
    assert pod_named(api, "p") == before


async def test_preconditions_that_hold() -> None:
    api = await with_finalizer()
    meta = pod_named(api, "p")["metadata"]
    left = await delete(
        api, preconditions={"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    )
    assert left["metadata"]["deletionTimestamp"]


POLICIES = [
    ("Foreground", {"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
    ("Orphan", {"propagationPolicy": "Orphan"}, ["orphan"]),
    ("orphanDependents, the older form", {"orphanDependents": True}, ["orphan"]),
]


@pytest.mark.parametrize(
    ("options", "finalizers"), [case[1:] for case in POLICIES], ids=[case[0] for case in POLICIES]
)
async def test_the_propagation_policy_becomes_a_finalizer(
    options: JsonObject, finalizers: list[str]
) -> None:
    api = make_api()
    resource = api.registry.for_kind(CONFIGMAPS)
    await api.create(resource, {"metadata": {"name": "c"}}, namespace="default")
    left = await api.delete(resource, name="c", namespace="default", options=options)
    assert left["metadata"]["finalizers"] == finalizers


async def test_background_deletion_removes_the_owner_first() -> None:
    api = make_api()
    resource = api.registry.for_kind(CONFIGMAPS)
    owner = await api.create(resource, {"metadata": {"name": "owner"}}, namespace="default")
    reference = {
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"],
    }  # fmt: skip
    body = {"metadata": {"name": "child", "ownerReferences": [reference]}}
    await api.create(resource, body, namespace="default")
    await api.delete(resource, name="owner", namespace="default")
    assert api.get(resource, name="child", namespace="default")
    api.run_controllers()
    with pytest.raises(NotFoundError):
        api.get(resource, name="child", namespace="default")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"propagationPolicy": "Sideways"}, "use Foreground, Background or Orphan"),
        ({"gracePeriodSeconds": "soon"}, "is not an integer"),
        ({"gracePeriodSeconds": True}, "is not an integer"),
    ],
)
async def test_unreadable_options_are_refused(options: JsonObject, message: str) -> None:
    api = make_api()
    await put_pod(api, make_pod("p"))
    with pytest.raises(BadRequestError, match=message):
        await delete(api, **options)
    assert "deletionTimestamp" not in pod_named(api, "p")["metadata"]


async def test_the_status_of_a_deletion_names_the_object() -> None:
    api = make_api()
    resource = api.registry.lookup("example.com", "v1", "widgets")
    made = await api.create(
        resource, {"metadata": {"name": "w"}, "spec": {"size": 1}}, namespace="default"
    )
    answer = await api.delete(resource, name="w", namespace="default")
    assert answer["details"] == {
        "name": "w", "kind": "widgets", "group": "example.com", "uid": made["metadata"]["uid"],
    }  # fmt: skip


async def test_a_dry_run_shows_the_result_and_keeps_the_object() -> None:
    api = make_api()
    await put_pod(api, make_pod("p"))
    shown = await api.delete(PODS, name="p", namespace="default", dry_run=True)
    assert shown["metadata"]["deletionTimestamp"]
    assert "deletionTimestamp" not in pod_named(api, "p")["metadata"]


async def test_a_deletion_raises_the_generation() -> None:
    """Controllers compare it with observedGeneration to see that something changed."""
    api = make_api()
    resource = api.registry.lookup("example.com", "v1", "widgets")
    body = {"metadata": {"name": "w", "finalizers": ["example.com/wait"]}, "spec": {"size": 1}}
    await api.create(resource, body, namespace="default")
    left = await api.delete(resource, name="w", namespace="default")
    assert left["metadata"]["generation"] == 2
