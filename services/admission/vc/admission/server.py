"""The HTTPS server: one route per webhook, bounded bodies, and a clear error for invalid requests.

Status 400 names the error of the request, 413 means that it is too large, and 503 that the cluster
could not be queried. In these cases the API server applies the webhook's failure policy. An
internal error is a 500 without details, which are in the log.
"""

import ssl
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from vc.admission.config import PORT
from vc.admission.logic.lookups import Lookups, needed, to_count
from vc.admission.logic.review import review
from vc.admission.logic.webhook.endpoints import ENDPOINTS, Endpoint
from vc.admission.logic.webhook.wire import BODY_BYTES_MAX, ReviewError, answer, parse_review
from vc.admission.metrics import ALLOWED, NO_REVIEW, REFUSED, UNAVAILABLE, AdmissionMetrics
from vc.admission.world_source import WorldSource
from vc.cluster import ClusterError
from vc.model.api.kinds import JOBS
from vc.model.api.meta import object_key
from vc.runtime.containment.boundaries import DECIDE
from vc.runtime.hosting.context import Context
from vc.runtime.hosting.job_fields import job_fields
from vc.runtime.hosting.listening import Wanted, said_once
from vc.validation.request import ReviewRequest

JSON: Final = "application/json"
HEADER_BYTES_MAX: Final = 16 * 1024
SHUTDOWN_SECONDS_MAX: Final = 5.0


class AdmissionServer:
    """Serves the webhooks: reads requests, applies the rules, answers."""

    def __init__(
        self, context: Context, world_source: WorldSource, metrics: AdmissionMetrics
    ) -> None:
        self._context = context
        self._metrics = metrics
        self._world_source = world_source
        self._runner: web.AppRunner | None = None

    async def start(self, *, host: str, port: int, tls: ssl.SSLContext) -> int:
        """Start to listen. Returns the port, which differs from the requested one if that was 0."""
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
        """Answer the requests in progress, then close."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _handler(self, endpoint: Endpoint) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(http_request: web.Request) -> web.Response:
            body = await http_request.read()
            begun = self._context.clock.monotonic()
            response, result = await self._answer(body, endpoint)
            took = self._context.clock.monotonic() - begun
            self._metrics.answered(endpoint.path, result, seconds=took)
            return response

        return handle

    async def _answer(self, body: bytes, endpoint: Endpoint) -> tuple[web.Response, str]:
        try:
            request = parse_review(body, endpoint=endpoint)
        except ReviewError as error:
            return web.Response(status=400, text=f"{error}\n"), NO_REVIEW
        try:
            world = await self._world_source.world()
            # Live reads come before the rules, because the rules are pure and cannot read.
            lookups = needed(request, world, endpoint=endpoint)
            if lookups != Lookups():
                world = await self._world_source.look_up(lookups, world)
            # Counting is a live list, so it is done only where a maximum is set.
            wanted = to_count(request, world.settings.maxima, endpoint=endpoint)
            if wanted is not None:
                world = await self._world_source.count(wanted, world)
        except ClusterError as error:
            self._context.log.warning("review failed path=%s error=%s", endpoint.path, error)
            text = f"the API server could not be queried: {error}\n"
            return web.Response(status=503, text=text), UNAVAILABLE
        response = review(request, world, endpoint=endpoint)
        # A fault of our rules is recorded as a problem row, so that it is seen and fixed.
        if response.fault:
            key = object_key(request.namespace, request.name)
            self._context.problems.caught(DECIDE, endpoint.kind.short, key, error=response.fault)
        if not response.allowed:
            self._context.log.info(
                "review refused operation=%s kind=%s object=%s/%s message=%s",
                request.operation,
                endpoint.kind.kind,
                request.namespace,
                request.name,
                response.message,
                extra=_fields(request, endpoint),
            )
        result = ALLOWED if response.allowed else REFUSED
        return web.Response(body=answer(request, response), content_type=JSON), result


def _fields(request: ReviewRequest, endpoint: Endpoint) -> dict[str, str | int]:
    """Log fields of a refusal. A job that already has its uid can be followed by its trace too."""
    key = object_key(request.namespace, request.name)
    if endpoint.kind is not JOBS:
        return {endpoint.kind.kind.lower(): key, "operation": request.operation}
    metadata = (request.object or request.old_object or {}).get("metadata")
    uid = str(metadata.get("uid") or "") if isinstance(metadata, dict) else ""
    fields: dict[str, str | int] = job_fields(key, uid) if uid else {"job": key}
    return {**fields, "operation": request.operation}


async def _healthz(_: web.Request) -> web.Response:
    return web.Response(text="ok\n")
