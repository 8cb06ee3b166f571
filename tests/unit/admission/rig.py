"""Admission on loopback, in front of an embedded cluster, for tests that call it over HTTPS."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.builders.contexts import our_registry
from vc.admission.config import Config
from vc.admission.service import AdmissionService, build
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock
from vc.model.api.kinds import SECRETS
from vc.runtime.hosting.context import Context
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.http.proxy import ServiceProxy
from vc.simcluster.verbs.api import Api
from vc.simcluster.webhooks.dispatch import WebhookAdmission
from vc.snapshot.memory import MemorySnapshot
from vc.watcher.config import Config as WatcherConfig
from vc.watcher.service import build as build_watcher

READY_SECONDS_MAX = 15.0


class Rig:
    """An embedded cluster with webhooks, a bus, and whatever services a test starts."""

    def __init__(self) -> None:
        self.clock = LoopClock()
        self.api = Api(clock=self.clock, registry=our_registry())
        self.cluster = StoreCluster(self.api)
        self.webhooks = WebhookAdmission(self.api, services=ServiceProxy())
        self.api.admission = self.webhooks
        self.bus = MemoryBus(self.clock)
        self.snapshot = MemorySnapshot()

    def context(self, name: str) -> Context:
        return Context(
            name=name,
            bus=self.bus,
            cluster=self.cluster,
            snapshot=self.snapshot,
            clock=self.clock,
            identity=f"{name}-test",
        )

    @asynccontextmanager
    async def admission(self, **fields: Any) -> AsyncIterator[AdmissionService]:
        config = Config(create_configurations=True, **{"port": 0, **fields})
        service = build(self.context("admission"), config)
        running = asyncio.create_task(service.run())
        try:
            await until(lambda: not service.unready())
            yield service
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    @asynccontextmanager
    async def watcher(self) -> AsyncIterator[None]:
        running = asyncio.create_task(build_watcher(self.context("watcher"), WatcherConfig()).run())
        try:
            yield
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def authority(self) -> ssl.SSLContext:
        secret = await self.cluster.get(
            SECRETS, name="volcano-admission-certs", namespace="volcano-system"
        )
        pem = base64.b64decode(secret["data"]["ca.crt"]).decode()
        return ssl.create_default_context(cadata=pem)


async def until(condition: Any) -> None:
    async with asyncio.timeout(READY_SECONDS_MAX):
        while not condition():  # noqa: ASYNC110 - a service has no event to wait for
            await asyncio.sleep(0.01)
