"""The HTTP face: versioned, bounded, with headers that let nothing else into the page.

Nothing here changes the cluster: what-if takes a question as its body, and that is all that is sent.
"""

import asyncio
import html
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import msgspec
from aiohttp import web

from vc_dashboard.heavy import BusyError, HeavyWork
from vc_dashboard.logic.answers import Problem
from vc_dashboard.logic.epochs import EpochMemory
from vc_dashboard.logic.explaining import explain, waiting_list
from vc_dashboard.logic.future_answers import WhatIfQuestion
from vc_dashboard.logic.invariants import Finding, Seen, report
from vc_dashboard.logic.jobs import JobQuestion, describe_job, list_jobs
from vc_dashboard.logic.manifests import ManifestError
from vc_dashboard.logic.openapi import openapi
from vc_dashboard.logic.page import STYLE, page
from vc_dashboard.logic.picture import Picture
from vc_dashboard.logic.questions import LIMIT_DEFAULT, QuestionError, limit_of, text_of
from vc_dashboard.logic.queues import queue_tree
from vc_dashboard.logic.sessions import SessionMemory
from vc_dashboard.logic.trying import Ground, queue_shares, what_if
from vc_dashboard.logic.usage import UsageMemory, question_of
from vc_dashboard.logic.usage import report as usage_report
from vc_dashboard.past import NotReplayableError, Past
from vc_model.meta import object_key
from vc_snapshot import SnapshotUnavailableError

BODY_BYTES_MAX: Final = 1024 * 1024
"""Of a what-if's question: what the API server takes of one object."""

SHUTDOWN_SECONDS_MAX: Final = 2.0
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

    async def ground(self) -> Ground:
        """What a trial stands on."""
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

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._runner: web.AppRunner | None = None
        self._openapi = msgspec.json.encode(openapi())

    async def start(self, *, host: str, port: int) -> int:
        """Listen; gives the port, which differs from the wanted one when that was 0."""
        app = web.Application(client_max_size=BODY_BYTES_MAX, middlewares=[_guard])
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
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS_MAX)
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Close."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _page(self, _: web.Request) -> web.Response:
        picture, stale = await self._knowledge.picture(), self._knowledge.stale()
        reasons = self._knowledge.sessions.reasons()
        question = JobQuestion(limit=LIMIT_DEFAULT)
        jobs = await asyncio.to_thread(list_jobs, picture, reasons, question, stale=stale)
        queues = await asyncio.to_thread(queue_tree, picture, limit=LIMIT_DEFAULT, stale=stale)
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
        return _json(await asyncio.to_thread(list_jobs, picture, reasons, question, stale=stale))

    async def _job(self, request: web.Request) -> web.Response:
        key = object_key(request.match_info["namespace"], request.match_info["name"])
        reasons = self._knowledge.sessions.reasons()
        picture = await self._knowledge.picture()
        found = describe_job(picture, reasons, key, stale=self._knowledge.stale())
        if found is None:
            return _problem(404, _no_job(key))
        return _json(found)

    async def _queues(self, request: web.Request) -> web.Response:
        limit, stale = limit_of(request.query), self._knowledge.stale()
        picture = await self._knowledge.picture()
        return _json(await asyncio.to_thread(queue_tree, picture, limit=limit, stale=stale))

    async def _sessions(self, request: web.Request) -> web.Response:
        limit = limit_of(request.query)
        return _json(self._knowledge.sessions.recent(limit=limit, stale=self._knowledge.stale()))

    async def _usage(self, request: web.Request) -> web.Response:
        question = question_of(request.query, limit=limit_of(request.query))
        rows, stale = self._knowledge.usage.rows(), self._knowledge.stale()
        return _json(await asyncio.to_thread(usage_report, rows, question, stale=stale))

    async def _session(self, request: web.Request) -> web.Response:
        session_id = request.match_info["id"]
        found = await self._knowledge.past.detail(session_id)
        return _json(found) if found is not None else _no_session(session_id)

    async def _replay(self, request: web.Request) -> web.Response:
        session_id = request.match_info["id"]
        found = await self._knowledge.past.again(session_id)
        return _json(found) if found is not None else _no_session(session_id)

    async def _explanation(self, request: web.Request) -> web.Response:
        key = object_key(request.match_info["namespace"], request.match_info["name"])
        reasons, picture = self._knowledge.sessions.reasons(), await self._knowledge.picture()
        ground = await self._knowledge.ground()
        found = await self._knowledge.heavy.run(explain, picture, reasons, key, ground)
        return _json(found) if found is not None else _problem(404, _no_job(key))

    async def _waiting(self, request: web.Request) -> web.Response:
        queue, limit = request.match_info["name"], limit_of(request.query)
        if queue not in (await self._knowledge.picture()).queues:
            return _problem(404, f"there is no queue {queue[:253]!r}")
        reasons, stale = self._knowledge.sessions.reasons(), self._knowledge.stale()
        return _json(waiting_list(reasons, queue, limit=limit, stale=stale))

    async def _shares(self, _: web.Request) -> web.Response:
        ground = await self._knowledge.ground()
        return _json(await self._knowledge.heavy.run(queue_shares, ground))

    async def _what_if(self, request: web.Request) -> web.Response:
        try:
            question = msgspec.json.decode(await request.read(), type=WhatIfQuestion)
        except (msgspec.DecodeError, RecursionError) as error:
            raise QuestionError(f"the question cannot be read: {error}") from None
        ground = await self._knowledge.ground()
        return _json(await self._knowledge.heavy.run(what_if, ground, question))

    async def _invariants(self, _: web.Request) -> web.Response:
        findings, seen, now = await self._knowledge.findings()
        picture = await self._knowledge.picture()
        stale, checked = self._knowledge.stale(), self._knowledge.epochs.checked
        return _json(report(picture, findings, seen, now=now, stale=stale, epochs_checked=checked))


@web.middleware
async def _guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Errors as JSON, and the same headers on everything."""
    try:
        response = await handler(request)
    except (QuestionError, ManifestError) as error:
        response = _problem(400, str(error))
    except NotReplayableError as error:
        response = _problem(409, str(error))
    except (BusyError, SnapshotUnavailableError) as error:
        response = _problem(503, str(error))
    except web.HTTPException as error:
        response = _problem(error.status, html.escape(error.reason))
    response.headers.update(HEADERS)
    return response


def _no_job(key: str) -> str:
    return f"there is no job {key[:253]!r}"


def _no_session(session_id: str) -> web.Response:
    return _problem(404, f"session {session_id[:64]!r} is not, or no longer, in the ring")


def _json(answer: msgspec.Struct) -> web.Response:
    return web.Response(body=msgspec.json.encode(answer), content_type="application/json")


def _problem(status: int, error: str) -> web.Response:
    response = _json(Problem(error=error))
    response.set_status(status)
    return response
