"""Volume binding: the work of the volume controller and a provisioner in a real cluster.

A claim is bound to the volume that refers to it or that it names. A claim with immediate binding,
or without a class, gets the smallest free volume that fits, or a new volume. A claim of a class
with WaitForFirstConsumer gets its volume when a scheduler has written the selected node on it. A
volume that was provisioned for a claim is deleted with it. Storage itself is not simulated.
"""

from functools import partial
from typing import Final

from vc.clock import Clock
from vc.model.api.keys import BOUND_BY_CONTROLLER, SELECTED_NODE
from vc.model.api.struct import Json, JsonObject
from vc.model.values.quantity import QuantityError, parse_quantity
from vc.model.values.times import format_time
from vc.simcluster.controllers.lifecycle import Lifecycle
from vc.simcluster.schema.builtin_resources import CLAIMS, STORAGE_CLASSES, VOLUMES
from vc.simcluster.store.background import BackgroundSteps
from vc.simcluster.store.identity import UidSource
from vc.simcluster.store.store import DELETED, Change, Key, Record, Store, Table

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
_MADE_BY: Final = "pv.kubernetes.io/provisioned-by"
_OURS: Final = "sim.pyroclast.io"
_WATCHED: Final = (CLAIMS.storage, VOLUMES.storage, STORAGE_CLASSES.storage)


class ClaimBinder:
    """Examines all unbound claims whenever a claim, volume or storage class changes."""

    def __init__(
        self,
        store: Store,
        lifecycle: Lifecycle,
        background: BackgroundSteps,
        *,
        clock: Clock,
        uid_source: UidSource,
    ) -> None:
        self._store = store
        self._lifecycle = lifecycle
        self._background = background
        self._clock = clock
        self._uid_source = uid_source
        self._noted = False

    def observe(self, table: Table, change: Change) -> None:
        if table.resource.storage not in _WATCHED:
            return
        if table.resource.storage == CLAIMS.storage and change.type == DELETED:
            self._background.add(partial(self._release, change.record.uid))
        # One pending pass is enough: it sees all changes made until it runs.
        if not self._noted:
            self._noted = True
            self._background.add(self._look)

    def _look(self) -> None:
        self._noted = False
        table = self._store.table(CLAIMS)
        for key in list(table.keys):
            claim = table.records[key].object()
            if (claim.get("status") or {}).get("phase") != "Bound":
                self._bind(key, claim)

    def _bind(self, key: Key, claim: JsonObject) -> None:
        volume = self._find(claim)
        if volume is None and self._may_make(claim):
            volume = self._make(claim)
        if volume is not None:
            name = volume["metadata"]["name"]
            # The volume is reserved first, as the real controller does: a claim never refers to a
            # volume that another claim could still take.
            self._lifecycle.edit(VOLUMES, ("", name), partial(_take, claim=claim))
            self._lifecycle.edit(CLAIMS, key, partial(_give, volume=volume))

    def _find(self, claim: JsonObject) -> JsonObject | None:
        """The volume that is reserved for the claim, otherwise the smallest free volume that fits.

        A claim that names a volume, or waits for a node, gets no other volume.
        """
        named = claim["spec"].get("volumeName")
        volumes = [record.object() for record in self._store.table(VOLUMES).records.values()]
        # A volume that already refers to the claim wins over any choice: a user or an interrupted
        # bind has decided.
        for volume in volumes:
            reference = volume["spec"].get("claimRef")
            if _refers(reference, claim) or (
                named and not reference and volume["metadata"]["name"] == named
            ):
                return volume
        # Such a claim must not take a free volume: its volume or its node is still to be chosen.
        if named or self._waits(claim):
            return None
        fitting = [volume for volume in volumes if _fits(volume, claim)]
        # The smallest one leaves larger volumes to claims that need them. Names break ties, so that
        # a run is repeatable.
        return min(fitting, key=_by_size, default=None)

    def _class_of(self, claim: JsonObject) -> JsonObject | None:
        name = claim["spec"].get("storageClassName")
        record: Record | None = self._store.find(STORAGE_CLASSES, ("", name)) if name else None
        return record.object() if record is not None else None

    def _waits(self, claim: JsonObject) -> bool:
        storage = self._class_of(claim) or {}
        return storage.get("volumeBindingMode") == "WaitForFirstConsumer"

    def _may_make(self, claim: JsonObject) -> bool:
        """Whether a volume may be provisioned for the claim now."""
        name = claim["spec"].get("storageClassName")
        # An empty class name disables provisioning explicitly, unlike an absent one.
        if claim["spec"].get("volumeName") or name == "":
            return False
        storage = self._class_of(claim)
        if name and (storage is None or storage.get("provisioner") == NO_PROVISIONER):
            return False
        annotations = claim["metadata"].get("annotations") or {}
        return not self._waits(claim) or bool(annotations.get(SELECTED_NODE))

    def _make(self, claim: JsonObject) -> JsonObject:
        """Create a volume of the requested size that is accessible from all nodes."""
        spec = claim["spec"]
        requested = (spec.get("resources") or {}).get("requests") or {}
        volume: JsonObject = {
            "apiVersion": VOLUMES.api_version,
            "kind": VOLUMES.kind,
            "metadata": {
                # The usual name of a provisioned volume, which is as unique as the claim's uid.
                "name": f"pvc-{claim['metadata']['uid']}",
                "uid": self._uid_source(),
                "creationTimestamp": format_time(self._clock.now()),
                "annotations": {_MADE_BY: _OURS},
            },
            "spec": {
                "accessModes": spec.get("accessModes") or [],
                "capacity": {"storage": requested.get("storage", "1Gi")},
                "persistentVolumeReclaimPolicy": "Delete",
                "storageClassName": spec.get("storageClassName") or "",
                "volumeMode": spec.get("volumeMode") or "Filesystem",
                "hostPath": {"path": f"/simulated/{claim['metadata']['uid']}"},
            },
            "status": {"phase": "Available"},
        }
        self._store.put(VOLUMES, volume)
        return volume

    def _release(self, claim_uid: str) -> None:
        """Delete a volume that was provisioned for the claim. Other volumes become Released."""
        for record in list(self._store.table(VOLUMES).records.values()):
            volume = record.object()
            if (volume["spec"].get("claimRef") or {}).get("uid") != claim_uid:
                continue
            # Only volumes of this provisioner are deleted; a user's volume may still hold data.
            made = (volume["metadata"].get("annotations") or {}).get(_MADE_BY) == _OURS
            if made and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
                self._lifecycle.delete(VOLUMES, record, {})
            else:
                self._lifecycle.edit(VOLUMES, record.key, _released)


