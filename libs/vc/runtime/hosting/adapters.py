"""Chooses the bus, the cluster and the snapshot cache of a process from its environment.

Without `KAFKA_BOOTSTRAP_SERVERS` or `REDIS_URL` the in-memory twin is used; the API server comes
from `KUBECONFIG` or from the pod's service account. The log names each choice. Imports are lazy, so
a process loads only the libraries of the adapters that it uses.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final

from vc.bus import Bus
from vc.clock import Clock, ServerClock
from vc.cluster import Cluster
from vc.model.api.keys import SYSTEM_NAMESPACE
from vc.runtime.hosting.context import Context
from vc.runtime.hosting.tracing import Tracer, tracer_from_env
from vc.runtime.hosting.variables import KAFKA_TOPIC_PREFIX, POD_NAMESPACE
from vc.snapshot import SnapshotStore

_IN_CLUSTER_VARIABLE: Final = "KUBERNETES_SERVICE_HOST"
_log = logging.getLogger("pyroclast.adapters")


class NoApiServerError(RuntimeError):
    """No API server is configured; the message says how to configure one."""


@dataclass(frozen=True, kw_only=True)
class Adapters:
    """The connections of a process: bus, cluster and snapshot cache, with their clock."""

    bus: Bus
    cluster: Cluster
    snapshot: SnapshotStore
    clock: Clock
    namespace: str = SYSTEM_NAMESPACE
    _tracers: list[Tracer] = field(default_factory=list, init=False, repr=False)
    """Tracers of the contexts that were handed out, one per service of this process."""

    def context(self, name: str, *, cluster: Cluster | None = None) -> Context:
        """The context of one service;
        `cluster` overrides the shared client for a service with its own account.
        """
        return Context(
            name=name,
            bus=self.bus,
            cluster=cluster or self.cluster,
            snapshot=self.snapshot,
            clock=self.clock,
            # Replicas on one host, and services of one process, need distinct identities.
            identity=f"{socket.gethostname()}-{os.getpid()}-{name}",
            namespace=self.namespace,
            tracer=self._tracer(name),
        )

    def _tracer(self, name: str) -> Tracer:
        self._tracers.append(tracer_from_env(name))
        return self._tracers[-1]

    async def close_tracers(self) -> None:
        """Send remaining spans of all tracers concurrently,
        so that an unreachable collector costs its time-out only once.
        """
        await asyncio.gather(*(asyncio.to_thread(tracer.close) for tracer in self._tracers))
        self._tracers.clear()

    async def close(self) -> None:
        """Close all connections, even if closing one of them fails."""
        # The exit stack runs every callback, in reverse order, also after one raised.
        async with AsyncExitStack() as connected:
            connected.push_async_callback(self.cluster.close)
            connected.push_async_callback(self.snapshot.close)
            connected.push_async_callback(self.bus.close)
            connected.push_async_callback(self.close_tracers)


async def connect(env: Mapping[str, str], clock: Clock, *, user_agent: str) -> Adapters:
    """Connect the adapters that the environment names; on failure all are closed again.

    The clock of the adapters follows the API server; `clock` is the clock of this machine.
    """
    server_clock = ServerClock(clock)
    async with AsyncExitStack() as connected:
        cluster = await _cluster(env, server_clock, user_agent)
        connected.push_async_callback(cluster.close)
        snapshot = await _snapshot(env)
        connected.push_async_callback(snapshot.close)
        bus = await _bus(env, clock)
        # All are connected: from here on the caller closes them.
        connected.pop_all()
    namespace = POD_NAMESPACE.read(env)
    return Adapters(
        bus=bus, cluster=cluster, snapshot=snapshot, clock=server_clock, namespace=namespace
    )


async def _bus(env: Mapping[str, str], clock: Clock) -> Bus:
    if env.get("KAFKA_BOOTSTRAP_SERVERS"):
        from vc.bus.kafka import KafkaBus, KafkaConfig

        _log.info("bus=kafka servers=%s", env["KAFKA_BOOTSTRAP_SERVERS"])
        bus: Bus = await KafkaBus.connect(KafkaConfig.from_env(env), clock=clock)
        if prefix := KAFKA_TOPIC_PREFIX.read(env):
            from vc.bus.prefixed import PrefixedBus

            _log.info("bus=kafka topic_prefix=%s", prefix)
            bus = PrefixedBus(bus, prefix)
        return bus
    from vc.bus.memory import MemoryBus

    # The in-memory bus works only inside one process; the log line shows why others see nothing.
    _log.info("bus=memory (KAFKA_BOOTSTRAP_SERVERS is not set)")
    return MemoryBus(clock)


async def _snapshot(env: Mapping[str, str]) -> SnapshotStore:
    if env.get("REDIS_URL"):
        from vc.snapshot.redis import RedisSnapshot

        _log.info("snapshot_cache=redis")
        return RedisSnapshot.from_url(env["REDIS_URL"])
    from vc.snapshot.memory import MemorySnapshot

    _log.info("snapshot_cache=memory (REDIS_URL is not set)")
    return MemorySnapshot()


async def _cluster(env: Mapping[str, str], clock: ServerClock, user_agent: str) -> Cluster:
    if not env.get("KUBECONFIG") and _IN_CLUSTER_VARIABLE not in env:
        raise NoApiServerError(
            "no API server: set KUBECONFIG (`make up` prints one), or run inside a cluster"
        )
    from vc.cluster.kubernetes import connect as connect_kubernetes
    from vc.cluster.kubernetes_config import ConfigurationError

    _log.info("cluster=kubernetes credentials=%s", env.get("KUBECONFIG") or "this pod's account")
    try:
        return await connect_kubernetes(
            service=user_agent, environment=env, clock=clock, on_date=clock.observe
        )
    except ConfigurationError as error:
        raise NoApiServerError(str(error)) from error
