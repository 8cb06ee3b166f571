"""Which bus, cluster and snapshot cache a process uses: the environment decides, the log says which.

An address that is absent means the in-memory twin, so `KAFKA_BOOTSTRAP_SERVERS`, `REDIS_URL` and
`KUBECONFIG` (or being inside a cluster) are all there is to say. Imports are lazy: a process pays
only for what it uses.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final

from vc_bus import Bus
from vc_clock import Clock, ServerClock
from vc_cluster import Cluster
from vc_model.keys import SYSTEM_NAMESPACE
from vc_runtime.context import Context
from vc_runtime.program.shared_variables import KAFKA_TOPIC_PREFIX, POD_NAMESPACE
from vc_runtime.tracing import Tracer, tracer_from_env
from vc_snapshot import SnapshotStore

_IN_CLUSTER_VARIABLE: Final = "KUBERNETES_SERVICE_HOST"
_log = logging.getLogger("pyroclast.adapters")


class NoClusterError(RuntimeError):
    """There is no API server to talk to; says how to name one."""


@dataclass(frozen=True, kw_only=True)
class Adapters:
    """The three ways out of a process."""

    bus: Bus
    cluster: Cluster
    snapshot: SnapshotStore
    clock: Clock
    namespace: str = SYSTEM_NAMESPACE
    _tracers: list[Tracer] = field(default_factory=list, init=False, repr=False)
    """Of the contexts that were given out; one per service of this process."""

    def context(self, name: str, *, cluster: Cluster | None = None) -> Context:
        """One service's world; `cluster` where the service has an account of its own there."""
        return Context(
            name=name,
            bus=self.bus,
            cluster=cluster or self.cluster,
            snapshot=self.snapshot,
            clock=self.clock,
            identity=f"{socket.gethostname()}-{os.getpid()}-{name}",
            namespace=self.namespace,
            tracer=self._tracer(name),
        )

    def _tracer(self, name: str) -> Tracer:
        self._tracers.append(tracer_from_env(name))
        return self._tracers[-1]

    async def close_tracers(self) -> None:
        """Send the spans that are left, together: a collector that is away costs its bound once."""
        await asyncio.gather(*(asyncio.to_thread(tracer.close) for tracer in self._tracers))
        self._tracers.clear()

    async def close(self) -> None:
        """Let go of every connection, also of those behind one that does not end well."""
        async with AsyncExitStack() as connected:
            connected.push_async_callback(self.cluster.close)
            connected.push_async_callback(self.snapshot.close)
            connected.push_async_callback(self.bus.close)
            connected.push_async_callback(self.close_tracers)


async def connect(env: Mapping[str, str], clock: Clock, *, user_agent: str) -> Adapters:
    """Adapters as the environment says; a fault on the way lets go of what was connected before.

    Their clock follows the API server's; `clock` is the machine's own.
    """
    server_clock = ServerClock(clock)
    async with AsyncExitStack() as connected:
        cluster = await _cluster(env, server_clock, user_agent)
        connected.push_async_callback(cluster.close)
        snapshot = await _snapshot(env)
        connected.push_async_callback(snapshot.close)
        bus = await _bus(env, clock)
        connected.pop_all()
    namespace = POD_NAMESPACE.read(env)
    return Adapters(
        bus=bus, cluster=cluster, snapshot=snapshot, clock=server_clock, namespace=namespace
    )


async def _bus(env: Mapping[str, str], clock: Clock) -> Bus:
    if env.get("KAFKA_BOOTSTRAP_SERVERS"):
        from vc_bus.kafka import KafkaBus, KafkaConfig

        _log.info("bus: Kafka at %s", env["KAFKA_BOOTSTRAP_SERVERS"])
        bus: Bus = await KafkaBus.connect(KafkaConfig.from_env(env), clock=clock)
        if prefix := KAFKA_TOPIC_PREFIX.read(env):
            from vc_bus.prefixed import PrefixedBus

            _log.info("bus: topics and groups begin with %s", prefix)
            bus = PrefixedBus(bus, prefix)
        return bus
    from vc_bus.memory import MemoryBus

    _log.info("bus: in memory (KAFKA_BOOTSTRAP_SERVERS is not set)")
    return MemoryBus(clock)


async def _snapshot(env: Mapping[str, str]) -> SnapshotStore:
    if env.get("REDIS_URL"):
        from vc_snapshot.redis import RedisSnapshot

        _log.info("snapshot cache: Redis")
        return RedisSnapshot.from_url(env["REDIS_URL"])
    from vc_snapshot.memory import MemorySnapshot

    _log.info("snapshot cache: in memory (REDIS_URL is not set)")
    return MemorySnapshot()


async def _cluster(env: Mapping[str, str], clock: ServerClock, user_agent: str) -> Cluster:
    if not env.get("KUBECONFIG") and _IN_CLUSTER_VARIABLE not in env:
        raise NoClusterError(
            "no API server: set KUBECONFIG (`make up` prints one), or run inside a cluster"
        )
    from vc_cluster.kubernetes import connect as connect_kubernetes
    from vc_cluster.kubernetes_config import ConfigurationError

    _log.info("cluster: Kubernetes API of %s", env.get("KUBECONFIG") or "this pod's account")
    try:
        return await connect_kubernetes(
            service=user_agent, environment=env, clock=clock, on_date=clock.observe
        )
    except ConfigurationError as error:
        raise NoClusterError(str(error)) from error
