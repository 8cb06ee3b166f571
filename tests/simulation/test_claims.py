"""A job that mounts a claim somebody else has to make waits for it, and says so."""

from typing import Any

import pytest

from tests.simulation.stack import CORE, Stack, gang_job
from vc.clock import run_virtual
from vc.cluster import ForbiddenError, NotFoundError
from vc.model.api.keys import SELECTED_NODE
from vc.model.api.kinds import CLAIMS, CSINODES, PODS, STORAGECLASSES, VOLUMES, Kind
from vc.model.api.struct import JsonObject
from vc.simcluster import Registry, Resource, StoreCluster


def with_volume(name: str, claim: str) -> JsonObject:
    manifest = gang_job(name, replicas=2, run_seconds=2)
    manifest["spec"]["volumes"] = [{"mountPath": "/data", "volumeClaimName": claim}]
    return manifest


def test_pods_come_when_the_claim_does() -> None:
    async def main() -> None:
        async with Stack(services=CORE) as stack:
            await stack.submit(with_volume("reader", "data"))
            await stack.submit(gang_job("plain", replicas=2, run_seconds=2))
            await stack.until(
                lambda: stack.job("plain").status.state.phase == "Completed",
                seconds=60,
                what="others go on",
            )
            state = stack.job("reader").status.state
            assert (state.phase, state.reason) == ("Pending", "ClaimNotFound")
            assert state.message == "volume claims that do not exist in default: 'data'"
            assert [p for p in stack.pods() if p.metadata.name.startswith("reader")] == []
            await stack.cluster.create(
                CLAIMS,
                {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "metadata": {"name": "data"},
                    "spec": {"accessModes": ["ReadWriteMany"]},
                },
                namespace="default",
            )
            await stack.until(
                lambda: stack.job("reader").status.running == 2, seconds=10, what="running"
            )
            assert stack.job("reader").status.state.reason == ""
            resource = stack.api.registry.for_kind(PODS)
            pod = stack.api.get(resource, name="reader-worker-0", namespace="default")
            claims = [v["persistentVolumeClaim"]["claimName"] for v in pod["spec"]["volumes"]]
            assert claims == ["data"]
            assert stack.problems == []

    run_virtual(main())


@pytest.mark.parametrize("refusals", [0, 2])
def test_a_claim_that_waits_for_its_first_consumer_is_bound_where_the_pod_goes(
    refusals: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the API server does not take our word for it at first."""
    patch = StoreCluster.patch
    refused: list[str] = []

    async def reluctant(self: StoreCluster, kind: Kind, *args: Any, **how: Any) -> JsonObject:
        if kind is CLAIMS and len(refused) < refusals:
            refused.append(how["name"])
            raise ForbiddenError("not yet")
        return await patch(self, kind, *args, **how)

    monkeypatch.setattr(StoreCluster, "patch", reluctant)

    async def main() -> None:
        async with Stack(services=CORE) as stack:
            await stack.cluster.create(
                STORAGECLASSES,
                {
                    "apiVersion": STORAGECLASSES.api_version,
                    "kind": "StorageClass",
                    "metadata": {"name": "local"},
                    "provisioner": "disk.example.com",
                    "volumeBindingMode": "WaitForFirstConsumer",
                },
            )
            await stack.cluster.create(
                CLAIMS,
                {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "metadata": {"name": "data"},
                    "spec": {
                        "accessModes": ["ReadWriteMany"],
                        "storageClassName": "local",
                        "resources": {"requests": {"storage": "1Gi"}},
                    },
                },
                namespace="default",
            )
            await stack.submit(with_volume("reader", "data"))
            await stack.until(
                lambda: stack.job("reader").status.state.phase == "Completed",
                seconds=60,
                what="completed",
            )
            claims = stack.api.registry.for_kind(CLAIMS)
            claim = stack.api.get(claims, name="data", namespace="default")
            assert claim["metadata"]["annotations"][SELECTED_NODE].startswith("node-")
            assert claim["status"]["phase"] == "Bound"
            volumes = stack.api.registry.for_kind(VOLUMES)
            made = stack.api.get(volumes, name=claim["spec"]["volumeName"])
            assert made["spec"]["claimRef"]["name"] == "data"
            assert len(refused) == refusals
            assert stack.problems == []

    run_virtual(main())


def test_a_cluster_without_an_optional_kind_is_done_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lookup = Registry.lookup

    def unless_optional(self: Registry, group: str, version: str, plural: str) -> Resource:
        if plural == CSINODES.plural:
            raise NotFoundError("the server could not find the requested resource")
        return lookup(self, group, version, plural)

    monkeypatch.setattr(Registry, "lookup", unless_optional)

    async def main() -> None:
        async with Stack(services=CORE) as stack:
            await stack.submit(gang_job("plain", replicas=2, run_seconds=2))
            await stack.until(
                lambda: stack.job("plain").status.state.phase == "Completed",
                seconds=60,
                what="completed",
            )
            stack.kill("scheduler")
            await stack.submit(gang_job("again", replicas=2, run_seconds=2))
            await stack.until(
                lambda: stack.job("again").status.state.phase == "Completed",
                seconds=120,
                what="completed under the next leader",
            )
            assert stack.problems == []

    run_virtual(main())
