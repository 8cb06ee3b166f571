"""Lists with consistent pages, and watches without gaps.

A continue token has the version of the first page and the last key returned. Later pages are read
from the state at that version, so no object appears twice or is missed between pages. A watch is a
cursor over a table's history with a filter. As in the API server, an object that stops matching is
reported as deleted, and one that starts to match as added.
"""

import asyncio
import base64
from bisect import bisect_left, bisect_right
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from vc.cluster.errors import GoneError
from vc.cluster.interface import WatchEvent
from vc.simcluster.store.failures import bad_request
from vc.simcluster.store.resource import Resource
from vc.simcluster.store.selectors import Selection
from vc.simcluster.store.served import serve
from vc.simcluster.store.store import (
    ADDED,
    DELETED,
    MODIFIED,
    Change,
    Key,
    Record,
    Store,
    Table,
    with_version,
)

BOOKMARK_SECONDS: Final = 1.0
"""Interval between bookmarks of an idle watch. A bookmark is sent only if the version advanced."""
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
WATCH_BATCH_MAX: Final = 500
"""Events that a watch sends before it yields to other tasks."""


class ObjectPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page of a list. Each item is the JSON that was encoded when the object was written."""

    items: list[bytes]
    resource_version: str
    continue_token: str = ""
    remaining: int = 0


class _Continue(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a continue token."""

    version: int
    after: Key


def read_page(
    store: Store, resource: Resource, selection: Selection, *, limit: int, continue_token: str
) -> ObjectPage:
    """One page of objects. A `limit` of 0 returns all objects."""
    table = store.table(resource)
    start = _read_token(continue_token) if continue_token else None
    version = start.version if start else store.version
    try:
        keys, records = table.state_at(version)
    except GoneError:
        raise GoneError(
            "The provided continue parameter is too old to display a consistent list result. "
            "You can start a new list without the continue parameter."
        ) from None
    low, high = _range(keys, selection.namespace, start)
    chosen, last, next_index = _take(keys[low:high], records, selection, limit=limit)
    items = [serve(resource, record.raw) for record in chosen]
    rest = (high - low) - next_index
    # Without a rest there is no token, or a client would fetch one more and empty page.
    if not rest or not limit:
        return ObjectPage(items=items, resource_version=str(version))
    token = _write_token(_Continue(version=version, after=last))
    # With selectors the remaining count is unknown, as in the API server: only keys were counted.
    exact = not (selection.labels or selection.fields)
    return ObjectPage(
        items=items,
        resource_version=str(version),
        continue_token=token,
        remaining=rest if exact else 0,
    )


def _range(keys: list[Key], namespace: str, start: _Continue | None) -> tuple[int, int]:
    """The slice of sorted keys that can be part of the page."""
    low = bisect_left(keys, (namespace, "")) if namespace else 0
    # "\0" sorts directly after the namespace, so the slice ends before the next namespace.
    high = bisect_left(keys, (namespace + "\0", "")) if namespace else len(keys)
    if start is not None:
        # Pages continue by key, not by position, so a token is valid for any limit.
        low = max(low, bisect_right(keys, start.after))
    return low, high


def _take(
    keys: list[Key], records: dict[Key, Record], selection: Selection, *, limit: int
) -> tuple[list[Record], Key, int]:
    """Up to `limit` matching records, the last key examined, and the index to continue from."""
    chosen: list[Record] = []
    for index, key in enumerate(keys):
        record = records[key]
        if not selection.matches(record):
            continue
        chosen.append(record)
        if limit and len(chosen) >= limit:
            return chosen, key, index + 1
    return chosen, keys[-1] if keys else ("", ""), len(keys)


def _write_token(token: _Continue) -> str:
    # URL-safe and without padding, because clients may put the token into a query unescaped.
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _read_token(text: str) -> _Continue:
    try:
        padded = text + "=" * (-len(text) % 4)
        return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Continue)
    # The token comes from the client, so any damage is an error of the request.
    except (ValueError, msgspec.DecodeError):
        raise bad_request(f"continue key is not valid: {text[:80]!r}") from None


class WatchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How a watch starts and ends."""

    version: int | None
    """The watch starts after this version. None starts with the existing objects."""
    timeout_seconds: float
    bookmarks: bool = True
    mark_initial_end: bool = False
    """Whether a bookmark marks the end of the synthetic events for existing objects."""


async def watch_events(
    store: Store, resource: Resource, selection: Selection, *, request: WatchRequest
) -> AsyncIterator[WatchEvent]:
    """Yield changes until the time-out. GoneError if the history no longer has some of them."""
    table = store.table(resource)
    loop = asyncio.get_running_loop()
    quiet_since = loop.time()
    deadline = quiet_since + request.timeout_seconds
    # Cursor and version are read before the first yield, so no change after them can be missed.
    cursor, reported = _start(store, table, request)
    if request.version is None:
        # A copy, because other tasks may write to the table while an event is consumed.
        for record in [table.records[key] for key in table.keys]:
            if selection.matches(record):
                yield WatchEvent(ADDED, serve(resource, record.raw), str(record.version))
        # Clients that stream the initial list wait for this bookmark before they count as synced.
        if request.mark_initial_end:
            yield _bookmark(resource, reported, initial_end=True)
    while True:
        batch = 0
        for change in table.changes_from(cursor):
            cursor += 1
            batch += 1
            event = _visible(resource, selection, change)
            # The client does not learn the version of a hidden change, so a bookmark must follow.
            if event is not None:
                reported = change.version
                quiet_since = loop.time()
                yield event
            if batch >= WATCH_BATCH_MAX:
                break
        # A watcher with a long backlog must not block the event loop.
        if batch >= WATCH_BATCH_MAX:
            await asyncio.sleep(0)
            continue
        if cursor != table.history_end:
            continue  # written while the consumer processed this batch
        left = deadline - loop.time()
        # Bookmarks are sent when the watch is idle or ends: they let the client resume without 410.
        # A watch whose selection hides frequent changes is idle for its client, but always woken.
        idle = batch == 0 or loop.time() - quiet_since >= BOOKMARK_SECONDS
        if request.bookmarks and store.version > reported and (idle or left <= 0):
            reported = store.version
            quiet_since = loop.time()
            yield _bookmark(resource, reported)
        if left <= 0:
            return
        # a change may have been written while the bookmark was consumed
        if cursor == table.history_end:
            await table.wait(min(left, BOOKMARK_SECONDS) if request.bookmarks else left)


def _start(store: Store, table: Table, request: WatchRequest) -> tuple[int, int]:
    """The first cursor of a watch, and the version that it corresponds to."""
    if request.version is None:
        return table.history_end, store.version
    # A version from the future comes from an earlier store; only a relist can fix that.
    if request.version > store.version:
        raise GoneError(
            f"Too large resource version: {request.version}, current: {store.version}: "
            "the store was restarted; relist"
        )
    return table.cursor_after(request.version), request.version


def _visible(resource: Resource, selection: Selection, change: Change) -> WatchEvent | None:
    """The change as an event for this watcher, or None if the selection hides it."""
    record, kind = change.record, change.type
    # For this watcher, an object that starts or stops to match is added or deleted.
    if not selection.takes_all:
        matched = selection.matches(change.previous) if change.previous else False
        matches = kind != DELETED and selection.matches(record)
        if not matches and not matched:
            return None
        if kind != DELETED and not (matches and matched):
            kind = ADDED if matches else DELETED
        # The client has the object only in its last matching state, so that state is reported.
        if kind == DELETED and change.type == MODIFIED and change.previous is not None:
            record = with_version(change.previous, change.version)
    return WatchEvent(kind, serve(resource, record.raw), str(change.version))


def _bookmark(resource: Resource, version: int, *, initial_end: bool = False) -> WatchEvent:
    # A real server encodes the empty timestamp as null here, and typed clients accept that.
    metadata: dict[str, object] = {"resourceVersion": str(version), "creationTimestamp": None}
    if initial_end:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    body = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    return WatchEvent("BOOKMARK", msgspec.json.encode(body), str(version))
