"""KubernetesCluster as a backend: over HTTP on the embedded cluster, and on a real kube-apiserver.

The embedded server is fresh for each test. A real control plane takes ten seconds to start, so there
is one for the session; tests share it and keep to namespaces of their own.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import aiohttp
import pytest

from tests.contracts.cluster.backends import Backend, Target, definitions
from tests.contracts.cluster.steps import eventually, exists
from vc.clock import LoopClock
from vc.cluster import AlreadyExistsError
from vc.cluster.kubernetes import KubernetesCluster, connect
from vc.cluster.kubernetes_http import Limits
from vc.kubeconfig.writer import write_kubeconfig
from vc.model.api.kinds import Kind
from vc.model.api.meta import ApiObject
from vc.parts import ControlPlane, require_or_skip_reason
from vc.parts.availability import given_address
from vc.parts.fetch.catalogue import PARTS
from vc.simcluster import Api, Registry
from vc.simcluster.server import serve

PATIENT: Final = Limits(write_seconds_max=5.0)
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
        self._plane: ControlPlane | None = None
        self.kubeconfig = Path(given_address(PARTS["kubernetes"], os.environ))
        self.is_given = str(self.kubeconfig) != "."

    async def start(self) -> None:
        """Goes on at once when it runs already, or when one is given."""
        if self._plane is not None or self.is_given:
            return
        self._plane = ControlPlane()
        await self._plane.start()
        self.kubeconfig = self._plane.kubeconfig
        async with _connected(self.kubeconfig) as cluster:
            await install_definitions(cluster)
        # The garbage collector would take half a minute to notice new kinds by itself.
        await self._plane.controller_manager.restart()

    async def forget_history(self) -> None:
        """Compact etcd, and restart the API server, whose memory is longer than etcd's."""
        assert self._plane is not None
        async with aiohttp.ClientSession(self._plane.etcd.url) as etcd:
            async with etcd.post("/v3/kv/range", json={"key": "AA=="}) as answer:
                revision = (await answer.json())["header"]["revision"]
            body = {"revision": revision, "physical": True}
            async with etcd.post("/v3/kv/compaction", json=body) as answer:
                assert answer.status == 200, await answer.text()
        await self._plane.apiserver.restart()
        await self._plane.controller_manager.restart()  # else it comes back only slowly

    def stop(self) -> None:
        """At the end of the session; nothing to do when no test asked."""
        if self._plane is not None:
            asyncio.run(self._plane.stop())


@asynccontextmanager
async def _connected(kubeconfig: Path) -> AsyncIterator[KubernetesCluster]:
    cluster = await connect(service="contract", kubeconfig=str(kubeconfig), limits=PATIENT)
    try:
        yield cluster
    finally:
        await cluster.close()


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
            conditions = read["status"].get("conditions") or []  # null at first
            return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)

        await eventually(is_served, why=f"{name} is served")


CONTROL_PLANE: Final = SharedControlPlane()


@asynccontextmanager
async def open_kubernetes() -> AsyncIterator[Target]:
    """The adapter on a real kube-apiserver with etcd and controllers."""
    reason = require_or_skip_reason("kubernetes")
    if reason:
        pytest.skip(reason)
    await CONTROL_PLANE.start()
    async with _connected(CONTROL_PLANE.kubeconfig) as cluster:

        async def furnish(namespace: str) -> None:
            async def has_account() -> bool:
                return await exists(cluster, _ACCOUNTS, "default", namespace)

            await eventually(has_account, why=f"{namespace} has the account that its pods need")

        compact = None if CONTROL_PLANE.is_given else CONTROL_PLANE.forget_history
        yield Target(cluster=cluster, compact=compact, has_controllers=True, furnish=furnish)


KUBERNETES_BACKENDS: Final = (
    Backend(name="http", open=open_embedded),
    Backend(name="kubernetes", open=open_kubernetes, marks=(pytest.mark.kubernetes,)),
)
