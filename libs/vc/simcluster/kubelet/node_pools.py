"""The nodes of a simulated cluster: a small YAML file and the Node objects it describes."""

from typing import Final

import msgspec
import yaml

from vc.model.api.struct import JsonObject, ResourceList

DEFAULT_CAPACITY: Final = {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "pods": "110"}
NODES_MAX: Final = 20_000
"""Most nodes of one pool, so that a typing error cannot exhaust the memory."""


class PoolError(ValueError):
    """An unreadable node description. The message names the place."""


class NodePool(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """A number of identical nodes."""

    count: int = 8
    name_prefix: str = "node-"
    capacity: ResourceList = msgspec.field(default_factory=lambda: dict(DEFAULT_CAPACITY))
    labels: dict[str, str] = {}
    taints: list[JsonObject] = []


DEFAULT_POOLS: Final[tuple[NodePool, ...]] = (NodePool(),)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nodes: list[NodePool] = msgspec.field(default_factory=lambda: list(DEFAULT_POOLS))


def read_pools(text: str) -> list[NodePool]:
    """Parse the pools of a YAML text. An empty text returns the default pool."""
    try:
        pools = msgspec.convert(yaml.safe_load(text) or {}, _File).nodes
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise PoolError(f"nodes: {error}") from None
    for pool in pools:
        if not 0 <= pool.count <= NODES_MAX:
            raise PoolError(f"nodes: count {pool.count}: use 0 to {NODES_MAX}")
    return pools


def node_object(pool: NodePool, number: int, *, now: str) -> JsonObject:
    """The Node object as its kubelet registers it."""
    name = f"{pool.name_prefix}{number}"
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        # The file wins, so that a pool can simulate another architecture or operating system.
        **pool.labels,
    }
    # YAML may contain numbers, but quantities in the API are strings.
    capacity = {resource: str(amount) for resource, amount in pool.capacity.items()}
    spec: JsonObject = {"taints": pool.taints} if pool.taints else {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {
            "capacity": capacity,
            # No resources are reserved for the system, so that the capacity in the file is what
            # jobs can use.
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
    # The ranges 172.18 to 172.25 have more addresses than a pool may have nodes.
    return f"172.{18 + (number >> 16 & 7)}.{number >> 8 & 255}.{number & 255}"


def ready_conditions(now: str) -> list[JsonObject]:
    """Conditions of a healthy node. Heartbeats are left out, because they would only add writes."""
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
