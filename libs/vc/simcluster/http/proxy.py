"""The service proxy of the API server, for services that run in this process.

`vcctl` reaches the dashboard through `/api/v1/namespaces/<ns>/services/<name>:<port>/proxy/...`, so
a user needs only permissions in the cluster. Pods of the embedded cluster are simulated and serve
nothing. A service is reachable once its process has registered its address.
"""

from typing import Final

import aiohttp
from aiohttp import web
from yarl import URL

from vc.cluster.errors import ClusterError, NotFoundError
from vc.model.faults import describe
from vc.simcluster.http.errors import STREAMING

CONNECT_SECONDS_MAX: Final = 10.0
READ_SECONDS_MAX: Final = 300.0
CHUNK_BYTES: Final = 64 * 1024
HOP_BY_HOP: Final = frozenset(
    {
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
        "transfer-encoding", "upgrade", "host", "content-length", "accept-encoding",
    }
)  # fmt: skip
"""Headers that belong to one connection. `authorization` below is meant for the API server only."""
_NOT_FORWARDED: Final = HOP_BY_HOP | {"authorization"}


class ServiceUnavailableError(ClusterError):
    """The service is registered but does not respond."""

    code = 503
    reason = "ServiceUnavailable"
    temporary = True


class ServiceProxy:
    """The addresses of registered services, and forwarding to them."""

    def __init__(self) -> None:
        self._addresses: dict[tuple[str, str], dict[str, str]] = {}
        """Base URLs by namespace and name, then by port (number or name). Never empty inside."""
        self._session: aiohttp.ClientSession | None = None

    def register_service(
        self, namespace: str, name: str, *, port: int | str, base_url: str
    ) -> None:
        """Register the address of a service port. A later registration replaces an earlier one."""
        self._addresses.setdefault((namespace, name), {})[str(port)] = base_url.rstrip("/")

    def unregister_service(self, namespace: str, name: str) -> None:
        """Remove a service. An unknown service is ignored."""
        self._addresses.pop((namespace, name), None)

    def resolve(self, namespace: str, name: str, port: int | str = "") -> str:
        """The base URL of a service port. Without a port, the first registered port is used."""
        ports = self._addresses.get((namespace, name))
        if ports is None:
            raise NotFoundError(
                f'services "{name}" not found', details={"name": name, "kind": "services"}
            )
        found = ports.get(str(port)) if port else next(iter(ports.values()))
        if found is None:
            known = ", ".join(ports)
            raise ServiceUnavailableError(
                f'no port "{port}" of service "{namespace}/{name}" listens here; known: {known}'
            )
        return found

    async def forward(
        self, request: web.Request, *, namespace: str, service: str, path: str
    ) -> web.StreamResponse:
        """Forward the request and stream the response back in chunks."""
        _scheme, name, port = split_service(service)
        base = self.resolve(namespace, name, port)
        query = f"?{request.rel_url.raw_query_string}" if request.rel_url.raw_query_string else ""
        url = URL(f"{base}/{path}{query}", encoded=True)
        # The client's token is meant for the API server; the service must not receive it.
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _NOT_FORWARDED}
        data = request.content if request.can_read_body else None
        try:
            async with self._open().request(
                request.method, url, headers=headers, data=data, allow_redirects=False
            ) as answer:
                return await _relay(request, answer)
        except (aiohttp.ClientError, TimeoutError) as error:
            # After the response has started, closing the connection is the only way to report an
            # error.
            if STREAMING.get():
                raise ConnectionError(f"the answer of {namespace}/{name} broke off") from error
            raise ServiceUnavailableError(
                f'error trying to reach service "{namespace}/{name}": {describe(error)}'
            ) from None

    def _open(self) -> aiohttp.ClientSession:
        """The HTTP session, created at first use because it needs a running loop."""
        if self._session is None or self._session.closed:
            # No limit for the whole response, because a service may stream; only silence ends it.
            timeout = aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_SECONDS_MAX, sock_read=READ_SECONDS_MAX
            )
            self._session = aiohttp.ClientSession(timeout=timeout, auto_decompress=False)
        return self._session

    async def close(self) -> None:
        """Close the connections to the proxied services, if any were opened."""
        if self._session is not None:
            await self._session.close()


async def _relay(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, reason=answer.reason)
    for name, value in answer.headers.items():
        if name.lower() not in HOP_BY_HOP:
            response.headers.add(name, value)
    # The length is unknown, because the response is forwarded while it arrives.
    response.enable_chunked_encoding()
    await response.prepare(request)
    STREAMING.set(True)
    async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
        await response.write(chunk)
    await response.write_eof()
    return response


def split_service(text: str) -> tuple[str, str, str]:
    """Split `[scheme:]name[:port]` into scheme, name and port."""
    match text.split(":"):
        case [name]:
            return "", name, ""
        case ["http" | "https" as scheme, name]:
            return scheme, name, ""
        case [name, port]:
            return "", name, port
        case [scheme, name, port]:
            return scheme, name, port
        case _:
            raise NotFoundError(f'services "{text[:100]}" not found')
