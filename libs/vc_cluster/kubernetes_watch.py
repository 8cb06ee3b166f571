"""From the bytes of a watch to its events.

A watch is an endless answer with one JSON object per line. aiohttp's own readline refuses lines
longer than its buffer, and a pod with much to say is longer, so lines are put together here, up to a
bound. An event is decoded just far enough to know its type, its version and where its object
begins; the object itself goes on as the bytes it came in.
"""

import asyncio
from collections.abc import Iterator
from typing import Final

import aiohttp
import msgspec

from vc_cluster.errors import ServerError
from vc_cluster.interface import WatchEvent
from vc_cluster.kubernetes_errors import event_error
from vc_model.faults import describe

LINE_BYTES_MAX: Final = 16 * 1024 * 1024
"""An event; etcd takes objects of 1.5 MB unless told otherwise, and our topics 4 MB."""


class LineSplitter:
    """Collects chunks and gives whole lines, without joining a long line more than once."""

    def __init__(self, *, line_bytes_max: int = LINE_BYTES_MAX) -> None:
        self._line_bytes_max = line_bytes_max
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that end in this chunk, without their ends; empty ones are left out."""
        first, *others = chunk.split(b"\n")
        if not others:
            self._keep(chunk)
            return []
        self._keep(first)
        lines = [b"".join(self._pending), *others[:-1]]
        self._pending, self._pending_bytes = [], 0
        self._keep(others[-1])
        if max(map(len, lines)) > self._line_bytes_max:
            raise self._too_long()
        return [line for line in lines if line]

    def _keep(self, part: bytes) -> None:
        self._pending_bytes += len(part)
        if self._pending_bytes > self._line_bytes_max:
            raise self._too_long()
        self._pending.append(part)

    def _too_long(self) -> ServerError:
        return ServerError(f"a watch event is longer than {self._line_bytes_max} bytes")


class _Line(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Versioned(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


_line_decoder: Final = msgspec.json.Decoder(_Line)
_versioned_decoder: Final = msgspec.json.Decoder(_Versioned)


def decode_event(line: bytes, *, doing: str) -> WatchEvent:
    """One line as an event; an ERROR event is raised, GoneError when the version is too old."""
    try:
        event = _line_decoder.decode(line)
        if event.type == "ERROR":
            raise event_error(bytes(event.object), doing=doing)
        version = _versioned_decoder.decode(event.object).metadata.resource_version
    except msgspec.MsgspecError as error:
        raise ServerError(f"{doing}: an event cannot be read: {error}") from error
    return WatchEvent(event.type, bytes(event.object), version)


class SilentServerError(ServerError):
    """Not a byte for so long that at least one bookmark is missing."""


class EventReader:
    """The state of one watch between two reads."""

    def __init__(self, *, doing: str, timeout_seconds: float) -> None:
        self._doing = doing
        self._splitter = LineSplitter()
        self._ends_at = asyncio.get_running_loop().time() + timeout_seconds

    async def read(self, content: aiohttp.StreamReader) -> bytes:
        """Whatever has come; empty when the watch is over, by the server or by its time-out.

        The server is asked to end it as well, but knows only whole seconds. How long it may be
        silent is the socket's time-out, which aiohttp raises.
        """
        timer = asyncio.timeout_at(self._ends_at)
        try:
            async with timer:
                return await content.readany()
        except aiohttp.SocketTimeoutError as error:
            raise SilentServerError(f"{self._doing}: silent for too long") from error
        except (aiohttp.ClientError, OSError) as error:
            if timer.expired():
                return b""
            raise ServerError(
                f"{self._doing}: {type(error).__name__}: {describe(error)}"
            ) from error

    def feed(self, chunk: bytes) -> Iterator[WatchEvent]:
        """The events that end in this chunk, decoded as they are asked for."""
        for line in self._splitter.feed(chunk):
            yield decode_event(line, doing=self._doing)
