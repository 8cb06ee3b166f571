"""The HTTP face: versioned, bounded, with headers that let nothing else into the page.

Nothing here changes the cluster: what-if takes a question as its body, and that is all that is sent.
"""

import asyncio
import functools
import html
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Final, Protocol

import msgspec
from aiohttp import web

from vc_dashboard.callers import Callers, DeniedError
from vc_dashboard.config import PORT
from vc_dashboard.heavy import BusyError, HeavyWork, ShareError, TooSlowError
from vc_dashboard.logic.answers import Problem
from vc_dashboard.logic.epochs import EpochMemory
from vc_dashboard.logic.explaining import explain, starts_on, waiting_list
from vc_dashboard.logic.future_answers import WhatIfQuestion
from vc_dashboard.logic.invariants import Finding, Seen, report
from vc_dashboard.logic.jobs import JobQuestion, describe_job, list_jobs
from vc_dashboard.logic.manifests import ManifestError
from vc_dashboard.logic.openapi import openapi
from vc_dashboard.logic.page import STYLE, page
from vc_dashboard.logic.picture import Picture
from vc_dashboard.logic.questions import (
    LIMIT_DEFAULT,
    QuestionError,
    flag_of,
    limit_of,
    text_of,
)
from vc_dashboard.logic.queues import queue_tree
from vc_dashboard.logic.scope import restricted
from vc_dashboard.logic.sessions import SessionMemory
from vc_dashboard.logic.standing import GaveUpError, Standing
from vc_dashboard.logic.trying import Ground, queue_shares, what_if
from vc_dashboard.logic.usage import UsageMemory, question_of
from vc_dashboard.logic.usage import report as usage_report
from vc_dashboard.past import NotReplayableError, Past
from vc_dashboard.visible import Visible, check_named, json_answer
from vc_model.meta import object_key
from vc_runtime.listening import Wanted, said_once
from vc_snapshot import SnapshotUnavailableError

BODY_BYTES_MAX: Final = 1024 * 1024
"""Of a what-if's question: what the API server takes of one object."""

SHUTDOWN_SECONDS_MAX: Final = 2.0
WHAT_IF_SECONDS_MAX: Final = 12.0
"""From when it was asked: after this a what-if begins no further session."""
EXPLAIN_SECONDS_MAX: Final = 12.0
"""After this, those who wait in line included, an estimate begins no further session."""
SEARCH_SECONDS_MAX: Final = 8.0
"""Of these, what the search for a remedy may take: after this it begins no further simulation."""
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
    """What the answers are made of."""

    sessions: SessionMemory
    usage: UsageMemory
    epochs: EpochMemory
    past: Past
    heavy: HeavyWork
    callers: Callers

    async def ground(self) -> Ground:
        """What a trial stands on."""
        ...

    async def standing(self) -> Standing:
        """How queues and jobs stand, by the plugins that decide; some seconds old."""
        ...

    def seconds(self) -> float:
        """Of a clock that only goes forward."""
        ...

    async def picture(self) -> Picture:
        """The cluster now."""
        ...

    async def findings(self) -> tuple[list[Finding], Seen, float]:
        """What looks wrong, since when, and the time."""
        ...

    def stale(self) -> str:
        """Why answers may be old; empty when they are fresh."""
        ...


