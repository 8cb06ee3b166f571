"""A small reverse proxy between one scheduler and the API server: it sees every write and can cut.

Bind k of n is too fast to be hit by watching pods from outside. Here binds pass one at a time, and
right after the k-th was applied, before its answer goes back, the fault is done: the scheduler is dead
or stopped with exactly k binds in the cluster. What it had sent beyond that is dropped, as a cable
drops it. Nothing in the scheduler knows of this.
"""

import asyncio
import ssl
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import aiohttp
from aiohttp import web

from vc.kubeconfig.access import access_of
from vc.kubeconfig.reader import read_context
from vc.kubeconfig.writer import write_document
from vc.parts.ports import LOOPBACK

PASSED_HEADERS = ("Content-Type", "Accept", "Authorization", "User-Agent")
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
UPSTREAM_SECONDS_MAX = 30.0


class Gate:
    """`kubeconfig` leads through it."""

    def __init__(self, upstream: Path, *, folder: Path, name: str) -> None:
        self._upstream = read_context([upstream])
        self._server: str = self._upstream.cluster["server"]
        self.kubeconfig = folder / f"{name}.kubeconfig"
        self.seen = 0
        """Requests that arrived."""
        self.written: Counter[str] = Counter()
        """Writes that the API server accepted, by method and last part of the path."""
        self.binds = 0
        """Binds applied since the last `cut_after`."""
        self._cut_after = -1
        self._fault: Callable[[], object] = lambda: None
        self._closed = False
        self._one_at_a_time = asyncio.Lock()
        self.cut = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, LOOPBACK, 0).start()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._trust(), limit=0),
            timeout=aiohttp.ClientTimeout(total=UPSTREAM_SECONDS_MAX),
            auto_decompress=False,
        )
        port = self._runner.addresses[0][1]
        through = self._upstream._replace(cluster={"server": f"http://{LOOPBACK}:{port}"})
        write_document(self.kubeconfig, through.document())

    def _trust(self) -> ssl.SSLContext | bool:
        authority = access_of(self._upstream).ca_pem
        return ssl.create_default_context(cadata=authority) if authority else True

    async def stop(self) -> None:
        if self._session is not None and self._runner is not None:
            await self._session.close()
            await self._runner.cleanup()

    def cut_after(self, binds: int, fault: Callable[[], object]) -> None:
        """Do the fault after so many binds from now; nothing passes then until `open`."""
        self.binds = 0
        self._cut_after = binds
        self._fault = fault
        self.cut.clear()

    def open(self) -> None:
        """Let requests pass again."""
        self._closed = False

    async def _handle(self, request: web.Request) -> web.Response:
        self.seen += 1
        if request.method == "POST" and request.path.endswith("/binding"):
            async with self._one_at_a_time:
                return await self._bind(request)
        return await self._forward(request)

    async def _bind(self, request: web.Request) -> web.Response:
        if self._cut_after == 0:
            self._do_fault()
        answer = await self._forward(request)
        self.binds += 1
        if self.binds == self._cut_after:
            self._do_fault()
            raise self._dropped(request)
        return answer

    def _do_fault(self) -> None:
        self._cut_after = -1
        self._closed = True
        self._fault()
        self.cut.set()

    async def _forward(self, request: web.Request) -> web.Response:
        body = await request.read()
        if self._closed:
            raise self._dropped(request)
        assert self._session is not None
        headers = {key: request.headers[key] for key in PASSED_HEADERS if key in request.headers}
        url = self._server + request.path_qs
        try:
            async with self._session.request(
                request.method, url, data=body or None, headers=headers
            ) as answer:
                text = await answer.read()
                if request.method in WRITES and answer.status < 300:
                    self.written[f"{request.method} {request.path.rpartition('/')[2]}"] += 1
                kept = {
                    k: v for k, v in answer.headers.items() if k in ("Content-Type", "Retry-After")
                }
                return web.Response(status=answer.status, body=text, headers=kept)
        except aiohttp.ClientError:
            raise self._dropped(request) from None

    def _dropped(self, request: web.Request) -> Exception:
        """The connection ends without an answer."""
        if request.transport is not None:
            request.transport.abort()
        return ConnectionResetError("dropped")
