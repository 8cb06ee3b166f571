"""A deployment whose objects on the cluster were made by `helm install`, as users are told to.

The pods that Helm's Deployments ask for have nobody to run them here, so each service is a process that
proves itself with a token of the account that Helm made. One thing is turned: the webhooks lead to the
process's address, since there is no network that its Service could lead through.
"""

import asyncio
import json
from pathlib import Path

import yaml

from tests.e2e.deployment import Deployment
from tests.integration.deploy.chart import CHART, NAMESPACE, RELEASE, helm
from tests.integration.deploy.kubectl import Kubectl
from vc.parts import fake_node
from vc.parts.ports import LOOPBACK

WEBHOOKS = ("mutatingwebhookconfiguration", "validatingwebhookconfiguration")


class Installed(Deployment):
    """`kubectl` is the user's, from the moment the cluster is up."""

    def __init__(self, home: Path, *arguments: str) -> None:
        super().__init__(home, real=True)
        self.ground.definitions = False  # Helm brings them
        self.kubectl: Kubectl
        self._arguments = arguments
        self.notes = ""
        """What Helm said."""

    async def _accounts(self, admission_port: int) -> dict[str, str]:
        self.kubectl = Kubectl(self.ground.kubeconfig, folder=self.home)
        await asyncio.to_thread(self._install, admission_port)
        return await super()._accounts(admission_port)

    def _install(self, admission_port: int) -> None:
        done = helm(
            "install", RELEASE, str(CHART), "--namespace", NAMESPACE, "--create-namespace",
            "--kubeconfig", str(self.ground.kubeconfig), *self._arguments,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        self.notes = done.stdout
        for kind in WEBHOOKS:
            self._lead_to_process(kind, admission_port)

    def _lead_to_process(self, kind: str, port: int) -> None:
        name = f"{RELEASE}-admission"
        found = json.loads(self.kubectl.ok("get", kind, name, "-o", "json"))
        changes = [
            {
                "op": "replace",
                "path": f"/webhooks/{number}/clientConfig",
                "value": {
                    "url": f"https://{LOOPBACK}:{port}{hook['clientConfig']['service']['path']}"
                },
            }
            for number, hook in enumerate(found["webhooks"])
        ]
        self.kubectl.ok("patch", kind, name, "--type=json", "-p", json.dumps(changes))

    def add_gpu_nodes(self, count: int) -> None:
        """Eight GPUs each."""
        capacity = {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "pods": "110"}
        for number in range(count):
            node = dict(fake_node(f"gpu-{number}"))
            node["status"] = {"capacity": capacity, "allocatable": capacity}
            self.kubectl.ok("create", "-f", "-", given=yaml.safe_dump(node))
