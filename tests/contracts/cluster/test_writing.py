"""Creates, replacements and patches: names, versions, subresources, refusals."""

import asyncio

import pytest

from tests.contracts.cluster.steps import config_map, pod, vcjob
from vc.cluster import (
    AlreadyExistsError,
    Cluster,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    Preconditions,
)
from vc.cluster.errors import TooLargeError
from vc.model.api.kinds import CONFIGMAPS, JOBS, LEASES, PODGROUPS, PODS, PRIORITYCLASSES
from vc.model.api.struct import JsonObject


async def test_generated_names_differ(cluster: Cluster, namespace: str) -> None:
    body: JsonObject = {"metadata": {"generateName": "made-"}}
    made = [await cluster.create(CONFIGMAPS, body, namespace=namespace) for _ in range(5)]
    names = {one["metadata"]["name"] for one in made}
    assert len(names) == 5
    assert all(name.startswith("made-") and len(name) == 10 for name in names)


async def test_a_name_is_taken_once(cluster: Cluster, namespace: str) -> None:
    await cluster.create(CONFIGMAPS, config_map("a"), namespace=namespace)
    with pytest.raises(AlreadyExistsError, match='configmaps "a" already exists'):
        await cluster.create(CONFIGMAPS, config_map("a"), namespace=namespace)


async def test_of_two_creates_at_once_one_wins(cluster: Cluster, namespace: str) -> None:
    both = [cluster.create(CONFIGMAPS, config_map("a"), namespace=namespace) for _ in range(2)]
    results = await asyncio.gather(*both, return_exceptions=True)
    assert sorted(isinstance(result, AlreadyExistsError) for result in results) == [False, True]


@pytest.mark.parametrize("name", ["Upper", "under_score", "-dash", "a" * 254, "a/b"])
async def test_a_bad_name_is_refused(cluster: Cluster, namespace: str, name: str) -> None:
    with pytest.raises(InvalidError, match=r"metadata\.name"):
        await cluster.create(CONFIGMAPS, config_map(name), namespace=namespace)


async def test_a_missing_namespace_is_not_found(cluster: Cluster) -> None:
    with pytest.raises(NotFoundError, match='namespaces "no-such" not found'):
        await cluster.create(CONFIGMAPS, config_map("a"), namespace="no-such")


async def test_a_stale_replacement_conflicts(cluster: Cluster, namespace: str) -> None:
    lease = {"metadata": {"name": "leader"}, "spec": {"holderIdentity": "one"}}
    read = await cluster.create(LEASES, lease, namespace=namespace)
    read["spec"]["holderIdentity"] = "two"
    written = await cluster.replace(LEASES, read, namespace=namespace)
    assert written["spec"]["holderIdentity"] == "two"
    assert int(written["metadata"]["resourceVersion"]) > int(read["metadata"]["resourceVersion"])
    with pytest.raises(ConflictError, match="the object has been modified"):
        await cluster.replace(LEASES, read, namespace=namespace)


async def test_replacing_what_is_not_there_is_not_found(cluster: Cluster, namespace: str) -> None:
    body = {"metadata": {"name": "missing", "resourceVersion": "1"}, "data": {}}
    with pytest.raises((NotFoundError, ConflictError)):
        await cluster.replace(CONFIGMAPS, body, namespace=namespace)


async def test_patching_what_is_not_there_is_not_found(cluster: Cluster, namespace: str) -> None:
    with pytest.raises(NotFoundError):
        await cluster.patch(CONFIGMAPS, {"data": {"a": "b"}}, name="x", namespace=namespace)


async def test_null_removes_in_a_merge_patch(cluster: Cluster, namespace: str) -> None:
    await cluster.create(CONFIGMAPS, config_map("a", keep="1", drop="2"), namespace=namespace)
    patched = await cluster.patch(
        CONFIGMAPS, {"data": {"drop": None, "new": "3"}}, name="a", namespace=namespace
    )
    assert patched["data"] == {"keep": "1", "new": "3"}


async def test_a_patch_that_changes_nothing_makes_no_version(
    cluster: Cluster, namespace: str
) -> None:
    made = await cluster.create(CONFIGMAPS, config_map("a", x="1"), namespace=namespace)
    same = await cluster.patch(CONFIGMAPS, {"data": {"x": "1"}}, name="a", namespace=namespace)
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_a_patch_holds_its_preconditions(cluster: Cluster, namespace: str) -> None:
    made = await cluster.create(CONFIGMAPS, config_map("a", x="1"), namespace=namespace)
    meta = made["metadata"]
    for wrong in (
        Preconditions(uid="00000000-0000-4000-8000-000000000000"),
        Preconditions(resource_version="1"),
    ):
        with pytest.raises(ConflictError):
            await cluster.patch(
                CONFIGMAPS, {"data": {"x": "2"}}, name="a", namespace=namespace, preconditions=wrong
            )
    right = Preconditions(uid=meta["uid"], resource_version=meta["resourceVersion"])
    patched = await cluster.patch(
        CONFIGMAPS, {"data": {"x": "2"}}, name="a", namespace=namespace, preconditions=right
    )
    assert patched["data"] == {"x": "2"}


