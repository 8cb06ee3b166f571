"""One connection to an API server: requests with deadlines, bounds and a count.

The aiohttp session and its TLS come from kubernetes-asyncio; requests go straight through the
session with bytes in and bytes out, because its client models cost a hundred times more than the
decoding. Each call has one deadline over everything: waiting for a slot, renewing a token, the
request, repeating it. So a write that was allowed by a lease is over when the lease can pass on,
and the server is told the same deadline. Only reads are repeated here; a write that failed may have
been applied, and whoever sent it knows its preconditions.
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

from vc_clock import Clock
from vc_cluster.errors import (
    NoDateError,
    ServerError,
    TooLargeError,
    TooManyRequestsError,
    UnauthorizedError,
    UnavailableError,
)
from vc_cluster.kubernetes_config import Access
from vc_cluster.kubernetes_date import DateListener, no_listener, read_date
from vc_cluster.kubernetes_errors import answer_error
from vc_cluster.kubernetes_library import library
from vc_model.faults import describe

READ_ATTEMPTS_MAX: Final = 4
RETRY_FIRST_SECONDS: Final = 0.05
RETRY_LONGEST_SECONDS: Final = 2.0
_JITTER: Final = 0.5
"""Up to this fraction is taken off a pause, or added to one that the server asked for, so that many
readers do not come back together."""

CONNECT_SECONDS_MAX: Final = 5.0

BODY_BYTES_MAX: Final = 3 * 1024 * 1024
"""What API servers take. They cut the connection while a larger body is still on its way, which looks
like a fault of the network and would be tried again, so it is not sent at all."""

_WHOLE_BYTES_MAX: Final = 64 * 1024
"""Up to here a body is handed over as it is; larger ones in pieces, so that the loop can breathe."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of one connection."""

    requests_max: int = 64
    """Under way at a time, watches not counted; further ones wait for a slot."""
    watches_max: int = 64
    """Open at a time; one more is an error, since waiting for one to end could take for ever."""
    write_seconds_max: float = 5.0
    """A leader starts no write when less of its lease remains (`vc_runtime.leader`)."""
    get_seconds_max: float = 5.0
    list_seconds_max: float = 60.0
    """One page, or the whole list when no limit is set."""
    watch_open_seconds_max: float = 10.0
    watch_silence_seconds_max: float = 180.0
    """Bookmarks come once a minute, but the first from an idle API server only after two."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request, as often as it is sent."""

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
    """An answer that goes on; closing needs no await, so it works while a loop is shutting down."""

    def __init__(self, response: aiohttp.ClientResponse, *, on_close: Callable[[], None]) -> None:
        self.content = response.content
        self._response = response
        self._on_close = on_close

    def close(self) -> None:
        """Once. The socket goes at once: a server in the middle of a watch says no TLS farewell."""
        connection = self._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        self._response.close()
        self._on_close()


def environment_proxy(host: str) -> str | None:
    """The proxy that `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` name for this address."""
    url = URL(host)
    if url.host is None or proxy_bypass(url.host):
        return None
    return getproxies().get(url.scheme)


