"""Which nodes a simulated cluster has: a small YAML, and the Node objects it stands for."""

from typing import Final

import msgspec
import yaml

from vc_model.struct import JsonObject, ResourceList

DEFAULT_CAPACITY: Final = {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "pods": "110"}
NODES_MAX: Final = 20_000
"""Of one pool: a typing error must not fill the memory."""


class PoolError(ValueError):
    """A description of nodes that cannot be read; says where."""


class NodePool(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """Nodes that are all alike."""

    count: int = 8
    name_prefix: str = "node-"
    capacity: ResourceList = msgspec.field(default_factory=lambda: dict(DEFAULT_CAPACITY))
    labels: dict[str, str] = {}
    taints: list[JsonObject] = []


DEFAULT_POOLS: Final[tuple[NodePool, ...]] = (NodePool(),)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nodes: list[NodePool] = msgspec.field(default_factory=lambda: list(DEFAULT_POOLS))


def read_pools(text: str) -> list[NodePool]:
    """The pools of a YAML text; an empty one gives the default."""
    try:
        pools = msgspec.convert(yaml.safe_load(text) or {}, _File).nodes
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise PoolError(f"nodes: {error}") from None
    for pool in pools:
        if not 0 <= pool.count <= NODES_MAX:
            raise PoolError(f"nodes: count {pool.count}: use 0 to {NODES_MAX}")
    return pools


def node_object(pool: NodePool, number: int, *, now: str) -> JsonObject:
    """The Node as its kubelet registers it."""
    name = f"{pool.name_prefix}{number}"
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        **pool.labels,
    }
    capacity = {resource: str(amount) for resource, amount in pool.capacity.items()}
    spec: JsonObject = {"taints": pool.taints} if pool.taints else {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "addresses": [
                {"type": "InternalIP", "address": node_address(number)},
                {"type": "Hostname", "address": name},
            ],
            "conditions": ready_conditions(now),
            "nodeInfo": {
                "kubeletVersion": "v1.33.0-sim",
                "osImage": "Simulated",
                "operatingSystem": "linux",
                "architecture": "amd64",
                "containerRuntimeVersion": "sim://1",
                "kernelVersion": "simulated",
            },
        },
    }


def node_address(number: int) -> str:
    return f"172.{18 + (number >> 16 & 7)}.{number >> 8 & 255}.{number & 255}"


def ready_conditions(now: str) -> list[JsonObject]:
    """A healthy node; heartbeats are left out, they would be nothing but writes."""
    healthy = [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    ]
    return [
        {"type": kind, "status": status, "reason": reason, "lastTransitionTime": now}
        for kind, status, reason in healthy
    ]
