"""Decodes the byte stream of a watch into events.

A watch is a streaming response with one JSON object per line. aiohttp's readline rejects lines
longer than its buffer, and large pods exceed it, so lines are assembled here, up to a limit. An
event is decoded only as far as needed for its type, its version and the bytes of its object.
"""

import asyncio
from collections.abc import Iterator
from typing import Final

import aiohttp
import msgspec

from vc.cluster.errors import ServerError
from vc.cluster.interface import WatchEvent
from vc.cluster.kubernetes_errors import event_error
from vc.model.faults import describe

LINE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Size limit of an event; etcd accepts objects of 1.5 MB by default, and our topics 4 MB."""


class LineSplitter:
    """Collects chunks and returns whole lines, without joining a long line more than once."""

    def __init__(self, *, line_bytes_max: int = LINE_BYTES_MAX) -> None:
        self._line_bytes_max = line_bytes_max
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that end in this chunk, without line ends; empty lines are dropped."""
        first, *others = chunk.split(b"\n")
        if not others:
            self._keep(chunk)
            return []
        self._keep(first)
        # Join once per line: joining at every chunk would be quadratic for large objects.
        lines = [b"".join(self._pending), *others[:-1]]
        self._pending, self._pending_bytes = [], 0
        self._keep(others[-1])
        # Lines that lie whole within the chunk were not measured by `_keep`.
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
    """Decode one line; an ERROR event is raised, as GoneError if the version is too old."""
    try:
        event = _line_decoder.decode(line)
        # The HTTP response was 200 long before, so the error arrives as an event.
        if event.type == "ERROR":
            raise event_error(bytes(event.object), doing=doing)
        version = _versioned_decoder.decode(event.object).metadata.resource_version
    # Skipping the event would leave a gap in the view that no later event closes.
    except msgspec.MsgspecError as error:
        raise ServerError(f"{doing}: an event cannot be read: {error}") from error
    return WatchEvent(event.type, bytes(event.object), version)


class SilentServerError(ServerError):
    """No data for so long that at least one bookmark is missing."""


class EventReader:
    """The state of one watch between two reads."""

    def __init__(self, *, doing: str, timeout_seconds: float) -> None:
        self._doing = doing
        self._splitter = LineSplitter()
        self._ends_at = asyncio.get_running_loop().time() + timeout_seconds

    async def read(self, content: aiohttp.StreamReader) -> bytes:
        """The next bytes; empty if the watch was ended by the server or by its time-out.

        The server also gets the time-out, but only in whole seconds. Silence is limited by the
        time-out of the socket, which aiohttp raises.
        """
        timer = asyncio.timeout_at(self._ends_at)
        try:
            async with timer:
                return await content.readany()
        # Separate from other faults: after silence the caller checks whether the server went back
        # to an older state, and must relist.
        except aiohttp.SocketTimeoutError as error:
            raise SilentServerError(f"{self._doing}: silent for too long") from error
        except (aiohttp.ClientError, OSError) as error:
            # Our own time-out closed the connection; that is the regular end of a watch.
            if timer.expired():
                return b""
            raise ServerError(
                f"{self._doing}: {type(error).__name__}: {describe(error)}"
            ) from error

    def feed(self, chunk: bytes) -> Iterator[WatchEvent]:
        """The events that end in this chunk, decoded lazily."""
        for line in self._splitter.feed(chunk):
            yield decode_event(line, doing=self._doing)