class ApiConnection:
    """Sends calls to one API server."""

    def __init__(
        self,
        access: Access,
        *,
        service: str,
        clock: Clock,
        limits: Limits,
        chance: random.Random,
        on_date: DateListener = no_listener,
    ) -> None:
        """Opens the session, so it needs a running loop. `on_date` hears of every answer's `Date`."""
        self.limits = limits
        self.requests: Counter[tuple[str, str]] = Counter()
        """Requests sent, by verb and kind; a repeated read counts each time."""
        self._access = access
        self._service = service
        self._clock = clock
        self._chance = chance
        self._on_date = on_date
        self._slots = asyncio.Semaphore(limits.requests_max)
        self._watches = 0
        configuration = access.configuration
        rest = library().RESTClientObject(
            configuration, maxsize=limits.requests_max + limits.watches_max
        )
        self._session: aiohttp.ClientSession = rest.pool_manager
        # aiohttp would send a PUT or DELETE again when the connection breaks, and tell nobody.
        self._session._retry_connection = False  # noqa: SLF001 - there is no public switch
        # It would look into ~/.netrc, in a thread, for every request; a proxy is asked for once.
        self._session._trust_env = False  # noqa: SLF001 - kubernetes-asyncio opens the session
        self._host: str = configuration.host.rstrip("/")
        self._headers = {
            "Accept": "application/json",
            # A network inside a cluster is faster than gzip, and the API server's CPU is scarce.
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
        """Another connection to the same server, with sockets and slots of its own and the same count."""
        other = ApiConnection(
            self._access, service=self._service, clock=self._clock, limits=limits,
            chance=self._chance,
        )  # fmt: skip
        other.requests = self.requests
        return other

    async def call(self, call: Call) -> bytes:
        """The body of a successful answer; everything else is a ClusterError."""
        try:
            async with asyncio.timeout(call.seconds_max):
                return await self._repeat(call)
        except TimeoutError as error:
            raise UnavailableError(f"{call}: no answer within {call.seconds_max:g} s") from error

    async def date(self, call: Call) -> float:
        """The `Date` of a successful answer; its body is not read."""
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
        """An answer that goes on until it is closed."""
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
        """End all requests and connections."""
        await self._access.close()
        await self._session.close()
        await asyncio.sleep(0)  # a transport that was closed lets its socket go one turn later

    async def _repeat(self, call: Call) -> bytes:
        attempts_max = READ_ATTEMPTS_MAX if call.repeatable else 1
        for attempt in range(1, attempts_max + 1):
            try:
                async with self._slots:
                    return await self._fetch(call)
            except (ServerError, TooManyRequestsError) as error:
                if attempt == attempts_max:
                    raise
                pause = self._pause_seconds(attempt, error)
            await self._clock.sleep(pause)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _pause_seconds(self, attempt: int, error: ServerError | TooManyRequestsError) -> float:
        if isinstance(error, TooManyRequestsError):
            return error.retry_after_seconds * (1 + _JITTER * self._chance.random())
        full = min(RETRY_FIRST_SECONDS * (1 << (attempt - 1)), RETRY_LONGEST_SECONDS)
        return full * (1 - _JITTER * self._chance.random())

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
        """Send; when our token is refused, get another and send once more (nothing was done)."""
        token = await self._access.authorization()
        try:
            return await self._send(call, token, socket)
        except UnauthorizedError:
            if not await self._access.renew(token):
                raise
        return await self._send(call, await self._access.authorization(), socket)

    async def _send(
        self, call: Call, token: str, socket: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        """A successful answer whose body is still to be read."""
        if self._session.closed:
            raise ServerError(f"{call}: the connection was closed")
        if call.body is not None and len(call.body) > BODY_BYTES_MAX:
            raise TooLargeError(f"Request entity too large: limit is {BODY_BYTES_MAX}")
        headers = dict(self._headers)
        if token:
            headers["Authorization"] = token
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        self.requests[call.verb, call.kind] += 1
        sent = self._clock.monotonic()
        try:
            response = await self._session.request(
                call.method,
                self._url(call),
                data=_payload(call.body),
                headers=headers,
                timeout=socket,
                allow_redirects=False,  # a token goes to nobody else
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
        """Refusals have a date, too."""
        date = read_date(response.headers)
        if date is not None:
            self._on_date(date, sent=sent, received=self._clock.monotonic())

    def _url(self, call: Call) -> URL:
        query = f"?{urlencode(call.query)}" if call.query else ""
        return URL(f"{self._host}{call.path}{query}", encoded=True)


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    return io.BytesIO(body) if body is not None and len(body) > _WHOLE_BYTES_MAX else body


def _broken(call: Call, error: Exception) -> UnavailableError:
    """The way failed, not the request; aiohttp's own words name no secrets."""
    return UnavailableError(f"{call}: {type(error).__name__}: {describe(error)}")
