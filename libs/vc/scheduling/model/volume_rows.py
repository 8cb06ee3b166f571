"""Rows of claims, volumes and storage classes, parsed once per fact.

Unreadable values count as absent.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from vc.model.api.keys import SELECTED_NODE
from vc.model.api.kubernetes import PersistentVolume, PersistentVolumeClaim, StorageClass
from vc.model.api.meta import object_key
from vc.model.api.selectors import LabelSelector, LabelSelectorRequirement
from vc.scheduling.model.amounts import Problems, read_amounts
from vc.scheduling.model.rows import PodRow
from vc.scheduling.model.shapes import NodeTerm, node_terms

_NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
_WAITS: Final = "WaitForFirstConsumer"
_ZONE_KEYS: Final = (
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)
_ZONE_SEPARATOR: Final = "__"
_STORAGE: Final = "storage"


class ClaimChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The node, and possibly the volume, chosen for an unbound claim, so that its volume is
    accessible to its pod."""

    group: str
    claim: str
    claim_uid: str
    node: str
    volume: str = ""
    """An existing volume; empty if one is to be provisioned."""
    volume_uid: str = ""
    volume_version: str = ""


class ClaimRow(msgspec.Struct, frozen=True, kw_only=True):
    """What decides about a PersistentVolumeClaim: its state, and which volumes satisfy it."""

    key: str
    uid: str
    class_name: str
    volume: str
    bound: bool
    lost: bool
    deleting: bool
    selected_node: str
    size: int
    modes: tuple[str, ...]
    block: bool
    selector: LabelSelector | None


class VolumeRow(msgspec.Struct, frozen=True, kw_only=True):
    """What decides about a PersistentVolume: which claims it satisfies, and on which nodes."""

    name: str
    uid: str
    version: str
    class_name: str
    size: int
    modes: tuple[str, ...]
    block: bool
    labels: dict[str, str]
    terms: tuple[NodeTerm, ...] | None
    """The nodes that can access it; None for all."""
    zones: tuple[tuple[str, tuple[str, ...]], ...]
    """Its zone labels and the values that they allow."""
    claim: str
    """The key of the claim that it is reserved for or bound to."""
    free: bool
    driver: str


class ClassRow(msgspec.Struct, frozen=True, kw_only=True):
    """What decides about a storage class: when claims are bound, and where it can provision."""

    name: str
    waits: bool
    """WaitForFirstConsumer: claims are bound only once a pod that uses them has a node."""
    provisions: bool
    driver: str
    topologies: tuple[NodeTerm, ...]
    """Where it can provision volumes; empty for everywhere."""


def claims_of(pod: PodRow) -> tuple[str, ...]:
    """The keys of the claims of a pod. An ephemeral claim is named after its pod."""
    return tuple(
        object_key(pod.namespace, f"{pod.name}-{claim.name}" if claim.ephemeral else claim.name)
        for claim in pod.shape.pod_terms.claims
    )


def claim_row(claim: PersistentVolumeClaim) -> ClaimRow:
    spec = claim.spec
    requested = spec.resources.get("requests")
    return ClaimRow(
        key=claim.key,
        uid=claim.metadata.uid,
        class_name=spec.storage_class_name or "",
        volume=spec.volume_name,
        # The volume name is written before the binding is complete.
        bound=bool(spec.volume_name) and claim.status.phase == "Bound",
        lost=claim.status.phase == "Lost",
        deleting=bool(claim.metadata.deletion_timestamp),
        selected_node=claim.metadata.annotations.get(SELECTED_NODE, ""),
        size=_size(requested if isinstance(requested, dict) else {}),
        modes=tuple(spec.access_modes),
        block=spec.volume_mode == "Block",
        selector=spec.selector,
    )


def volume_row(volume: PersistentVolume) -> VolumeRow:
    spec, metadata = volume.spec, volume.metadata
    reference = spec.claim_ref or {}
    claim = object_key(str(reference.get("namespace") or ""), str(reference.get("name") or ""))
    required = (spec.node_affinity or {}).get("required")
    return VolumeRow(
        name=metadata.name,
        uid=metadata.uid,
        version=metadata.resource_version,
        class_name=spec.storage_class_name,
        size=_size(spec.capacity),
        modes=tuple(spec.access_modes),
        block=spec.volume_mode == "Block",
        labels=metadata.labels,
        # Terms that cannot be read match no node, so the problems are not needed.
        terms=node_terms(required, Problems()) if required else None,
        # A label may list several zones, for example for regional disks.
        zones=tuple(
            (key, tuple(metadata.labels[key].split(_ZONE_SEPARATOR)))
            for key in _ZONE_KEYS
            if key in metadata.labels
        ),
        claim=claim if reference.get("name") else "",
        # A volume that is reserved, released or being deleted must not be chosen.
        free=not reference.get("name")
        and volume.status.phase in ("", "Available")
        and not metadata.deletion_timestamp,
        driver=str((spec.csi or {}).get("driver") or ""),
    )


def class_row(storage: StorageClass) -> ClassRow:
    return ClassRow(
        name=storage.metadata.name,
        waits=storage.volume_binding_mode == _WAITS,
        provisions=bool(storage.provisioner) and storage.provisioner != _NO_PROVISIONER,
        driver=storage.provisioner,
        topologies=tuple(_topology(term) for term in storage.allowed_topologies),
    )


def _topology(term: Mapping[str, Any]) -> NodeTerm:
    """One alternative of allowedTopologies."""
    written = term.get("matchLabelExpressions")
    needs = [
        LabelSelectorRequirement(
            key=str(need.get("key", "")),
            # allowedTopologies knows only lists of allowed values.
            operator="In",
            values=[str(value) for value in need.get("values") or []],
        )
        for need in (written if isinstance(written, list) else [])
        if isinstance(need, dict)
    ]
    return NodeTerm(labels=tuple(needs), fields=())


def _size(amounts: Mapping[str, Any]) -> int:
    """The amount of storage; 0 if unreadable."""
    return read_amounts({_STORAGE: amounts.get(_STORAGE, 0)}, Problems()).get(_STORAGE, 0)


def names(keys: Iterable[str], *, most: int = 3) -> str:
    """A short list of claims for messages: the first ones by name, the rest as a number."""
    listed = list(keys)
    shown = ", ".join(repr(key) for key in listed[:most])
    return shown + (f" and {len(listed) - most} more" if len(listed) > most else "")