async def test_status_is_written_through_its_subresource_only(
    cluster: Cluster, namespace: str
) -> None:
    body = {**vcjob("j"), "status": {"running": 7}}
    made = await cluster.create(JOBS, body, namespace=namespace)
    assert "status" not in made
    both = {"spec": {"maxRetry": 9}, "status": {"running": 3}}
    main = await cluster.patch(JOBS, both, name="j", namespace=namespace)
    assert main["spec"]["maxRetry"] == 9
    assert "status" not in main
    both = {"spec": {"maxRetry": 5}, "status": {"running": 3}}
    status = await cluster.patch(JOBS, both, name="j", namespace=namespace, subresource="status")
    assert status["spec"]["maxRetry"] == 9
    assert status["status"]["running"] == 3


async def test_generation_counts_changes_of_the_spec(cluster: Cluster, namespace: str) -> None:
    made = await cluster.create(JOBS, vcjob("j"), namespace=namespace)
    labelled = await cluster.patch(
        JOBS, {"metadata": {"labels": {"a": "b"}}}, name="j", namespace=namespace
    )
    ran = await cluster.patch(
        JOBS, {"status": {"running": 1}}, name="j", namespace=namespace, subresource="status"
    )
    changed = await cluster.patch(JOBS, {"spec": {"maxRetry": 9}}, name="j", namespace=namespace)
    seen = [one["metadata"]["generation"] for one in (made, labelled, ran, changed)]
    assert seen == [1, 1, 1, 2]


async def test_a_kind_without_a_status_subresource_takes_it_whole(
    cluster: Cluster, namespace: str
) -> None:
    body = {"metadata": {"name": "pg"}, "spec": {"minMember": 2}}
    await cluster.create(PODGROUPS, body, namespace=namespace)
    patched = await cluster.patch(
        PODGROUPS, {"status": {"phase": "Inqueue"}}, name="pg", namespace=namespace
    )
    assert patched["status"]["phase"] == "Inqueue"
    with pytest.raises(NotFoundError):
        await cluster.patch(
            PODGROUPS, {"status": {}}, name="pg", namespace=namespace, subresource="status"
        )


async def test_an_invalid_custom_resource_names_the_field(cluster: Cluster, namespace: str) -> None:
    with pytest.raises(InvalidError) as caught:
        await cluster.create(JOBS, vcjob("j", replicas=-1), namespace=namespace)
    assert caught.value.message.startswith('Job.batch.volcano.sh "j" is invalid')
    assert "spec.tasks[0].replicas: Invalid value: -1" in caught.value.message
    assert "greater than or equal to 0" in caught.value.message


async def test_schema_defaults_are_filled_in(cluster: Cluster, namespace: str) -> None:
    made = await cluster.create(JOBS, vcjob("j"), namespace=namespace)
    assert made["spec"]["queue"] == "default"
    assert made["spec"]["maxRetry"] == 3


async def test_what_we_do_not_model_survives(cluster: Cluster, namespace: str) -> None:
    body = pod("a", hostAliases=[{"ip": "10.0.0.1", "hostnames": ["x"]}])
    body["metadata"]["annotations"] = {"example.com/note": "kept"}
    body["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}]
    await cluster.create(PODS, body, namespace=namespace)
    patched = await cluster.patch(
        PODS, {"metadata": {"labels": {"x": "y"}}}, name="a", namespace=namespace
    )
    assert patched["metadata"]["annotations"]["example.com/note"] == "kept"
    assert patched["spec"]["hostAliases"] == [{"ip": "10.0.0.1", "hostnames": ["x"]}]
    assert patched["spec"]["containers"][0]["env"] == [{"name": "A", "value": "1"}]


async def test_an_oversized_body_is_refused(cluster: Cluster, namespace: str) -> None:
    body = config_map("big", blob="x" * (5 * 1024 * 1024))
    with pytest.raises((TooLargeError, InvalidError)):
        await cluster.create(CONFIGMAPS, body, namespace=namespace)
    assert await cluster.create(CONFIGMAPS, config_map("small"), namespace=namespace)


async def test_answers_are_not_shared(cluster: Cluster, namespace: str) -> None:
    body = config_map("a", x="1")
    made = await cluster.create(CONFIGMAPS, body, namespace=namespace)
    body["data"]["x"] = "changed by the caller"
    made["data"]["x"] = "changed by the reader"
    assert (await cluster.get(CONFIGMAPS, name="a", namespace=namespace))["data"] == {"x": "1"}


async def test_requests_come_from_limits(cluster: Cluster, namespace: str) -> None:
    body = pod("a")
    body["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "2", "memory": "1Gi"}}
    made = await cluster.create(PODS, body, namespace=namespace)
    resources = made["spec"]["containers"][0]["resources"]
    assert resources["requests"] == {"cpu": "2", "memory": "1Gi"}
    assert made["status"] == {"phase": "Pending", "qosClass": "Guaranteed"}


async def test_priority_comes_from_the_class(cluster: Cluster, namespace: str) -> None:
    urgent = f"urgent-{namespace}"
    body = {"metadata": {"name": urgent}, "value": 1000, "preemptionPolicy": "Never"}
    await cluster.create(PRIORITYCLASSES, body)
    made = await cluster.create(PODS, pod("a", priorityClassName=urgent), namespace=namespace)
    assert made["spec"]["priority"] == 1000
    assert made["spec"]["preemptionPolicy"] == "Never"
    with pytest.raises(ForbiddenError, match="no PriorityClass with name missing was found"):
        await cluster.create(PODS, pod("b", priorityClassName="missing"), namespace=namespace)
    await cluster.delete(PRIORITYCLASSES, name=urgent)
