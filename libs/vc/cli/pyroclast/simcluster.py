"""`pyroclast simcluster`: the embedded cluster as a separate process, for multi-process stacks.

Objects are kept in memory. After a restart it is the same cluster, emptied, on the same address, so
a Kafka that outlives it still belongs to it (docs/adr/0038). Services in other processes are named
on the command line (`--service`), so that the API server's service proxy finds them.
"""

import asyncio
import signal
import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from vc.clock import LoopClock
from vc.kubeconfig.writer import write_kubeconfig
from vc.model.api.keys import SYSTEM_NAMESPACE
from vc.model.api.kinds import NAMESPACES
from vc.runtime.hosting.listening import Wanted, said_once
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.kubelet.node_pools import NodePool
from vc.simcluster.kubelet.nodes import SimulatedNodes
from vc.simcluster.schema.registry import Registry, crd_folder, load_crds
from vc.simcluster.server import EmbeddedServer, serve
from vc.simcluster.verbs.api import Api


@dataclass(frozen=True, kw_only=True)
class ProxiedService:
    """A Service whose only endpoint is a process outside of the cluster."""

    namespace: str
    name: str
    port: str
    base_url: str

    @classmethod
    def parse(cls, text: str) -> "ProxiedService":
        """Parse `namespace/name:port=url`; a ValueError says what to write instead."""
        left, _, url = text.partition("=")
        place, _, port = left.partition(":")
        namespace, _, name = place.partition("/")
        if not (namespace and name and port and url.startswith("http")):
            raise ValueError(f"service {text!r}: write namespace/name:port=http://host:port")
        return cls(namespace=namespace, name=name, port=port, base_url=url)


async def run_simcluster(
    *,
    host: str,
    port: int,
    pools: Sequence[NodePool],
    kubeconfig: Path | None,
    services: Sequence[ProxiedService] = (),
) -> int:
    """Serve until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with AsyncExitStack() as exit_stack:
        server = await _start(exit_stack, host=host, port=port, pools=pools)
        for service in services:
            # The processes behind these services run outside of the simulated nodes.
            server.proxy.register_service(
                service.namespace, service.name, port=service.port, base_url=service.base_url
            )
        if kubeconfig:
            write_kubeconfig(kubeconfig, server.url)
        print(f"embedded cluster on {server.url}; it keeps nothing", flush=True)
        await stop.wait()
    return 0


def cluster_uid_at(host: str, port: int) -> str:
    """A uid that is the same for the same address. Empty for a port that the system chooses."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"pyroclast://{host}:{port}")) if port else ""


async def _start(
    exit_stack: AsyncExitStack, *, host: str, port: int, pools: Sequence[NodePool]
) -> EmbeddedServer:
    """Create the namespace and the nodes before the port is open, so that clients find them."""
    api = Api(
        clock=LoopClock(),
        registry=Registry(crds=load_crds(crd_folder())),
        cluster_uid=cluster_uid_at(host, port),
    )
    namespace = {
        "apiVersion": NAMESPACES.api_version,
        "kind": NAMESPACES.kind,
        "metadata": {"name": SYSTEM_NAMESPACE},
    }
    await StoreCluster(api).create(NAMESPACES, namespace)
    simulated = SimulatedNodes(api, pools=pools)
    await simulated.start()
    exit_stack.push_async_callback(simulated.stop)
    with said_once(Wanted(port, "--port", host)):
        server = await serve(api, host=host, port=port)
    exit_stack.push_async_callback(server.close)
    return server
