"""Admission webhooks: asks those whose configurations are in the store.

Mutating ones are asked one after the other, by the configuration's name and then in its order, each
seeing what the ones before have changed; then validating ones. `reinvocationPolicy` is not followed:
ours are idempotent and do not depend on one another. Writes to webhook configurations themselves
are never asked about, or a broken webhook could not be removed.
"""

import base64
import binascii
import logging
from itertools import count
from typing import Final
from uuid import UUID

import aiohttp
import msgspec

from vc_cluster.errors import ClusterError, NotFoundError
from vc_model.struct import Json, JsonObject
from vc_simcluster.admission import AdmissionRequest, warn
from vc_simcluster.api import Api
from vc_simcluster.patches import json_patch
from vc_simcluster.proxy import ServiceProxy
from vc_simcluster.webhooks_calls import Answer, WebhookFailedError, call, denial, failure, review
from vc_simcluster.webhooks_conditions import ConditionError, holds
from vc_simcluster.webhooks_rules import namespace_matches, object_matches, rules_match

_log: Final = logging.getLogger(__name__)

_GROUP: Final = "admissionregistration.k8s.io"
_MUTATING: Final = "mutatingwebhookconfigurations"
_VALIDATING: Final = "validatingwebhookconfigurations"


class WebhookAdmission:
    """Implements `Admission` by calling webhooks over HTTP or HTTPS."""

    def __init__(self, api: Api, *, services: ServiceProxy) -> None:
        self._api = api
        self._services = services
        self._session: aiohttp.ClientSession | None = None
        self._uids = count(1)
        self._decoded: dict[str, tuple[list[bytes], list[JsonObject]]] = {}
        """Webhooks by plural, with the stored bytes they were decoded from."""

    async def mutate(self, request: AdmissionRequest) -> JsonObject:
        """The object as the mutating webhooks want it."""
        obj = request.object or {}
        for webhook in self._webhooks(_MUTATING, request):
            answer = await self._ask(webhook, request)
            if answer is not None and answer.patch:
                obj = _patched(webhook, obj, answer.patch)
                request = msgspec.structs.replace(request, object=obj)
            if answer is not None:
                warn(answer.warnings)
        return obj

    async def validate(self, request: AdmissionRequest) -> list[str]:
        """Warnings for the caller; a denial is raised."""
        warnings: list[str] = []
        for webhook in self._webhooks(_VALIDATING, request):
            answer = await self._ask(webhook, request)
            warnings += answer.warnings if answer is not None else []
        return warnings

    async def close(self) -> None:
        """Let go of connections."""
        if self._session is not None:
            await self._session.close()

    def _webhooks(self, plural: str, request: AdmissionRequest) -> list[JsonObject]:
        """Webhooks of one kind whose rules name the write."""
        if request.resource.group == _GROUP:
            return []
        return [w for w in self._decode(plural) if rules_match(w, request)]

    def _decode(self, plural: str) -> list[JsonObject]:
        """All webhooks of one kind, decoded again only when something has changed."""
        resource = self._api.registry.lookup(_GROUP, "v1", plural)
        items = self._api.list(resource).items
        known = self._decoded.get(plural)
        if known is None or known[0] != items:
            found = [w for item in items for w in msgspec.json.decode(item).get("webhooks") or []]
            known = self._decoded[plural] = (items, found)
        return known[1]

    async def _ask(self, webhook: JsonObject, request: AdmissionRequest) -> Answer | None:
        """Its answer; None when it is not concerned, or failed and may be ignored."""
        name = webhook.get("name", "")
        try:
            if not self._is_concerned(webhook, request):
                return None
            body = review(request, str(UUID(int=next(self._uids))))
            answer = await call(self._open(), webhook, body, services=self._services)
        except (WebhookFailedError, ConditionError) as error:
            if webhook.get("failurePolicy", "Fail") == "Ignore":
                _log.warning("webhook %s failed and is ignored: %s", name, error)
                return None
            _log.warning("webhook %s failed, so the request is refused: %s", name, error)
            raise failure(name, error) from None
        if not answer.allowed:
            raise denial(name, answer)
        return answer

    def _is_concerned(self, webhook: JsonObject, request: AdmissionRequest) -> bool:
        """Selectors first, because they are cheap; then the conditions."""
        labels = self._namespace_labels(request)
        if not (object_matches(webhook, request) and namespace_matches(webhook, labels)):
            return False
        variables = {
            "object": request.object,
            "oldObject": request.old_object,
            "request": review(request, "")["request"],
        }
        conditions = webhook.get("matchConditions") or []
        return all(holds(c.get("expression", ""), variables) for c in conditions)

    def _namespace_labels(self, request: AdmissionRequest) -> dict[str, str] | None:
        """Labels of the namespace that the object is in, or is; None for neither."""
        if request.resource.plural == "namespaces" and not request.resource.group:
            namespace = request.object or request.old_object or {}
        elif request.namespace:
            resource = self._api.registry.lookup("", "v1", "namespaces")
            try:
                namespace = self._api.get(resource, name=request.namespace)
            except NotFoundError:
                namespace = {}
        else:
            return None
        return (namespace.get("metadata") or {}).get("labels") or {}

    def _open(self) -> aiohttp.ClientSession:
        """The session, made at first use because it needs a running loop."""
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession()
        return self._session


def _patched(webhook: JsonObject, obj: JsonObject, patch: str) -> JsonObject:
    """The object after the webhook's JSON patch; a patch that does not fit is its failure."""
    try:
        operations = msgspec.json.decode(base64.b64decode(patch, validate=True))
        changed: Json = json_patch(obj, operations)
    except (binascii.Error, ValueError, ClusterError) as error:
        raise failure(webhook.get("name", ""), error) from None
    if not isinstance(changed, dict):
        raise failure(webhook.get("name", ""), ValueError("the patch leaves no object"))
    return changed
