"""Which requests are answered, for whom, and how much of an answer the caller sees."""

import asyncio
from collections.abc import Callable, Collection
from contextvars import ContextVar
from typing import Final

import msgspec
from aiohttp import web

from vc.dashboard.callers import ANONYMOUS, Caller, Callers, DeniedError, token_of
from vc.dashboard.logic.answers.future_answers import WhatIfRequest
from vc.dashboard.logic.answers.requests import refusal
from vc.dashboard.logic.answers.scope import Scope, namespaces_of, redacted
from vc.dashboard.logic.cluster_index import ClusterIndex
from vc.dashboard.worker import CLIENT
from vc.model.api.kinds import JOBS

OPEN_PATHS: Final = frozenset({"/openapi.json", "/style.css"})
"""Paths whose answers contain no data of the cluster."""
JOBS_RIGHT: Final = f"{JOBS.plural}.{JOBS.group}"
DEFAULT_NAMESPACE: Final = "default"

_caller: Final[ContextVar[Caller]] = ContextVar("caller")
"""The caller, set for each request before it is handled."""


class Visible:
    """Checks the rights that an answer needs, with `Callers`."""

    def __init__(self, callers: Callable[[], Callers], *, hosts: Collection[str]) -> None:
        self._callers = callers
        self._hosts = hosts
        self._namespaces: tuple[ClusterIndex, frozenset[str]] | None = None
        """The namespaces of the last cluster index."""

    async def admit(self, request: web.Request) -> None:
        """Identify the caller. Raises DeniedError if the request is not answered."""
        token = token_of(request.headers)
        # A request for an unknown path or method is reported as such, because it has no effect.
        known = request.match_info.http_exception is None
        # An unknown path has no effect, so its method need not be refused.
        method = request.method if known else "GET"
        refused = refusal(method, request.headers, hosts=self._hosts, has_token=bool(token))
        if refused is not None:
            raise DeniedError(*refused)
        # These paths contain nothing of the cluster, and browsers load them without a token.
        open_to_all = request.path in OPEN_PATHS
        caller = ANONYMOUS if open_to_all else await self._callers().identify(token)
        _caller.set(caller)
        CLIENT.set(caller.name or request.remote or "")

    async def scope(self, cluster_index: ClusterIndex, *, namespace: str = "") -> Scope:
        """What the caller may see. Raises DeniedError if the
        requested namespace is not included."""
        caller = _caller.get()
        # One review decides most cases. Reviews per namespace are needed
        # only for restricted callers.
        scope = await self._callers().scope(caller, ())
        if not scope.everything:
            names = await self._namespaces_of(cluster_index)
            # The requested namespace may have no objects yet, and is checked all the same.
            wanted = {namespace} if namespace else set()
            scope = await self._callers().scope(caller, names | wanted)
        if namespace and not scope.sees(namespace):
            raise _not_there(namespace)
        return scope

    async def shown(
        self, answer: msgspec.Struct, scope: Scope, cluster_index: ClusterIndex
    ) -> web.Response:
        """The answer without names that the caller may not see."""
        if scope.everything:
            return json_answer(answer)
        names = await self._namespaces_of(cluster_index)
        return json_answer(await asyncio.to_thread(redacted, answer, scope, names))

    async def _namespaces_of(self, cluster_index: ClusterIndex) -> frozenset[str]:
        # The namespaces are derived from all pods, so they are kept per index.
        if self._namespaces is None or self._namespaces[0] is not cluster_index:
            self._namespaces = (
                cluster_index,
                await asyncio.to_thread(namespaces_of, cluster_index),
            )
        return self._namespaces[1]

    async def check_everything(self, what: str) -> None:
        """Raise DeniedError unless the caller may see all namespaces."""
        scope = await self._callers().scope(_caller.get(), ())
        if not scope.everything:
            raise DeniedError(
                403,
                f"{what} name all namespaces: who may list {JOBS_RIGHT} in all of them sees them",
            )

    async def check_usage(self, namespace: str) -> None:
        """Raise DeniedError unless the caller may see the
        namespace or, without one, all of them."""
        wanted = {namespace} if namespace else set()
        scope = await self._callers().scope(_caller.get(), wanted)
        if not scope.sees(namespace):
            raise DeniedError(
                403,
                f"name a namespace in which you may list {JOBS_RIGHT} (`namespace=`); the usage of all "
                "is for those who may list them in all",
            )

    async def check_queues(self) -> None:
        """Raise DeniedError unless the caller may list queues."""
        await self._callers().check_queues(_caller.get())


def check_named(query: WhatIfRequest, scope: Scope) -> None:
    """Check that a what-if request names only namespaces that the caller may see."""
    named = [key.partition("/")[0] for key in query.drop_jobs]
    for document in query.documents:
        metadata = document.get("metadata")
        if isinstance(metadata, dict):
            named.append(str(metadata.get("namespace") or DEFAULT_NAMESPACE))
    for namespace in named:
        if not scope.sees(namespace):
            raise _not_there(namespace)


def _not_there(namespace: str) -> DeniedError:
    return DeniedError(403, f"you may not list {JOBS_RIGHT} in namespace {namespace[:63]!r}")


def json_answer(answer: object) -> web.Response:
    """A response with JSON."""
    return web.Response(body=msgspec.json.encode(answer), content_type="application/json")
