"""KubernetesCluster as a backend: over HTTP on the embedded cluster, and on a real kube-apiserver.

The embedded server is fresh for each test and lives in the test's own loop. A real control plane
takes ten seconds to start, so there is one for the session, in a thread with a loop of its own; tests
share it and keep to namespaces of their own.
"""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from tests.contracts.cluster.backends import Backend, Target, definitions
from tests.contracts.cluster.steps import eventually, exists
from vc_clock import LoopClock
from vc_cluster import AlreadyExistsError
from vc_cluster.kubernetes import KubernetesCluster, connect
from vc_cluster.kubernetes_http import Limits
from vc_model.kinds import Kind
from vc_model.meta import ApiObject
from vc_parts import kubernetes_address, require_or_skip_reason
from vc_simcluster import Api, Registry
from vc_simcluster.http_server import serve
from vc_simcluster.kubeconfig import write_kubeconfig

START_SECONDS_MAX: Final = 110.0
STOP_SECONDS_MAX: Final = 30.0
PATIENT: Final = Limits(write_seconds_max=10.0)
"""A suite on a busy machine is about answers, not about deadlines."""

_ACCOUNTS: Final = Kind(
    short="serviceaccounts", group="", version="v1", kind="ServiceAccount",
    plural="serviceaccounts", namespaced=True, type=ApiObject,
)  # fmt: skip
_DEFINITIONS: Final = Kind(
    short="crds", group="apiextensions.k8s.io", version="v1", kind="CustomResourceDefinition",
    plural="customresourcedefinitions", namespaced=False, type=ApiObject,
)  # fmt: skip


@asynccontextmanager
async def open_embedded() -> AsyncIterator[Target]:
    """The adapter over HTTP on the embedded cluster."""
    api = Api(clock=LoopClock(), registry=Registry(crds=definitions()))

    async def compact() -> None:
        api.compact()

    async with AsyncExitStack() as stack:
        server = await serve(api)
        stack.push_async_callback(server.close)
        folder = stack.enter_context(TemporaryDirectory())
        path = write_kubeconfig(Path(folder) / "kubeconfig", server.url)
        cluster = await connect(service="contract", kubeconfig=str(path))
        stack.push_async_callback(cluster.close)
        yield Target(cluster=cluster, compact=compact, has_controllers=True)


class SharedControlPlane:
    """One real control plane for the session, started when the first test asks for it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._servers = AsyncExitStack()
        self._kubeconfig: Path | None = None

    def kubeconfig(self) -> Path:
        """Of a plane that runs and knows our kinds; called from a thread, since it may take long."""
        if self._kubeconfig is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, daemon=True).start()
            started = asyncio.run_coroutine_threadsafe(self._start(), self._loop)
            self._kubeconfig = started.result(START_SECONDS_MAX)
        return self._kubeconfig

    async def _start(self) -> Path:
        path = await self._servers.enter_async_context(kubernetes_address())
        cluster = await connect(service="contract", kubeconfig=str(path), limits=PATIENT)
        await install_definitions(cluster)
        await cluster.close()
        return path

    def stop(self) -> None:
        """At the end of the session; nothing to do when no test asked."""
        if self._loop is None:
            return
        ending = asyncio.run_coroutine_threadsafe(self._servers.aclose(), self._loop)
        ending.result(STOP_SECONDS_MAX)
        self._loop.call_soon_threadsafe(self._loop.stop)


async def install_definitions(cluster: KubernetesCluster) -> None:
    """Our CRDs, and wait until they are served."""
    for definition in definitions():
        name = definition["metadata"]["name"]
        try:
            await cluster.create(_DEFINITIONS, definition)
        except AlreadyExistsError:
            continue

        async def is_served(name: str = name) -> bool:
            read = await cluster.get(_DEFINITIONS, name=name)
            conditions = read.get("status", {}).get("conditions", [])
            return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)

        await eventually(is_served, why=f"{name} is served")


CONTROL_PLANE: Final = SharedControlPlane()


@asynccontextmanager
async def open_kubernetes() -> AsyncIterator[Target]:
    """The adapter on a real kube-apiserver with etcd and controllers."""
    reason = require_or_skip_reason("kubernetes")
    if reason:
        pytest.skip(reason)
    path = await asyncio.to_thread(CONTROL_PLANE.kubeconfig)
    cluster = await connect(service="contract", kubeconfig=str(path), limits=PATIENT)

    async def furnish(namespace: str) -> None:
        async def has_account() -> bool:
            return await exists(cluster, _ACCOUNTS, "default", namespace)

        await eventually(has_account, why=f"{namespace} has its service account, so takes pods")

    try:
        yield Target(cluster=cluster, has_controllers=True, furnish=furnish)
    finally:
        await cluster.close()


KUBERNETES_BACKENDS: Final = (
    Backend(name="http", open=open_embedded),
    Backend(name="kubernetes", open=open_kubernetes, marks=(pytest.mark.kubernetes,)),
)
