"""The HTTP server: versioned, bounded, with headers that keep foreign content out of the page.

Nothing here changes the cluster. A what-if request has a body, which only describes the simulation.
"""

import asyncio
import functools
import html
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Final, Protocol

import msgspec
from aiohttp import web

from vc.dashboard.callers import Callers, DeniedError
from vc.dashboard.config import PORT
from vc.dashboard.logic.answers.future_answers import WhatIfRequest
from vc.dashboard.logic.answers.openapi import openapi
from vc.dashboard.logic.answers.page import STYLE, page
from vc.dashboard.logic.answers.query_parameters import (
    LIMIT_DEFAULT,
    QueryError,
    flag_of,
    limit_of,
    text_of,
)
from vc.dashboard.logic.answers.scope import restricted
from vc.dashboard.logic.answers.shapes import Problem
from vc.dashboard.logic.cluster_index import ClusterIndex
from vc.dashboard.logic.epochs import EpochMemory
from vc.dashboard.logic.explaining import explain, starts_on, waiting_list
from vc.dashboard.logic.invariants import Finding, Seen, report
from vc.dashboard.logic.jobs import JobQuery, describe_job, list_jobs
from vc.dashboard.logic.manifests import WhatIfManifestError
from vc.dashboard.logic.queues import queue_tree
from vc.dashboard.logic.sessions import SessionMemory
from vc.dashboard.logic.shares import GaveUpError, SharesAndOrder
from vc.dashboard.logic.usage import UsageMemory, query_of
from vc.dashboard.logic.usage import report as usage_report
from vc.dashboard.logic.what_if import Ground, queue_shares, what_if
from vc.dashboard.session_store import NotReplayableError, SessionStore
from vc.dashboard.visible import Visible, check_named, json_answer
from vc.dashboard.worker import BusyError, ShareError, TooSlowError, Worker
from vc.model.api.meta import object_key
from vc.runtime.hosting.listening import Wanted, said_once
from vc.snapshot import SnapshotUnavailableError

BODY_BYTES_MAX: Final = 1024 * 1024
"""Limit of the body of a what-if request: the API server's limit for one object."""

SHUTDOWN_SECONDS_MAX: Final = 2.0
WHAT_IF_SECONDS_MAX: Final = 12.0
"""Time from the request after which a what-if starts no further session."""
EXPLAIN_SECONDS_MAX: Final = 12.0
"""Time, including the wait for the worker, after which an estimate starts no further session."""
SEARCH_SECONDS_MAX: Final = 8.0
"""Part of that time for the search for a remedy. After it, no further simulation starts."""
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Knowledge(Protocol):
    """What the answers are computed from."""

    sessions: SessionMemory
    usage: UsageMemory
    epochs: EpochMemory
    session_store: SessionStore
    worker: Worker
    callers: Callers

    async def ground(self) -> Ground:
        """The input of a simulation."""
        ...

    async def shares(self) -> SharesAndOrder:
        """Shares and order of queues and jobs, computed by the deciding
        plugins. It may be some seconds old."""
        ...

    def seconds(self) -> float:
        """Seconds of a monotonic clock."""
        ...

    async def cluster_index(self) -> ClusterIndex:
        """The current state of the cluster."""
        ...

    async def findings(self) -> tuple[list[Finding], Seen, float]:
        """Violated invariants, since when they are violated, and the current time."""
        ...

    def stale(self) -> str:
        """Why answers may be old, or empty if they are fresh."""
        ...


