"""Applies remedies for persistent volume claims and volumes."""

from collections.abc import Callable
from typing import Final

import msgspec

from vc.messages.sessions import Unblock
from vc.model.api import kinds
from vc.model.api.kubernetes import (
    ClaimSpec,
    ClaimStatus,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
)
from vc.model.api.meta import ObjectMeta
from vc.scheduling.explain.cluster_objects import Cluster, find, pods

_SIZE: Final = "10Gi"
"""Size of a new claim and of its volume."""
_MODES: Final = ("ReadWriteOnce",)
_LATER: Final = "WaitForFirstConsumer"


def _create_claim(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Create a claim; bind it to a new volume unless its class waits for the first consumer."""
    del group
    namespace, _, name = remedy.target.rpartition("/")
    classes = sorted((o for o in cluster.objects() if isinstance(o, StorageClass)), key=_key)
    # A class that waits for the first consumer is preferred: its claim needs no volume in advance.
    late = [known for known in classes if known.volume_binding_mode == _LATER]
    storage = (late or classes)[0].key if classes else ""
    cluster.put(_claim(namespace, name, storage=storage))
    if classes and not late:
        _bind(cluster, namespace, name)


def _key(obj: StorageClass) -> str:
    return obj.key


def _claim(namespace: str, name: str, *, storage: str, volume: str = "") -> PersistentVolumeClaim:
    return PersistentVolumeClaim(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=f"claim-{name}"),
        spec=ClaimSpec(
            storage_class_name=storage,
            volume_name=volume,
            access_modes=list(_MODES),
            resources={"requests": {"storage": _SIZE}},
        ),
        status=ClaimStatus(phase="Bound" if volume else "Pending"),
    )


def _volume(name: str, *, storage: str, namespace: str = "", claimed: str = "") -> PersistentVolume:
    return PersistentVolume(
        metadata=ObjectMeta(name=name, uid=f"volume-{name}", resource_version="7"),
        spec=PersistentVolumeSpec(
            storage_class_name=storage,
            capacity={"storage": _SIZE},
            access_modes=list(_MODES),
            claim_ref={"namespace": namespace, "name": claimed} if claimed else None,
        ),
        status=PersistentVolumeStatus(phase="Bound" if claimed else "Available"),
    )


def _create_volume(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Create the volume that claims refer to, and mark those claims as bound."""
    del group
    # The volume must have the class of the claims that refer to it, or they would not match.
    of_volume = [c for c in _claims(cluster) if c.spec.volume_name == remedy.target]
    storage = (of_volume[0].spec.storage_class_name or "") if of_volume else ""
    cluster.put(_volume(remedy.target, storage=storage))
    for known in of_volume:
        status = msgspec.structs.replace(known.status, phase="Bound")
        cluster.put(msgspec.structs.replace(known, status=status))


def _bind_claim(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Bind each listed claim to a new volume."""
    for key in remedy.target.split(","):
        namespace, _, name = key.rpartition("/")
        _bind(cluster, namespace or group.partition("/")[0], name)


def _bind(cluster: Cluster, namespace: str, name: str) -> None:
    known = find(cluster, PersistentVolumeClaim, f"{namespace}/{name}")
    storage = known.spec.storage_class_name or ""
    made = _volume(f"for-{name}", storage=storage, namespace=namespace, claimed=name)
    spec = msgspec.structs.replace(known.spec, volume_name=made.key)
    status = msgspec.structs.replace(known.status, phase="Bound")
    cluster.put(made, msgspec.structs.replace(known, spec=spec, status=status))


def _free_claim(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Delete the placed pods that use the claim."""
    del group
    for user in pods(cluster):
        claims = [v.persistent_volume_claim for v in user.spec.volumes]
        keys = [f"{user.metadata.namespace}/{c.claim_name}" for c in claims if c is not None]
        # Pods that only wait do not use the claim yet, so they stay.
        if user.spec.node_name and remedy.target in keys:
            cluster.delete(kinds.PODS, user.key)


def _add_volume(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Create an available volume of the same storage class for each listed claim."""
    for name in remedy.target.split(","):
        known = find(cluster, PersistentVolumeClaim, f"{group.partition('/')[0]}/{name}")
        cluster.put(_volume(f"free-{name}", storage=known.spec.storage_class_name or ""))


def _claims(cluster: Cluster) -> list[PersistentVolumeClaim]:
    return [obj for obj in cluster.objects() if isinstance(obj, PersistentVolumeClaim)]


ACTIONS: Final[dict[str, Callable[[Cluster, Unblock, str], None]]] = {
    "create-claim": _create_claim,
    "create-volume": _create_volume,
    "bind-claim": _bind_claim,
    "free-claim": _free_claim,
    "add-volume": _add_volume,
}
