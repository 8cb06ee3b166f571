"""What `kubectl describe` shows of a gang that waits, and of one that was scheduled."""

from pathlib import Path

import pytest

from tests.integration.kubectl.backends import Backend
from tests.integration.kubectl.shell import Shell, find_kubectl
from tests.integration.kubectl.transcript import Step
from tests.simulation.stack import CORE, Stack, gang_job
from tests.simulation.test_waiting_pods import events, unschedulable
from vc.kubeconfig.writer import write_kubeconfig
from vc.simcluster.kubelet.node_pools import NodePool
from vc.simcluster.server import serve

WAIT_SECONDS_MAX = 30.0


def lines_with(output: list[str], *words: str) -> list[str]:
    return [line for line in output if all(word in line for word in words)]


@pytest.mark.timeout(120)
async def test_describe_says_why_a_pod_a_job_and_a_group_wait(tmp_path: Path) -> None:
    find_kubectl()
    async with Stack(services=CORE, pools=(NodePool(count=7),)) as stack:
        server = await serve(stack.api)
        kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url)
        shell = Shell(Backend(name="embedded", kubeconfig=kubeconfig), folder=tmp_path)

        async def describe(what: str) -> list[str]:
            command = f"kubectl describe {what} -n default"
            return await shell.run(Step(command=command, before=[], output=[]))

        try:
            await stack.submit(gang_job("small", replicas=2, cpu="1", run_seconds=900))
            await stack.submit(gang_job("large", replicas=8, cpu="60"))
            await stack.until(
                lambda: len(unschedulable(stack)) == 8, seconds=WAIT_SECONDS_MAX, what="marked"
            )
            last = next(p for p in unschedulable(stack) if p.metadata.name == "large-worker-7")
            await stack.until(
                lambda: bool(events(stack, last.metadata.uid, "FailedScheduling")),
                seconds=WAIT_SECONDS_MAX,
                what="events",
            )
            of_pod = await describe("pod large-worker-7")
            assert lines_with(of_pod, "PodScheduled", "False")
            assert lines_with(of_pod, "Warning", "FailedScheduling", "7 of the 8 pods")
            of_job = await describe("vcjob large")
            assert lines_with(of_job, "Warning", "FailedScheduling", "7 of the 8 pods")
            of_group = await describe("podgroup large")
            assert lines_with(of_group, "Warning", "Unschedulable", "7 of the 8 pods")
            for scheduled in ("vcjob small", "podgroup small"):
                said = await describe(scheduled)
                assert lines_with(said, "Normal", "Scheduled", "pod group is ready: 2 pods")
            assert not lines_with(await describe("pod small-worker-0"), "Normal", "Scheduled")
        finally:
            await shell.close()
            await server.close()
