"""The HTTPS face: one route per webhook, bounded bodies, a clear error for whatever is no review.

400 says what is wrong with the question, 413 that it is too large, 503 that the cluster could not
be asked; then the API server applies the webhook's failure policy. A fault of ours is a 500 with
no detail, and the log has it.
"""

import ssl
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from vc_admission.config import PORT
from vc_admission.knowledge import Knowledge
from vc_admission.logic.endpoints import ENDPOINTS, Endpoint
from vc_admission.logic.lookups import Lookups, needed
from vc_admission.logic.maxima import to_count
from vc_admission.logic.review import review
from vc_admission.logic.wire import BODY_BYTES_MAX, Request, ReviewError, answer, parse_review
from vc_admission.meters import ALLOWED, NO_REVIEW, REFUSED, UNAVAILABLE, AdmissionMeters
from vc_cluster import ClusterError
from vc_model.kinds import JOBS
from vc_model.meta import object_key
from vc_runtime.boundaries import DECIDE
from vc_runtime.context import Context
from vc_runtime.job_fields import job_fields
from vc_runtime.listening import Wanted, said_once

JSON: Final = "application/json"
HEADER_BYTES_MAX: Final = 16 * 1024
SHUTDOWN_SECONDS_MAX: Final = 5.0


class AdmissionServer:
    """Listens, asks the logic, answers."""

    def __init__(self, context: Context, knowledge: Knowledge, meters: AdmissionMeters) -> None:
        self._context = context
        self._meters = meters
        self._knowledge = knowledge
        self._runner: web.AppRunner | None = None

    async def start(self, *, host: str, port: int, tls: ssl.SSLContext) -> int:
        """Listen; gives the port, which differs from the wanted one when that was 0."""
        app = web.Application(client_max_size=BODY_BYTES_MAX)
        for endpoint in ENDPOINTS:
            app.router.add_post(endpoint.path, self._handler(endpoint))
        app.router.add_get("/healthz", _healthz)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            max_field_size=HEADER_BYTES_MAX,
            max_line_size=HEADER_BYTES_MAX,
            shutdown_timeout=SHUTDOWN_SECONDS_MAX,
        )
        await self._runner.setup()
        with said_once(Wanted(port, PORT.name, host)):
            await web.TCPSite(self._runner, host, port, ssl_context=tls).start()
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Answer what is under way, then close."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _handler(self, endpoint: Endpoint) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(http_request: web.Request) -> web.Response:
            body = await http_request.read()
            begun = self._context.clock.monotonic()
            response, answered = await self._answer(body, endpoint)
            took = self._context.clock.monotonic() - begun
            self._meters.answered(endpoint.path, answered, seconds=took)
            return response

        return handle

    async def _answer(self, body: bytes, endpoint: Endpoint) -> tuple[web.Response, str]:
        try:
            request = parse_review(body, endpoint=endpoint)
        except ReviewError as error:
            return web.Response(status=400, text=f"{error}\n"), NO_REVIEW
        try:
            world = await self._knowledge.world()
            lookups = needed(request, world, endpoint=endpoint)
            if lookups != Lookups():
                world = await self._knowledge.look_up(lookups, world)
            asked = to_count(request, world.settings.maxima, endpoint=endpoint)
            if asked is not None:
                world = await self._knowledge.count(asked, world)
        except ClusterError as error:
            self._context.log.warning("cannot answer %s: %s", endpoint.path, error)
            text = f"the cluster could not be asked: {error}\n"
            return web.Response(status=503, text=text), UNAVAILABLE
        response = review(request, world, endpoint=endpoint)
        if response.fault:
            key = object_key(request.namespace, request.name)
            self._context.problems.caught(DECIDE, endpoint.kind.short, key, error=response.fault)
        if not response.allowed:
            self._context.log.info(
                "refused %s of %s %s/%s: %s",
                request.operation,
                endpoint.kind.kind,
                request.namespace,
                request.name,
                response.message,
                extra=_fields(request, endpoint),
            )
        answered = ALLOWED if response.allowed else REFUSED
        return web.Response(body=answer(request, response), content_type=JSON), answered


def _fields(request: Request, endpoint: Endpoint) -> dict[str, str | int]:
    """What a refusal is about; a job that has its uid by then can be followed by its trace too."""
    key = object_key(request.namespace, request.name)
    if endpoint.kind is not JOBS:
        return {endpoint.kind.kind.lower(): key, "operation": request.operation}
    metadata = (request.object or request.old_object or {}).get("metadata")
    uid = str(metadata.get("uid") or "") if isinstance(metadata, dict) else ""
    fields: dict[str, str | int] = job_fields(key, uid) if uid else {"job": key}
    return {**fields, "operation": request.operation}


async def _healthz(_: web.Request) -> web.Response:
    return web.Response(text="ok\n")
