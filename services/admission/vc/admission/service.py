"""The shell: first certificates, then HTTPS, then the webhook configurations; the view in parallel.

The order matters at a start: the API server must not be pointed here before this service answers.
There is no leader: every replica answers, and the two objects that replicas write (the Secret and
the caBundle) carry preconditions.
"""

import asyncio
import os

from vc.admission.certificates import CHECK_SECONDS, CertificateKeeper
from vc.admission.config import ACCOUNTS, Config
from vc.admission.logic.webhook.webhook_configurations import BY_ADDRESS
from vc.admission.metrics import AdmissionMetrics
from vc.admission.registration import WITHDRAW_SECONDS_MAX, Registration
from vc.admission.server import AdmissionServer
from vc.admission.world_source import WorldSource
from vc.cluster import AlreadyExistsError, ClusterError
from vc.model.api.kinds import NAMESPACES
from vc.model.api.struct import JsonObject
from vc.model.faults import describe
from vc.model.values.backoff import delay_seconds
from vc.runtime.hosting.context import Context


class AdmissionService:
    """One replica of admission: certificates, HTTPS server, view and webhook configurations."""

    name = "admission"

    def __init__(self, context: Context, config: Config) -> None:
        self._context = context
        self.metrics = context.metrics
        self._config = config
        self._keeper = CertificateKeeper(context, config)
        self.world_source = WorldSource(context, config)
        self._metrics = AdmissionMetrics(context)
        self._server = AdmissionServer(context, self.world_source, self._metrics)
        self._registration = Registration(
            context, config, self.world_source, port=lambda: self.port
        )
        self._missing: list[str] = []
        """Webhook configurations that were missing at the last check."""
        self._not_ready = "not started"
        self.port = 0
        """The listening port, or 0 before it listens."""

    def unready(self) -> str:
        """Why the service cannot answer. A view that is behind is no
        reason: it only causes live reads."""
        return self._not_ready

    async def run(self) -> None:
        """Serve until cancelled, then delete the webhooks that only this process answers."""
        # Registering an address that cannot be reached would block all writes of our kinds.
        if self._config.create_configurations and not self._config.is_reachable:
            await self._stand_by()
        ca_bundle = await self._first_certificates()
        self.port = await self._server.start(
            host=self._config.host, port=self._config.port, tls=self._keeper.tls
        )
        if not self._config.settings.accounts:
            self._context.log.warning(
                "%s is not set: if other users write PodGroups, our status and annotations are not "
                "restored; name the accounts of our services",
                ACCOUNTS.name,
            )
        self._context.log.info("serving address=https://%s:%d", self._config.host, self.port)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.world_source.follow())
                # The follower starts first, so that requests after the
                # registration can use the view.
                await self._register(ca_bundle)
                self._not_ready = ""
                group.create_task(self._keep_registered(ca_bundle))
        except asyncio.CancelledError:
            # Stop answering first: whether another replica answers decides
            # if the webhooks are deleted.
            await self._stop()
            if self._config.withdraws:
                await self._withdraw(ca_bundle)
            raise
        finally:
            await self._stop()

    async def _stop(self) -> None:
        self._not_ready = "stopped"
        await self._server.stop()

    async def _stand_by(self) -> None:
        """Register nothing and delete earlier registrations, because
        the API server cannot call us."""
        attempt = 0
        while True:
            try:
                await self._ensure_namespace()
                await self._registration.delete_leftovers()
                break
            except ClusterError as error:
                attempt += 1
                self._not_ready = f"the cluster does not answer: {error}"
                await self._context.clock.sleep(delay_seconds(attempt, self._context.rng))
        self._context.log.warning(
            "no webhooks are registered: no address is known by which the API server of this cluster "
            "reaches us. Jobs get no defaults and are not validated. Set "
            "ADMISSION_URL=https://HOST:PORT to an address that it reaches"
        )
        self._metrics.registered(complete=False)
        self._not_ready = ""
        await asyncio.Event().wait()

    async def _withdraw(self, ca_bundle: bytes) -> None:
        """Delete our webhooks in a bounded time. A stop must not wait for
        a cluster that does not answer."""
        try:
            async with asyncio.timeout(WITHDRAW_SECONDS_MAX):
                await self._registration.withdraw(ca_bundle)
        except (ClusterError, TimeoutError) as error:
            self._context.log.error(
                "webhook configurations %s stay on the cluster (%s); `kubectl delete "
                "mutatingwebhookconfigurations,validatingwebhookconfigurations -l %s` deletes them",
                self._config.configuration_name,
                describe(error),
                ",".join(f"{key}={value}" for key, value in BY_ADDRESS.items()),
            )

    async def _first_certificates(self) -> bytes:
        """The first certificates. The API server may start after
        this service, so this is retried."""
        attempt = 0
        while True:
            try:
                if self._config.create_configurations:
                    await self._ensure_namespace()
                return await self._keeper.refresh()
            except ClusterError as error:
                attempt += 1
                self._not_ready = f"no certificates yet: {error}"
                await self._context.clock.sleep(delay_seconds(attempt, self._context.rng))

    async def _ensure_namespace(self) -> None:
        """Create our namespace. In embedded mode it does not exist yet."""
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
        """Retry until the webhook configurations lead here and trust our authority."""
        attempt = 0
        while True:
            try:
                # Existing configurations may lead to the port of an earlier process.
                if self._config.create_configurations:
                    await self._registration.create(ca_bundle)
                await self._check(ca_bundle)
            except ClusterError as error:
                attempt += 1
                self._not_ready = f"not registered yet: {error}"
                await self._context.clock.sleep(delay_seconds(attempt, self._context.rng))
                continue
            return

    async def _check(self, ca_bundle: bytes) -> None:
        """Check once, and log missing configurations when they change."""
        missing = await self._registration.restore(ca_bundle)
        self._metrics.registered(complete=not missing)
        if missing and missing != self._missing:
            # Without them the API server does not call this service, and nothing is validated.
            self._context.log.warning(
                "webhook configurations not found missing=%s", ", ".join(missing)
            )
        self._missing = missing

    async def _keep_registered(self, ca_bundle: bytes) -> None:
        """Restore deleted configurations, and renew certificates in time."""
        refresh_at = self._context.clock.monotonic() + CHECK_SECONDS
        while True:
            await self._registration.wait()
            try:
                # A missing configuration may mean a wiped cluster, whose Secret is gone too.
                if self._missing or self._context.clock.monotonic() >= refresh_at:
                    if self._missing and self._config.create_configurations:
                        await self._ensure_namespace()  # the whole cluster may have been wiped
                    ca_bundle = await self._keeper.refresh()
                    refresh_at = self._context.clock.monotonic() + CHECK_SECONDS
                if self._missing and self._config.create_configurations:
                    await self._registration.create(ca_bundle)
                await self._check(ca_bundle)
            except (ClusterError, OSError) as error:
                self._context.log.warning("certificates not checked error=%s", describe(error))
                await self._context.clock.sleep(delay_seconds(1, self._context.rng))


def build(context: Context, config: Config | None = None) -> AdmissionService:
    """Create the service. Without a Config, the environment is read."""
    return AdmissionService(context, config or Config.from_env(os.environ))
