"""Server-side apply as a request: creation, subresources, metadata, built-in lists, errors.

https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

import msgspec
import pytest

from tests.unit.simcluster.stage import make_api, make_pod, widgets
from vc.cluster.errors import BadRequestError, ConflictError, InvalidError, NotFoundError
from vc.model.api.struct import Json, JsonObject
from vc.simcluster import Api
from vc.simcluster.apply.patches import APPLY_PATCH
from vc.simcluster.schema.builtin_resources import PODS
from vc.simcluster.store.resource import Resource


async def send(
    api: Api, resource: Resource, body: Json, *, manager: str = "a", subresource: str = "",
    name: str = "w", force: bool = False, dry_run: bool = False,
) -> JsonObject:  # fmt: skip
    return await api.patch(
        resource, body, content_type=APPLY_PATCH, name=name, namespace="default",
        field_manager=manager, subresource=subresource, force=force, dry_run=dry_run,
    )  # fmt: skip


class Bad(msgspec.Struct, frozen=True, kw_only=True):
    """An apply that is refused before anything is written."""

    id: str
    body: Json
    manager: str = "a"
    subresource: str = ""
    error: type[Exception]
    message: str


BAD = [
    Bad(id="without a manager", body={"spec": {"size": 1}}, manager="", error=BadRequestError, message="fieldManager: Required value"),
    Bad(id="a body that is a list", body=[], error=BadRequestError, message="not an object"),
    Bad(id="a body of another kind", body={"kind": "Gadget", "spec": {"size": 1}}, error=BadRequestError, message="Kind=Gadget"),
    Bad(id="a body of another version", body={"apiVersion": "example.com/v2", "spec": {"size": 1}}, error=BadRequestError, message="example.com/v2"),
    Bad(id="metadata that is a text", body={"metadata": "w"}, error=BadRequestError, message="metadata"),
    Bad(id="a value that the schema refuses", body={"spec": {"size": 99}}, error=InvalidError, message="less than or equal to 10"),
    Bad(id="a required field that is absent", body={"spec": {}}, error=InvalidError, message="spec.size: Required value"),
    Bad(id="a status of an absent object", body={"status": {"x": 1}}, subresource="status", error=NotFoundError, message='"w" not found'),
    Bad(id="a subresource that is not served", body={"spec": {"size": 1}}, subresource="scale", error=NotFoundError, message="could not find the requested resource"),
]  # fmt: skip


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.id)
async def test_an_apply_that_is_refused(case: Bad) -> None:
    api = make_api()
    with pytest.raises(case.error, match=case.message):
        await send(api, widgets(api), case.body, manager=case.manager, subresource=case.subresource)
    assert api.list(widgets(api)).items == []


async def test_the_name_of_the_address_is_enough() -> None:
    api = make_api()
    made = await send(api, widgets(api), {"spec": {"size": 1}})
    assert (made["metadata"]["name"], made["kind"]) == ("w", "Widget")


async def test_another_name_in_the_body_is_refused_for_an_existing_object() -> None:
    api = make_api()
    await send(api, widgets(api), {"spec": {"size": 1}})
    with pytest.raises(BadRequestError, match="does not match the name on the URL"):
        await send(api, widgets(api), {"metadata": {"name": "v"}, "spec": {"size": 1}})


async def test_an_entry_says_how_and_when_it_was_made() -> None:
    api = make_api()
    made = await send(api, widgets(api), {"spec": {"size": 1}})
    (entry,) = made["metadata"]["managedFields"]
    assert entry == {
        "manager": "a", "operation": "Apply", "apiVersion": "example.com/v1",
        "time": made["metadata"]["creationTimestamp"], "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:size": {}}},
    }  # fmt: skip


METADATA: list[tuple[str, JsonObject, JsonObject]] = [
    ("labels are owned one by one", {"labels": {"a": "1"}}, {"f:labels": {"f:a": {}}}),
    (
        "annotations are owned one by one",
        {"annotations": {"example.com/a": "1"}},
        {"f:annotations": {"f:example.com/a": {}}},
    ),
    (
        "finalizers are a set",
        {"finalizers": ["example.com/a"]},
        {"f:finalizers": {'v:"example.com/a"': {}}},
    ),
    (
        "owners are a map by uid",
        {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}]},
        {
            "f:ownerReferences": {
                'k:{"uid":"u"}': {
                    ".": {}, "f:apiVersion": {}, "f:kind": {}, "f:name": {}, "f:uid": {},
                }
            }
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("metadata", "fields"), [case[1:] for case in METADATA], ids=[case[0] for case in METADATA]
)
async def test_fields_of_metadata_have_owners(metadata: JsonObject, fields: JsonObject) -> None:
    api = make_api()
    made = await send(api, widgets(api), {"metadata": metadata, "spec": {"size": 1}})
    (entry,) = made["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:metadata": fields, "f:spec": {"f:size": {}}}
    # Given up, they are removed.
    left = await send(api, widgets(api), {"spec": {"size": 1}})
    assert not metadata.keys() & left["metadata"].keys()


async def test_what_the_server_owns_is_not_recorded_and_not_taken() -> None:
    api = make_api()
    made = await send(api, widgets(api), {"spec": {"size": 1}})
    again = await send(api, widgets(api), {**made, "spec": {"size": 2}})
    (entry,) = again["metadata"]["managedFields"]
    assert "f:metadata" not in entry["fieldsV1"]
    assert again["metadata"]["uid"] == made["metadata"]["uid"]
    assert again["metadata"]["generation"] == 2


async def test_the_status_has_entries_of_its_own() -> None:
    api = make_api()
    await send(api, widgets(api), {"spec": {"size": 1}})
    both = await send(api, widgets(api), {"status": {"phase": "Up"}}, subresource="status")
    assert both["status"] == {"phase": "Up"}
    entries = both["metadata"]["managedFields"]
    assert [(one["manager"], one.get("subresource")) for one in entries] == [
        ("a", None),
        ("a", "status"),
    ]
    # The apply of the object does not remove the status, which it never declared.
    assert (await send(api, widgets(api), {"spec": {"size": 2}}))["status"] == {"phase": "Up"}


async def test_an_apply_of_the_status_cannot_change_the_spec() -> None:
    api = make_api()
    await send(api, widgets(api), {"spec": {"size": 1}})
    body = {"spec": {"size": 5}, "status": {"phase": "Up"}}
    left = await send(api, widgets(api), body, subresource="status", manager="b", force=True)
    assert left["spec"]["size"] == 1


async def test_a_dry_run_shows_the_owners_and_writes_nothing() -> None:
    api = make_api()
    await send(api, widgets(api), {"spec": {"size": 1}})
    version = api.store.version
    shown = await send(
        api, widgets(api), {"spec": {"size": 2}}, manager="b", force=True, dry_run=True
    )
    assert [one["manager"] for one in shown["metadata"]["managedFields"]] == ["b"]
    assert api.store.version == version
    stored = api.get(widgets(api), name="w", namespace="default")
    assert [one["manager"] for one in stored["metadata"]["managedFields"]] == ["a"]


async def test_a_dry_run_has_the_same_conflicts() -> None:
    api = make_api()
    await send(api, widgets(api), {"spec": {"size": 1}})
    with pytest.raises(ConflictError):
        await send(api, widgets(api), {"spec": {"size": 2}}, manager="b", dry_run=True)


def container(name: str, **more: Json) -> JsonObject:
    return {"name": name, "image": "i", **more}


async def test_containers_of_a_pod_are_a_map_by_name() -> None:
    api = make_api()
    await api.create(PODS, make_pod("p"), namespace="default")
    body: JsonObject = {"spec": {"containers": [{"name": "main", "image": "busybox:2"}]}}
    with pytest.raises(ConflictError, match=r'\.spec\.containers\[name="main"\]\.image'):
        await send(api, PODS, body, name="p")
    taken = await send(api, PODS, body, name="p", force=True)
    (left,) = taken["spec"]["containers"]
    # Fields that are not declared stay with their former owner.
    assert (left["image"], left["command"]) == ("busybox:2", ["sleep", "5"])


async def test_ports_are_a_map_by_port_and_protocol() -> None:
    api = make_api()
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
    body: JsonObject = {"spec": {"containers": [container("main", ports=ports)]}}
    made = await send(api, PODS, body, name="p")
    fields = made["metadata"]["managedFields"][0]["fieldsV1"]
    found = fields["f:spec"]["f:containers"]['k:{"name":"main"}']["f:ports"]
    assert sorted(found) == [
        'k:{"containerPort":80,"protocol":"TCP"}',
        'k:{"containerPort":80,"protocol":"UDP"}',
    ]
    # The same ports again are no change, although the default protocol was stored meanwhile.
    assert await send(api, PODS, body, name="p") == made


async def test_a_selector_is_atomic() -> None:
    api = make_api()
    services = api.registry.lookup("", "v1", "services")
    body: JsonObject = {"spec": {"selector": {"app": "x"}, "ports": [{"port": 80}]}}
    await send(api, services, body, name="s")
    changed: JsonObject = {"spec": {"selector": {"tier": "y"}, "ports": [{"port": 80}]}}
    left = await send(api, services, changed, name="s")
    # A merge of both selectors would select other pods than either manager wants.
    assert left["spec"]["selector"] == {"tier": "y"}
    with pytest.raises(ConflictError, match=r"\.spec\.selector"):
        await send(api, services, body, name="s", manager="b")
