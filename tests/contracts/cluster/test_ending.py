"""How objects end: preconditions, finalizers, owners and namespaces."""

import asyncio

import pytest

from tests.contracts.cluster.steps import (
    config_map,
    eventually,
    exists,
    gone,
    owned_by,
    pod,
    vcjob,
)
from vc.cluster import Cluster, ConflictError, ForbiddenError, NotFoundError, Preconditions
from vc.model.api.kinds import CONFIGMAPS, JOBS, NAMESPACES, PODS, SERVICES

OTHER_UID = "00000000-0000-4000-8000-000000000000"


async def test_a_deletion_holds_its_preconditions(cluster: Cluster, namespace: str) -> None:
    made = await cluster.create(CONFIGMAPS, config_map("a"), namespace=namespace)
    for wrong in (Preconditions(uid=OTHER_UID), Preconditions(resource_version="1")):
        with pytest.raises(ConflictError, match="recondition"):
            await cluster.delete(CONFIGMAPS, name="a", namespace=namespace, preconditions=wrong)
    meta = made["metadata"]
    right = Preconditions(uid=meta["uid"], resource_version=meta["resourceVersion"])
    await cluster.delete(CONFIGMAPS, name="a", namespace=namespace, preconditions=right)
    with pytest.raises(NotFoundError):
        await cluster.delete(CONFIGMAPS, name="a", namespace=namespace)


async def test_finalizers_hold_an_object(cluster: Cluster, namespace: str) -> None:
    body = config_map("held")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    await cluster.create(CONFIGMAPS, body, namespace=namespace)
    await cluster.delete(CONFIGMAPS, name="held", namespace=namespace)
    ending = await cluster.get(CONFIGMAPS, name="held", namespace=namespace)
    assert ending["metadata"]["deletionTimestamp"]
    await cluster.patch(
        CONFIGMAPS, {"metadata": {"finalizers": None}}, name="held", namespace=namespace
    )
    assert not await exists(cluster, CONFIGMAPS, "held", namespace)


async def test_dependents_go_with_their_owner(controlled: Cluster, namespace: str) -> None:
    cluster = controlled
    job = await cluster.create(JOBS, vcjob("j"), namespace=namespace)
    middle = await cluster.create(CONFIGMAPS, owned_by(job, config_map("c")), namespace=namespace)
    await cluster.create(PODS, owned_by(middle, pod("p")), namespace=namespace)
    await cluster.create(PODS, pod("free"), namespace=namespace)
    await cluster.delete(JOBS, name="j", namespace=namespace)
    await gone(cluster, CONFIGMAPS, "c", namespace)
    await gone(cluster, PODS, "p", namespace)
    assert await exists(cluster, PODS, "free", namespace)


async def test_an_owner_is_known_by_its_uid(controlled: Cluster, namespace: str) -> None:
    cluster = controlled
    job = await cluster.create(JOBS, vcjob("j"), namespace=namespace)
    await cluster.delete(JOBS, name="j", namespace=namespace)
    await cluster.create(JOBS, vcjob("j"), namespace=namespace)
    await cluster.create(CONFIGMAPS, owned_by(job, config_map("late")), namespace=namespace)
    await gone(cluster, CONFIGMAPS, "late", namespace)
    assert await exists(cluster, JOBS, "j", namespace)


async def test_one_living_owner_is_enough(controlled: Cluster, namespace: str) -> None:
    cluster = controlled
    first = await cluster.create(JOBS, vcjob("first"), namespace=namespace)
    second = await cluster.create(JOBS, vcjob("second"), namespace=namespace)
    shared = owned_by(first, config_map("shared"))
    refs = owned_by(second, config_map("x"))["metadata"]["ownerReferences"]
    shared["metadata"]["ownerReferences"] += refs
    await cluster.create(CONFIGMAPS, shared, namespace=namespace)
    await cluster.delete(JOBS, name="first", namespace=namespace)

    async def one_left() -> bool:
        kept = await cluster.get(CONFIGMAPS, name="shared", namespace=namespace)
        return [ref["name"] for ref in kept["metadata"]["ownerReferences"]] == ["second"]

    await eventually(one_left, why="the reference to the dead owner is dropped")


