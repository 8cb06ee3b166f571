"""One connection to an API server: requests with deadlines, limits and counters.

The aiohttp session and its TLS setup come from kubernetes-asyncio. Requests use the session
directly, with bytes in and out, because the client models cost a hundred times more than the
decoding. Each call has one deadline for everything: waiting for a slot, renewing a token, the
request, repeating it. A write that started under a lease therefore ends before the lease can pass
to another replica, and the server gets the same deadline. Only reads are repeated here: a failed
write may have been applied, and only its caller knows its preconditions.
"""

import asyncio
import io
import random
from collections import Counter
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlencode
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec
from yarl import URL

from vc.clock import Clock
from vc.cluster.errors import (
    NoDateError,
    ServerError,
    TooLargeError,
    TooManyRequestsError,
    UnauthorizedError,
    UnavailableError,
)
from vc.cluster.kubernetes_config import LiveConfiguration
from vc.cluster.kubernetes_date import DateListener, no_listener, read_date
from vc.cluster.kubernetes_errors import answer_error
from vc.cluster.kubernetes_library import library
from vc.model.faults import describe
from vc.model.values.backoff import delay_seconds, retry_after_seconds

READ_ATTEMPTS_MAX: Final = 4
RETRY_LONGEST_SECONDS: Final = 2.0

CONNECT_SECONDS_MAX: Final = 5.0

BODY_BYTES_MAX: Final = 3 * 1024 * 1024
"""Size limit of a request body at API servers. They close the connection during a larger upload,
which looks like a network fault and would be retried, so such a body is not sent at all.
"""

_WHOLE_BYTES_MAX: Final = 64 * 1024
"""Larger bodies are sent in pieces, so that other tasks can run in between."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one connection."""

    requests_max: int = 64
    """Concurrent requests, not counting watches; further ones wait for a slot."""
    watches_max: int = 64
    """Concurrent watches; one more is an error,
    because waiting for one to end could take forever.
    """
    write_seconds_max: float = 5.0
    """A leader starts no write if less of its lease remains (`vc.runtime.leading.election`)."""
    get_seconds_max: float = 5.0
    list_seconds_max: float = 60.0
    """For one page, or for the whole list if no limit is set."""
    watch_open_seconds_max: float = 10.0
    watch_silence_seconds_max: float = 180.0
    """Bookmarks arrive once a minute, but the first one of an idle API server only after two."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request, which may be sent repeatedly."""

    verb: str
    kind: str
    method: str
    path: str
    seconds_max: float
    query: dict[str, str] = {}
    body: bytes | None = None
    content_type: str = "application/json"
    repeatable: bool = False

    def __str__(self) -> str:
        return f"{self.verb} {self.path}"


class Stream:
    """A streaming response. Closing needs no await, so it works while a loop is shutting down."""

    def __init__(self, response: aiohttp.ClientResponse, *, on_close: Callable[[], None]) -> None:
        self.content = response.content
        self._response = response
        self._on_close = on_close

    def close(self) -> None:
        """Call it once. The socket is aborted,
        because a server in the middle of a watch does not complete a TLS shutdown.
        """
        connection = self._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        self._response.close()
        self._on_close()


def environment_proxy(host: str) -> str | None:
    """The proxy for this address from `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`."""
    # NO_PROXY applies to the host without scheme and port.
    url = URL(host)
    if url.host is None or proxy_bypass(url.host):
        return None
    return getproxies().get(url.scheme)


