"""Which requests are answered, whose they are, and how much of an answer they see."""

import asyncio
from collections.abc import Callable, Collection
from contextvars import ContextVar
from typing import Final

import msgspec
from aiohttp import web

from vc_dashboard.callers import ANONYMOUS, Caller, Callers, DeniedError, token_of
from vc_dashboard.heavy import ASKER
from vc_dashboard.logic.future_answers import WhatIfQuestion
from vc_dashboard.logic.picture import Picture
from vc_dashboard.logic.requests import refusal
from vc_dashboard.logic.scope import Scope, namespaces_of, redacted
from vc_model.kinds import JOBS

OPEN_PATHS: Final = frozenset({"/openapi.json", "/style.css"})
"""They say nothing of the cluster."""
JOBS_RIGHT: Final = f"{JOBS.plural}.{JOBS.group}"
DEFAULT_NAMESPACE: Final = "default"

_caller: Final[ContextVar[Caller]] = ContextVar("caller")
"""Who asks; set for each request before it is answered."""


class Visible:
    """Asks `Callers` for the rights that an answer needs."""

    def __init__(self, callers: Callable[[], Callers], *, hosts: Collection[str]) -> None:
        self._callers = callers
        self._hosts = hosts
        self._namespaces: tuple[Picture, frozenset[str]] | None = None
        """Of the last picture that was asked about."""

    async def admit(self, request: web.Request) -> None:
        """Note who asks; DeniedError when it is not answered."""
        token = token_of(request.headers)
        # What no path takes is told so: it has no effect, whoever sends it.
        known = request.match_info.http_exception is None
        method = request.method if known else "GET"
        refused = refusal(method, request.headers, hosts=self._hosts, has_token=bool(token))
        if refused is not None:
            raise DeniedError(*refused)
        open_to_all = request.path in OPEN_PATHS
        caller = ANONYMOUS if open_to_all else await self._callers().identify(token)
        _caller.set(caller)
        ASKER.set(caller.name or request.remote or "")

    async def scope(self, picture: Picture, *, namespace: str = "") -> Scope:
        """What the caller may see; DeniedError when that is not the namespace that was asked for."""
        caller = _caller.get()
        scope = await self._callers().scope(caller, ())
        if not scope.everything:
            names = await self._namespaces_of(picture)
            asked = {namespace} if namespace else set()
            scope = await self._callers().scope(caller, names | asked)
        if namespace and not scope.sees(namespace):
            raise _not_there(namespace)
        return scope

    async def shown(self, answer: msgspec.Struct, scope: Scope, picture: Picture) -> web.Response:
        """Without the names that the caller may not see."""
        if scope.everything:
            return json_answer(answer)
        names = await self._namespaces_of(picture)
        return json_answer(await asyncio.to_thread(redacted, answer, scope, names))

    async def _namespaces_of(self, picture: Picture) -> frozenset[str]:
        if self._namespaces is None or self._namespaces[0] is not picture:
            self._namespaces = (picture, await asyncio.to_thread(namespaces_of, picture))
        return self._namespaces[1]

    async def check_everything(self, what: str) -> None:
        """DeniedError unless the caller may see all namespaces."""
        scope = await self._callers().scope(_caller.get(), ())
        if not scope.everything:
            raise DeniedError(
                403,
                f"{what} name all namespaces: who may list {JOBS_RIGHT} in all of them sees them",
            )

    async def check_usage(self, namespace: str) -> None:
        """DeniedError unless the caller may see the namespace, or all of them."""
        asked = {namespace} if namespace else set()
        scope = await self._callers().scope(_caller.get(), asked)
        if not scope.sees(namespace):
            raise DeniedError(
                403,
                f"name a namespace in which you may list {JOBS_RIGHT} (`namespace=`); the usage of all "
                "is for those who may list them in all",
            )

    async def check_queues(self) -> None:
        """DeniedError unless the caller may list queues."""
        await self._callers().check_queues(_caller.get())


def check_named(question: WhatIfQuestion, scope: Scope) -> None:
    """A question is about what the caller may see."""
    named = [key.partition("/")[0] for key in question.drop_jobs]
    for document in question.documents:
        metadata = document.get("metadata")
        if isinstance(metadata, dict):
            named.append(str(metadata.get("namespace") or DEFAULT_NAMESPACE))
    for namespace in named:
        if not scope.sees(namespace):
            raise _not_there(namespace)


def _not_there(namespace: str) -> DeniedError:
    return DeniedError(403, f"you may not list {JOBS_RIGHT} in namespace {namespace[:63]!r}")


def json_answer(answer: object) -> web.Response:
    """As JSON."""
    return web.Response(body=msgspec.json.encode(answer), content_type="application/json")
