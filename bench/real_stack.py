"""A stack to measure: real Kafka and Redis, an API server, every service a process of its own.

The same commands and environments as `pyroclast stack` (`vc.cli.pyroclast.stack.plan`), put together here
because a measurement wants less around it: no supervisor, and no Jaeger that takes CPU from what is
measured. The API server is the embedded cluster in a process, or a real kube-apiserver with etcd and
the controller manager. Real nodes are plain Node objects that are ready. No kubelet is simulated,
so no node leases and pod statuses load the API server while it is measured. With `kwok` the nodes run
their pods, and the API server writes an audit log.
"""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from bench.checkout import command_in, environment_in, services_of
from vc.cli.pyroclast.processes import Child
from vc.cli.pyroclast.services import SERVICES
from vc.cli.pyroclast.stack.clusters import create_initial_objects
from vc.cli.pyroclast.stack.members import SERVICE_STOP_SECONDS_MAX, unready
from vc.cli.pyroclast.stack.plan import Addresses, command_of, environment_of, inherited_by
from vc.clock import LoopClock
from vc.cluster.kubernetes import KubernetesCluster, connect
from vc.cluster.kubernetes_http import Limits
from vc.model.api.kinds import NODES
from vc.model.api.struct import ResourceList
from vc.model.values.times import format_time
from vc.parts import ControlPlane, KafkaServer, KwokServer, RedisServer
from vc.parts.ports import LOOPBACK, free_port
from vc.parts.probe import http_get, wait_until
from vc.parts.server import Server
from vc.simcluster.kubelet.node_pools import NodePool, node_object

READY_SECONDS_MAX: Final = 90.0
WRITE_SECONDS_MAX: Final = 30.0
"""Of our own requests: a crowd of submissions may wait, and a time-out would spoil the count."""
CAPACITY: Final[ResourceList] = {"cpu": "64", "memory": "256Gi", "pods": "110"}
OWN_NAME: Final = "bench"


@dataclass(kw_only=True)
class RealStack:
    """What runs; made by `real_ground` and `real_stack`."""

    home: Path
    ending: AsyncExitStack
    """Ends every process."""
    kafka: KafkaServer
    redis: RedisServer
    kubeconfig: Path = field(init=False)
    cluster: KubernetesCluster = field(init=False)
    """Our own way to its API server."""
    plane: ControlPlane | None = None
    """Only of a real one."""
    pids: dict[str, int] = field(default_factory=dict)
    """Of every process, and of ourselves."""
    _health_ports: dict[str, int] = field(default_factory=dict)

    async def add_nodes(self, count: int, *, first: int = 0) -> None:
        """Ready nodes for a real API server, as many at a time as the client sends."""
        pool, now = NodePool(capacity=CAPACITY), format_time(LoopClock().now())
        async with asyncio.TaskGroup() as group:
            for number in range(first, first + count):
                node = node_object(pool, number, now=now)
                group.create_task(self.cluster.create(NODES, node))

    async def start_services(self, *, source: Path | None = None) -> None:
        """Each in its own process; returns when all are ready. `source` is another checkout to run from."""
        addresses = Addresses(
            kafka=self.kafka.bootstrap_servers,
            redis=self.redis.url,
            kubeconfig=str(self.kubeconfig),
            dashboard_port=free_port(),
            admission_port=free_port(),
        )
        children: list[Child] = []
        self.ending.push_async_callback(_stop_together, children)
        for name in SERVICES if source is None else services_of(source):
            self._health_ports[name] = port = free_port()
            env = environment_of(name, addresses, health_port=port, inherited=os.environ)
            env = env if source is None else environment_in(source, env)
            command = command_of(name) if source is None else command_in(source, name)
            log = self.home / "logs" / f"{name}.log"
            children.append(Child(name, command, env=env, log=log))
            self.pids[name] = children[-1].start().number
        await self._ready()

    async def _ready(self) -> None:
        late: dict[str, str] = {}

        async def all_ready() -> bool:
            late.clear()
            for name, port in self._health_ports.items():
                url = f"http://{LOOPBACK}:{port}"
                why = await unready(health_url=url, port=port, is_running=True)
                late.update({name: why} if why else {})
            return not late

        await wait_until(
            all_ready,
            seconds_max=READY_SECONDS_MAX,
            otherwise=lambda: f"not ready within {READY_SECONDS_MAX:.0f} s: {late}",
        )