class ApiConnection:
    """Sends calls to one API server."""

    def __init__(
        self,
        access: LiveConfiguration,
        *,
        service: str,
        clock: Clock,
        limits: Limits,
        rng: random.Random,
        on_date: DateListener = no_listener,
    ) -> None:
        """Opens the session, so it needs a running loop.
        `on_date` receives the `Date` of every response.
        """
        self.limits = limits
        self.requests: Counter[tuple[str, str]] = Counter()
        """Number of requests by verb and kind; a repeated read counts each time."""
        self._access = access
        self._service = service
        self._clock = clock
        self._rng = rng
        self._on_date = on_date
        self._slots = asyncio.Semaphore(limits.requests_max)
        self._watches = 0
        configuration = access.configuration
        rest = library().RESTClientObject(
            configuration, maxsize=limits.requests_max + limits.watches_max
        )
        self._session: aiohttp.ClientSession = rest.pool_manager
        # aiohttp would silently repeat a PUT or DELETE if the connection breaks.
        self._session._retry_connection = False  # noqa: SLF001 - there is no public switch
        # aiohttp would read ~/.netrc for every request; the proxy is determined once here.
        self._session._trust_env = False  # noqa: SLF001 - kubernetes-asyncio opens the session
        self._host: str = configuration.host.rstrip("/")
        self._headers = {
            "Accept": "application/json",
            # A network inside a cluster is faster than gzip, and CPU of the API server is scarce.
            "Accept-Encoding": "identity",
            "User-Agent": f"pyroclast/{service}",
        }
        self._options: dict[str, Any] = {
            name: value
            for name, value in (
                ("proxy", rest.proxy or environment_proxy(self._host)),
                ("proxy_headers", rest.proxy_headers),
                ("server_hostname", rest.server_hostname),
            )
            if value
        }

    def beside(self, limits: Limits) -> "ApiConnection":
        """Another connection to the same server, with its own sockets and slots, and the same
        counter. Its responses have a `Date` too: a service that only leads needs no other request
        to know the server's time.
        """
        other = ApiConnection(
            self._access, service=self._service, clock=self._clock, limits=limits,
            rng=self._rng, on_date=self._on_date,
        )  # fmt: skip
        other.requests = self.requests
        return other

    async def call(self, call: Call) -> bytes:
        """The body of a successful response; otherwise a ClusterError is raised."""
        try:
            async with asyncio.timeout(call.seconds_max):
                return await self._repeat(call)
        except TimeoutError as error:
            raise UnavailableError(f"{call}: no answer within {call.seconds_max:g} s") from error

    async def date(self, call: Call) -> float:
        """The `Date` of a successful response; its body is not read."""
        try:
            async with asyncio.timeout(call.seconds_max), self._slots:
                socket = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS_MAX)
                response = await self._authorised(call, socket)
        except TimeoutError as error:
            raise ServerError(f"{call}: no answer within {call.seconds_max:g} s") from error
        response.release()
        date = read_date(response.headers)
        if date is None:
            raise NoDateError(f"{call}: the answer has no Date header that can be read")
        return date

    async def open(self, call: Call) -> "Stream":
        """A streaming response, open until it is closed."""
        # A watch beyond the limit would use the sockets of ordinary requests.
        if self._watches >= self.limits.watches_max:
            raise ServerError(f"{call}: more than {self.limits.watches_max} watches at a time")
        self._watches += 1
        try:
            response = await self._open(call)
        except BaseException:
            self._release_watch()
            raise
        return Stream(response, on_close=self._release_watch)

    def _release_watch(self) -> None:
        self._watches -= 1

    async def close(self) -> None:
        """Close all requests and connections."""
        await self._access.close()
        await self._session.close()
        await asyncio.sleep(0)  # a closed transport releases its socket one loop iteration later

    async def _repeat(self, call: Call) -> bytes:
        # A write without an answer may have been applied. Only its caller can read again and decide
        # whether the precondition still holds (docs/protocol.md 9).
        attempts_max = READ_ATTEMPTS_MAX if call.repeatable else 1
        for attempt in range(1, attempts_max + 1):
            try:
                # The slot is released during the backoff, so that other requests can use it.
                async with self._slots:
                    return await self._fetch(call)
            except (ServerError, TooManyRequestsError) as error:
                if attempt == attempts_max:
                    raise
                pause = self._pause_seconds(attempt, error)
            await self._clock.sleep(pause)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _pause_seconds(self, attempt: int, error: ServerError | TooManyRequestsError) -> float:
        # The server's Retry-After overrides our own backoff.
        if isinstance(error, TooManyRequestsError):
            return retry_after_seconds(error.retry_after_seconds, self._rng)
        return delay_seconds(attempt, self._rng, longest_seconds=RETRY_LONGEST_SECONDS)

    async def _fetch(self, call: Call) -> bytes:
        socket = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS_MAX)
        response = await self._authorised(call, socket)
        try:
            return await response.read()
        except (aiohttp.ClientError, OSError) as error:
            raise _broken(call, error) from error
        finally:
            response.release()

    async def _open(self, call: Call) -> aiohttp.ClientResponse:
        silence_seconds_max = self.limits.watch_silence_seconds_max
        # No total limit, because a watch lasts minutes. A dead server shows by its silence instead.
        socket = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_SECONDS_MAX, sock_read=silence_seconds_max
        )
        try:
            async with asyncio.timeout(call.seconds_max):
                return await self._authorised(call, socket)
        except TimeoutError as error:
            raise UnavailableError(f"{call}: not opened within {call.seconds_max:g} s") from error

    async def _authorised(
        self, call: Call, socket: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        """Send; if the token is rejected, renew it and send once more.
        A rejected request had no effect.
        """
        token = await self._access.authorization()
        try:
            return await self._send(call, token, socket)
        # A rejected token had no effect on the server, so even a write may be repeated.
        except UnauthorizedError:
            if not await self._access.renew(token):
                raise
        return await self._send(call, await self._access.authorization(), socket)

    async def _send(
        self, call: Call, token: str, socket: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        """Send the call; returns a successful response whose body is not read yet."""
        if self._session.closed:
            raise ServerError(f"{call}: the connection was closed")
        # Larger bodies look like a broken connection, which would be retried forever.
        if call.body is not None and len(call.body) > BODY_BYTES_MAX:
            raise TooLargeError(f"Request entity too large: limit is {BODY_BYTES_MAX}")
        headers = dict(self._headers)
        if token:
            headers["Authorization"] = token
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        # Count when sending: a request without a response is load as well.
        self.requests[call.verb, call.kind] += 1
        sent = self._clock.monotonic()
        try:
            response = await self._session.request(
                call.method,
                self._url(call),
                data=_payload(call.body),
                headers=headers,
                timeout=socket,
                allow_redirects=False,  # a redirect would send the token to another host
                **self._options,
            )
            self._hear_date(response, sent)
            if response.status < 300:
                return response
            async with response:
                body = await response.read()
        except (aiohttp.ClientError, OSError) as error:
            raise _broken(call, error) from error
        raise answer_error(response.status, body, doing=str(call), headers=response.headers)

    def _hear_date(self, response: aiohttp.ClientResponse, sent: float) -> None:
        """Report the date of a response; error responses have one too."""
        date = read_date(response.headers)
        if date is not None:
            self._on_date(date, sent=sent, received=self._clock.monotonic())

    def _url(self, call: Call) -> URL:
        query = f"?{urlencode(call.query)}" if call.query else ""
        return URL(f"{self._host}{call.path}{query}", encoded=True)


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    return io.BytesIO(body) if body is not None and len(body) > _WHOLE_BYTES_MAX else body


def _broken(call: Call, error: Exception) -> UnavailableError:
    """A network failure, as distinct from a rejected request;
    aiohttp's messages contain no secrets.
    """
    return UnavailableError(f"{call}: {type(error).__name__}: {describe(error)}")
