"""An in-memory twin of the Kubernetes API: `vc.cluster.Cluster` over the store, without HTTP.

Bodies are copied when they are written and responses when they are returned. A caller that modifies
a body or a response therefore never modifies stored state.
"""

import math
from collections.abc import AsyncIterator

from vc.cluster.interface import ListPage, Preconditions, WatchEvent
from vc.model.api.kinds import Kind
from vc.model.api.struct import JsonObject
from vc.simcluster.apply.patches import MERGE_PATCH
from vc.simcluster.http.reviews import answer_review
from vc.simcluster.store.failures import bad_request
from vc.simcluster.verbs.api import Api


class StoreCluster:
    """The Kubernetes API as the services use it, served inside this process."""

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
        # Access reviews are virtual resources: they are answered and never stored.
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
        # Preconditions become fields of the patch: a uid or version that differs fails as a
        # conflict.
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
        # The uid is a precondition, so that a new pod with the same name is not evicted instead.
        eviction: JsonObject = {
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": options,
        }
        await self.api.evict(namespace=namespace, name=name, eviction=eviction)

    async def date(self) -> float:
        # The Date header of a real API server has whole seconds, so the twin rounds down as well.
        return float(math.floor(self.api.clock.now()))

    async def close(self) -> None:
        """Do nothing: the store belongs to the caller that created it."""


def with_preconditions(patch: JsonObject, preconditions: Preconditions | None) -> JsonObject:
    """Return the patch with the preconditions in its metadata, where the API expects them."""
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
