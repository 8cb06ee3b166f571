"""Start and stop the HTTP server of an embedded API server."""

from typing import Final

from aiohttp import web

from vc.simcluster.http.app import HttpApi
from vc.simcluster.http.proxy import ServiceProxy
from vc.simcluster.verbs.api import Api
from vc.simcluster.webhooks.dispatch import WebhookAdmission

LOOPBACK: Final = "127.0.0.1"
REQUEST_LINE_BYTES_MAX: Final = 64 * 1024
"""Label selectors are part of the URL and can be long."""
HEADER_BYTES_MAX: Final = 16 * 1024
KEEPALIVE_SECONDS: Final = 90.0
SHUTDOWN_SECONDS_MAX: Final = 2.0


class EmbeddedServer:
    """A running HTTP server, created by `serve`."""

    def __init__(
        self,
        *,
        http_api: HttpApi,
        runner: web.AppRunner,
        proxy: ServiceProxy,
        webhooks: WebhookAdmission,
    ) -> None:
        self.proxy = proxy
        """Registry of the services that run in this process, for the service proxy and for
        webhooks.
        """
        self._http_api = http_api
        self._runner = runner
        self._webhooks = webhooks

    @property
    def url(self) -> str:
        """The URL under which the server listens, as written into a kubeconfig."""
        host, port = self._runner.addresses[0][:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def close(self) -> None:
        """Stop listening, end all watches and close connections."""
        # Watches are ended first: the runner would otherwise wait for them until its shutdown
        # time-out.
        await self._http_api.end_streams()
        await self._runner.cleanup()
        await self._webhooks.close()
        await self.proxy.close()


async def serve(api: Api, *, host: str = LOOPBACK, port: int = 0) -> EmbeddedServer:
    """Serve the API over HTTP, with webhooks and the service proxy. Port 0 selects a free port."""
    proxy = ServiceProxy()
    webhooks = WebhookAdmission(api, services=proxy)
    # An admission that the caller has set before is kept.
    if api.admission is None:
        api.admission = webhooks
    http_api = HttpApi(api, proxy=proxy)
    runner = web.AppRunner(
        http_api.application(),
        # A client that disconnects must end its watch at once, hence handler_cancellation.
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
        # A port in use must not leave the resources of the runner behind.
        await runner.cleanup()
        raise
    return EmbeddedServer(http_api=http_api, runner=runner, proxy=proxy, webhooks=webhooks)
