"""Builders of claims, volumes, storage classes and CSI drivers of nodes."""

from collections.abc import Mapping

from vc.model.api.keys import SELECTED_NODE
from vc.model.api.kubernetes import (
    ClaimSpec,
    ClaimStatus,
    CSINode,
    CSINodeSpec,
    DriverAllocatable,
    NodeDriver,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
)
from vc.model.api.meta import ObjectMeta
from vc.model.api.struct import JsonObject

DRIVER = "disk.example.com"


def claim(
    name: str,
    *,
    storage: str = "slow",
    volume: str = "",
    size: str = "10Gi",
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    node: str = "",
    phase: str = "",
    namespace: str = "ns",
) -> PersistentVolumeClaim:
    """A claim; bound when it names a volume."""
    return PersistentVolumeClaim(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"claim-{name}",
            annotations={SELECTED_NODE: node} if node else {},
        ),
        spec=ClaimSpec(
            storage_class_name=storage,
            volume_name=volume,
            access_modes=list(modes),
            resources={"requests": {"storage": size}},
        ),
        status=ClaimStatus(phase=phase or ("Bound" if volume else "Pending")),
    )


def volume(
    name: str,
    *,
    storage: str = "slow",
    size: str = "10Gi",
    host: str = "",
    labels: Mapping[str, str] | None = None,
    claimed: str = "",
    driver: str = DRIVER,
    modes: tuple[str, ...] = ("ReadWriteOnce",),
) -> PersistentVolume:
    """A volume; with `host` it can be reached from that node alone."""
    needs = [{"key": "host", "operator": "In", "values": [host]}]
    affinity: JsonObject = {"required": {"nodeSelectorTerms": [{"matchExpressions": needs}]}}
    return PersistentVolume(
        metadata=ObjectMeta(
            name=name, uid=f"volume-{name}", labels=dict(labels or {}), resource_version="7"
        ),
        spec=PersistentVolumeSpec(
            storage_class_name=storage,
            capacity={"storage": size},
            access_modes=list(modes),
            node_affinity=affinity if host else None,
            claim_ref={"namespace": "ns", "name": claimed} if claimed else None,
            csi={"driver": driver, "volumeHandle": name} if driver else None,
        ),
        status=PersistentVolumeStatus(phase="Bound" if claimed else "Available"),
    )


def storage_class(
    name: str = "slow",
    *,
    waits: bool = False,
    provisioner: str = DRIVER,
    zones: tuple[str, ...] = (),
) -> StorageClass:
    """A class; it binds at once unless it waits for the first consumer."""
    expressions = [{"key": "zone", "values": list(zones)}]
    return StorageClass(
        metadata=ObjectMeta(name=name),
        provisioner=provisioner,
        volume_binding_mode="WaitForFirstConsumer" if waits else "Immediate",
        allowed_topologies=[{"matchLabelExpressions": expressions}] if zones else [],
    )


def drivers(node: str, **limits: int) -> CSINode:
    """How many volumes of `DRIVER` a node attaches."""
    return CSINode(
        metadata=ObjectMeta(name=node),
        spec=CSINodeSpec(
            drivers=[
                NodeDriver(name=DRIVER, allocatable=DriverAllocatable(count=count))
                for count in limits.values()
            ]
        ),
    )
