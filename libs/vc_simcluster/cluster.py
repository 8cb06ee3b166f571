"""The in-memory twin of the Kubernetes API: `vc_cluster.Cluster` over the store, without HTTP.

Nothing is handed over by reference: bodies are copied on the way in, answers on the way out, so a
caller that changes what it was given changes nothing else.
"""

import math
from collections.abc import AsyncIterator

from vc_cluster.interface import ListPage, Preconditions, WatchEvent
from vc_model.kinds import Kind
from vc_model.struct import JsonObject
from vc_simcluster.api import Api
from vc_simcluster.failures import bad_request
from vc_simcluster.http_reviews import answer_review
from vc_simcluster.patches import MERGE_PATCH


class StoreCluster:
    """The Kubernetes API as our shells use it, in this process."""

    def __init__(self, api: Api, *, user: str = "") -> None:
        self.api = api
        self._user = user

    async def list(
        self,
        kind: Kind,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
    ) -> ListPage:
        page = self.api.list(
            self.api.registry.for_kind(kind),
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            limit=limit,
            continue_token=continue_token,
        )
        return ListPage(
            items=page.items,
            resource_version=page.resource_version,
            continue_token=page.continue_token,
        )

    def watch(
        self,
        kind: Kind,
        *,
        resource_version: str,
        namespace: str = "",
        timeout_seconds: float = 300.0,
    ) -> AsyncIterator[WatchEvent]:
        return self.api.watch(
            self.api.registry.for_kind(kind),
            namespace=namespace,
            resource_version=resource_version,
            timeout_seconds=timeout_seconds,
        )

    async def get(self, kind: Kind, *, name: str, namespace: str = "") -> JsonObject:
        return self.api.get(self.api.registry.for_kind(kind), name=name, namespace=namespace)

    async def create(self, kind: Kind, body: JsonObject, *, namespace: str = "") -> JsonObject:
        if review := answer_review(kind.plural, body):
            return review
        resource = self.api.registry.for_kind(kind)
        return await self.api.create(resource, body, namespace=namespace, user=self._user)

    async def replace(
        self, kind: Kind, body: JsonObject, *, namespace: str = "", subresource: str = ""
    ) -> JsonObject:
        name = (body.get("metadata") or {}).get("name")
        if not isinstance(name, str) or not name:
            raise bad_request("metadata.name is required to replace an object")
        return await self.api.replace(
            self.api.registry.for_kind(kind),
            body,
            name=name,
            namespace=namespace,
            subresource=subresource,
            user=self._user,
        )

    async def patch(
        self,
        kind: Kind,
        patch: JsonObject,
        *,
        name: str,
        namespace: str = "",
        subresource: str = "",
        preconditions: Preconditions | None = None,
    ) -> JsonObject:
        return await self.api.patch(
            self.api.registry.for_kind(kind),
            with_preconditions(patch, preconditions),
            content_type=MERGE_PATCH,
            name=name,
            namespace=namespace,
            subresource=subresource,
            user=self._user,
        )

    async def delete(
        self,
        kind: Kind,
        *,
        name: str,
        namespace: str = "",
        preconditions: Preconditions | None = None,
        grace_seconds: int | None = None,
        propagation: str = "",
    ) -> None:
        options = _delete_options(preconditions, grace_seconds)
        if propagation:
            options["propagationPolicy"] = propagation
        resource = self.api.registry.for_kind(kind)
        await self.api.delete(
            resource, name=name, namespace=namespace, options=options, user=self._user
        )

    async def bind(
        self,
        *,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: dict[str, str] | None = None,
    ) -> None:
        meta: JsonObject = {"name": name, "namespace": namespace, "uid": uid}
        if annotations:
            meta["annotations"] = annotations
        binding: JsonObject = {"metadata": meta, "target": {"kind": "Node", "name": node}}
        await self.api.bind(namespace=namespace, name=name, binding=binding)

    async def evict(
        self, *, namespace: str, name: str, uid: str, grace_seconds: int | None = None
    ) -> None:
        options = _delete_options(Preconditions(uid=uid), grace_seconds)
        eviction: JsonObject = {
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": options,
        }
        await self.api.evict(namespace=namespace, name=name, eviction=eviction)

    async def date(self) -> float:
        return float(math.floor(self.api.clock.now()))

    async def close(self) -> None:
        """Nothing to let go of: the store belongs to whoever made it."""


def with_preconditions(patch: JsonObject, preconditions: Preconditions | None) -> JsonObject:
    """The patch with its preconditions inside, as the API takes them."""
    if preconditions is None:
        return patch
    wanted = {"uid": preconditions.uid, "resourceVersion": preconditions.resource_version}
    given = {name: value for name, value in wanted.items() if value}
    return {**patch, "metadata": {**(patch.get("metadata") or {}), **given}}


def _delete_options(preconditions: Preconditions | None, grace_seconds: int | None) -> JsonObject:
    options: JsonObject = {}
    if preconditions is not None:
        wanted = {"uid": preconditions.uid, "resourceVersion": preconditions.resource_version}
        options["preconditions"] = {name: value for name, value in wanted.items() if value}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    return options
