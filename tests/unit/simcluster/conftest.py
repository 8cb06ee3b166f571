"""An embedded cluster with its HTTP server, and a client for it."""

from collections.abc import AsyncIterator
from typing import Final

import aiohttp
import pytest

from vc.clock import LoopClock
from vc.simcluster.schema.registry import Registry, load_crds
from vc.simcluster.server import EmbeddedServer, serve
from vc.simcluster.verbs.api import Api

_CRDS: Final = load_crds()
"""Read once: parsing YAML costs more than all the rest of a test."""


@pytest.fixture(name="api")
def _api() -> Api:
    return Api(clock=LoopClock(), registry=Registry(crds=_CRDS))


@pytest.fixture(name="server")
async def _server(api: Api) -> AsyncIterator[EmbeddedServer]:
    server = await serve(api)
    yield server
    await server.close()


@pytest.fixture(name="http")
async def _http(server: EmbeddedServer) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(base_url=server.url) as session:
        yield session
