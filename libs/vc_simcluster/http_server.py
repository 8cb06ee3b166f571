"""Starts and stops the HTTP face."""

from typing import Final

from aiohttp import web

from vc_simcluster.api import Api
from vc_simcluster.http import Face
from vc_simcluster.proxy import ServiceProxy
from vc_simcluster.webhooks import WebhookAdmission

LOOPBACK: Final = "127.0.0.1"
REQUEST_LINE_BYTES_MAX: Final = 64 * 1024
"""Label selectors travel in the URL and can be long."""
HEADER_BYTES_MAX: Final = 16 * 1024
KEEPALIVE_SECONDS: Final = 90.0
SHUTDOWN_SECONDS_MAX: Final = 2.0


class EmbeddedServer:
    """A running server; made by `serve`."""

    def __init__(
        self, *, face: Face, runner: web.AppRunner, proxy: ServiceProxy, webhooks: WebhookAdmission
    ) -> None:
        self.proxy = proxy
        """Where services of this process are registered, for the proxy and for webhooks."""
        self._face = face
        self._runner = runner
        self._webhooks = webhooks

    @property
    def url(self) -> str:
        """Where it listens, as kubeconfig wants it."""
        host, port = self._runner.addresses[0][:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def close(self) -> None:
        """Stop listening, end the watches, let go of connections."""
        await self._face.end_streams()
        await self._runner.cleanup()
        await self._webhooks.close()
        await self.proxy.close()


async def serve(api: Api, *, host: str = LOOPBACK, port: int = 0) -> EmbeddedServer:
    """Serve the API over HTTP, with webhooks and service proxy; port 0 takes a free one."""
    proxy = ServiceProxy()
    webhooks = WebhookAdmission(api, services=proxy)
    if api.admission is None:
        api.admission = webhooks
    face = Face(api, proxy=proxy)
    runner = web.AppRunner(
        face.application(),
        access_log=None,
        handler_cancellation=True,
        keepalive_timeout=KEEPALIVE_SECONDS,
        shutdown_timeout=SHUTDOWN_SECONDS_MAX,
        max_line_size=REQUEST_LINE_BYTES_MAX,
        max_field_size=HEADER_BYTES_MAX,
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError:
        await runner.cleanup()
        raise
    return EmbeddedServer(face=face, runner=runner, proxy=proxy, webhooks=webhooks)
