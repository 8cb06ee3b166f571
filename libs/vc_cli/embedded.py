"""The whole stack in one process: every service, in-memory bus and cache, and the embedded cluster.

Only the adapters differ from the real thing. The services talk to the store directly; kubectl and
whoever else comes from outside talks HTTP. For trying, testing and simulating.
"""

import asyncio
import logging
import os
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final, Self

from vc_bus.memory import MemoryBus
from vc_cli import settings
from vc_cli.rights import account_users, user_of
from vc_cli.services import SERVICES, build_of
from vc_clock import LoopClock, ServerClock
from vc_cluster import AlreadyExistsError
from vc_model.keys import SYSTEM_NAMESPACE
from vc_model.kinds import NAMESPACES
from vc_model.struct import JsonObject
from vc_parts.patience import Patience, Wait
from vc_runtime.adapters import Adapters
from vc_runtime.health import HealthServer
from vc_runtime.host import Build, Host
from vc_runtime.listening import Wanted, said_once
from vc_runtime.main import check_compat
from vc_simcluster.api import Api
from vc_simcluster.cluster import StoreCluster
from vc_simcluster.http_server import EmbeddedServer, serve
from vc_simcluster.kubeconfig import write_kubeconfig
from vc_simcluster.node_pools import DEFAULT_POOLS, read_pools
from vc_simcluster.nodes import SimulatedNodes
from vc_simcluster.registry import Registry, crd_folder, load_crds
from vc_snapshot.memory import MemorySnapshot

_READY_LOOK_SECONDS: Final = 0.02

_ADMISSION: Final = {"ADMISSION_CREATE_CONFIGURATIONS": "true", "ADMISSION_PORT": "0"}
"""What admission's own configuration does not assume: there is no chart that registers webhooks
here, and two embedded stacks must not fight for a port."""

_log = logging.getLogger("pyroclast.embedded")


def _build_here(service: str, *, vetted: bool) -> Build:
    """How to make a service in this process, whose environment is not ours to change; `vetted`: admission
    is among the services."""
    if service == "queue-controller" and vetted:
        from vc_queue_controller.config import COMMANDS_FROM, VETTED
        from vc_queue_controller.config import Config as QueueConfig
        from vc_queue_controller.service import build as build_queues

        queues = QueueConfig.from_env({COMMANDS_FROM.name: VETTED, **os.environ})
        return lambda context: build_queues(context, queues)
    if service != "admission":
        return build_of(service)
    from vc_admission.config import ACCOUNTS, Config
    from vc_admission.service import build

    told = {**_ADMISSION, ACCOUNTS.name: ",".join(account_users())}
    config = Config.from_env({**told, **os.environ})
    return lambda context: build(context, config)


class NotReadyError(RuntimeError):
    """The stack did not come up in time; says what is missing."""


class EmbeddedStack:
    """Starts on entering, stops on leaving."""

    def __init__(
        self,
        *,
        home: Path,
        api_port: int = 0,
        services: Iterable[str] = tuple(SERVICES),
        nodes: Path | None = None,
        metrics_port: int = 0,
    ) -> None:
        self._home = home
        self._api_port = api_port
        self._metrics_port = metrics_port
        self._services = tuple(services)
        self._exit = AsyncExitStack()
        self.clock = LoopClock()
        self.api = Api(clock=self.clock, registry=Registry(crds=load_crds(crd_folder())))
        self.cluster = StoreCluster(self.api)
        self.bus = MemoryBus(self.clock)
        self.snapshot = MemorySnapshot()
        pools = read_pools(nodes.read_text(encoding="utf-8")) if nodes else DEFAULT_POOLS
        self.nodes = SimulatedNodes(self.api, pools=pools)
        self.server: EmbeddedServer
        self.host: Host
        self.health_port = 0

    @property
    def kubeconfig(self) -> Path:
        """What kubectl wants in KUBECONFIG."""
        return self._home / "kubeconfig"

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._exit.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exit.aclose()

    async def _start(self) -> None:
        """Cluster first, then nodes, then services."""
        check_compat(os.environ)
        with said_once(Wanted(self._api_port, settings.API_PORT)):
            self.server = await serve(self.api, port=self._api_port)
        self._exit.push_async_callback(self.server.close)
        write_kubeconfig(self.kubeconfig, self.server.url)
        await self._ensure_namespace()
        await self.nodes.start()
        self._exit.push_async_callback(self.nodes.stop)
        adapters = Adapters(
            bus=self.bus,
            cluster=self.cluster,
            snapshot=self.snapshot,
            clock=ServerClock(self.clock),
        )
        self._exit.push_async_callback(adapters.close_tracers)
        self.host = Host(
            {
                name: (
                    adapters.context(name, cluster=StoreCluster(self.api, user=user_of(name))),
                    _build_here(name, vetted="admission" in self._services),
                )
                for name in self._services
            }
        )
        running = asyncio.create_task(self.host.run())
        self._exit.push_async_callback(_cancel, running)
        health = HealthServer(
            self.host.services,
            self.host.registries,
            host="127.0.0.1",
            port=self._metrics_port,
            variable=settings.METRICS_PORT,
            problems=self.host.problems,
        )
        self.health_port = await health.start()
        self._exit.push_async_callback(health.stop)

    async def _ensure_namespace(self) -> None:
        body: JsonObject = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": SYSTEM_NAMESPACE},
        }
        try:
            await self.cluster.create(NAMESPACES, body)
        except AlreadyExistsError:
            _log.debug("namespace %s is there", SYSTEM_NAMESPACE)

    async def wait_until_ready(self) -> None:
        """Until every service can do its work."""
        wait = Wait(Patience.from_env(os.environ), now=self.clock.monotonic())
        while waiting := self._waiting():
            if over := wait.over(waiting, now=self.clock.monotonic()):
                raise NotReadyError(f"not ready, {over}: {waiting}")
            await self.clock.sleep(_READY_LOOK_SECONDS)
        self._register_dashboard()

    @property
    def dashboard_port(self) -> int:
        """Where the dashboard listens; 0 without one."""
        return int(getattr(self.host.services().get("dashboard"), "port", 0))

    def _register_dashboard(self) -> None:
        """Let the API server's service proxy lead to it, as on a cluster."""
        port = self.dashboard_port
        if port:
            self.server.proxy.register_service(
                SYSTEM_NAMESPACE,
                "volcano-dashboard",
                port=80,
                base_url=f"http://127.0.0.1:{port}",
            )

    def _waiting(self) -> str:
        running = self.host.services()
        reasons = {
            name: running[name].unready() if name in running else "not started"
            for name in self._services
        }
        return "; ".join(f"{name}: {why}" for name, why in reasons.items() if why)


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
