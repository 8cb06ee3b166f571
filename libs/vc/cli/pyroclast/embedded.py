"""The whole stack in one process: all services, in-memory bus and cache, embedded cluster.

Only the adapters differ from a real installation. The services use the store directly; kubectl and
other external clients use HTTP. The stack is for demos, tests and simulations.
"""

import asyncio
import logging
import os
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final, Self

from vc.bus.memory import MemoryBus
from vc.cli.pyroclast import settings
from vc.cli.pyroclast.rights import account_users, user_of
from vc.cli.pyroclast.services import SERVICES, build_of
from vc.clock import LoopClock, ServerClock
from vc.cluster import AlreadyExistsError
from vc.kubeconfig.writer import write_kubeconfig
from vc.model.api.keys import SYSTEM_NAMESPACE
from vc.model.api.kinds import NAMESPACES
from vc.model.api.struct import JsonObject
from vc.model.start_limits import Patience, Wait
from vc.runtime.hosting.adapters import Adapters
from vc.runtime.hosting.health import HealthServer
from vc.runtime.hosting.host import Build, Host
from vc.runtime.hosting.listening import Wanted, said_once
from vc.runtime.hosting.main import check_compat
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.kubelet.node_pools import DEFAULT_POOLS, read_pools
from vc.simcluster.kubelet.nodes import SimulatedNodes
from vc.simcluster.schema.registry import Registry, crd_folder, load_crds
from vc.simcluster.server import EmbeddedServer, serve
from vc.simcluster.verbs.api import Api
from vc.snapshot.memory import MemorySnapshot

_READY_LOOK_SECONDS: Final = 0.02

_ADMISSION: Final = {"ADMISSION_CREATE_CONFIGURATIONS": "true", "ADMISSION_PORT": "0"}
"""Settings that differ from admission's defaults: no chart registers the webhooks here, and two
embedded stacks must not use the same port.
"""

_log = logging.getLogger("pyroclast.embedded")


def _build_here(service: str, *, vetted: bool) -> Build:
    """A function that builds a service in this process without changing its environment.

    `vetted` says that admission is one of the services.
    """
    # With admission in front, Commands of all namespaces can be accepted.
    if service == "queue-controller" and vetted:
        from vc.queue_controller.config import COMMANDS_FROM, VETTED
        from vc.queue_controller.config import Config as QueueConfig
        from vc.queue_controller.service import build as build_queues

        queues = QueueConfig.from_env({COMMANDS_FROM.name: VETTED, **os.environ})
        return lambda context: build_queues(context, queues)
    if service != "admission":
        return build_of(service)
    from vc.admission.config import ACCOUNTS, Config
    from vc.admission.service import build

    settings = {**_ADMISSION, ACCOUNTS.name: ",".join(account_users())}
    # The real environment comes last, so that a user can override these defaults.
    config = Config.from_env({**settings, **os.environ})
    return lambda context: build(context, config)


class NotReadyError(RuntimeError):
    """The stack was not ready in time. The message says what is missing."""


class EmbeddedStack:
    """Starts when the context is entered and stops when it is left."""

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
        """The kubeconfig file for kubectl."""
        return self._home / "kubeconfig"

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            # A start that fails half-way must stop what it has started: `__aexit__` is not called
            # then.
            await self._exit.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exit.aclose()

    async def _start(self) -> None:
        """Start the cluster first, then the nodes, then the services."""
        check_compat(os.environ)
        # A port in use is reported with the name of its variable.
        with said_once(Wanted(self._api_port, settings.API_PORT)):
            self.server = await serve(self.api, port=self._api_port)
        # Registered right after each start, so that a later failure stops it.
        self._exit.push_async_callback(self.server.close)
        write_kubeconfig(self.kubeconfig, self.server.url)
        # Services create Leases and Secrets in this namespace as soon as they start.
        await self._ensure_namespace()
        await self.nodes.start()
        self._exit.push_async_callback(self.nodes.stop)
        # All services share one set of adapters, as processes share Kafka and Redis.
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
                    # Each service acts as its own user, so that admission sees the same users as on
                    # a cluster.
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
            _log.debug("namespace_exists namespace=%s", SYSTEM_NAMESPACE)

    async def wait_until_ready(self) -> None:
        """Wait until every service is ready."""
        wait = Wait(Patience.from_env(os.environ), now=self.clock.monotonic())
        while waiting := self._waiting():
            if over := wait.over(waiting, now=self.clock.monotonic()):
                raise NotReadyError(f"not ready, {over}: {waiting}")
            await self.clock.sleep(_READY_LOOK_SECONDS)
        self._register_dashboard()

    @property
    def dashboard_port(self) -> int:
        """The port of the dashboard. 0 without a dashboard."""
        return int(getattr(self.host.services().get("dashboard"), "port", 0))

    def _register_dashboard(self) -> None:
        """Register the dashboard with the API server's service proxy, as in a cluster."""
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
