"""The API server's admission in a simulation: a quota on priority classes, and our webhooks or not.

The webhooks' rules are the real ones, without HTTPS between: what is asked, and what is read before, is as
in the service.
"""

from typing import Final

import msgspec

from vc.admission.logic.lookups import needed
from vc.admission.logic.webhook.endpoints import ENDPOINTS, Endpoint
from vc.cluster import ForbiddenError
from vc.model.api.graft import strip_nulls
from vc.model.api.kinds import NAMESPACES, PODS, QUEUES, QUOTAS, Kind
from vc.model.api.kubernetes import Namespace, ResourceQuota
from vc.model.api.meta import ApiObject
from vc.model.api.scheduling import Queue
from vc.model.api.struct import JsonObject
from vc.simcluster.http.reviews import answer_access
from vc.simcluster.verbs.admission import AdmissionRequest
from vc.simcluster.verbs.api import Api
from vc.simcluster.webhooks.calls import groups_of
from vc.validation.class_quotas import by_namespace
from vc.validation.request import ReviewRequest, UserInfo
from vc.validation.result import ValidationResult
from vc.validation.rules import defaulted, validate
from vc.validation.world import Settings, World

OURS: Final = ""
"""User name of our services in a simulation."""


class Door:
    """Asked about every write."""

    def __init__(self, api: Api, *, webhooks: bool, quota: dict[str, frozenset[str]]) -> None:
        """`quota`: by namespace, the only priority classes that its pods may have."""
        self._api = api
        self._webhooks = webhooks
        self._quota = quota

    async def mutate(self, request: AdmissionRequest) -> JsonObject:
        obj = request.object or {}
        endpoint = self._endpoint(request, mutates=True)
        if endpoint is None:
            return obj
        return defaulted(_asked(request), self._world(request, endpoint), kind=endpoint.kind)

    async def validate(self, request: AdmissionRequest) -> list[str]:
        self._check_quota(request)
        endpoint = self._endpoint(request, mutates=False)
        if endpoint is None:
            return []
        found = ValidationResult()
        validate(found, _asked(request), self._world(request, endpoint), kind=endpoint.kind)
        if found.problems:
            raise ForbiddenError(found.message)
        return found.warnings

    def _endpoint(self, request: AdmissionRequest, *, mutates: bool) -> Endpoint | None:
        if not self._webhooks or request.subresource:
            return None
        for endpoint in ENDPOINTS:
            same = (endpoint.kind.group, endpoint.kind.plural) == (
                request.resource.group,
                request.resource.plural,
            )
            if same and endpoint.mutates is mutates and request.operation in endpoint.operations:
                return endpoint
        return None

    def _check_quota(self, request: AdmissionRequest) -> None:
        """As a ResourceQuota for each priority class would."""
        allowed = self._quota.get(request.namespace)
        if allowed is None or request.resource.plural != PODS.plural or request.object is None:
            return
        named = request.object["spec"].get("priorityClassName", "")
        if request.operation == "CREATE" and named not in allowed:
            raise ForbiddenError(f"exceeded quota: class {named!r}")

    def _world(self, request: AdmissionRequest, endpoint: Endpoint) -> World:
        spaces = [n for n in self._all(NAMESPACES) if isinstance(n, Namespace)]
        quotas = [q for q in self._all(QUOTAS) if isinstance(q, ResourceQuota)]
        world = World(settings=Settings(accounts=(OURS,)), quotas=by_namespace(quotas)).with_queues(
            q for q in self._all(QUEUES) if isinstance(q, Queue)
        )
        world = world.with_namespaces(spaces)
        question = needed(_asked(request), world, endpoint=endpoint).access
        if question is None:
            return world
        spec = {"user": question.username, "groups": list(question.groups)}
        if not answer_access({"spec": spec})["status"]["allowed"]:
            return world
        return msgspec.structs.replace(world, granted=frozenset({question}))

    def _all(self, kind: Kind) -> list[ApiObject]:
        items = self._api.list(self._api.registry.for_kind(kind)).items
        return [msgspec.convert(strip_nulls(msgspec.json.decode(raw)), kind.type) for raw in items]


def _asked(request: AdmissionRequest) -> ReviewRequest:
    return ReviewRequest(
        uid="u",
        operation=request.operation,
        name=request.name,
        namespace=request.namespace,
        object=request.object,
        old_object=request.old_object,
        user_info=UserInfo(username=request.user, groups=groups_of(request.user)),
    )
