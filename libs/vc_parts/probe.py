"""Asks a server whether it is ready, by its own protocol; a server that does not answer yet is False."""

import asyncio
import json
import ssl
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vc_parts.errors import StartFailedError
from vc_parts.patience import Patience, Wait
from vc_parts.ports import LOOPBACK

Ready = Callable[[], Awaitable[bool]]
"""Asks the server by its own protocol; False (not an exception) while it does not answer yet."""

POLL_SECONDS = 0.05

ASK_SECONDS_MAX = 3.0
LINE_BYTES_MAX = 4_096


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An HTTP answer; status 0 when there was none."""

    status: int = 0
    body: bytes = b""

    def field(self, name: str) -> object:
        """One field of a JSON object, None when the body is none."""
        try:
            document = json.loads(self.body)
        except ValueError:
            return None
        return document.get(name) if isinstance(document, dict) else None


async def wait_until(ready: Ready, *, seconds_max: float, otherwise: Callable[[], str]) -> None:
    """Asks again and again; raises the sentence that `otherwise` makes when the time is over."""
    deadline = time.monotonic() + seconds_max
    while not await ready():
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
    """Asks for as long as there is progress; else raises what `otherwise` makes of the reason."""
    wait = Wait(patience, now=time.monotonic())
    while not await ready():
        if over := wait.over(progress(), now=time.monotonic()):
            raise StartFailedError(otherwise(over))
        await asyncio.sleep(POLL_SECONDS)


async def http_get(url: str, *, token: str = "", ca: Path | None = None) -> Answer:
    """GET with a short time-out; `ca` is the authority to trust for https, None trusts any certificate.

    None is for loopback servers that make their own certificate at start, where there is nothing to trust.
    """
    import aiohttp

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    context = ssl.create_default_context(cafile=str(ca)) if ca else False
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
    """True when something accepts connections on the loopback port."""
    try:
        async with asyncio.timeout(ASK_SECONDS_MAX):
            _, writer = await asyncio.open_connection(LOOPBACK, port)
    except (OSError, TimeoutError):
        return False
    await _close(writer)
    return True


async def redis_answers(port: int, password: str = "") -> bool:
    """AUTH when there is a password, then PING; a server that still loads its data says -LOADING."""
    ask = (f"AUTH {password}\r\n" if password else "") + "PING\r\n"
    try:
        async with asyncio.timeout(ASK_SECONDS_MAX):
            reader, writer = await asyncio.open_connection(LOOPBACK, port)
            try:
                writer.write(ask.encode())
                await writer.drain()
                lines = [await reader.readline() for _ in ask.splitlines()]
            finally:
                await _close(writer)
    except (OSError, TimeoutError, ValueError):
        return False
    return lines[-1] == b"+PONG\r\n"


async def kafka_answers(bootstrap_servers: str, port: int, **login: Any) -> bool:
    """True when the broker lists itself: it is registered with the controller and no longer fenced.

    `login` is what aiokafka takes of TLS and SASL.
    """
    if not await listens(port):
        return False  # the client would log an error for each failed connection
    from aiokafka.client import AIOKafkaClient
    from aiokafka.errors import KafkaError

    client = AIOKafkaClient(bootstrap_servers=bootstrap_servers, request_timeout_ms=3_000, **login)
    try:
        async with asyncio.timeout(ASK_SECONDS_MAX):
            await client.bootstrap()
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
        return  # the other end was faster; closed is closed
