"""Keeps both webhook configurations registered, limited to the objects that admission handles.

Every few seconds, and at once when the resource groups change, both webhook configurations are
read. A missing one is created again where we create them (embedded mode; on a cluster the chart
does, and we only report that it is missing). The authority and the condition on pods are restored.
Writes carry the resourceVersion they were based on, so replicas do not undo each other's changes.

On a cluster that outlives this process (`Config.url`) the created configurations are deleted when
the last replica stops: then no process answers at that address. After a hard kill, the next start
deletes or replaces them. The configurations of a chart are never changed from here: they name a
Service instead of an address.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from vc.admission.config import Config
from vc.admission.logic.webhook.endpoints import ENDPOINTS
from vc.admission.logic.webhook.pod_conditions import steering_condition
from vc.admission.logic.webhook.webhook_configurations import (
    BY_ADDRESS,
    CONFIGURATIONS,
    client_url,
    configuration,
    is_by_address,
    kept,
)
from vc.admission.world_source import WorldSource
from vc.cluster import AlreadyExistsError, ConflictError, NotFoundError, Preconditions
from vc.model.api.kinds import Kind
from vc.model.api.struct import JsonObject
from vc.runtime.hosting.context import Context

CHECK_SECONDS: Final = 5.0
"""Time between two checks. For so long admission may be without requests after a deletion."""

WITHDRAW_SECONDS_MAX: Final = 4.0
"""Time for the API server during a stop. A service has 10 s to stop,
and the HTTPS server may need 5."""
ANSWER_SECONDS_MAX: Final = 1.0
"""Time for another replica to answer."""

_HTTPS_PORT: Final = 443
_ANY_ADDRESS: Final = ("", "0.0.0.0", "::")  # noqa: S104 - compared only
_LOOPBACK: Final = "127.0.0.1"


class Registration:
    """The webhook configurations of this service."""

    def __init__(
        self,
        context: Context,
        config: Config,
        world_source: WorldSource,
        *,
        port: Callable[[], int],
    ) -> None:
        self._context = context
        self._config = config
        self._world_source = world_source
        self._port = port

    async def wait(self) -> None:
        """Wait until the next check is due."""
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await self._world_source.groups_changed.wait()
        except TimeoutError:
            return

    async def create(self, ca_bundle: bytes) -> None:
        """Create the configurations, or point existing ones to the
        current port, with the authority set."""
        for kind in CONFIGURATIONS:
            body = self._body(kind, ca_bundle)
            try:
                await self._context.cluster.create(kind, body)
            except AlreadyExistsError:
                await self._take_over(kind, body)

    async def _take_over(self, kind: Kind, body: JsonObject) -> None:
        cluster, name = self._context.cluster, self._config.configuration_name
        found = await cluster.get(kind, name=name)
        # Two writers would overwrite each other: a chart's configuration
        # belongs to its own replicas.
        if not is_by_address(found):
            self._context.log.warning(
                "webhook configuration of a chart is not changed kind=%s name=%s", kind.kind, name
            )
            return
        # Labels are restored too: they mark the configuration as ours for later processes.
        labels = body["metadata"]["labels"]
        changes: JsonObject = {"metadata": {"labels": labels}, "webhooks": body["webhooks"]}
        await cluster.patch(kind, changes, name=name)

    async def delete_leftovers(self) -> None:
        """Delete what an earlier process created, whatever its
        address: the API server reaches none."""
        await self._delete_where(url="")

    async def withdraw(self, ca_bundle: bytes) -> None:
        """Delete what we created, unless another replica answers at that address."""
        # Another replica at the same address still needs the webhooks.
        if await self._is_answered(ca_bundle):
            self._context.log.info(
                "webhooks kept, another replica answers url=%s", self._config.url
            )
            return
        await self._delete_where(url=self._config.url)

    async def _delete_where(self, *, url: str) -> None:
        cluster, name = self._context.cluster, self._config.configuration_name
        for kind in CONFIGURATIONS:
            try:
                found = await cluster.get(kind, name=name)
                if not is_by_address(found, url=url):
                    continue
                metadata = found["metadata"]
                # Preconditions protect a configuration that another process has replaced just now.
                version = Preconditions(
                    uid=metadata["uid"], resource_version=metadata["resourceVersion"]
                )
                await cluster.delete(kind, name=name, preconditions=version)
                self._context.log.info(
                    "webhook configuration deleted kind=%s name=%s", kind.kind, name
                )
            except (NotFoundError, ConflictError):
                continue  # another process deleted it, or has replaced it just now

    async def _is_answered(self, ca_bundle: bytes) -> bool:
        """Whether another replica answers. A port that only accepts connections (of a proxy)
        does not count; the certificate does."""
        parts = urlsplit(self._config.url)
        try:
            # A proxy may accept connections for a stopped process; only a
            # valid certificate is an answer.
            trusted = ssl.create_default_context(cadata=ca_bundle.decode())
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                _, writer = await asyncio.open_connection(
                    parts.hostname, parts.port or _HTTPS_PORT, ssl=trusted
                )
        except (OSError, ValueError):
            return False
        writer.close()
        return True

    async def restore(self, ca_bundle: bytes) -> list[str]:
        """Restore both configurations. Returns the names of missing ones."""
        # Cleared before the read, so that a change during the read causes another check.
        self._world_source.groups_changed.clear()
        found = [await self._restore_one(kind, ca_bundle) for kind in CONFIGURATIONS]
        return [missing for missing in found if missing]

    async def _restore_one(self, kind: Kind, ca_bundle: bytes) -> str:
        cluster, name = self._context.cluster, self._config.configuration_name
        try:
            found = await cluster.get(kind, name=name)
            # Without the address it belongs to a chart, whose replicas write it.
            if self._config.create_configurations and not is_by_address(found):
                return ""  # a chart's: its own replicas keep it up to date
            webhooks = kept(found, ca_pem=ca_bundle, steering=self._steering())
            if webhooks is None:
                return ""
            await cluster.patch(
                kind,
                {"webhooks": webhooks},
                name=name,
                preconditions=Preconditions(resource_version=found["metadata"]["resourceVersion"]),
            )
            self._context.log.info(
                "webhook configuration restored kind=%s name=%s", kind.kind, name
            )
        except NotFoundError:
            return f"{kind.kind} {name}"
        except ConflictError:
            pass  # another writer was faster; the next check is soon
        return ""

    def _steering(self) -> JsonObject | None:
        """The condition on pods, or None while our own configuration is not known."""
        groups = self._world_source.resource_groups()
        if groups is None:
            return None
        gate = self._config.settings.queue_allocation_gate
        return steering_condition(groups, gate=gate)

    def _body(self, kind: Kind, ca_bundle: bytes) -> JsonObject:
        host = _LOOPBACK if self._config.host in _ANY_ADDRESS else self._config.host
        base_url = self._config.url or f"https://{host}:{self._port()}"
        body = configuration(
            kind,
            name=self._config.configuration_name,
            clients={endpoint.path: client_url(base_url, endpoint) for endpoint in ENDPOINTS},
            scheduler_names=self._config.settings.scheduler_names,
            steering=self._steering(),
            failure_policy=self._config.own_failure_policy,
            accounts=self._config.settings.accounts,
        )
        body["metadata"]["labels"] |= BY_ADDRESS
        # The authority is part of the first write, so that no call fails before the next check.
        body["webhooks"] = kept(body, ca_pem=ca_bundle, steering=None)
        return body
