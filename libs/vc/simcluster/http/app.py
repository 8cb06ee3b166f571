"""The HTTP server of the embedded cluster, for kubectl and client libraries.

Fixed paths serve versions, health, discovery and OpenAPI. The service proxy has a path of its own.
Any other path is parsed as a resource (`routes`) and handled by `objects`. There is no
authentication: the server is for one user on one machine and listens on loopback.
"""

import asyncio
from typing import Final

from aiohttp import web

from vc.cluster.errors import NotFoundError
from vc.model.api.struct import JsonObject
from vc.simcluster.http import discovery, openapi
from vc.simcluster.http.accept import DISCOVERY_GROUP, DISCOVERY_SHAPES, choose_shape
from vc.simcluster.http.bodies import BODY_BYTES_MAX, read_object
from vc.simcluster.http.errors import Handler, answer_errors, json_response
from vc.simcluster.http.objects import answer_object
from vc.simcluster.http.proxy import ServiceProxy
from vc.simcluster.http.reviews import answer_review
from vc.simcluster.http.routes import parse_target
from vc.simcluster.verbs.admission import WARNINGS
from vc.simcluster.verbs.api import Api

VERSION: Final[JsonObject] = {
    "major": "1",
    "minor": "35",
    "gitVersion": "v1.35.0+pyroclast-embedded",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "python",
    "platform": "embedded",
}
WARNING_LENGTH_MAX: Final = 4096
WARNINGS_MAX: Final = 50
_REVIEW_GROUPS: Final = (discovery.AUTHORIZATION_GROUP, discovery.AUTHENTICATION_GROUP)
_UNKNOWN: Final = "the server could not find the requested resource"


class HttpApi:
    """Handles the HTTP requests for one API."""

    def __init__(self, api: Api, *, proxy: ServiceProxy) -> None:
        self._api = api
        self._proxy = proxy
        self._open: set[asyncio.Task[None]] = set()
        """The tasks of current requests. Watches stay here until they end."""

    def application(self) -> web.Application:
        """The routes, from the most specific to the most general. Some clients append a slash."""
        app = web.Application(
            # The first middleware is the outermost: it sees a request until all handling has ended.
            middlewares=[self._track, answer_errors, send_warnings],
            client_max_size=BODY_BYTES_MAX,
        )
        app.router.add_get("/version", self._version)
        for path in ("/healthz", "/livez", "/readyz"):
            app.router.add_get(path, _health)
        app.router.add_get("/api{slash:/?}", self._core_discovery)
        app.router.add_get("/apis{slash:/?}", self._group_discovery)
        app.router.add_get("/api/{version}{slash:/?}", self._resources)
        app.router.add_get("/apis/{group}{slash:/?}", self._group)
        app.router.add_get("/apis/{group}/{version}{slash:/?}", self._resources)
        app.router.add_get("/openapi/v2", _swagger)
        app.router.add_get("/openapi/v3", self._openapi_index)
        app.router.add_get("/openapi/v3/{place:.+}", self._openapi)
        for group in _REVIEW_GROUPS:
            app.router.add_post(f"/apis/{group}/v1/{{plural}}", _review)
        proxied = "/api/v1/namespaces/{namespace}/services/{service}/proxy"
        app.router.add_route("*", proxied, self._forward)
        app.router.add_route("*", proxied + "/{path:.*}", self._forward)
        # Last, because it matches every path; resources are looked up in the registry.
        app.router.add_route("*", "/{path:.*}", self._object)
        return app

    async def end_streams(self) -> None:
        """Cancel requests that do not end by themselves: watches and followed logs."""
        tasks = list(self._open)
        # A watch would otherwise run until its time-out, which can be hours.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @web.middleware
    async def _track(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            return await handler(request)
        finally:
            self._open.discard(task)

    async def _version(self, _request: web.Request) -> web.Response:
        return json_response(VERSION)

    async def _core_discovery(self, request: web.Request) -> web.Response:
        return self._discovery(request, core=True)

    async def _group_discovery(self, request: web.Request) -> web.Response:
        return self._discovery(request, core=False)

    def _discovery(self, request: web.Request, *, core: bool) -> web.Response:
        accepted = choose_shape(request.headers.get("Accept", ""), known=DISCOVERY_SHAPES)
        registry = self._api.registry
        if accepted.shape:
            kind = f"application/json;g={DISCOVERY_GROUP};v={accepted.version};as={accepted.shape}"
            body = discovery.aggregated(registry, core=core, version=accepted.version)
            return json_response(body, content_type=kind)
        legacy = discovery.api_versions(request.host) if core else discovery.group_list(registry)
        return json_response(legacy)

    async def _resources(self, request: web.Request) -> web.Response:
        info = request.match_info
        group = info.get("group", "")
        return _found(discovery.resource_list(self._api.registry, group, info["version"]))

    async def _group(self, request: web.Request) -> web.Response:
        return _found(discovery.group(self._api.registry, request.match_info["group"]))

    async def _openapi_index(self, _request: web.Request) -> web.Response:
        return json_response(openapi.index(self._api.registry))

    async def _openapi(self, request: web.Request) -> web.Response:
        match request.match_info["place"].split("/"):
            case ["api", version]:
                group = ""
            case ["apis", group, version]:
                pass
            case _:
                raise NotFoundError(_UNKNOWN)
        return _found(openapi.document(self._api.registry, group, version))

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        info = request.match_info
        # The raw path is forwarded: decoding and encoding it again could change it.
        raw = request.rel_url.raw_path.partition("/proxy")[2].removeprefix("/")
        return await self._proxy.forward(
            request, namespace=info["namespace"], service=info["service"], path=raw
        )

    async def _object(self, request: web.Request) -> web.StreamResponse:
        target = parse_target(request.rel_url.raw_path, self._api.registry)
        return await answer_object(request, self._api, target)


def _found(body: JsonObject | None) -> web.Response:
    if body is None:
        raise NotFoundError(_UNKNOWN)
    return json_response(body)


async def _health(_request: web.Request) -> web.Response:
    return web.Response(text="ok")


async def _swagger(request: web.Request) -> web.Response:
    body, content_type = openapi.swagger(request.headers.get("Accept", ""))
    return json_response(body, content_type=content_type)


async def _review(request: web.Request) -> web.Response:
    body = answer_review(request.match_info["plural"], await read_object(request))
    if body is None:
        raise NotFoundError(_UNKNOWN)
    return json_response(body, status=201)


@web.middleware
async def send_warnings(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Collect the warnings of a request and send them as Warning headers."""
    collected: list[str] = []
    token = WARNINGS.set(collected)
    try:
        response = await handler(request)
    finally:
        WARNINGS.reset(token)
    # Headers of a stream were already sent, so its warnings are lost, as on a real server.
    if not response.prepared:
        for message in dict.fromkeys(collected[:WARNINGS_MAX]):
            response.headers.add("Warning", f'299 - "{_quotable(message)}"')
    return response


def _quotable(message: str) -> str:
    """Escape a message for use in a quoted header value."""
    plain = "".join(c if c.isprintable() else " " for c in message[:WARNING_LENGTH_MAX])
    return plain.replace("\\", "\\\\").replace('"', '\\"')
