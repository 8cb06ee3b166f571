"""A server with scripted responses, for what no healthy API server would send."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from aiohttp import web

from vc.cluster.kubernetes import KubernetesCluster, connect
from vc.cluster.kubernetes_http import Limits

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ScriptedServer:
    """Answers requests in the order of the script; the last answer stays."""

    def __init__(self) -> None:
        self.script: deque[Answer] = deque()
        self.seen: list[web.Request] = []
        self.open = 0
        self.open_most = 0
        """The largest number of requests it had at a time."""
        self.idle = asyncio.Event()
        """Set while it has no request to answer."""
        self.url = ""

    def then(self, *answers: Answer) -> None:
        """Go on like this."""
        self.script.extend(answers)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        self.open += 1
        self.idle.clear()
        self.open_most = max(self.open_most, self.open)
        answer = self.script.popleft() if len(self.script) > 1 else self.script[0]
        try:
            return await answer(request)
        finally:
            self.open -= 1
            if not self.open:
                self.idle.set()


def says(
    body: object = None, *, code: int = 200, headers: Mapping[str, str] | None = None
) -> Answer:
    """An answer of plain JSON, or of the bytes themselves."""
    encoded = body if isinstance(body, bytes) else msgspec.json.encode(body or {})

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(status=code, body=encoded, headers=headers)

    return answer


def refuses(code: int, reason: str, *, headers: Mapping[str, str] | None = None) -> Answer:
    """A Status."""
    status = {"kind": "Status", "code": code, "reason": reason, "message": f"as told: {reason}"}
    return says(status, code=code, headers=headers)


def after(seconds: float, answer: Answer) -> Answer:
    """The same, late."""

    async def late(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await answer(request)

    return late


async def hangs_up(request: web.Request) -> web.StreamResponse:
    """Cuts the connection without a word."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def streams(*chunks: bytes, then_silent_seconds: float = 0.0, cut: bool = False) -> Answer:
    """A watch: the chunks as they are, then silence, then its end or a cut."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        await asyncio.sleep(then_silent_seconds)
        if cut and request.transport is not None:
            request.transport.abort()
        else:
            await response.write_eof()
        return response

    return answer


@asynccontextmanager
async def scripted_server() -> AsyncIterator[ScriptedServer]:
    """Listens on a free loopback port."""
    server = ScriptedServer()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


def kubeconfig_text(url: str, *, user: Mapping[str, object] | None = None) -> str:
    """The smallest kubeconfig; JSON is YAML."""
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": url}}],
            "users": [{"name": "u", "user": user or {}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
    ).decode()


@asynccontextmanager
async def connected(
    server: ScriptedServer,
    folder: Path,
    *,
    limits: Limits | None = None,
    user: Mapping[str, object] | None = None,
) -> AsyncIterator[KubernetesCluster]:
    """The adapter, pointed at the scripted server."""
    path = folder / "kubeconfig"
    path.write_text(kubeconfig_text(server.url, user=user))
    cluster = await connect(service="unit", kubeconfig=str(path), environment={}, limits=limits)
    try:
        yield cluster
    finally:
        await cluster.close()
