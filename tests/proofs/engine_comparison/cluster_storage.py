"""Random claims, volumes, storage classes and attach limits, as plain JSON."""

import random
from typing import Any, Final

HOST: Final = "host"
DRIVER: Final = "disk.example.com"


def storage(draw: random.Random, nodes: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Objects, and the names of claims that pods may use."""
    made = [_class("slow", waits=False), _class("late", waits=True)]
    for name in nodes:
        if draw.random() < 0.6:
            drivers = [{"name": DRIVER, "allocatable": {"count": draw.choice([1, 2, 5])}}]
            node = {"metadata": {"name": name}, "spec": {"drivers": drivers}}
            made.append({"kind": "CSINode", "object": node})
    claims: list[str] = []
    for n in range(draw.randint(1, 5)):
        claims.append(f"c{n}")
        made += _claim(draw, f"c{n}", nodes)
    for n in range(draw.randint(0, 3)):
        made.append(_volume(draw, f"free{n}", nodes, storage="late"))
    return made, [*claims, "absent"] if draw.random() < 0.1 else claims


def _class(name: str, *, waits: bool) -> dict[str, Any]:
    return {
        "kind": "StorageClass",
        "object": {
            "metadata": {"name": name},
            "provisioner": DRIVER if name == "slow" else "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
        },
    }


def _claim(draw: random.Random, name: str, nodes: list[str]) -> list[dict[str, Any]]:
    storage = draw.choice(["slow", "late", "late"])
    bound = draw.random() < 0.5
    modes = [draw.choice(["ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"])]
    claim = {
        "kind": "PersistentVolumeClaim",
        "object": {
            "metadata": {"name": name, "namespace": "ns", "uid": f"claim-{name}"},
            "spec": {
                "storageClassName": storage,
                "volumeName": f"v-{name}" if bound else "",
                "accessModes": modes,
                "resources": {"requests": {"storage": f"{draw.choice([5, 10])}Gi"}},
            },
            "status": {"phase": "Bound" if bound else "Pending"},
        },
    }
    if not bound:
        return [claim]
    return [_volume(draw, f"v-{name}", nodes, storage=storage, claimed=name, modes=modes), claim]


def _volume(
    draw: random.Random,
    name: str,
    nodes: list[str],
    *,
    storage: str,
    claimed: str = "",
    modes: list[str] | None = None,
) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "storageClassName": storage,
        "capacity": {"storage": f"{draw.choice([5, 10, 20])}Gi"},
        "accessModes": modes or ["ReadWriteOnce"],
        "csi": {"driver": DRIVER, "volumeHandle": name},
    }
    if draw.random() < 0.5:
        needs = [{"key": HOST, "operator": "In", "values": [draw.choice(nodes)]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": needs}]}}
    if claimed:
        spec["claimRef"] = {"namespace": "ns", "name": claimed}
    metadata = {"name": name, "uid": f"volume-{name}", "resourceVersion": "7"}
    status = {"phase": "Bound" if claimed else "Available"}
    return {
        "kind": "PersistentVolume",
        "object": {"metadata": metadata, "spec": spec, "status": status},
    }
