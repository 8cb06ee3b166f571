"""Counts what a service asks of the API server, by verb, kind and answer.

The API server is the one part that everybody shares, so who asks it for how much must be seen from
outside. Kinds, verbs and codes are fixed sets: the number of series is bounded by the code.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from typing import Final, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram

from vc_clock import Clock
from vc_cluster import Cluster, ClusterError
from vc_cluster.interface import ListPage, Preconditions, WatchEvent
from vc_model.kinds import PODS, Kind
from vc_model.struct import JsonObject

_T = TypeVar("_T")
_OK: Final = "200"
_SECONDS: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class MeteredCluster:
    """A cluster that is counted; nothing else differs."""

    def __init__(
        self, cluster: Cluster, *, service: str, clock: Clock, registry: CollectorRegistry
    ) -> None:
        self._cluster = cluster
        self._service = service
        self._clock = clock
        self._requests = Counter(
            "pyroclast_api_requests",
            "Requests to the API server by what became of them; a watch counts when it ends.",
            ("service", "verb", "kind", "code"),
            registry=registry,
        )
        self._seconds = Histogram(
            "pyroclast_api_request_seconds",
            "How long the API server took to answer; watches are not timed.",
            ("service", "verb"),
            buckets=_SECONDS,
            registry=registry,
        )

    async def _counted(self, verb: str, kind: Kind, request: Awaitable[_T]) -> _T:
        began = self._clock.monotonic()
        code = _OK
        try:
            return await request
        except ClusterError as error:
            code = str(error.code)
            raise
        finally:
            self._seconds.labels(self._service, verb).observe(self._clock.monotonic() - began)
            self._requests.labels(self._service, verb, kind.short, code).inc()

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
        request = self._cluster.list(
            kind,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            limit=limit,
            continue_token=continue_token,
        )
        return await self._counted("list", kind, request)

    async def watch(
        self,
        kind: Kind,
        *,
        resource_version: str,
        namespace: str = "",
        timeout_seconds: float = 300.0,
    ) -> AsyncIterator[WatchEvent]:
        code = _OK
        events = self._cluster.watch(
            kind,
            resource_version=resource_version,
            namespace=namespace,
            timeout_seconds=timeout_seconds,
        )
        try:
            async for event in events:
                yield event
        except ClusterError as error:
            code = str(error.code)
            raise
        finally:
            self._requests.labels(self._service, "watch", kind.short, code).inc()
            if isinstance(events, AsyncGenerator):  # whoever leaves early ends the request
                await events.aclose()

    async def get(self, kind: Kind, *, name: str, namespace: str = "") -> JsonObject:
        request = self._cluster.get(kind, name=name, namespace=namespace)
        return await self._counted("get", kind, request)

    async def create(self, kind: Kind, body: JsonObject, *, namespace: str = "") -> JsonObject:
        request = self._cluster.create(kind, body, namespace=namespace)
        return await self._counted("create", kind, request)

    async def replace(
        self, kind: Kind, body: JsonObject, *, namespace: str = "", subresource: str = ""
    ) -> JsonObject:
        request = self._cluster.replace(kind, body, namespace=namespace, subresource=subresource)
        return await self._counted("update", kind, request)

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
        request = self._cluster.patch(
            kind,
            patch,
            name=name,
            namespace=namespace,
            subresource=subresource,
            preconditions=preconditions,
        )
        return await self._counted("patch", kind, request)

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
        request = self._cluster.delete(
            kind,
            name=name,
            namespace=namespace,
            preconditions=preconditions,
            grace_seconds=grace_seconds,
            propagation=propagation,
        )
        await self._counted("delete", kind, request)

    async def bind(
        self,
        *,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: dict[str, str] | None = None,
    ) -> None:
        request = self._cluster.bind(
            namespace=namespace, name=name, uid=uid, node=node, annotations=annotations
        )
        await self._counted("bind", PODS, request)

    async def evict(
        self, *, namespace: str, name: str, uid: str, grace_seconds: int | None = None
    ) -> None:
        request = self._cluster.evict(
            namespace=namespace, name=name, uid=uid, grace_seconds=grace_seconds
        )
        await self._counted("evict", PODS, request)

    async def close(self) -> None:
        await self._cluster.close()
