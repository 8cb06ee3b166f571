"""Watches: one JSON line per change, until the time is over or the client has gone.

The status line is sent before the first event, so what fails later (a version that is too old)
arrives as an ERROR event with a Status, as from a real API server. A client that does not read is
cut off after a named time, so it cannot hold memory for ever.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, cast

import msgspec
from aiohttp import web

from vc_cluster.errors import ClusterError
from vc_cluster.interface import WatchEvent
from vc_model.struct import JsonObject
from vc_simcluster.api import Api
from vc_simcluster.http_bodies import query_bool, query_int
from vc_simcluster.http_errors import STREAMING, status_of
from vc_simcluster.http_output import Output, partial_bytes
from vc_simcluster.http_routes import Target

WATCH_SECONDS_DEFAULT: Final = 1800
WATCH_SECONDS_MAX: Final = 24 * 3600
WRITE_SECONDS_MAX: Final = 30.0


async def answer_watch(request: web.Request, api: Api, target: Target) -> web.StreamResponse:
    """Stream changes to the client."""
    output = Output(request, target.resource, now=api.clock.now())
    watched = _events(
        request, api, target
    )  # a query that makes no sense is refused before we start
    response = web.StreamResponse(headers={"Content-Type": output.content_type})
    response.enable_chunked_encoding()
    await response.prepare(request)
    STREAMING.set(True)
    encoder = _EventEncoder(output, api)
    try:
        async with aclosing(watched) as events:
            async for event in events:
                await _send(response, encoder.line(event))
    except ClusterError as error:
        await _send(response, encoder.error(error))
    except (TimeoutError, ConnectionResetError):
        return response  # the client stopped reading or has gone: the connection ends here
    await response.write_eof()
    return response


def _events(request: web.Request, api: Api, target: Target) -> AsyncGenerator[WatchEvent, None]:
    """The API's watch as the query asks for it."""
    query = request.query
    seconds = query_int(request, "timeoutSeconds") or WATCH_SECONDS_DEFAULT
    fields = query.get("fieldSelector", "")
    if target.name:  # the older form: a watch on one object by its path
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
    return cast("AsyncGenerator[WatchEvent, None]", watch)  # an iterator that can be closed


async def _send(response: web.StreamResponse, line: bytes) -> None:
    async with asyncio.timeout(WRITE_SECONDS_MAX):
        await response.write(line)


class _EventEncoder:
    """Writes events in the shape of the request; only the first table names its columns."""

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
