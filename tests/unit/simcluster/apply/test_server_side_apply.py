"""Server-side apply: owners, conflicts, and fields that are given up."""

from typing import Any

import pytest

from tests.unit.simcluster.stage import make_api, widget, widgets
from vc.cluster import ConflictError
from vc.cluster.errors import BadRequestError
from vc.model.api.kinds import CONFIGMAPS, Kind
from vc.model.api.struct import JsonObject
from vc.simcluster import Api
from vc.simcluster.apply.fieldsets import from_fields_v1, readable, to_fields_v1
from vc.simcluster.apply.patches import APPLY_PATCH, MERGE_PATCH


async def apply(
    api: Api, config: JsonObject, *, manager: str, kind: Kind | None = CONFIGMAPS, **more: Any
) -> JsonObject:
    resource = widgets(api) if kind is None else api.registry.for_kind(kind)
    name = config["metadata"]["name"]
    return await api.patch(
        resource, config, content_type=APPLY_PATCH, name=name, namespace="default",
        field_manager=manager, **more,
    )  # fmt: skip


def config(**data: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}


def managers(obj: JsonObject) -> dict[str, JsonObject]:
    return {one["manager"]: one["fieldsV1"] for one in obj["metadata"]["managedFields"]}


async def test_applying_what_is_not_there_creates_it() -> None:
    made = await apply(make_api(), config(a="1"), manager="me")
    assert made["data"] == {"a": "1"}
    assert managers(made) == {"me": {"f:data": {"f:a": {}}}}
    assert made["metadata"]["managedFields"][0]["operation"] == "Apply"


async def test_applying_the_same_again_changes_nothing() -> None:
    api = make_api()
    first = await apply(api, config(a="1"), manager="me")
    second = await apply(api, config(a="1"), manager="me")
    assert second == first


async def test_a_field_given_up_goes() -> None:
    api = make_api()
    await apply(api, config(a="1", b="2"), manager="me")
    left = await apply(api, config(a="1"), manager="me")
    assert left["data"] == {"a": "1"}


async def test_a_field_somebody_else_holds_stays() -> None:
    api = make_api()
    await apply(api, config(a="1", b="2"), manager="me")
    await apply(api, config(b="2"), manager="you")
    left = await apply(api, config(a="1"), manager="me")
    assert left["data"] == {"a": "1", "b": "2"}


async def test_anothers_field_is_a_conflict_that_names_it() -> None:
    api = make_api()
    await apply(api, config(a="1"), manager="me")
    with pytest.raises(ConflictError) as caught:
        await apply(api, config(a="2"), manager="you")
    assert (
        caught.value.message == 'Apply failed with 1 conflict: conflict with "me" using v1: .data.a'
    )
    assert caught.value.details["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "me" using v1',
            "field": ".data.a",
        }
    ]


async def test_force_takes_a_field_over() -> None:
    api = make_api()
    await apply(api, config(a="1", b="1"), manager="me")
    taken = await apply(api, config(a="2"), manager="you", force=True)
    assert taken["data"] == {"a": "2", "b": "1"}
    assert managers(taken) == {"me": {"f:data": {"f:b": {}}}, "you": {"f:data": {"f:a": {}}}}


async def test_what_was_there_before_belongs_to_nobody_in_particular() -> None:
    api = make_api()
    resource = api.registry.for_kind(CONFIGMAPS)
    await api.create(resource, config(a="1"), namespace="default")
    with pytest.raises(ConflictError, match="before-first-apply"):
        await apply(api, config(a="2"), manager="me")
    same = await apply(api, config(a="1"), manager="me")
    assert set(managers(same)) == {"before-first-apply", "me"}


async def test_a_patch_takes_what_it_changes() -> None:
    api = make_api()
    await apply(api, config(a="1", b="1"), manager="me")
    resource = api.registry.for_kind(CONFIGMAPS)
    patched = await api.patch(
        resource, {"data": {"a": "2"}}, content_type=MERGE_PATCH, name="c", namespace="default",
        field_manager="kubectl-edit",
    )  # fmt: skip
    assert managers(patched) == {
        "me": {"f:data": {"f:b": {}}},
        "kubectl-edit": {"f:data": {"f:a": {}}},
    }
    with pytest.raises(ConflictError, match="kubectl-edit"):
        await apply(api, config(a="1", b="1"), manager="me")


async def test_elements_of_a_keyed_list_have_owners_of_their_own() -> None:
    api = make_api()
    mine = {**widget("w", parts=[{"name": "a", "count": 1}]), "kind": "Widget"}
    yours = {
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": {"parts": [{"name": "b", "count": 2}]},
    }
    await apply(api, mine, manager="me", kind=None)
    both = await apply(api, yours, manager="you", kind=None)
    assert [part["name"] for part in both["spec"]["parts"]] == ["a", "b"]
    less = await apply(api, widget("w"), manager="me", kind=None)
    assert less["spec"]["parts"] == [{"name": "b", "count": 2}]


async def test_sets_merge_by_value() -> None:
    api = make_api()
    await apply(api, widget("w", tags=["x", "y"]), manager="me", kind=None)
    tags: JsonObject = {"metadata": {"name": "w"}, "spec": {"tags": ["z"]}}
    both = await apply(api, tags, manager="you", kind=None)
    assert both["spec"]["tags"] == ["x", "y", "z"]
    less = await apply(api, widget("w", tags=["y"]), manager="me", kind=None)
    assert less["spec"]["tags"] == ["y", "z"]


async def test_apply_needs_a_manager() -> None:
    with pytest.raises(BadRequestError, match="fieldManager"):
        await apply(make_api(), config(), manager="")


async def test_a_dry_run_leaves_no_trace() -> None:
    api = make_api()
    shown = await apply(api, config(a="1"), manager="me", dry_run=True)
    assert shown["data"] == {"a": "1"}
    assert api.list(api.registry.for_kind(CONFIGMAPS)).items == []


def test_paths_survive_their_written_form() -> None:
    paths = {
        ("f:spec", "f:replicas"),
        ("f:spec", "f:containers", 'k:{"name":"a"}'),
        ("f:spec", "f:containers", 'k:{"name":"a"}', "f:image"),
        ("f:metadata", "f:finalizers", 'v:"x"'),
    }
    assert from_fields_v1(to_fields_v1(paths)) == paths
    shown = sorted(readable(path) for path in paths)
    assert '.spec.containers[name="a"].image' in shown


@pytest.mark.parametrize("tree", [None, 1, "x", [], {"f:a": 3}])
def test_a_broken_book_owns_nothing(tree: object) -> None:
    assert from_fields_v1(tree) == set()
