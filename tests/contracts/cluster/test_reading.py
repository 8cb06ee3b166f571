"""Get, lists, pages and selectors."""

import msgspec
import pytest

from tests.contracts.cluster.backends import Target
from tests.contracts.cluster.steps import bound_pod, config_map, names, pod
from vc.cluster import Cluster, GoneError, NotFoundError
from vc.cluster.errors import BadRequestError
from vc.model.api.kinds import CONFIGMAPS, JOBS, NODES, PODS
from vc.model.values.times import parse_time


async def test_what_was_created_is_read_back(cluster: Cluster, namespace: str) -> None:
    made = await cluster.create(CONFIGMAPS, config_map("a", colour="red"), namespace=namespace)
    read = await cluster.get(CONFIGMAPS, name="a", namespace=namespace)
    assert read == made
    assert read["apiVersion"] == "v1"
    assert read["kind"] == "ConfigMap"
    assert read["data"] == {"colour": "red"}
    meta = read["metadata"]
    assert all(meta[name] for name in ("uid", "resourceVersion", "creationTimestamp"))
    assert meta["namespace"] == namespace


async def test_what_is_not_there_is_not_found(cluster: Cluster, namespace: str) -> None:
    with pytest.raises(NotFoundError, match='configmaps "nothing" not found'):
        await cluster.get(CONFIGMAPS, name="nothing", namespace=namespace)


async def test_a_list_is_sorted_and_complete(cluster: Cluster, namespace: str) -> None:
    for name in ("c", "a", "b"):
        await cluster.create(CONFIGMAPS, config_map(name), namespace=namespace)
    page = await cluster.list(CONFIGMAPS, namespace=namespace, label_selector="!kubernetes.io/x")
    assert [name for name in names(page.items) if len(name) == 1] == ["a", "b", "c"]
    assert page.continue_token == ""
    assert int(page.resource_version) > 0


async def test_listed_objects_say_what_they_are(cluster: Cluster, namespace: str) -> None:
    await cluster.create(PODS, pod("a"), namespace=namespace)
    page = await cluster.list(PODS, namespace=namespace)
    listed = msgspec.json.decode(page.items[0])
    assert listed["metadata"]["resourceVersion"]
    assert listed["spec"]["containers"][0]["name"] == "main"


async def test_pages_follow_one_another(cluster: Cluster, namespace: str) -> None:
    wanted = [f"pod-{number:02}" for number in range(7)]
    for name in wanted:
        await cluster.create(PODS, pod(name), namespace=namespace)
    found, token, pages = [], "", 0
    while True:
        page = await cluster.list(PODS, namespace=namespace, limit=3, continue_token=token)
        found += names(page.items)
        pages += 1
        token = page.continue_token
        if not token:
            break
    assert found == wanted
    assert pages == 3


async def test_pages_are_of_one_moment(cluster: Cluster, namespace: str) -> None:
    for name in ("a", "b", "c", "d"):
        await cluster.create(PODS, pod(name), namespace=namespace)
    first = await cluster.list(PODS, namespace=namespace, limit=2)
    await cluster.delete(PODS, name="c", namespace=namespace)
    await cluster.create(PODS, pod("bb"), namespace=namespace)
    await cluster.patch(
        PODS, {"metadata": {"labels": {"late": "yes"}}}, name="d", namespace=namespace
    )
    second = await cluster.list(
        PODS, namespace=namespace, limit=2, continue_token=first.continue_token
    )
    assert names(second.items) == ["c", "d"]
    assert "labels" not in msgspec.json.decode(second.items[1])["metadata"]
    assert second.resource_version == first.resource_version


async def test_a_continue_token_can_be_too_old(target: Target, namespace: str) -> None:
    if target.compact is None:
        pytest.skip("this backend compacts in its own time")
    for name in ("a", "b", "c"):
        await target.cluster.create(PODS, pod(name), namespace=namespace)
    first = await target.cluster.list(PODS, namespace=namespace, limit=1)
    await target.cluster.delete(PODS, name="c", namespace=namespace)
    await target.compact()
    with pytest.raises(GoneError):
        await target.cluster.list(
            PODS, namespace=namespace, limit=1, continue_token=first.continue_token
        )


async def test_selectors_choose(cluster: Cluster, namespace: str) -> None:
    await cluster.create(PODS, pod("red", labels={"colour": "red"}), namespace=namespace)
    await cluster.create(PODS, pod("blue", labels={"colour": "blue"}), namespace=namespace)
    await bound_pod(cluster, namespace, "bound", node="node-7")
    by_label = await cluster.list(PODS, namespace=namespace, label_selector="colour in (red,green)")
    by_node = await cluster.list(PODS, namespace=namespace, field_selector="spec.nodeName=node-7")
    by_both = await cluster.list(
        PODS, namespace=namespace, label_selector="colour", field_selector="metadata.name!=red"
    )
    assert names(by_label.items) == ["red"]
    assert names(by_node.items) == ["bound"]
    assert names(by_both.items) == ["blue"]


@pytest.mark.parametrize("selector", ["spec.dnsPolicy=Default", "nothing", "metadata.labels=x"])
async def test_a_field_that_cannot_be_selected_is_refused(cluster: Cluster, selector: str) -> None:
    with pytest.raises(BadRequestError):
        await cluster.list(PODS, field_selector=selector)


async def test_kinds_do_not_mix(cluster: Cluster, namespace: str) -> None:
    await cluster.create(PODS, pod("a"), namespace=namespace)
    assert (await cluster.list(JOBS, namespace=namespace)).items == []
    assert all(name != "a" for name in names((await cluster.list(NODES)).items))


async def test_the_server_says_what_time_it_is(cluster: Cluster, namespace: str) -> None:
    before = await cluster.date()
    made = await cluster.create(CONFIGMAPS, config_map("timed"), namespace=namespace)
    created = parse_time(made["metadata"]["creationTimestamp"])
    assert created is not None
    assert before <= created <= await cluster.date()
    assert before == int(before)
