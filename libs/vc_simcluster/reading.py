"""Lists in consistent pages, and watches that miss nothing.

A continue token names the version of the first page and the last key given out; later pages are
read from the state at that version, so objects neither appear twice nor get lost between pages. A
watch is a cursor over a table's history with a filter; an object that stops matching is reported as
deleted, one that starts to match as added, as the API server does.
"""

import asyncio
import base64
from bisect import bisect_left, bisect_right
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from vc_cluster.errors import GoneError
from vc_cluster.interface import WatchEvent
from vc_simcluster.failures import bad_request
from vc_simcluster.resource import Resource
from vc_simcluster.selectors import Selection
from vc_simcluster.served import serve
from vc_simcluster.store import (
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
"""How long a quiet watch may be behind: bookmarks come only when the counter has moved."""
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
WATCH_BATCH_MAX: Final = 500
"""Events a watch gives out before it lets others run."""


class ObjectPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page of a list: JSON of each object, encoded once when it was written."""

    items: list[bytes]
    resource_version: str
    continue_token: str = ""
    remaining: int = 0


class _Continue(msgspec.Struct, frozen=True, kw_only=True):
    """What a continue token says."""

    version: int
    after: Key


def read_page(
    store: Store, resource: Resource, selection: Selection, *, limit: int, continue_token: str
) -> ObjectPage:
    """One page; all objects when `limit` is 0."""
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
    if not rest or not limit:
        return ObjectPage(items=items, resource_version=str(version))
    token = _write_token(_Continue(version=version, after=last))
    exact = not (selection.labels or selection.fields)
    return ObjectPage(
        items=items,
        resource_version=str(version),
        continue_token=token,
        remaining=rest if exact else 0,
    )


def _range(keys: list[Key], namespace: str, start: _Continue | None) -> tuple[int, int]:
    """The slice of sorted keys that can matter."""
    low = bisect_left(keys, (namespace, "")) if namespace else 0
    high = bisect_left(keys, (namespace + "\0", "")) if namespace else len(keys)
    if start is not None:
        low = max(low, bisect_right(keys, start.after))
    return low, high


def _take(
    keys: list[Key], records: dict[Key, Record], selection: Selection, *, limit: int
) -> tuple[list[Record], Key, int]:
    """Up to `limit` matching records, the last key looked at, and where to go on."""
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
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _read_token(text: str) -> _Continue:
    try:
        padded = text + "=" * (-len(text) % 4)
        return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Continue)
    except (ValueError, msgspec.DecodeError):
        raise bad_request(f"continue key is not valid: {text[:80]!r}") from None


class WatchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How a watch starts and ends."""

    version: int | None
    """Changes after it; None starts with what exists."""
    timeout_seconds: float
    bookmarks: bool = True
    mark_initial_end: bool = False
    """A bookmark says where the synthetic events of what exists end."""


async def watch_events(
    store: Store, resource: Resource, selection: Selection, *, request: WatchRequest
) -> AsyncIterator[WatchEvent]:
    """The changes, until the time-out; GoneError when some can no longer be told."""
    table = store.table(resource)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + request.timeout_seconds
    cursor, told = _start(store, table, request)
    if request.version is None:
        for record in [table.records[key] for key in table.keys]:
            if selection.matches(record):
                yield WatchEvent(ADDED, serve(resource, record.raw), str(record.version))
        if request.mark_initial_end:
            yield _bookmark(resource, told, initial_end=True)
    while True:
        batch = 0
        for change in table.changes_from(cursor):
            cursor += 1
            told = change.version
            batch += 1
            event = _visible(resource, selection, change)
            if event is not None:
                yield event
            if batch >= WATCH_BATCH_MAX:
                break
        if batch >= WATCH_BATCH_MAX:
            await asyncio.sleep(0)
            continue
        if cursor != table.history_end:
            continue  # written while the reader was busy with this batch
        left = deadline - loop.time()
        if request.bookmarks and store.version > told and (batch == 0 or left <= 0):
            told = store.version
            yield _bookmark(resource, told)
        if left <= 0:
            return
        if cursor == table.history_end:  # a bookmark lets others run, too
            await table.wait(min(left, BOOKMARK_SECONDS) if request.bookmarks else left)


def _start(store: Store, table: Table, request: WatchRequest) -> tuple[int, int]:
    """The first cursor and the version it stands for."""
    if request.version is None:
        return table.history_end, store.version
    if request.version > store.version:
        raise GoneError(
            f"Too large resource version: {request.version}, current: {store.version}: "
            "the store was started anew; list again"
        )
    return table.cursor_after(request.version), request.version


def _visible(resource: Resource, selection: Selection, change: Change) -> WatchEvent | None:
    """The change as this watcher sees it, or None."""
    record, kind = change.record, change.type
    if not selection.takes_all:
        matched = selection.matches(change.previous) if change.previous else False
        matches = kind != DELETED and selection.matches(record)
        if not matches and not matched:
            return None
        if kind != DELETED and not (matches and matched):
            kind = ADDED if matches else DELETED
        if kind == DELETED and change.type == MODIFIED and change.previous is not None:
            record = with_version(change.previous, change.version)
    return WatchEvent(kind, serve(resource, record.raw), str(change.version))


def _bookmark(resource: Resource, version: int, *, initial_end: bool = False) -> WatchEvent:
    metadata: dict[str, object] = {"resourceVersion": str(version), "creationTimestamp": None}
    if initial_end:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    body = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    return WatchEvent("BOOKMARK", msgspec.json.encode(body), str(version))
