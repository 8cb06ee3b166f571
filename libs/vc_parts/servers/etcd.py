"""One etcd on two loopback ports, without TLS: it lives beside its kube-apiserver and serves only that."""

from pathlib import Path

from vc_parts.getting import obtain
from vc_parts.ports import LOOPBACK, free_port
from vc_parts.probe import http_get
from vc_parts.process import Process
from vc_parts.progress import Progress
from vc_parts.server import OneProcess

QUOTA_BYTES = 4 * 1024 * 1024 * 1024
"""The default of 2 GB fills up in a bench with 50,000 pods and no compaction in time."""


def etcd_command(
    program: Path, *, port: int, peer_port: int, data: Path, durable: bool
) -> list[str]:
    """Without fsync unless asked for: a killed process loses nothing, only a machine that loses power does."""
    client, peer = f"http://{LOOPBACK}:{port}", f"http://{LOOPBACK}:{peer_port}"
    flags = {
        "name": "parts",
        "data-dir": str(data),
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"parts={peer}",
        "quota-backend-bytes": str(QUOTA_BYTES),
        "log-level": "warn",
    }
    command = [str(program)] + [f"--{key}={value}" for key, value in flags.items()]
    return command + ([] if durable else ["--unsafe-no-fsync"])


class EtcdServer(OneProcess):
    """`async with EtcdServer() as etcd:` and use `etcd.url`."""

    def __init__(self, *, folder: Path | None = None, durable: bool = False) -> None:
        super().__init__("etcd", folder=folder)
        self.port = free_port()
        self._peer_port = free_port()
        self._durable = durable
        self.url = f"http://{LOOPBACK}:{self.port}"

    def make_process(self) -> Process:
        """No files: all settings are on the command line."""
        found = obtain("etcd", say=Progress())
        command = etcd_command(
            found.path,
            port=self.port,
            peer_port=self._peer_port,
            data=self.folder / "data",
            durable=self._durable,
        )
        return Process("etcd", command, log=self.log_of("etcd"), ready=self._ready)

    async def _ready(self) -> bool:
        """Healthy means that it has a leader and has written."""
        return (await http_get(f"{self.url}/health")).field("health") == "true"
