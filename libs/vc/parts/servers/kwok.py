"""KWOK: simulates the kubelets of fake nodes on a real API server. See `kwok_stages`."""

from pathlib import Path

from vc.parts.fetch.getting import obtain
from vc.parts.kwok_stages import NODE_ANNOTATION, NODE_ANNOTATION_VALUE, STAGES
from vc.parts.ports import LOOPBACK, free_port
from vc.parts.probe import http_get
from vc.parts.process import Process
from vc.parts.progress import Progress
from vc.parts.server import OneProcess

LEASE_SECONDS = 40
"""The same as for kubelets: node leases are renewed four times within this time."""


def kwok_command(program: Path, *, kubeconfig: Path, stages: Path, port: int) -> list[str]:
    """The command line. KWOK manages only annotated nodes, because others may share the cluster."""
    flags = {
        "kubeconfig": str(kubeconfig),
        "config": str(stages),
        "manage-all-nodes": "false",
        "manage-nodes-with-annotation-selector": f"{NODE_ANNOTATION}={NODE_ANNOTATION_VALUE}",
        "node-lease-duration-seconds": str(LEASE_SECONDS),
        "node-ip": LOOPBACK,
        "v": "WARN",  # a log line per pod and change would cost more than the change
        "server-address": f"{LOOPBACK}:{port}",
    }
    return [str(program)] + [f"--{key}={value}" for key, value in flags.items()]


class KwokServer(OneProcess):
    """`async with KwokServer(plane.kubeconfig):`, then create nodes with `fake_node`."""

    def __init__(self, kubeconfig: Path, *, folder: Path | None = None) -> None:
        super().__init__("kwok", folder=folder)
        self._kubeconfig = kubeconfig
        self._port = free_port()

    def make_process(self) -> Process:
        """KWOK reads its stages from a file, so the cluster needs no custom resources for them."""
        program = obtain("kwok", say=Progress()).path
        stages = self.folder / "stages.yaml"
        stages.write_text(STAGES)
        command = kwok_command(program, kubeconfig=self._kubeconfig, stages=stages, port=self._port)
        return Process("kwok", command, log=self.log_of("kwok"), ready=self._ready)

    async def _ready(self) -> bool:
        return (await http_get(f"http://{LOOPBACK}:{self._port}/healthz")).status == 200


def fake_node(
    name: str, *, cpu: str = "8", memory: str = "32Gi", pods: str = "110"
) -> dict[str, object]:
    """A node manifest for KWOK."""
    resources = {"cpu": cpu, "memory": memory, "pods": pods}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {NODE_ANNOTATION: NODE_ANNOTATION_VALUE},
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            },
        },
        # KWOK keeps the capacity of the manifest, so it has to be set here.
        "status": {"capacity": resources, "allocatable": resources},
    }