async def test_foreground_deletion_waits_for_dependents(
    controlled: Cluster, namespace: str
) -> None:
    cluster = controlled
    job = await cluster.create(JOBS, vcjob("j"), namespace=namespace)
    held = owned_by(job, config_map("held"), block=True)
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await cluster.create(CONFIGMAPS, held, namespace=namespace)
    await cluster.delete(JOBS, name="j", namespace=namespace, propagation="Foreground")

    async def dependent_ends() -> bool:
        dependent = await cluster.get(CONFIGMAPS, name="held", namespace=namespace)
        return "deletionTimestamp" in dependent["metadata"]

    await eventually(dependent_ends, why="the dependent is asked to end")
    await asyncio.sleep(0.05)
    waiting = await cluster.get(JOBS, name="j", namespace=namespace)
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    await cluster.patch(
        CONFIGMAPS, {"metadata": {"finalizers": None}}, name="held", namespace=namespace
    )
    await gone(cluster, JOBS, "j", namespace)


async def test_orphans_stay(controlled: Cluster, namespace: str) -> None:
    cluster = controlled
    job = await cluster.create(JOBS, vcjob("j"), namespace=namespace)
    await cluster.create(CONFIGMAPS, owned_by(job, config_map("c")), namespace=namespace)
    await cluster.delete(JOBS, name="j", namespace=namespace, propagation="Orphan")
    await gone(cluster, JOBS, "j", namespace)
    orphan = await cluster.get(CONFIGMAPS, name="c", namespace=namespace)
    assert not orphan["metadata"].get("ownerReferences")


async def test_a_namespace_is_emptied_and_goes(controlled: Cluster, namespace: str) -> None:
    cluster = controlled
    await cluster.create(JOBS, vcjob("j"), namespace=namespace)
    body = config_map("held")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    await cluster.create(CONFIGMAPS, body, namespace=namespace)
    await cluster.delete(NAMESPACES, name=namespace)
    await gone(cluster, JOBS, "j", namespace)
    ending = await cluster.get(NAMESPACES, name=namespace)
    assert ending["status"]["phase"] == "Terminating"
    with pytest.raises(ForbiddenError, match="because it is being terminated"):
        await cluster.create(CONFIGMAPS, config_map("late"), namespace=namespace)
    await cluster.patch(
        CONFIGMAPS, {"metadata": {"finalizers": None}}, name="held", namespace=namespace
    )
    await gone(cluster, NAMESPACES, namespace)


async def test_a_namespace_that_ends_takes_no_binding(controlled: Cluster, namespace: str) -> None:
    cluster = controlled
    body = pod("held")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    made = await cluster.create(PODS, body, namespace=namespace)
    await cluster.delete(NAMESPACES, name=namespace)
    with pytest.raises(ForbiddenError) as refused:
        await cluster.bind(
            namespace=namespace, name="held", uid=made["metadata"]["uid"], node="anywhere"
        )
    assert refused.value.namespace_terminating
    await cluster.patch(PODS, {"metadata": {"finalizers": None}}, name="held", namespace=namespace)
    await gone(cluster, NAMESPACES, namespace)


async def test_the_first_namespaces_stay(cluster: Cluster) -> None:
    for name in ("default", "kube-system"):
        with pytest.raises(ForbiddenError):
            await cluster.delete(NAMESPACES, name=name)
        assert await exists(cluster, NAMESPACES, name)


async def test_a_service_keeps_its_headlessness(cluster: Cluster, namespace: str) -> None:
    body = {"metadata": {"name": "s"}, "spec": {"clusterIP": "None", "selector": {"a": "b"}}}
    made = await cluster.create(SERVICES, body, namespace=namespace)
    assert made["spec"]["clusterIP"] == "None"
    ports = [{"port": 80}]
    made = await cluster.create(
        SERVICES, {"metadata": {"name": "t"}, "spec": {"ports": ports}}, namespace=namespace
    )
    assert made["spec"]["clusterIP"].count(".") == 3