class DashboardServer:
    """Listens and answers."""

    def __init__(
        self, knowledge: Knowledge, log: logging.Logger, *, hosts: Collection[str] = ()
    ) -> None:
        self._knowledge = knowledge
        self._log = log
        self._visible = Visible(lambda: knowledge.callers, hosts=hosts)
        self._runner: web.AppRunner | None = None
        self._openapi = msgspec.json.encode(openapi())

    async def start(self, *, host: str, port: int) -> int:
        """Listen; gives the port, which differs from the wanted one when that was 0."""
        app = self.application()
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS_MAX)
        await self._runner.setup()
        with said_once(Wanted(port, PORT.name, host)):
            await web.TCPSite(self._runner, host, port).start()
        return int(self._runner.addresses[0][1])

    def application(self) -> web.Application:
        """All paths; each of `/api` and `/invariants` is described in `openapi.py`."""

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
        """Close."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _page(self, _: web.Request) -> web.Response:
        picture, stale = await self._knowledge.picture(), self._knowledge.stale()
        scope = await self._visible.scope(picture)
        await self._visible.check_queues()
        reasons = self._knowledge.sessions.reasons()
        question = JobQuestion(limit=LIMIT_DEFAULT)
        seen = restricted(picture, scope)
        jobs = await asyncio.to_thread(list_jobs, seen, reasons, question, stale=stale)
        standing = await self._knowledge.standing()
        queues = await asyncio.to_thread(
            queue_tree, picture, limit=LIMIT_DEFAULT, stale=stale, standing=standing
        )
        return web.Response(text=page(jobs, queues), content_type="text/html")

    async def _style(self, _: web.Request) -> web.Response:
        return web.Response(text=STYLE, content_type="text/css")

    async def _describe(self, _: web.Request) -> web.Response:
        return web.Response(body=self._openapi, content_type="application/json")

    async def _jobs(self, request: web.Request) -> web.Response:
        query = request.query
        question = JobQuestion(
            namespace=text_of(query, "namespace"),
            queue=text_of(query, "queue"),
            phase=text_of(query, "phase"),
            after=text_of(query, "after"),
            limit=limit_of(query),
        )
        reasons = self._knowledge.sessions.reasons()
        picture, stale = await self._knowledge.picture(), self._knowledge.stale()
        scope = await self._visible.scope(picture, namespace=question.namespace)
        seen = restricted(picture, scope)
        found = await asyncio.to_thread(list_jobs, seen, reasons, question, stale=stale)
        return await self._visible.shown(found, scope, picture)

    async def _job(self, request: web.Request) -> web.Response:
        key = object_key(request.match_info["namespace"], request.match_info["name"])
        reasons = self._knowledge.sessions.reasons()
        picture = await self._knowledge.picture()
        scope = await self._visible.scope(picture, namespace=request.match_info["namespace"])
        if key not in picture.jobs:
            return _problem(404, _no_job(key))
        order, stale = (await self._knowledge.standing()).order, self._knowledge.stale()
        found = describe_job(picture, reasons, key, stale=stale, order=order)
        if found is None:
            return _problem(404, _no_job(key))
        return await self._visible.shown(found, scope, picture)

    async def _queues(self, request: web.Request) -> web.Response:
        limit, stale = limit_of(request.query), self._knowledge.stale()
        await self._visible.check_queues()
        picture, standing = await self._knowledge.picture(), await self._knowledge.standing()
        tree = await asyncio.to_thread(
            queue_tree, picture, limit=limit, stale=stale, standing=standing
        )
        return json_answer(tree)

    async def _sessions(self, request: web.Request) -> web.Response:
        limit, stale = limit_of(request.query), self._knowledge.stale()
        await self._visible.check_everything("sessions")
        kept = await self._knowledge.past.kept()
        return json_answer(self._knowledge.sessions.recent(limit=limit, stale=stale, kept=kept))

    async def _usage(self, request: web.Request) -> web.Response:
        question = question_of(request.query, limit=limit_of(request.query))
        await self._visible.check_usage(question.namespace)
        rows, stale = self._knowledge.usage.rows(), self._knowledge.stale()
        return json_answer(await asyncio.to_thread(usage_report, rows, question, stale=stale))

    async def _session(self, request: web.Request) -> web.Response:
        session_id = request.match_info["id"]
        await self._visible.check_everything("sessions")
        found = await self._knowledge.past.detail(session_id)
        return json_answer(found) if found is not None else _no_session(session_id)

    async def _replay(self, request: web.Request) -> web.Response:
        session_id = request.match_info["id"]
        await self._visible.check_everything("sessions")
        found = await self._knowledge.past.again(session_id)
        return json_answer(found) if found is not None else _no_session(session_id)

    async def _explanation(self, request: web.Request) -> web.Response:
        key = object_key(request.match_info["namespace"], request.match_info["name"])
        reasons, picture = self._knowledge.sessions.reasons(), await self._knowledge.picture()
        scope = await self._visible.scope(picture, namespace=request.match_info["namespace"])
        ground = await self._knowledge.ground()
        found = await self._knowledge.heavy.run(
            explain,
            picture,
            reasons,
            key,
            ground,
            go_on=self._in_time(),
            search_on=self._in_time(SEARCH_SECONDS_MAX),
        )
        if found is None:
            return _problem(404, _no_job(key))
        return await self._visible.shown(found, scope, picture)

    async def _waiting(self, request: web.Request) -> web.Response:
        queue, limit = request.match_info["name"], limit_of(request.query)
        picture = await self._knowledge.picture()
        await self._visible.check_queues()
        if queue not in picture.queues:
            return _problem(404, f"there is no queue {queue[:253]!r}")
        scope = await self._visible.scope(picture)
        standing = await self._knowledge.standing()
        reasons, stale = self._knowledge.sessions.reasons(), self._knowledge.stale()
        listed = functools.partial(
            waiting_list, picture, reasons, queue, standing=standing, limit=limit, stale=stale
        )
        if not flag_of(request.query, "estimate"):
            return await self._visible.shown(await asyncio.to_thread(listed), scope, picture)
        starts = starts_on(picture, await self._knowledge.ground(), self._in_time())
        found = await self._knowledge.heavy.run(listed, starts=starts)
        return await self._visible.shown(found, scope, picture)

    def _in_time(self, seconds: float = EXPLAIN_SECONDS_MAX) -> Callable[[], bool]:
        """Whether an estimate, or a search, that was asked for now may still go on."""
        until = self._knowledge.seconds() + seconds
        return lambda: self._knowledge.seconds() < until

    async def _shares(self, _: web.Request) -> web.Response:
        await self._visible.check_queues()
        ground = await self._knowledge.ground()
        return json_answer(await self._knowledge.heavy.run(queue_shares, ground))

    async def _what_if(self, request: web.Request) -> web.Response:
        try:
            question = msgspec.json.decode(await request.read(), type=WhatIfQuestion)
        except (msgspec.DecodeError, RecursionError) as error:
            raise QuestionError(f"the question cannot be read: {error}") from None
        picture = await self._knowledge.picture()
        scope = await self._visible.scope(picture)
        check_named(question, scope)
        await self._visible.check_queues()
        ground = await self._knowledge.ground()
        try:
            found = await self._knowledge.heavy.run(
                what_if, ground, question, self._in_time(WHAT_IF_SECONDS_MAX)
            )
        except GaveUpError as error:
            raise TooSlowError(f"{error}; ask about less at a time") from None
        return await self._visible.shown(found, scope, picture)

    async def _invariants(self, _: web.Request) -> web.Response:
        await self._visible.check_everything("invariants")
        findings, seen, now = await self._knowledge.findings()
        picture = await self._knowledge.picture()
        stale, checked = self._knowledge.stale(), self._knowledge.epochs.checked
        return json_answer(
            report(picture, findings, seen, now=now, stale=stale, epochs_checked=checked)
        )

    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Errors as JSON, and the same headers on everything."""
        try:
            await self._visible.admit(request)
            response = await handler(request)
        except DeniedError as error:
            response = _problem(error.status, str(error))
            if error.status == web.HTTPUnauthorized.status_code:
                response.headers["WWW-Authenticate"] = "Bearer"
        except (QuestionError, ManifestError) as error:
            response = _problem(400, str(error))
        except NotReplayableError as error:
            response = _problem(409, str(error))
        except ShareError as error:
            response = _problem(429, str(error))
            response.headers["Retry-After"] = "5"
        except (BusyError, SnapshotUnavailableError) as error:
            response = _problem(503, str(error))
        except TooSlowError as error:
            response = _problem(504, str(error))
        except web.HTTPException as error:
            response = _problem(error.status, html.escape(error.reason))
        except Exception:  # noqa: BLE001 - whatever it is, whoever asks is told as always
            self._log.exception("%s %s cannot be answered", request.method, request.path)
            response = _problem(500, "this is a fault of the dashboard; its log says more")
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
