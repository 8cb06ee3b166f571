"""Keeps the API server asking us, and only about what we have something to say to.

Every few seconds, and at once when the resource groups change, both webhook configurations are read:
one that vanished is made anew where we may make them (embedded mode; on a cluster the chart does, and
we only say that it is missing), and the authority and the condition on pods are put right. Writes
carry the version they were based on, so replicas do not undo one another.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from vc_admission.config import Config
from vc_admission.knowledge import Knowledge
from vc_admission.logic.endpoints import ENDPOINTS
from vc_admission.logic.pod_conditions import steering_condition
from vc_admission.logic.webhook_configurations import (
    CONFIGURATIONS,
    client_url,
    configuration,
    kept,
)
from vc_cluster import AlreadyExistsError, ConflictError, NotFoundError, Preconditions
from vc_model.kinds import Kind
from vc_model.struct import JsonObject
from vc_runtime.context import Context

LOOK_SECONDS: Final = 5.0
"""Between two looks: so long nobody asks us after the configurations were deleted."""

_ANY_ADDRESS: Final = ("", "0.0.0.0", "::")  # noqa: S104 - compared only
_LOOPBACK: Final = "127.0.0.1"


class Registration:
    """Our webhook configurations."""

    def __init__(
        self, context: Context, config: Config, knowledge: Knowledge, *, port: Callable[[], int]
    ) -> None:
        self._context = context
        self._config = config
        self._knowledge = knowledge
        self._port = port

    async def wait(self) -> None:
        """Until it is time to look again."""
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._knowledge.groups_changed.wait()
        except TimeoutError:
            return

    async def create(self, ca_bundle: bytes) -> None:
        """Make them, or lead existing ones to the port we have now; trusted from the start."""
        for kind in CONFIGURATIONS:
            body = self._body(kind, ca_bundle)
            try:
                await self._context.cluster.create(kind, body)
            except AlreadyExistsError:
                await self._context.cluster.patch(
                    kind, {"webhooks": body["webhooks"]}, name=self._config.configuration_name
                )

    async def look(self, ca_bundle: bytes) -> list[str]:
        """Put right what is not; names of configurations that are missing."""
        self._knowledge.groups_changed.clear()
        found = [await self._look_at(kind, ca_bundle) for kind in CONFIGURATIONS]
        return [missing for missing in found if missing]

    async def _look_at(self, kind: Kind, ca_bundle: bytes) -> str:
        cluster, name = self._context.cluster, self._config.configuration_name
        try:
            found = await cluster.get(kind, name=name)
            webhooks = kept(found, ca_pem=ca_bundle, steering=self._steering())
            if webhooks is None:
                return ""
            await cluster.patch(
                kind,
                {"webhooks": webhooks},
                name=name,
                preconditions=Preconditions(resource_version=found["metadata"]["resourceVersion"]),
            )
            self._context.log.info("%s %s put right", kind.kind, name)
        except NotFoundError:
            return f"{kind.kind} {name}"
        except ConflictError:
            pass  # somebody else writes; we look again soon
        return ""

    def _steering(self) -> JsonObject | None:
        """None while our own configuration is not known."""
        groups = self._knowledge.resource_groups()
        if groups is None:
            return None
        gate = self._config.settings.queue_allocation_gate
        return steering_condition(groups, gate=gate)

    def _body(self, kind: Kind, ca_bundle: bytes) -> JsonObject:
        host = _LOOPBACK if self._config.host in _ANY_ADDRESS else self._config.host
        base_url = f"https://{host}:{self._port()}"
        body = configuration(
            kind,
            name=self._config.configuration_name,
            clients={endpoint.path: client_url(base_url, endpoint) for endpoint in ENDPOINTS},
            scheduler_names=self._config.settings.scheduler_names,
            steering=self._steering(),
        )
        body["webhooks"] = kept(body, ca_pem=ca_bundle, steering=None)
        return body
