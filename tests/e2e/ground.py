"""What the services stand on: real Kafka, real Redis, and an API server that is embedded or real.

Kafka and Redis have one user per service and enforce the generated ACLs (docs/acls.md), so every scenario also
shows that the services need no other right. The servers are ours, not the stack's, because a supervisor would start again at once what a scenario
wants dead for a minute. Nodes are few and small, so that a scheduler which forgets a pod over-commits
one of them instead of getting away with it.
"""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from vc.cli.pyroclast.processes import Child
from vc.cli.pyroclast.stack.acls import AuthorizingKafka, AuthorizingRedis, login_of
from vc.cli.pyroclast.stack.clusters import create_initial_objects
from vc.cli.pyroclast.stack.members import SERVICE_STOP_SECONDS_MAX
from vc.cli.pyroclast.stack.plan import inherited_by
from vc.parts import ControlPlane, KwokServer
from vc.parts.ports import LOOPBACK, free_port
from vc.parts.probe import http_get, wait_until
from vc.parts.process import Process
from vc.parts.server import Server
from vc.simcluster.kubelet.node_pools import NodePool

NODES = 4
NODE_CPU = 8
POOL = NodePool(count=NODES, capacity={"cpu": str(NODE_CPU), "memory": "64Gi", "pods": "110"})
EMBEDDED_SECONDS_MAX = 60.0
STRICT_FLAGS = ("--enable-admission-plugins=OwnerReferencesPermissionEnforcement",)
"""As some distributions have it: who makes an object that holds back its owner's deletion must be
allowed to write the owner's finalizers."""


@dataclass(kw_only=True)
class Ground:
    """Kafka, Redis and an API server; `kubeconfig` holds after `start`."""

    home: Path
    real: bool
    """A kube-apiserver with etcd and KWOK instead of the embedded cluster."""
    definitions: bool = True
    """Ours are put into a real one at its start."""
    kubeconfig: Path = field(init=False)
    plane: ControlPlane | None = None
    embedded: Child | None = None
    _started: list[Server] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kafka = AuthorizingKafka(folder=self.home / "kafka")
        self.redis = AuthorizingRedis(folder=self.home / "redis")

    def login_of(self, service: str) -> dict[str, str]:
        """The variables of the service's own users at Kafka and Redis."""
        return login_of(service, kafka=self.kafka, redis=self.redis)

    @property
    def processes(self) -> list[Process]:
        """Of all servers that were started."""
        return [process for server in self._started for process in server.processes]

    async def start(self) -> None:
        for server in (self.kafka, self.redis):
            await self._start(server)
        await (self._start_real() if self.real else self._start_embedded())

    async def _start(self, server: Server) -> None:
        self._started.append(server)
        await server.start()

    async def _start_real(self) -> None:
        self.plane = ControlPlane(
            folder=self.home / "kubernetes", audit=True, apiserver_flags=STRICT_FLAGS
        )
        await self._start(self.plane)
        self.kubeconfig = self.plane.kubeconfig
        await self._start(KwokServer(self.kubeconfig, folder=self.home / "kwok"))
        await create_initial_objects(self.kubeconfig, (POOL,), definitions=self.definitions)

    async def _start_embedded(self) -> None:
        self.kubeconfig = self.home / "kubeconfig"
        nodes = self.home / "nodes.yaml"
        pool = {"count": POOL.count, "capacity": POOL.capacity}
        nodes.write_text(yaml.safe_dump({"nodes": [pool]}))
        port = free_port()
        command = [sys.executable, "-m", "vc.cli.pyroclast.main", "simcluster", "--port", str(port)]
        command += ["--kubeconfig", str(self.kubeconfig), "--nodes", str(nodes)]
        log = self.home / "logs" / "simcluster.log"
        self.embedded = Child("simcluster", command, env=inherited_by(os.environ), log=log)
        self.embedded.start()

        async def answers() -> bool:
            return (await http_get(f"http://{LOOPBACK}:{port}/readyz")).status == 200

        await wait_until(
            answers,
            seconds_max=EMBEDDED_SECONDS_MAX,
            otherwise=lambda: f"the embedded cluster does not answer; its log is {log}",
        )

    async def stop(self) -> None:
        if self.embedded is not None:
            await self.embedded.stop(seconds_max=SERVICE_STOP_SECONDS_MAX)
        for server in reversed(self._started):
            await server.stop()
