"""Server-side apply: who owns a field after a sequence of writes.

https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

import msgspec
import pytest

from tests.unit.simcluster.stage import make_api, widgets
from vc.cluster.errors import ConflictError
from vc.model.api.struct import Json, JsonObject
from vc.simcluster import Api
from vc.simcluster.apply.patches import APPLY_PATCH, MERGE_PATCH


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One write of a manager: an apply of `spec`, or a merge patch if `patches`."""

    manager: str
    spec: JsonObject
    force: bool = False
    patches: bool = False


def apply(manager: str, *, force: bool = False, **spec: Json) -> Step:
    return Step(manager=manager, spec=spec, force=force)


def patch(manager: str, **spec: Json) -> Step:
    return Step(manager=manager, spec=spec, patches=True)


async def run(api: Api, step: Step) -> JsonObject:
    return await api.patch(
        widgets(api), {"metadata": {"name": "w"}, "spec": step.spec},
        content_type=MERGE_PATCH if step.patches else APPLY_PATCH, name="w", namespace="default",
        field_manager=step.manager, force=step.force,
    )  # fmt: skip


def owned(obj: JsonObject) -> dict[str, Json]:
    """The fields of `spec` that each manager owns."""
    return {
        one["manager"]: one["fieldsV1"].get("f:spec")
        for one in obj["metadata"].get("managedFields", [])
    }


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Writes in order, and what the object and its owners are then. Colours are defaulted."""

    id: str
    steps: list[Step]
    spec: JsonObject
    owners: dict[str, Json]


SIZE: JsonObject = {"f:size": {}}

CASES = [
    Case(
        id="the first apply owns what it declares and not the defaults",
        steps=[apply("a", size=1)],
        spec={"size": 1, "colour": "red"},
        owners={"a": SIZE},
    ),
    Case(
        id="a manager may change its own field",
        steps=[apply("a", size=1), apply("a", size=2)],
        spec={"size": 2, "colour": "red"},
        owners={"a": SIZE},
    ),
    Case(
        id="two managers own different fields",
        steps=[apply("a", size=1), apply("b", colour="blue")],
        spec={"size": 1, "colour": "blue"},
        owners={"a": SIZE, "b": {"f:colour": {}}},
    ),
    Case(
        id="two managers share a field with the same value",
        steps=[apply("a", size=1), apply("b", size=1)],
        spec={"size": 1, "colour": "red"},
        owners={"a": SIZE, "b": SIZE},
    ),
    Case(
        id="a shared field that one manager gives up stays",
        steps=[apply("a", size=1, ratio=2), apply("b", ratio=2), apply("a", size=1)],
        spec={"size": 1, "ratio": 2, "colour": "red"},
        owners={"a": SIZE, "b": {"f:ratio": {}}},
    ),
    Case(
        id="a field that its last manager gives up is removed",
        steps=[
            apply("a", size=1, ratio=2), apply("b", ratio=2), apply("a", size=1),
            apply("b", note="x"),
        ],
        spec={"size": 1, "colour": "red", "note": "x"},
        owners={"a": SIZE, "b": {"f:note": {}}},
    ),
    Case(
        id="a field with a default returns to it",
        steps=[apply("a", size=1, colour="blue"), apply("a", size=1)],
        spec={"size": 1, "colour": "red"},
        owners={"a": SIZE},
    ),
    Case(
        id="force takes the field from its owner",
        steps=[apply("a", size=1, ratio=1), apply("b", force=True, ratio=2)],
        spec={"size": 1, "ratio": 2, "colour": "red"},
        owners={"a": SIZE, "b": {"f:ratio": {}}},
    ),
    Case(
        id="a manager that loses its last field has no entry",
        steps=[apply("a", size=1), apply("b", force=True, size=2)],
        spec={"size": 2, "colour": "red"},
        owners={"b": SIZE},
    ),
    Case(
        id="force without a conflict shares the field",
        steps=[apply("a", size=1), apply("b", force=True, size=1)],
        spec={"size": 1, "colour": "red"},
        owners={"a": SIZE, "b": SIZE},
    ),
    Case(
        id="an update takes the field that it changes",
        steps=[apply("a", size=1, ratio=1), patch("u", ratio=2)],
        spec={"size": 1, "ratio": 2, "colour": "red"},
        owners={"a": SIZE, "u": {"f:ratio": {}}},
    ),
    Case(
        id="an update that changes nothing owns nothing",
        steps=[apply("a", size=1), patch("u", size=1)],
        spec={"size": 1, "colour": "red"},
        owners={"a": SIZE},
    ),
    Case(
        id="a field that an update removes leaves every manager",
        steps=[apply("a", size=1, ratio=1), apply("b", ratio=1), patch("u", ratio=None)],
        spec={"size": 1, "colour": "red"},
        owners={"a": SIZE},
    ),
    Case(
        id="an update without a manager is recorded as unknown",
        steps=[apply("a", size=1), patch("", ratio=2)],
        spec={"size": 1, "ratio": 2, "colour": "red"},
        owners={"a": SIZE, "unknown": {"f:ratio": {}}},
    ),
    Case(
        id="elements of a map list belong to those who declare them",
        steps=[
            apply("a", size=1, parts=[{"name": "p", "count": 1}]),
            apply("b", parts=[{"name": "q", "count": 2}]),
        ],
        spec={
            "size": 1, "colour": "red",
            "parts": [{"name": "p", "count": 1}, {"name": "q", "count": 2}],
        },
        owners={
            "a": {"f:parts": {'k:{"name":"p"}': {".": {}, "f:count": {}, "f:name": {}}}, **SIZE},
            "b": {"f:parts": {'k:{"name":"q"}': {".": {}, "f:count": {}, "f:name": {}}}},
        },
    ),
    Case(
        id="an element that its manager gives up is removed",
        steps=[
            apply("a", size=1, parts=[{"name": "p"}, {"name": "q"}]),
            apply("a", size=1, parts=[{"name": "q"}]),
        ],
        spec={"size": 1, "colour": "red", "parts": [{"name": "q", "count": 1}]},
        owners={"a": {"f:parts": {'k:{"name":"q"}': {".": {}, "f:name": {}}}, **SIZE}},
    ),
    Case(
        id="an element that another manager shares stays",
        steps=[
            apply("a", size=1, parts=[{"name": "p", "count": 3}]),
            apply("b", parts=[{"name": "p"}]),
            apply("a", size=1),
        ],
        spec={"size": 1, "colour": "red", "parts": [{"name": "p", "count": 1}]},
        owners={"a": SIZE, "b": {"f:parts": {'k:{"name":"p"}': {".": {}, "f:name": {}}}}},
    ),
    Case(
        id="a list whose last element is given up is removed",
        steps=[apply("a", size=1, parts=[{"name": "p"}]), apply("a", size=1)],
        spec={"size": 1, "colour": "red"},
        owners={"a": SIZE},
    ),
    Case(
        id="the order of a map list is that of the live object",
        steps=[
            apply("a", size=1, parts=[{"name": "p", "count": 1}, {"name": "q", "count": 1}]),
            apply("a", size=1, parts=[{"name": "q", "count": 2}, {"name": "p", "count": 1}]),
        ],
        spec={
            "size": 1, "colour": "red",
            "parts": [{"name": "p", "count": 1}, {"name": "q", "count": 2}],
        },
        owners={
            "a": {
                "f:parts": {
                    'k:{"name":"p"}': {".": {}, "f:count": {}, "f:name": {}},
                    'k:{"name":"q"}': {".": {}, "f:count": {}, "f:name": {}},
                },
                **SIZE,
            }
        },
    ),
    Case(
        id="elements of a set belong to those who declare them",
        steps=[apply("a", size=1, tags=["x"]), apply("b", tags=["y", "x"])],
        spec={"size": 1, "colour": "red", "tags": ["x", "y"]},
        owners={
            "a": {"f:tags": {'v:"x"': {}}, **SIZE},
            "b": {"f:tags": {'v:"x"': {}, 'v:"y"': {}}},
        },
    ),
    Case(
        id="a shared element of a set stays until the last manager gives it up",
        steps=[
            apply("a", size=1, tags=["x"]), apply("b", tags=["x", "y"]), apply("b", tags=["y"]),
        ],
        spec={"size": 1, "colour": "red", "tags": ["x", "y"]},
        owners={"a": {"f:tags": {'v:"x"': {}}, **SIZE}, "b": {"f:tags": {'v:"y"': {}}}},
    ),
    Case(
        id="entries of a map belong to those who declare them",
        steps=[apply("a", size=1, amounts={"m": 1}), apply("b", amounts={"n": 2})],
        spec={"size": 1, "colour": "red", "amounts": {"m": 1, "n": 2}},
        owners={"a": {"f:amounts": {"f:m": {}}, **SIZE}, "b": {"f:amounts": {"f:n": {}}}},
    ),
    Case(
        id="a map whose last entry is given up is removed",
        steps=[apply("a", size=1, amounts={"m": 1}), apply("a", size=1)],
        spec={"size": 1, "colour": "red"},
        owners={"a": SIZE},
    ),
    Case(
        id="an empty object can be owned",
        steps=[apply("a", size=1, free={})],
        spec={"size": 1, "colour": "red", "free": {}},
        owners={"a": {"f:free": {}, **SIZE}},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_the_owners_after_a_sequence_of_writes(case: Case) -> None:
    api = make_api()
    obj: JsonObject = {}
    for step in case.steps:
        obj = await run(api, step)
    assert obj["spec"] == case.spec
    assert owned(obj) == case.owners


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_the_last_write_again_changes_nothing(case: Case) -> None:
    api = make_api()
    obj: JsonObject = {}
    for step in case.steps:
        obj = await run(api, step)
    assert await run(api, case.steps[-1]) == obj


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """An apply by `b` after writes of others, and the fields that are in conflict."""

    id: str
    before: list[Step]
    spec: JsonObject
    fields: list[tuple[str, str]]


CONFLICTS = [
    Conflict(
        id="a field with another value",
        before=[apply("a", size=1)], spec={"size": 2}, fields=[("a", ".spec.size")],
    ),
    Conflict(
        id="two fields of one manager",
        before=[apply("a", size=1, ratio=1)], spec={"size": 2, "ratio": 2},
        fields=[("a", ".spec.ratio"), ("a", ".spec.size")],
    ),
    Conflict(
        id="a field of two managers",
        before=[apply("a", size=1), apply("c", size=1)], spec={"size": 2},
        fields=[("a", ".spec.size"), ("c", ".spec.size")],
    ),
    Conflict(
        id="a member of a shared element",
        before=[apply("a", size=1, parts=[{"name": "p", "count": 1}])],
        spec={"parts": [{"name": "p", "count": 2}]},
        fields=[("a", '.spec.parts[name="p"].count')],
    ),
    Conflict(
        id="an entry of a map",
        before=[apply("a", size=1, amounts={"m": 1})], spec={"amounts": {"m": 2}},
        fields=[("a", ".spec.amounts.m")],
    ),
    Conflict(
        id="a field that an update has changed",
        before=[apply("a", size=1), patch("u", size=3)], spec={"size": 2},
        fields=[("u", ".spec.size")],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CONFLICTS, ids=lambda case: case.id)
async def test_a_conflict_names_each_field_and_manager(case: Conflict) -> None:
    api = make_api()
    for step in case.before:
        await run(api, step)
    before = api.get(widgets(api), name="w", namespace="default")
    with pytest.raises(ConflictError) as caught:
        await run(api, Step(manager="b", spec=case.spec))
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f'conflict with "{manager}" using example.com/v1',
            "field": field,
        }
        for manager, field in case.fields
    ]
    assert caught.value.details["causes"] == causes
    assert caught.value.message.startswith(f"Apply failed with {len(causes)} conflict")
    assert api.get(widgets(api), name="w", namespace="default") == before


@pytest.mark.parametrize("case", CONFLICTS, ids=lambda case: case.id)
async def test_force_resolves_each_conflict(case: Conflict) -> None:
    api = make_api()
    for step in case.before:
        await run(api, step)
    taken = await run(api, Step(manager="b", spec=case.spec, force=True))
    # A second apply without force has no conflict any more.
    assert await run(api, Step(manager="b", spec=case.spec)) == taken
