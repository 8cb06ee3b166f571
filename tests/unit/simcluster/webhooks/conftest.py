"""A webhook on a local server, and its registration in the embedded cluster."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.unit.simcluster.webhooks.hook import GROUP, RULE, Hook, Register
from vc.model.api.struct import Json, JsonObject
from vc.simcluster.server import EmbeddedServer
from vc.simcluster.verbs.api import Api


@pytest.fixture(name="hook")
def _hook() -> Hook:
    return Hook()


@pytest.fixture(name="url")
async def _url(hook: Hook) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/hook", hook.handle)
    async with TestServer(app) as server:
        yield str(server.make_url("/hook"))


@pytest.fixture(name="register")
def _register(api: Api, server: EmbeddedServer, url: str) -> Register:
    """Registers one webhook; keyword arguments change it."""

    async def register(kind: str = "Validating", **fields: Json) -> None:
        resource = api.registry.lookup(GROUP, "v1", f"{kind.lower()}webhookconfigurations")
        webhook: JsonObject = {
            "name": "test.pyroclast.io",
            "clientConfig": {"url": url},
            "rules": [RULE],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **fields,
        }
        body = {"metadata": {"generateName": "hooks-"}, "webhooks": [webhook]}
        await api.create(resource, body)

    return register
