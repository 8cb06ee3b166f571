"""Counts a service's requests to the API server, by verb, kind and status code.

All services share the API server, so the load of each must be visible. Kinds, verbs and codes are
fixed sets, which bounds the number of series.

The methods keep the signatures of the wrapped cluster, so they are not repeated here.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from typing import Any, Final, ParamSpec, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram

from vc.clock import Clock
from vc.cluster import Cluster, ClusterError
from vc.model.api.kinds import PODS, Kind

_P = ParamSpec("_P")
_T = TypeVar("_T")
_OK: Final = "200"
_SECONDS: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class MeteredCluster:
    """A cluster client that counts and times requests, and is otherwise unchanged."""

    def __init__(
        self, cluster: Cluster, *, service: str, clock: Clock, registry: CollectorRegistry
    ) -> None:
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
        self.list = self._counted("list", cluster.list)
        self.watch = self._counted_watch(cluster.watch)
        self.get = self._counted("get", cluster.get)
        self.create = self._counted("create", cluster.create)
        self.replace = self._counted("update", cluster.replace)
        self.patch = self._counted("patch", cluster.patch)
        self.delete = self._counted("delete", cluster.delete)
        self.bind = self._counted("bind", cluster.bind)
        self.evict = self._counted("evict", cluster.evict)
        self.date = cluster.date
        self.close = cluster.close

    def _counted(
        self, verb: str, request: Callable[_P, Coroutine[Any, Any, _T]]
    ) -> Callable[_P, Coroutine[Any, Any, _T]]:
        async def counted(*args: _P.args, **named: _P.kwargs) -> _T:
            began = self._clock.monotonic()
            code = _OK
            try:
                return await request(*args, **named)
            except ClusterError as error:
                code = str(error.code)
                raise
            finally:
                self._seconds.labels(self._service, verb).observe(self._clock.monotonic() - began)
                self._count(verb, _kind_in(*args, **named), code)

        return counted

    def _counted_watch(
        self, watch: Callable[_P, AsyncIterator[_T]]
    ) -> Callable[_P, AsyncIterator[_T]]:
        async def counted(*args: _P.args, **named: _P.kwargs) -> AsyncIterator[_T]:
            code = _OK
            events = watch(*args, **named)
            try:
                async for event in events:
                    yield event
            except ClusterError as error:
                code = str(error.code)
                raise
            finally:
                self._count("watch", _kind_in(*args, **named), code)
                # A caller that stops early must end the request.
                if isinstance(events, AsyncGenerator):
                    await events.aclose()

        return counted

    def _count(self, verb: str, kind: Kind, code: str) -> None:
        self._requests.labels(self._service, verb, kind.short, code).inc()


def _kind_in(*args: object, **named: object) -> Kind:
    """The kind of a request; requests without one (bind, evict) are about pods."""
    kind = named.get("kind", args[0] if args else PODS)
    assert isinstance(kind, Kind)
    return kind
