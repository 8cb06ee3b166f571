"""Watches: one JSON line per change, until the time-out or until the client disconnects.

The status line is sent before the first event. A later failure (a version that is too old) is
therefore sent as an ERROR event with a Status, as by a real API server. A client that does not read
is disconnected after a time-out, so that it cannot hold memory for ever.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, cast

import msgspec
from aiohttp import web

from vc.cluster.errors import ClusterError
from vc.cluster.interface import WatchEvent
from vc.model.api.struct import JsonObject
from vc.simcluster.http.bodies import query_bool, query_int
from vc.simcluster.http.errors import STREAMING, status_of
from vc.simcluster.http.output import Output, partial_bytes
from vc.simcluster.http.routes import Target
from vc.simcluster.verbs.api import Api

WATCH_SECONDS_DEFAULT: Final = 1800
WATCH_SECONDS_MAX: Final = 24 * 3600
WRITE_SECONDS_MAX: Final = 30.0


async def answer_watch(request: web.Request, api: Api, target: Target) -> web.StreamResponse:
    """Stream changes to the client."""
    # Accept header and query are checked first: later errors cannot have a status code.
    output = Output(request, target.resource, now=api.clock.now())
    watched = _events(
        request, api, target
    )  # an invalid query must be rejected before the response starts
    response = web.StreamResponse(headers={"Content-Type": output.content_type})
    response.enable_chunked_encoding()
    await response.prepare(request)
    # From now on an error can only be an event: a second status line would break the stream.
    STREAMING.set(True)
    encoder = _EventEncoder(output, api)
    try:
        # Closed explicitly, so that the watch ends with its connection and not at some later time.
        async with aclosing(watched) as events:
            async for event in events:
                await _send(response, encoder.line(event))
    except ClusterError as error:
        await _send(response, encoder.error(error))
    except (TimeoutError, ConnectionResetError):
        return response  # the client stopped reading or disconnected: end the connection
    await response.write_eof()
    return response


def _events(request: web.Request, api: Api, target: Target) -> AsyncGenerator[WatchEvent, None]:
    """The watch that the query describes."""
    query = request.query
    # Every watch ends, as on a real server, so a client that cannot resume one is found early.
    seconds = query_int(request, "timeoutSeconds") or WATCH_SECONDS_DEFAULT
    fields = query.get("fieldSelector", "")
    if target.name:  # the older form of a watch: one object, addressed by its path
        fields = ",".join(part for part in (fields, f"metadata.name={target.name}") if part)
    watch = api.watch(
        target.resource,
        namespace=target.namespace,
        label_selector=query.get("labelSelector", ""),
        field_selector=fields,
        resource_version=query.get("resourceVersion", ""),
        timeout_seconds=min(max(1, seconds), WATCH_SECONDS_MAX),
        bookmarks=query_bool(request, "allowWatchBookmarks"),
        send_initial_events=query_bool(request, "sendInitialEvents"),
    )
    # an async generator, so that it can be closed
    return cast("AsyncGenerator[WatchEvent, None]", watch)


async def _send(response: web.StreamResponse, line: bytes) -> None:
    async with asyncio.timeout(WRITE_SECONDS_MAX):
        await response.write(line)


class _EventEncoder:
    """Encodes events in the requested shape. Only the first Table has column definitions."""

    def __init__(self, output: Output, api: Api) -> None:
        self._output = output
        self._api = api
        self._columns_sent = False

    def line(self, event: WatchEvent) -> bytes:
        if self._output.tables:
            return self._table_line(event)
        body = event.object
        if self._output.is_partial:
            body = partial_bytes(body)
        return b'{"type":"%b","object":%b}\n' % (event.type.encode(), body)

    def _table_line(self, event: WatchEvent) -> bytes:
        assert self._output.tables is not None
        obj: JsonObject = msgspec.json.decode(event.object)
        table = self._output.tables.table(
            [obj],
            now=self._api.clock.now(),
            metadata={"resourceVersion": event.resource_version},
            with_columns=not self._columns_sent,
        )
        self._columns_sent = True
        return msgspec.json.encode({"type": event.type, "object": table}) + b"\n"

    def error(self, error: ClusterError) -> bytes:
        return msgspec.json.encode({"type": "ERROR", "object": status_of(error)}) + b"\n"
