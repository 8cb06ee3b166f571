"""Several servers at once, with the environment variables that point to them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from vc.parts.errors import PartError
from vc.parts.servers.etcd import EtcdServer
from vc.parts.servers.jaeger import JaegerServer
from vc.parts.servers.kafka import KafkaServer
from vc.parts.servers.kubernetes import ControlPlane
from vc.parts.servers.kwok import KwokServer
from vc.parts.servers.redis import RedisServer

RUNNABLE = ("kafka", "redis", "etcd", "kubernetes", "kwok", "jaeger")
"""In the order of their start: KWOK needs the control plane."""


@asynccontextmanager
async def running_servers(names: Sequence[str]) -> AsyncIterator[list[str]]:
    """Start the named servers, yield `export KEY=value` lines, and stop them in reverse order."""
    # KWOK alone has no API server to connect to.
    if "kwok" in names and "kubernetes" not in names:
        raise PartError("kwok plays nodes of a control plane: run `kubernetes kwok`.")
    lines: list[str] = []
    async with AsyncExitStack() as stack:
        plane: ControlPlane | None = None
        # In the fixed order, whatever the order on the command line.
        for name in RUNNABLE:
            if name not in names:
                continue
            if name == "kubernetes":
                plane = await stack.enter_async_context(ControlPlane())
                lines.append(f"export KUBECONFIG={plane.kubeconfig}")
            elif name == "kwok" and plane:
                await stack.enter_async_context(KwokServer(plane.kubeconfig))
            else:
                lines += await _start(name, stack)
        yield lines


async def _start(name: str, stack: AsyncExitStack) -> list[str]:
    if name == "kafka":
        kafka = await stack.enter_async_context(KafkaServer())
        return [f"export KAFKA_BOOTSTRAP_SERVERS={kafka.bootstrap_servers}"]
    if name == "redis":
        redis = await stack.enter_async_context(RedisServer())
        return [f"export REDIS_URL={redis.url}"]
    if name == "jaeger":
        jaeger = await stack.enter_async_context(JaegerServer())
        return [
            f"export OTEL_EXPORTER_OTLP_ENDPOINT={jaeger.otlp_endpoint}",
            f"export JAEGER_QUERY_URL={jaeger.query_url}",
        ]
    etcd = await stack.enter_async_context(EtcdServer())
    return [f"export ETCD_URL={etcd.url}"]
