"""A job that mounts a claim somebody else has to make waits for it, and says so."""

from tests.simulation.stack import CORE, Stack, gang_job
from vc_clock import run_virtual
from vc_model.kinds import CLAIMS, PODS
from vc_model.struct import JsonObject


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
