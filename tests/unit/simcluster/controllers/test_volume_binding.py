"""Claims of the embedded cluster get their volumes, as a volume controller would have it."""

from dataclasses import dataclass, field

import pytest

from tests.unit.simcluster.stage import make_api
from vc.clock import run_virtual
from vc.model.api.kinds import CLAIMS, STORAGECLASSES, VOLUMES, Kind
from vc.model.api.struct import JsonObject
from vc.simcluster import Api


def spec_of(storage: str | None = None, size: str = "10Gi", **more: object) -> JsonObject:
    asked: JsonObject = {"accessModes": ["ReadWriteOnce"], **more}
    asked["resources"] = {"requests": {"storage": size}}
    return asked if storage is None else {**asked, "storageClassName": storage}


def volume_of(storage: str = "", size: str = "10Gi", **more: object) -> JsonObject:
    spec: JsonObject = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, **more}
    return {**spec, "storageClassName": storage, "hostPath": {"path": "/d"}}


async def make(api: Api, kind: Kind, name: str, **body: object) -> None:
    namespace = "default" if kind.namespaced else ""
    meta = {"name": name, **body.pop("metadata", {})}  # type: ignore[dict-item]  # a table of bodies
    obj: JsonObject = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **body}
    await api.create(api.registry.for_kind(kind), obj, namespace=namespace)


@dataclass(frozen=True)
class Case:
    """Classes and volumes, a claim, and the volume it gets (`made`: a new one; empty: none)."""

    id: str
    claim: JsonObject
    gets: str
    classes: dict[str, tuple[str, str]] = field(default_factory=dict)
    volumes: dict[str, JsonObject] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


WAITS = {"local": ("disk.example.com", "WaitForFirstConsumer")}
CASES = [
    Case("without a class one is made", spec_of(), "made"),
    Case("with the empty class none is made", spec_of(""), ""),
    Case("of a class that makes them", spec_of("fast"), "made", {"fast": ("x", "Immediate")}),
    Case("of a class that does not exist", spec_of("fast"), ""),
    Case("of a class that makes none", spec_of("fast"), "", {"fast": ("kubernetes.io/no-provisioner", "Immediate")}),
    Case("of a class that waits", spec_of("local"), "", WAITS),
    Case("of a class that waited for this", spec_of("local"), "made", WAITS, {}, {"volume.kubernetes.io/selected-node": "n"}),
    Case("the smallest that will do", spec_of(""), "middle", {}, {"large": volume_of(size="90Gi"), "middle": volume_of(size="20Gi"), "small": volume_of(size="1Gi")}),
    Case("one that is kept for it", spec_of("local"), "kept", WAITS, {"kept": volume_of("local", claimRef={"namespace": "default", "name": "c"}), "free": volume_of("local")}),
    Case("one that it names", spec_of("", volumeName="named"), "named", {}, {"named": volume_of(), "free": volume_of(size="1Ti")}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_claim_gets_its_volume(case: Case) -> None:
    async def main() -> None:
        api = make_api()
        for name, (provisioner, mode) in case.classes.items():
            await make(api, STORAGECLASSES, name, provisioner=provisioner, volumeBindingMode=mode)
        for name, spec in case.volumes.items():
            await make(api, VOLUMES, name, spec=spec)
        await make(api, CLAIMS, "c", spec=case.claim, metadata={"annotations": case.annotations})
        api.run_controllers()
        claim = api.get(api.registry.for_kind(CLAIMS), name="c", namespace="default")
        name = claim["spec"].get("volumeName", "")
        phase = (claim.get("status") or {}).get("phase")
        if not case.gets:
            assert (name, phase) == ("", "Pending")
            return
        assert phase == "Bound"
        assert name == (f"pvc-{claim['metadata']['uid']}" if case.gets == "made" else case.gets)
        volume = api.get(api.registry.for_kind(VOLUMES), name=name)
        assert volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
        assert volume["status"]["phase"] == "Bound"

    run_virtual(main())


def test_what_was_made_for_a_claim_goes_with_it_and_other_volumes_stay() -> None:
    async def main() -> None:
        api = make_api()
        await make(api, VOLUMES, "old", spec=volume_of())
        await make(api, CLAIMS, "made", spec=spec_of(size="99Gi"))
        await make(api, CLAIMS, "given", spec=spec_of(""))
        api.run_controllers()
        volumes = api.registry.for_kind(VOLUMES)
        assert len(api.store.table(volumes).records) == 2
        for name in ("made", "given"):
            await api.delete(api.registry.for_kind(CLAIMS), name=name, namespace="default")
        api.run_controllers()
        assert [r.name for r in api.store.table(volumes).records.values()] == ["old"]
        assert api.get(volumes, name="old")["status"]["phase"] == "Released"

    run_virtual(main())
