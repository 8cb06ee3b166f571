"""Where the transcript is run: the embedded cluster, or a real API server when there is one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from vc.clock import LoopClock
from vc.kubeconfig.writer import write_kubeconfig
from vc.parts import ControlPlane, require_or_skip_reason
from vc.simcluster.kubelet.nodes import SimulatedNodes
from vc.simcluster.schema.registry import Registry, load_crds
from vc.simcluster.server import serve
from vc.simcluster.verbs.api import Api

NAMES = ("embedded", "kubernetes")


class Backend(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster to talk to."""

    name: str
    kubeconfig: Path


@asynccontextmanager
async def start(name: str, folder: Path) -> AsyncIterator[Backend]:
    """The backend of that name, without any objects of ours but the CRDs' kinds."""
    starting = _embedded(folder) if name == "embedded" else _kubernetes()
    async with starting as backend:
        yield backend


@asynccontextmanager
async def _embedded(folder: Path) -> AsyncIterator[Backend]:
    api = Api(clock=LoopClock(), registry=Registry(crds=load_crds()))
    nodes = SimulatedNodes(api, pools=())
    await nodes.start()
    server = await serve(api)
    try:
        yield Backend(
            name="embedded", kubeconfig=write_kubeconfig(folder / "kubeconfig", server.url)
        )
    finally:
        await server.close()
        await nodes.stop()


@asynccontextmanager
async def _kubernetes() -> AsyncIterator[Backend]:
    reason = require_or_skip_reason("kubernetes")
    if reason:
        pytest.skip(reason)
    async with ControlPlane() as plane:
        yield Backend(name="kubernetes", kubeconfig=plane.kubeconfig)
