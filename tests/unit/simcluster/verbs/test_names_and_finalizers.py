"""Generated names, the status subresource, and finalizers of terminating objects."""

import msgspec
import pytest

from tests.unit.simcluster.stage import make_api, widget, widgets
from vc.cluster.errors import ClusterError, InvalidError, NotFoundError
from vc.model.api.struct import Json, JsonObject
from vc.simcluster import Api
from vc.simcluster.apply.patches import JSON_PATCH, MERGE_PATCH


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """Metadata of a new object, and the start and the length of its name."""

    id: str
    metadata: JsonObject
    start: str
    length: int


NAMED = [
    Named(id="a name is kept", metadata={"name": "w"}, start="w", length=1),
    Named(id="a prefix gets five characters", metadata={"generateName": "w-"}, start="w-", length=7),
    Named(
        id="a name wins over a prefix",
        metadata={"name": "w", "generateName": "v-"}, start="w", length=1,
    ),
    Named(
        id="an empty name is none",
        metadata={"name": "", "generateName": "v-"}, start="v-", length=7,
    ),
    Named(
        id="a long prefix is cut so that the name is a label",
        metadata={"generateName": "p" * 80}, start="p" * 58, length=63,
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", NAMED, ids=lambda case: case.id)
async def test_the_name_of_a_new_object(case: Named) -> None:
    api = make_api()
    body = {"metadata": case.metadata, "spec": {"size": 1}}
    made = await api.create(widgets(api), body, namespace="default")
    name = made["metadata"]["name"]
    assert name.startswith(case.start)
    assert len(name) == case.length
    assert api.get(widgets(api), name=name, namespace="default") == made


async def test_generated_names_differ() -> None:
    api = make_api()
    body = {"metadata": {"generateName": "w-"}, "spec": {"size": 1}}
    names = {
        (await api.create(widgets(api), body, namespace="default"))["metadata"]["name"]
        for _ in range(50)
    }
    assert len(names) == 50


@pytest.mark.parametrize("prefix", ["-", "W-", "a_b"])
async def test_a_prefix_that_gives_no_valid_name_is_refused(prefix: str) -> None:
    api = make_api()
    body = {"metadata": {"generateName": prefix}, "spec": {"size": 1}}
    with pytest.raises(InvalidError, match=r"metadata\.name"):
        await api.create(widgets(api), body, namespace="default")


async def made_with_status() -> Api:
    api = make_api()
    await api.create(widgets(api), {**widget("w"), "status": {"x": 1}}, namespace="default")
    await patch(api, {"status": {"phase": "Up"}}, subresource="status")
    return api


async def patch(
    api: Api, body: Json, *, content_type: str = MERGE_PATCH, subresource: str = ""
) -> JsonObject:
    return await api.patch(
        widgets(api), body, content_type=content_type, name="w", namespace="default",
        subresource=subresource,
    )  # fmt: skip


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """A patch of the object or its status, and the object then."""

    id: str
    body: JsonObject
    subresource: str = ""
    size: int = 1
    status: Json
    generation: int = 1


WRITES = [
    Write(id="the object cannot change its status", body={"status": {"phase": "Down"}}, status={"phase": "Up"}),
    Write(id="the object cannot remove its status", body={"status": None}, status={"phase": "Up"}),
    Write(
        id="the object changes its spec and the generation",
        body={"spec": {"size": 2}, "status": {"phase": "Down"}}, size=2, status={"phase": "Up"}, generation=2,
    ),
    Write(id="the status changes", body={"status": {"phase": "Down"}}, subresource="status", status={"phase": "Down"}),
    Write(
        id="the status cannot change the spec",
        body={"spec": {"size": 2}, "status": {"n": 1}}, subresource="status", status={"phase": "Up", "n": 1},
    ),
    Write(id="the status can be removed", body={"status": None}, subresource="status", status=None),
    Write(id="labels do not change the generation", body={"metadata": {"labels": {"a": "1"}}}, status={"phase": "Up"}),
]  # fmt: skip


@pytest.mark.parametrize("case", WRITES, ids=lambda case: case.id)
async def test_the_object_and_its_status_are_written_separately(case: Write) -> None:
    api = await made_with_status()
    await patch(api, case.body, subresource=case.subresource)
    left = api.get(widgets(api), name="w", namespace="default")
    assert (left["spec"]["size"], left.get("status")) == (case.size, case.status)
    assert left["metadata"]["generation"] == case.generation


async def test_a_new_object_has_no_status() -> None:
    api = make_api()
    body = {**widget("w"), "status": {"phase": "Up"}}
    assert "status" not in await api.create(widgets(api), body, namespace="default")


A, B = "example.com/a", "example.com/b"


class Finalizers(msgspec.Struct, frozen=True, kw_only=True):
    """A patch of the finalizers of a terminating object with `a` and `b`."""

    id: str
    body: Json
    content_type: str = MERGE_PATCH
    left: list[str] | None = None
    error: type[ClusterError] | None = None


FINALIZERS = [
    Finalizers(id="one of two finalizers is removed", body={"metadata": {"finalizers": [B]}}, left=[B]),
    Finalizers(id="the last finalizers end the object", body={"metadata": {"finalizers": []}}),
    Finalizers(id="null ends the object", body={"metadata": {"finalizers": None}}),
    Finalizers(
        id="a JSON patch removes one by its index",
        body=[{"op": "remove", "path": "/metadata/finalizers/0"}], content_type=JSON_PATCH, left=[B],
    ),
    Finalizers(
        id="a JSON patch removes the list",
        body=[{"op": "remove", "path": "/metadata/finalizers"}], content_type=JSON_PATCH,
    ),
    Finalizers(id="the order may change", body={"metadata": {"finalizers": [B, A]}}, left=[B, A]),
    Finalizers(
        id="a new finalizer is forbidden",
        body={"metadata": {"finalizers": [A, B, "example.com/c"]}}, left=[A, B], error=InvalidError,
    ),
    Finalizers(
        id="a finalizer cannot be exchanged",
        body={"metadata": {"finalizers": ["example.com/c"]}}, left=[A, B], error=InvalidError,
    ),
    Finalizers(
        id="the time of the deletion cannot be removed",
        body={"metadata": {"deletionTimestamp": None}}, left=[A, B],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", FINALIZERS, ids=lambda case: case.id)
async def test_the_finalizers_of_a_terminating_object(case: Finalizers) -> None:
    api = make_api()
    body = widget("w")
    body["metadata"]["finalizers"] = [A, B]
    await api.create(widgets(api), body, namespace="default")
    await api.delete(widgets(api), name="w", namespace="default")
    if case.error is not None:
        with pytest.raises(case.error, match="no new finalizers can be added"):
            await patch(api, case.body, content_type=case.content_type)
    else:
        await patch(api, case.body, content_type=case.content_type)
    if case.left is None:
        with pytest.raises(NotFoundError):
            api.get(widgets(api), name="w", namespace="default")
    else:
        meta = api.get(widgets(api), name="w", namespace="default")["metadata"]
        assert meta["finalizers"] == case.left
        assert meta["deletionTimestamp"]
