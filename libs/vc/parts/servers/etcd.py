"""One etcd on two loopback ports, without TLS, because it serves only its kube-apiserver."""

from pathlib import Path

from vc.parts.fetch.getting import obtain
from vc.parts.ports import LOOPBACK, free_port
from vc.parts.probe import http_get
from vc.parts.process import Process
from vc.parts.progress import Progress
from vc.parts.server import OneProcess

QUOTA_BYTES = 4 * 1024 * 1024 * 1024
"""The default of 2 GB is too small for a bench with 50,000 pods before a compaction."""


def etcd_command(
    program: Path, *, port: int, peer_port: int, data: Path, durable: bool
) -> list[str]:
    """The command line.

    Without `durable` there is no fsync: only a power failure can lose data then.
    """
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
        """All settings are on the command line, so there are no files to write."""
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
        """etcd is healthy if it has a leader and can write."""
        return (await http_get(f"{self.url}/health")).field("health") == "true"
