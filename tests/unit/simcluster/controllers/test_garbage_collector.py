"""Garbage collection, namespaces and definitions, step by step on a virtual loop."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.unit.simcluster.stage import WIDGETS, make_api, widget, widgets
from vc.clock import run_virtual
from vc.cluster import ForbiddenError, InvalidError, NotFoundError
from vc.model.api.kinds import CONFIGMAPS
from vc.model.api.struct import JsonObject
from vc.simcluster import Api
from vc.simcluster.schema.builtin_resources import CRDS, NAMESPACES


class Forest:
    """Config maps that own one another."""

    def __init__(self) -> None:
        self.api = make_api()
        self.resource = self.api.registry.for_kind(CONFIGMAPS)
        self.made: dict[str, JsonObject] = {}

    async def grow(self, name: str, *owners: str, block: bool = False, **meta: Any) -> None:
        refs = [
            {
                "apiVersion": "v1", "kind": "ConfigMap", "name": owner,
                "uid": self.made[owner]["metadata"]["uid"], "blockOwnerDeletion": block,
            }
            for owner in owners
        ]  # fmt: skip
        body = {"metadata": {"name": name, "ownerReferences": refs, **meta}}
        self.made[name] = await self.api.create(self.resource, body, namespace="default")

    async def fell(self, name: str, policy: str = "Background") -> None:
        await self.api.delete(
            self.resource, name=name, namespace="default", options={"propagationPolicy": policy}
        )
        self.api.run_controllers()

    async def release(self, name: str) -> None:
        def change(obj: JsonObject) -> None:
            obj["metadata"].pop("finalizers", None)

        self.api.lifecycle.edit(self.resource, ("default", name), change)
        self.api.run_controllers()

    def names(self) -> str:
        table = self.api.store.table(self.resource)
        return "".join(
            f"({name})" if table.records["default", name].deleting else name
            for _, name in table.keys
        )


class Case(msgspec.Struct, frozen=True):
    """A forest as `child:owners` words, what is felled how, and what is left."""

    id: str
    trees: str
    left: str
    policy: str = "Background"
    blocking: bool = False
    held: str = ""
    """Children with a finalizer of somebody's."""