def _refers(reference: Json, claim: JsonObject) -> bool:
    """Whether a volume is reserved for this claim. A reference without a uid matches by name."""
    if not isinstance(reference, dict):
        return False
    meta = claim["metadata"]
    same = (reference.get("namespace"), reference.get("name")) == (meta["namespace"], meta["name"])
    return same and reference.get("uid") in (None, "", meta["uid"])


def _fits(volume: JsonObject, claim: JsonObject) -> bool:
    spec, wanted = volume["spec"], claim["spec"]
    if spec.get("claimRef") or (volume.get("status") or {}).get("phase") not in (None, "Available"):
        return False
    requested = ((wanted.get("resources") or {}).get("requests") or {}).get("storage", 0)
    return (
        (spec.get("storageClassName") or "") == (wanted.get("storageClassName") or "")
        and set(wanted.get("accessModes") or []) <= set(spec.get("accessModes") or [])
        and _by_size(volume)[0] >= _units(requested)
    )


def _by_size(volume: JsonObject) -> tuple[int, str]:
    size = (volume["spec"].get("capacity") or {}).get("storage", 0)
    return (_units(size), volume["metadata"]["name"])


def _units(text: Json) -> int:
    try:
        return parse_quantity(text) if isinstance(text, str | int | float) else 0
    except QuantityError:
        return 0


def _take(volume: JsonObject, *, claim: JsonObject) -> None:
    meta = claim["metadata"]
    volume["spec"]["claimRef"] = {
        "apiVersion": CLAIMS.api_version,
        "kind": CLAIMS.kind,
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
    }
    volume["metadata"].setdefault("annotations", {})[BOUND_BY_CONTROLLER] = "yes"
    volume["status"] = {"phase": "Bound"}


def _give(claim: JsonObject, *, volume: JsonObject) -> None:
    claim["spec"]["volumeName"] = volume["metadata"]["name"]
    claim["status"] = {
        "phase": "Bound",
        "accessModes": volume["spec"].get("accessModes") or [],
        "capacity": volume["spec"].get("capacity") or {},
    }


def _released(volume: JsonObject) -> None:
    volume["status"] = {"phase": "Released"}