@asynccontextmanager
async def real_ground(*, real: bool, nodes: int, kwok: bool = False) -> AsyncIterator[RealStack]:
    """Servers and nodes without services; every process is ended on the way out.

    The folder with its logs stays when something failed.
    """
    home = Path(tempfile.mkdtemp(prefix="pyroclast-bench-"))
    async with AsyncExitStack() as ending:
        kafka, redis = KafkaServer(folder=home / "kafka"), RedisServer(folder=home / "redis")
        stack = RealStack(home=home, ending=ending, kafka=kafka, redis=redis)
        stack.pids[OWN_NAME] = os.getpid()
        for server in (kafka, redis):
            await _start_server(stack, server)
        if kwok:
            await _start_kwok(stack, nodes)
        else:
            await (_start_real if real else _start_embedded)(stack, nodes)
        yield stack
    shutil.rmtree(home, ignore_errors=True)


@asynccontextmanager
async def real_stack(*, real: bool, nodes: int) -> AsyncIterator[RealStack]:
    """The same with all services up and ready."""
    async with real_ground(real=real, nodes=nodes) as stack:
        await stack.start_services()
        yield stack


async def _start_server(stack: RealStack, server: Server) -> None:
    stack.ending.push_async_callback(server.stop)
    await server.start()
    stack.pids |= {process.name: process.pid for process in server.processes}


async def _start_real(stack: RealStack, nodes: int) -> None:
    stack.plane = ControlPlane(folder=stack.home / "kubernetes")
    await _start_server(stack, stack.plane)
    stack.kubeconfig = stack.plane.kubeconfig
    await create_initial_objects(stack.kubeconfig, ())
    await _connect(stack)
    await stack.add_nodes(nodes)


async def _start_kwok(stack: RealStack, nodes: int) -> None:
    stack.plane = ControlPlane(folder=stack.home / "kubernetes", audit=True)
    await _start_server(stack, stack.plane)
    stack.kubeconfig = stack.plane.kubeconfig
    await _start_server(stack, KwokServer(stack.kubeconfig, folder=stack.home / "kwok"))
    await create_initial_objects(stack.kubeconfig, (NodePool(count=nodes, capacity=CAPACITY),))
    await _connect(stack)


async def _start_embedded(stack: RealStack, nodes: int) -> None:
    stack.kubeconfig = stack.home / "kubeconfig"
    pools = stack.home / "nodes.yaml"
    pools.write_text(yaml.safe_dump({"nodes": [{"count": nodes, "capacity": CAPACITY}]}))
    port = free_port()
    command = [sys.executable, "-m", "vc.cli.pyroclast.main", "simcluster", "--port", str(port)]
    command += ["--kubeconfig", str(stack.kubeconfig), "--nodes", str(pools)]
    log = stack.home / "logs" / "simcluster.log"
    child = Child("simcluster", command, env=inherited_by(os.environ), log=log)
    stack.ending.push_async_callback(_stop_together, [child])
    stack.pids[child.name] = child.start().number

    async def answers() -> bool:
        return (await http_get(f"http://{LOOPBACK}:{port}/readyz")).status == 200

    await wait_until(
        answers,
        seconds_max=READY_SECONDS_MAX,
        otherwise=lambda: f"the embedded cluster does not answer within {READY_SECONDS_MAX:.0f} s",
    )
    await _connect(stack)


async def _connect(stack: RealStack) -> None:
    stack.cluster = await connect(
        service=OWN_NAME,
        kubeconfig=str(stack.kubeconfig),
        environment={},
        limits=Limits(write_seconds_max=WRITE_SECONDS_MAX),
    )
    stack.ending.push_async_callback(stack.cluster.close)


async def _stop_together(children: list[Child]) -> None:
    await asyncio.gather(*(c.stop(seconds_max=SERVICE_STOP_SECONDS_MAX) for c in children))