CASES = [
    Case("a lone object", "a", ""),
    Case("children go, strangers stay", "a b:a c", "c"),
    Case("grandchildren go", "a b:a c:b d:c", ""),
    Case("a child with another owner stays", "a x b:a,x", "bx"),
    Case("orphans stay", "a b:a c:b", "bc", policy="Orphan"),
    Case("foreground takes everybody", "a b:a c:b", "", policy="Foreground", blocking=True),
    Case("foreground waits for a child that blocks", "a b:a", "(a)(b)", policy="Foreground", blocking=True, held="b"),
    Case("foreground waits for a grandchild that blocks", "a b:a c:b", "(a)(b)(c)", policy="Foreground", blocking=True, held="c"),
    Case("foreground does not wait for a child that does not block", "a b:a", "(b)", policy="Foreground", held="b"),
    Case("background waits for nobody", "a b:a", "(b)", blocking=True, held="b"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_left_of_a_forest(case: Case) -> None:
    async def story() -> None:
        forest = Forest()
        for word in case.trees.split():
            name, _, owners = word.partition(":")
            more = {"finalizers": ["example.com/hold"]} if name in case.held else {}
            parents = [owner for owner in owners.split(",") if owner]
            await forest.grow(name, *parents, block=case.blocking, **more)
        await forest.fell("a", case.policy)
        assert forest.names() == case.left
        for name in case.held:
            await forest.release(name)
        if case.held:
            assert forest.names() == ""

    run_virtual(story())


def test_a_child_of_the_dead_goes_at_once() -> None:
    async def story() -> None:
        forest = Forest()
        await forest.grow("a")
        await forest.fell("a")
        await forest.grow("b", "a")
        await asyncio.sleep(0)
        assert forest.names() == ""

    run_virtual(story())


def test_an_owner_in_another_namespace_is_no_owner() -> None:
    async def story() -> None:
        forest = Forest()
        await forest.grow("a")
        body = {
            "metadata": {
                "name": "b",
                "ownerReferences": [
                    {
                        "apiVersion": "v1", "kind": "ConfigMap", "name": "a",
                        "uid": forest.made["a"]["metadata"]["uid"],
                    }
                ],
            }
        }  # fmt: skip
        await forest.api.create(forest.resource, body, namespace="kube-system")
        forest.api.run_controllers()
        with pytest.raises(NotFoundError):
            forest.api.get(forest.resource, name="b", namespace="kube-system")

    run_virtual(story())


def test_a_thousand_children_go_in_turns_that_let_others_run() -> None:
    async def story() -> None:
        forest = Forest()
        await forest.grow("a")
        for number in range(1000):
            await forest.grow(f"b{number}", "a")
        await asyncio.sleep(0.01)
        await forest.api.delete(forest.resource, name="a", namespace="default")
        turns = 0
        while forest.names():
            await asyncio.sleep(0)
            turns += 1
        assert 5 <= turns <= 20

    run_virtual(story())


async def make_namespace(api: Api, name: str) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": name}})


def test_a_namespace_ends_after_its_content() -> None:
    async def story() -> None:
        api = make_api()
        await make_namespace(api, "team")
        for name in ("a", "b"):
            await api.create(widgets(api), widget(name), namespace="team")
        left = await api.delete(NAMESPACES, name="team")
        assert left["status"]["phase"] == "Terminating"
        api.run_controllers()
        assert api.list(widgets(api)).items == []
        with pytest.raises(NotFoundError):
            api.get(NAMESPACES, name="team")
        await make_namespace(api, "team")

    run_virtual(story())


def test_an_empty_namespace_ends_too() -> None:
    async def story() -> None:
        api = make_api()
        await make_namespace(api, "team")
        await api.delete(NAMESPACES, name="team")
        await asyncio.sleep(0)
        with pytest.raises(NotFoundError):
            api.get(NAMESPACES, name="team")
        with pytest.raises(ForbiddenError, match="this namespace may not be deleted"):
            await api.delete(NAMESPACES, name="default")

    run_virtual(story())


def gadgets() -> JsonObject:
    crd: JsonObject = msgspec.json.decode(msgspec.json.encode(WIDGETS))
    crd["metadata"]["name"] = "gadgets.example.com"
    crd["spec"]["names"] = {"kind": "Gadget", "plural": "gadgets"}
    return crd


def test_a_definition_serves_a_resource_until_it_goes() -> None:
    async def story() -> None:
        api = make_api()
        made = await api.create(CRDS, gadgets())
        conditions = {c["type"]: c["status"] for c in made["status"]["conditions"]}
        assert conditions == {"NamesAccepted": "True", "Established": "True"}
        served = api.registry.lookup("example.com", "v1", "gadgets")
        await api.create(served, widget("g"), namespace="default")
        await api.delete(CRDS, name="gadgets.example.com")
        api.run_controllers()
        with pytest.raises(NotFoundError, match="could not find the requested resource"):
            api.registry.lookup("example.com", "v1", "gadgets")
        await api.create(CRDS, gadgets())
        assert api.list(api.registry.lookup("example.com", "v1", "gadgets")).items == []

    run_virtual(story())


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"names": {"kind": "Gadget", "plural": "others"}}, "metadata.name"),
        ({"versions": []}, "exactly one version"),
        ({"versions": "x"}, "spec"),
        ({"versions": [{"name": "v1", "served": True, "storage": True}]}, "openAPIV3Schema"),
    ],
)
def test_a_definition_that_cannot_be_served_is_refused(spec: JsonObject, complaint: str) -> None:
    async def story() -> None:
        crd = gadgets()
        crd["spec"] |= spec
        with pytest.raises(InvalidError, match=complaint):
            await make_api().create(CRDS, crd)

    run_virtual(story())
