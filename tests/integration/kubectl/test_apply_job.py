"""A job that was made with `kubectl apply` is scaled with it, through admission and its defaults."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.integration.kubectl.backends import Backend
from tests.integration.kubectl.shell import Shell, find_kubectl
from tests.integration.kubectl.transcript import Step
from tests.unit.admission.objects import queue
from tests.unit.admission.rig import Rig
from vc.kubeconfig.writer import write_kubeconfig
from vc.model.api.kinds import JOBS, QUEUES
from vc.simcluster.server import serve


def manifest(*, replicas: int, **task: Any) -> str:
    """As people write it: no names, no retries, a device without its limit."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"nvidia.com/gpu": "1"}}}
    template = {"spec": {"containers": [container]}}
    spec = {"tasks": [{"replicas": replicas, "template": template, **task}]}
    return json.dumps(
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": "train", "namespace": "default"},
            "spec": spec,
        }
    )


async def test_apply_scales_a_job(tmp_path: Path) -> None:
    find_kubectl()
    rig = Rig()
    server = await serve(rig.api)
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url)
    shell = Shell(Backend(name="embedded", kubeconfig=kubeconfig), folder=tmp_path)

    async def apply(text: str) -> list[str]:
        await asyncio.to_thread((tmp_path / "job.json").write_text, text)
        return await shell.run(Step(command="kubectl apply -f job.json", before=[], output=[]))

    async def spec() -> Any:
        return (await rig.cluster.get(JOBS, name="train", namespace="default"))["spec"]

    try:
        async with rig.admission():
            await rig.cluster.create(QUEUES, queue("default"))
            assert await apply(manifest(replicas=2)) == ["job.batch.volcano.sh/train created"]
            made = await spec()
            assert await apply(manifest(replicas=2)) == ["job.batch.volcano.sh/train configured"]
            assert await spec() == made  # kubectl sends a list again that was grown, and it grows
            assert await apply(manifest(replicas=5)) == ["job.batch.volcano.sh/train configured"]
            (task,) = (await spec())["tasks"]
            (was,) = made["tasks"]
            assert task == {**was, "replicas": 5, "minAvailable": 5}
            resources = task["template"]["spec"]["containers"][0]["resources"]
            assert resources["limits"] == {"nvidia.com/gpu": "1"}
            refused = "\n".join(await apply(manifest(replicas=5, maxRetry=9)))
            assert "spec.tasks[0].maxRetry: 9: may not be changed" in refused
            assert (await spec())["tasks"] == [task]
    finally:
        await shell.close()
        await server.close()
        await rig.webhooks.close()
