"""A small cluster to act on: a virtual clock, seeded uids, one custom kind."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from vc.clock import LoopClock, run_virtual
from vc.model.api.struct import JsonObject
from vc.simcluster import Api, Registry, Resource, seeded_uids
from vc.simcluster.kubelet.node_pools import NodePool
from vc.simcluster.kubelet.nodes import SimulatedNodes
from vc.simcluster.schema.builtin_resources import PODS

WALL_AT_ZERO: Final = 1_700_000_000.0

WIDGET_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 10},
                "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "name": {"type": "string", "maxLength": 5, "minLength": 2, "pattern": "^[a-z]+$"},
                "port": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                },
                "note": {"type": "string", "nullable": True},
                "ratio": {"type": "number"},
                "since": {"type": "string", "format": "date-time"},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "amounts": {"type": "object", "additionalProperties": {"type": "integer"}},
                "template": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {
                        "spec": {"type": "object", "properties": {"x": {"type": "integer"}}}
                    },
                },
                "parts": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 3,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "count": {"type": "integer", "default": 1},
                        },
                    },
                },
                "tags": {
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                    "items": {"type": "string"},
                },
                "either": {
                    "type": "object",
                    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                },
            },
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}

WIDGETS: Final[JsonObject] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets", "shortNames": ["wd"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
                ],
                "schema": {"openAPIV3Schema": WIDGET_SCHEMA},
            }
        ],
    },
}


def make_api(*, seed: int = 1, history_max: int = 10_000) -> Api:
    return Api(
        clock=LoopClock(wall_at_zero=WALL_AT_ZERO),
        registry=Registry(crds=[WIDGETS]),
        uid_source=seeded_uids(seed),
        history_max=history_max,
    )


def widgets(api: Api) -> Resource:
    return api.registry.lookup("example.com", "v1", "widgets")


def widget(name: str, **spec: Any) -> JsonObject:
    return {"metadata": {"name": name}, "spec": {"size": 1, **spec}}


def make_pod(
    name: str,
    *,
    cpu: str = "1",
    restart_policy: str = "Never",
    labels: dict[str, str] | None = None,
    **behaviour: object,
) -> JsonObject:
    """A pod whose keyword arguments become `sim.pyroclast.io/` annotations."""
    annotations = {
        f"sim.pyroclast.io/{key.replace('_', '-')}": str(value) for key, value in behaviour.items()
    }
    container = {
        "name": "main",
        "image": "busybox:1",
        "command": ["sleep", "5"],
        "resources": {"requests": {"cpu": cpu}},
    }
    return {
        "metadata": {"name": name, "annotations": annotations, "labels": labels or {}},
        "spec": {"restartPolicy": restart_policy, "containers": [container]},
    }


async def put_pod(api: Api, body: JsonObject, *, node: str = "node-0") -> JsonObject:
    """Create and bind."""
    made = await api.create(PODS, body, namespace="default")
    name = made["metadata"]["name"]
    await api.bind(namespace="default", name=name, binding={"target": {"name": node}})
    return made


def pod_named(api: Api, name: str) -> JsonObject:
    return api.get(PODS, name=name, namespace="default")


def pod_names(api: Api) -> list[str]:
    return [msgspec.json.decode(item)["metadata"]["name"] for item in api.list(PODS).items]


SMALL: Final = NodePool(count=2, capacity={"cpu": "4", "memory": "8Gi", "pods": "10"})


@asynccontextmanager
async def nodes_on(api: Api, *pools: NodePool) -> AsyncIterator[SimulatedNodes]:
    nodes = SimulatedNodes(api, pools=pools or (SMALL,))
    await nodes.start()
    try:
        yield nodes
    finally:
        await nodes.stop()


def play(story: Callable[[Api, SimulatedNodes], Awaitable[None]], *pools: NodePool) -> None:
    """Run a story on a fresh cluster."""

    async def whole() -> None:
        api = make_api()
        async with nodes_on(api, *pools) as nodes:
            await story(api, nodes)

    run_virtual(whole())