class DashboardServer:
    """Serves the HTTP API."""

    def __init__(
        self, knowledge: Knowledge, log: logging.Logger, *, hosts: Collection[str] = ()
    ) -> None:
        self._knowledge = knowledge
        self._log = log
        self._visible = Visible(lambda: knowledge.callers, hosts=hosts)
        self._runner: web.AppRunner | None = None
        # The document never changes, so it is encoded once.
        self._openapi = msgspec.json.encode(openapi())

    async def start(self, *, host: str, port: int) -> int:
        """Start to listen. Returns the port, which differs from the requested one if that was 0."""
        app = self.application()
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS_MAX)
        await self._runner.setup()
        with said_once(Wanted(port, PORT.name, host)):
            await web.TCPSite(self._runner, host, port).start()
        return int(self._runner.addresses[0][1])

    def application(self) -> web.Application:
        """All paths. Those of `/api` and `/invariants` are described in `openapi.py`."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._guard(request, handler)

        app = web.Application(client_max_size=BODY_BYTES_MAX, middlewares=[guard])
        app.router.add_get("/", self._page)
        app.router.add_get("/style.css", self._style)
        app.router.add_get("/openapi.json", self._describe)
        app.router.add_get("/invariants", self._invariants)
        app.router.add_get("/api/v1/jobs", self._jobs)
        app.router.add_get("/api/v1/jobs/{namespace}/{name}", self._job)
        app.router.add_get("/api/v1/queues", self._queues)
        app.router.add_get("/api/v1/jobs/{namespace}/{name}/explanation", self._explanation)
        app.router.add_get("/api/v1/queues/{name}/waiting", self._waiting)
        app.router.add_get("/api/v1/shares", self._shares)
        app.router.add_get("/api/v1/sessions", self._sessions)
        app.router.add_get("/api/v1/sessions/{id}", self._session)
        app.router.add_get("/api/v1/sessions/{id}/replay", self._replay)
        app.router.add_post("/api/v1/what-if", self._what_if)
        app.router.add_get("/api/v1/usage", self._usage)
        return app

    async def stop(self) -> None:
        """Stop listening and close open connections; does nothing if it never started."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _page(self, _: web.Request) -> web.Response:
        cluster_index, stale = await self._knowledge.cluster_index(), self._knowledge.stale()
        scope = await self._visible.scope(cluster_index)
        # The page shows queues of the whole cluster, so it needs that right as well.
        await self._visible.check_queues()
        reasons = self._knowledge.sessions.reasons()
        query = JobQuery(limit=LIMIT_DEFAULT)
        # The restriction comes before the page is cut, so that totals count only visible jobs.
        seen = restricted(cluster_index, scope)
        jobs = await asyncio.to_thread(list_jobs, seen, reasons, query, stale=stale)
        shares = await self._knowledge.shares()
        queues = await asyncio.to_thread(
            queue_tree, cluster_index, limit=LIMIT_DEFAULT, stale=stale, shares=shares
        )
        return web.Response(text=page(jobs, queues), content_type="text/html")

    async def _style(self, _: web.Request) -> web.Response:
        return web.Response(text=STYLE, content_type="text/css")

    async def _describe(self, _: web.Request) -> web.Response:
        return web.Response(body=self._openapi, content_type="application/json")

    async def _jobs(self, request: web.Request) -> web.Response:
        written = request.query
        query = JobQuery(
            namespace=text_of(written, "namespace"),
            queue=text_of(written, "queue"),
            phase=text_of(written, "phase"),
            after=text_of(written, "after"),
            limit=limit_of(written),
        )
        reasons = self._knowledge.sessions.reasons()
        cluster_index, stale = await self._knowledge.cluster_index(), self._knowledge.stale()
        scope = await self._visible.scope(cluster_index, namespace=query.namespace)
        seen = restricted(cluster_index, scope)
        found = await asyncio.to_thread(list_jobs, seen, reasons, query, stale=stale)
        return await self._visible.shown(found, scope, cluster_index)

    async def _job(self, request: web.Request) -> web.Response:
        key = object_key(request.match_info["namespace"], request.match_info["name"])
        reasons = self._knowledge.sessions.reasons()
        cluster_index = await self._knowledge.cluster_index()
        scope = await self._visible.scope(cluster_index, namespace=request.match_info["namespace"])
        # Rights are checked first, so that a caller cannot probe for names in other namespaces.
        if key not in cluster_index.jobs:
            return _problem(404, _no_job(key))
        order, stale = (await self._knowledge.shares()).order, self._knowledge.stale()
        found = describe_job(cluster_index, reasons, key, stale=stale, order=order)
        if found is None:
            return _problem(404, _no_job(key))
        return await self._visible.shown(found, scope, cluster_index)

    async def _queues(self, request: web.Request) -> web.Response:
        limit, stale = limit_of(request.query), self._knowledge.stale()
        await self._visible.check_queues()
        cluster_index, shares = (
            await self._knowledge.cluster_index(),
            await self._knowledge.shares(),
        )
        tree = await asyncio.to_thread(
            queue_tree, cluster_index, limit=limit, stale=stale, shares=shares
        )
        return json_answer(tree)

    async def _sessions(self, request: web.Request) -> web.Response:
        limit, stale = limit_of(request.query), self._knowledge.stale()
        # Sessions name jobs of all namespaces and cannot be restricted.
        await self._visible.check_everything("sessions")
        kept = await self._knowledge.session_store.kept()
        return json_answer(self._knowledge.sessions.recent(limit=limit, stale=stale, kept=kept))

    async def _usage(self, request: web.Request) -> web.Response:
        query = query_of(request.query, limit=limit_of(request.query))
        await self._visible.check_usage(query.namespace)
        rows, stale = self._knowledge.usage.rows(), self._knowledge.stale()
        return json_answer(await asyncio.to_thread(usage_report, rows, query, stale=stale))

    async def _session(self, request: web.Request) -> web.Response:
        session_id = request.match_info["id"]
        await self._visible.check_everything("sessions")
        found = await self._knowledge.session_store.detail(session_id)
        return json_answer(found) if found is not None else _no_session(session_id)

    async def _replay(self, request: web.Request) -> web.Response:
        session_id = request.match_info["id"]
        await self._visible.check_everything("sessions")
        found = await self._knowledge.session_store.again(session_id)
        return json_answer(found) if found is not None else _no_session(session_id)

    async def _explanation(self, request: web.Request) -> web.Response:
        key = object_key(request.match_info["namespace"], request.match_info["name"])
        reasons, cluster_index = (
            self._knowledge.sessions.reasons(),
            await self._knowledge.cluster_index(),
        )
        scope = await self._visible.scope(cluster_index, namespace=request.match_info["namespace"])
        # The input is read on the event loop, because the view may only be read there.
        ground = await self._knowledge.ground()
        found = await self._knowledge.worker.run(
            explain,
            cluster_index,
            reasons,
            key,
            ground,
            go_on=self._in_time(),
            # The search has less time, so that some is left for the estimate.
            search_on=self._in_time(SEARCH_SECONDS_MAX),
        )
        if found is None:
            return _problem(404, _no_job(key))
        return await self._visible.shown(found, scope, cluster_index)

    async def _waiting(self, request: web.Request) -> web.Response:
        queue, limit = request.match_info["name"], limit_of(request.query)
        cluster_index = await self._knowledge.cluster_index()
        await self._visible.check_queues()
        # After the check of rights, as for jobs: a 404 must not reveal which queues exist.
        if queue not in cluster_index.queues:
            return _problem(404, f"there is no queue {queue[:253]!r}")
        scope = await self._visible.scope(cluster_index)
        shares = await self._knowledge.shares()
        reasons, stale = self._knowledge.sessions.reasons(), self._knowledge.stale()
        listed = functools.partial(
            waiting_list, cluster_index, reasons, queue, shares=shares, limit=limit, stale=stale
        )
        # Estimates need simulations, so they run only on request and in the worker.
        if not flag_of(request.query, "estimate"):
            return await self._visible.shown(await asyncio.to_thread(listed), scope, cluster_index)
        starts = starts_on(cluster_index, await self._knowledge.ground(), self._in_time())
        found = await self._knowledge.worker.run(listed, starts=starts)
        return await self._visible.shown(found, scope, cluster_index)

    def _in_time(self, seconds: float = EXPLAIN_SECONDS_MAX) -> Callable[[], bool]:
        """A function that returns whether an estimate or search that starts now may continue."""
        # Counted from the request and not from the start of the work, so that the wait for the
        # worker is included.
        until = self._knowledge.seconds() + seconds
        return lambda: self._knowledge.seconds() < until

    async def _shares(self, _: web.Request) -> web.Response:
        await self._visible.check_queues()
        ground = await self._knowledge.ground()
        return json_answer(await self._knowledge.worker.run(queue_shares, ground))

    async def _what_if(self, request: web.Request) -> web.Response:
        try:
            query = msgspec.json.decode(await request.read(), type=WhatIfRequest)
        # Deeply nested JSON raises RecursionError, which is an error of the request.
        except (msgspec.DecodeError, RecursionError) as error:
            raise QueryError(f"the request cannot be read: {error}") from None
        cluster_index = await self._knowledge.cluster_index()
        scope = await self._visible.scope(cluster_index)
        # The manifests could name objects of other namespaces and reveal their state.
        check_named(query, scope)
        await self._visible.check_queues()
        ground = await self._knowledge.ground()
        try:
            found = await self._knowledge.worker.run(
                what_if, ground, query, self._in_time(WHAT_IF_SECONDS_MAX)
            )
        # The limit of time was reached in the worker, so the request is valid and only too large.
        except GaveUpError as error:
            raise TooSlowError(f"{error}; ask about less at a time") from None
        return await self._visible.shown(found, scope, cluster_index)

    async def _invariants(self, _: web.Request) -> web.Response:
        await self._visible.check_everything("invariants")
        findings, seen, now = await self._knowledge.findings()
        cluster_index = await self._knowledge.cluster_index()
        stale, checked = self._knowledge.stale(), self._knowledge.epochs.checked
        return json_answer(
            report(cluster_index, findings, seen, now=now, stale=stale, epochs_checked=checked)
        )

    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Convert errors to JSON, and set the same headers on every response."""
        try:
            # Rights are checked before any handler, so that no path can forget it.
            await self._visible.admit(request)
            response = await handler(request)
        except DeniedError as error:
            response = _problem(error.status, str(error))
            # RFC 9110 requires this header with a 401.
            if error.status == web.HTTPUnauthorized.status_code:
                response.headers["WWW-Authenticate"] = "Bearer"
        except (QueryError, WhatIfManifestError) as error:
            response = _problem(400, str(error))
        except NotReplayableError as error:
            response = _problem(409, str(error))
        except ShareError as error:
            response = _problem(429, str(error))
            # The client's own requests fill the queue, so a retry can succeed soon.
            response.headers["Retry-After"] = "5"
        except (BusyError, SnapshotUnavailableError) as error:
            response = _problem(503, str(error))
        except TooSlowError as error:
            response = _problem(504, str(error))
        except web.HTTPException as error:
            # The reason may quote the request, and answers are shown in browsers.
            response = _problem(error.status, html.escape(error.reason))
        except Exception:  # noqa: BLE001 - the client gets the usual error
            self._log.exception("%s %s cannot be answered", request.method, request.path)
            response = _problem(500, "this is a fault of the dashboard; its log says more")
        # Errors get the headers too, because their texts may quote the request.
        response.headers.update(HEADERS)
        return response


def _no_job(key: str) -> str:
    return f"there is no job {key[:253]!r}"


def _no_session(session_id: str) -> web.Response:
    return _problem(404, f"session {session_id[:64]!r} is not, or no longer, in the ring")


def _problem(status: int, error: str) -> web.Response:
    response = json_answer(Problem(error=error))
    response.set_status(status)
    return response
