"""The shell: certificates, then HTTPS, then our webhook configurations, and the view beside them.

The order matters at a start: nobody is told to call us before we answer. There is no leader: every
replica answers, and the two things replicas write (the Secret and the caBundle) carry preconditions.
"""

import asyncio
import os
from typing import Final

from vc_admission.certificates import LOOK_SECONDS, CertificateKeeper
from vc_admission.config import Config
from vc_admission.knowledge import Knowledge
from vc_admission.logic.endpoints import ENDPOINTS
from vc_admission.logic.webhook_configurations import (
    CONFIGURATIONS,
    client_url,
    configuration,
    with_ca_bundle,
)
from vc_admission.server import AdmissionServer
from vc_cluster import AlreadyExistsError, ClusterError
from vc_model.kinds import NAMESPACES
from vc_model.struct import JsonObject
from vc_runtime.backoff import delay_seconds
from vc_runtime.context import Context

_ANY_ADDRESS: Final = ("", "0.0.0.0", "::")  # noqa: S104 - compared only
_LOOPBACK: Final = "127.0.0.1"


class AdmissionService:
    """Answers the API server's questions."""

    name = "admission"

    def __init__(self, context: Context, config: Config) -> None:
        self._context = context
        self._config = config
        self._keeper = CertificateKeeper(context, config)
        self.knowledge = Knowledge(context, config)
        self._server = AdmissionServer(context, self.knowledge)
        self._trouble = "not started"
        self.port = 0
        """Where it listens; 0 before it does."""

    def unready(self) -> str:
        """Answering is its work; a view that is behind only makes it look live."""
        return self._trouble

    async def run(self) -> None:
        """Serve until cancelled."""
        ca_bundle = await self._first_certificates()
        self.port = await self._server.start(
            host=self._config.host, port=self._config.port, tls=self._keeper.tls
        )
        self._context.log.info("answering on https://%s:%d", self._config.host, self.port)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.knowledge.follow())
                await self._register(ca_bundle)
                self._trouble = ""
                group.create_task(self._keep_certificates())
        finally:
            self._trouble = "stopped"
            await self._server.stop()

    async def _first_certificates(self) -> bytes:
        """The API server may come up after us."""
        attempt = 0
        while True:
            try:
                if self._config.create_configurations:
                    await self._ensure_namespace()
                return await self._keeper.refresh()
            except ClusterError as error:
                attempt += 1
                self._trouble = f"no certificates yet: {error}"
                await self._context.clock.sleep(delay_seconds(attempt, self._context.chance))

    async def _ensure_namespace(self) -> None:
        """In embedded mode nobody has made our namespace before us."""
        body: JsonObject = {
            "apiVersion": NAMESPACES.api_version,
            "kind": NAMESPACES.kind,
            "metadata": {"name": self._context.namespace},
        }
        try:
            await self._context.cluster.create(NAMESPACES, body)
        except AlreadyExistsError:
            return

    async def _register(self, ca_bundle: bytes) -> None:
        """Until our webhook configurations lead here and trust us."""
        attempt = 0
        while True:
            try:
                if self._config.create_configurations:
                    await self._create_configurations(ca_bundle)
                missing = await self._keeper.publish(ca_bundle)
            except ClusterError as error:
                attempt += 1
                self._trouble = f"not registered yet: {error}"
                await self._context.clock.sleep(delay_seconds(attempt, self._context.chance))
                continue
            if missing:
                self._context.log.warning("not found, so nobody calls us: %s", ", ".join(missing))
            return

    async def _create_configurations(self, ca_bundle: bytes) -> None:
        """Create them, or lead existing ones to the port we have now; trusted from the start."""
        host = _LOOPBACK if self._config.host in _ANY_ADDRESS else self._config.host
        base_url = f"https://{host}:{self.port}"
        clients = {endpoint.path: client_url(base_url, endpoint) for endpoint in ENDPOINTS}
        for kind in CONFIGURATIONS:
            body = configuration(
                kind,
                name=self._config.configuration_name,
                clients=clients,
                scheduler_names=self._config.settings.scheduler_names,
            )
            body["webhooks"] = with_ca_bundle(body, ca_bundle)
            try:
                await self._context.cluster.create(kind, body)
            except AlreadyExistsError:
                await self._context.cluster.patch(
                    kind, {"webhooks": body["webhooks"]}, name=self._config.configuration_name
                )

    async def _keep_certificates(self) -> None:
        while True:
            await self._context.clock.sleep(LOOK_SECONDS)
            try:
                await self._keeper.publish(await self._keeper.refresh())
            except (ClusterError, OSError) as error:
                self._context.log.warning("certificates not looked at: %s", error)


def build(context: Context, config: Config | None = None) -> AdmissionService:
    """The service; without a Config the environment says."""
    return AdmissionService(context, config or Config.from_env(os.environ))
