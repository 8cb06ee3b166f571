"""Readiness checks by each server's own protocol.

A server that does not respond yet is not ready.
"""

import asyncio
import json
import ssl
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vc.model.start_limits import Patience, Wait
from vc.parts.errors import StartFailedError
from vc.parts.ports import LOOPBACK

Ready = Callable[[], Awaitable[bool]]
"""Returns False (and does not raise) while the server does not respond."""

POLL_SECONDS = 0.05

ASK_SECONDS_MAX = 3.0
LINE_BYTES_MAX = 4_096


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An HTTP response. The status is 0 if there was none."""

    status: int = 0
    body: bytes = b""

    def field(self, name: str) -> object:
        """One field of a JSON object. None if the body is not an object."""
        try:
            document = json.loads(self.body)
        except ValueError:
            return None
        return document.get(name) if isinstance(document, dict) else None


async def wait_until(ready: Ready, *, seconds_max: float, otherwise: Callable[[], str]) -> None:
    """Poll until ready. Raise an error with the text of `otherwise` after the time-out."""
    deadline = time.monotonic() + seconds_max
    while not await ready():
        # Checked after a failed attempt, so that there is always at least one.
        if time.monotonic() > deadline:
            raise StartFailedError(otherwise())
        await asyncio.sleep(POLL_SECONDS)


async def wait_while_moving(
    ready: Ready,
    *,
    patience: Patience,
    progress: Callable[[], Hashable],
    otherwise: Callable[[str], str],
) -> None:
    """Poll while there is progress. Otherwise raise an error with the text of `otherwise`."""
    wait = Wait(patience, now=time.monotonic())
    while not await ready():
        if over := wait.over(progress(), now=time.monotonic()):
            raise StartFailedError(otherwise(over))
        await asyncio.sleep(POLL_SECONDS)


async def http_get(url: str, *, token: str = "", ca: Path | None = None) -> Answer:
    """Send a GET request with a short time-out. `ca` is the trusted authority for https.

    None accepts any certificate. It is for loopback servers with self-signed certificates.
    """
    import aiohttp

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    # False disables verification in aiohttp; see the docstring for why that is safe here.
    context = ssl.create_default_context(cafile=str(ca)) if ca else False
    # A server that hangs during its start must not block the polling loop.
    time_out = aiohttp.ClientTimeout(total=ASK_SECONDS_MAX)
    try:
        async with (
            aiohttp.ClientSession(timeout=time_out) as session,
            session.get(url, headers=headers, ssl=context) as response,
        ):
            return Answer(status=response.status, body=await response.read())
    except (aiohttp.ClientError, OSError, TimeoutError):
        return Answer()


async def listens(port: int) -> bool:
    """Whether a process accepts connections on the loopback port."""
    try:
        async with asyncio.timeout(ASK_SECONDS_MAX):
            _, writer = await asyncio.open_connection(LOOPBACK, port)
    except (OSError, TimeoutError):
        return False
    await _close(writer)
    return True


async def redis_answers(port: int, password: str = "") -> bool:
    """Whether Redis responds to AUTH (if there is a password) and PING.

    A server that still loads its data responds with -LOADING.
    """
    # Inline commands need no client library, and both are sent in one round trip.
    request = (f"AUTH {password}\r\n" if password else "") + "PING\r\n"
    try:
        async with asyncio.timeout(ASK_SECONDS_MAX):
            reader, writer = await asyncio.open_connection(LOOPBACK, port)
            try:
                writer.write(request.encode())
                await writer.drain()
                # One reply per command; only the reply to PING decides.
                lines = [await reader.readline() for _ in request.splitlines()]
            finally:
                await _close(writer)
    except (OSError, TimeoutError, ValueError):
        return False
    return lines[-1] == b"+PONG\r\n"


async def kafka_answers(bootstrap_servers: str, port: int, **login: Any) -> bool:
    """Whether the broker lists itself: it is registered with the controller and no longer fenced.

    `login` has the TLS and SASL options of aiokafka.
    """
    if not await listens(port):
        return False  # the client would log an error for each failed connection
    from aiokafka.client import AIOKafkaClient
    from aiokafka.errors import KafkaError

    client = AIOKafkaClient(bootstrap_servers=bootstrap_servers, request_timeout_ms=3_000, **login)
    try:
        async with asyncio.timeout(ASK_SECONDS_MAX):
            await client.bootstrap()
        # A broker that is still fenced accepts connections but does not appear in the metadata.
        return bool(client.cluster.brokers())
    except (KafkaError, OSError, TimeoutError):
        return False
    finally:
        await client.close()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    try:
        await writer.wait_closed()
    except OSError:
        return  # the peer has already closed the connection
