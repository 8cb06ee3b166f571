"""Admission by webhooks whose configurations are in the store.

Mutating webhooks are called one after the other, ordered by the name of the configuration and then
by their position in it. Each sees the changes of the previous ones. Validating webhooks follow.
`reinvocationPolicy` is not supported: the webhooks of this project are idempotent and independent.
Webhooks are never called for webhook configurations, because otherwise a broken webhook could not
be removed.
"""

import base64
import binascii
import logging
from itertools import count
from typing import Final
from uuid import UUID

import aiohttp
import msgspec

from vc.cluster.errors import ClusterError, NotFoundError
from vc.model.api.struct import Json, JsonObject
from vc.simcluster.apply.patches import json_patch
from vc.simcluster.http.proxy import ServiceProxy
from vc.simcluster.verbs.admission import AdmissionRequest, warn
from vc.simcluster.verbs.api import Api
from vc.simcluster.webhooks.calls import Answer, WebhookFailedError, call, denial, failure, review
from vc.simcluster.webhooks.match_conditions import ConditionError, holds
from vc.simcluster.webhooks.rules import namespace_matches, object_matches, rules_match

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
        """Webhooks by plural, with the stored bytes from which they were decoded."""

    async def mutate(self, request: AdmissionRequest) -> JsonObject:
        """The object after all mutating webhooks."""
        obj = request.object or {}
        for webhook in self._webhooks(_MUTATING, request):
            answer = await self._ask(webhook, request)
            if answer is not None and answer.patch:
                obj = _patched(webhook, obj, answer.patch)
                # The next webhook must see the object as the previous ones have changed it.
                request = msgspec.structs.replace(request, object=obj)
            if answer is not None:
                warn(answer.warnings)
        return obj

    async def validate(self, request: AdmissionRequest) -> list[str]:
        """Call the validating webhooks and return their warnings. A denial is raised."""
        warnings: list[str] = []
        for webhook in self._webhooks(_VALIDATING, request):
            answer = await self._ask(webhook, request)
            warnings += answer.warnings if answer is not None else []
        return warnings

    async def close(self) -> None:
        """Close the connections to the webhooks, if any were opened."""
        if self._session is not None:
            await self._session.close()

    def _webhooks(self, plural: str, request: AdmissionRequest) -> list[JsonObject]:
        """The webhooks of one kind whose rules match the request."""
        # A broken webhook must not prevent its own removal.
        if request.resource.group == _GROUP:
            return []
        return [w for w in self._decode(plural) if rules_match(w, request)]

    def _decode(self, plural: str) -> list[JsonObject]:
        """All webhooks of one kind. They are decoded again only if a configuration changed."""
        resource = self._api.registry.lookup(_GROUP, "v1", plural)
        # Listed for each write, so that a configuration is in force as soon as it is stored. A real
        # server follows after a moment.
        items = self._api.list(resource).items
        known = self._decoded.get(plural)
        # The comparison is cheap: unchanged records are the same bytes objects.
        if known is None or known[0] != items:
            found = [w for item in items for w in msgspec.json.decode(item).get("webhooks") or []]
            known = self._decoded[plural] = (items, found)
        return known[1]

    async def _ask(self, webhook: JsonObject, request: AdmissionRequest) -> Answer | None:
        """Call one webhook. None if it does not match, or if it failed and may be ignored."""
        name = webhook.get("name", "")
        try:
            if not self._is_concerned(webhook, request):
                return None
            # Counted uids keep simulations repeatable; a random uid would differ in every run.
            body = review(request, str(UUID(int=next(self._uids))))
            answer = await call(self._open(), webhook, body, services=self._services)
        except (WebhookFailedError, ConditionError) as error:
            if webhook.get("failurePolicy", "Fail") == "Ignore":
                _log.warning("webhook_failed webhook=%s policy=Ignore error=%s", name, error)
                return None
            _log.warning("webhook_failed webhook=%s policy=Fail error=%s", name, error)
            raise failure(name, error) from None
        # A denial is a decision and no failure, so failurePolicy does not apply to it.
        if not answer.allowed:
            raise denial(name, answer)
        return answer

    def _is_concerned(self, webhook: JsonObject, request: AdmissionRequest) -> bool:
        """Evaluate selectors first, because they are cheap, then the match conditions."""
        labels = self._namespace_labels(request)
        # A webhook that is not concerned must not be called, nor can it fail.
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
        """Labels of the object's namespace, or of the object if it is a namespace.

        None for others.
        """
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
        """The HTTP session, created at first use because it needs a running loop."""
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession()
        return self._session


def _patched(webhook: JsonObject, obj: JsonObject, patch: str) -> JsonObject:
    """Apply the webhook's JSON patch. An invalid patch counts as a failure of the webhook."""
    try:
        operations = msgspec.json.decode(base64.b64decode(patch, validate=True))
        changed: Json = json_patch(obj, operations)
    except (binascii.Error, ValueError, ClusterError) as error:
        raise failure(webhook.get("name", ""), error) from None
    if not isinstance(changed, dict):
        raise failure(webhook.get("name", ""), ValueError("the patch leaves no object"))
    return changed
