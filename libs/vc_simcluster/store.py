"""Versions and history: what etcd and the watch cache are to a real API server.

One counter gives every write its resourceVersion. Each storage has a table of records and a bounded
history of changes. A record's JSON is encoded once, when it is written; lists and watches hand out
those bytes. Watchers hold only a cursor into the history, so a thousand of them cost no copies; one
that falls behind what the history still holds is told so (410) and lists again. A past state is the
present one with the newer changes undone, which is how pages of one list stay consistent.
"""

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Final, TypeAlias

import msgspec

from vc_cluster.errors import GoneError
from vc_model.struct import JsonObject
from vc_simcluster.fields import field_values
from vc_simcluster.resource import Resource

Key: TypeAlias = tuple[str, str]
"""Namespace and name; the namespace of a cluster-wide object is empty."""

HISTORY_MAX: Final = 10_000
"""Changes a table remembers."""
HISTORY_BYTES_MAX: Final = 64 * 1024 * 1024
"""And how many bytes they may hold together."""
_TRIM_FRACTION: Final = 4
"""A full history drops this part of itself at once, so that trimming stays cheap per write."""

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"

_VERSION_OF: Final = attrgetter("version")


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One version of one object."""

    namespace: str
    name: str
    uid: str
    version: int
    raw: bytes
    labels: dict[str, str]
    fields: dict[str, str]
    """What field selectors may ask for."""
    owners: tuple[str, ...] = ()
    """Uids of the owner references."""
    finalizers: tuple[str, ...] = ()
    deleting: bool = False

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)

    def object(self) -> JsonObject:
        """A fresh copy: nobody shares objects with the store."""
        decoded: JsonObject = msgspec.json.decode(self.raw)
        return decoded


class Change(msgspec.Struct, frozen=True):
    """One write, with what it replaced."""

    type: str
    version: int
    record: Record
    """After the write; for a deletion the last state, with the deletion's version."""
    previous: Record | None


class Table:
    """Objects of one storage, sorted by key, and how they came to be."""

    def __init__(self, resource: Resource, *, history_max: int) -> None:
        self.resource = resource
        self.records: dict[Key, Record] = {}
        self.keys: list[Key] = []
        """Always sorted, and equal to the keys of `records`."""
        self.history: list[Change] = []
        self.history_start = 0
        """How many changes were dropped before `history[0]`: cursors count from the first ever."""
        self.compacted_version = 0
        """The version of the newest dropped change: nothing before it can be told any more."""
        self._history_max = history_max
        self._history_bytes = 0
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def history_end(self) -> int:
        """The cursor of the next change."""
        return self.history_start + len(self.history)

    def append(self, change: Change) -> None:
        """Apply and remember one change, and wake whoever waits for it."""
        key = change.record.key
        if change.type == DELETED:
            del self.records[key]
            del self.keys[bisect_left(self.keys, key)]
        else:
            if change.previous is None:
                insort(self.keys, key)
            self.records[key] = change.record
        self.history.append(change)
        self._history_bytes += len(change.record.raw)
        if len(self.history) > self._history_max or self._history_bytes > HISTORY_BYTES_MAX:
            self.trim(max(1, len(self.history) // _TRIM_FRACTION))
        self.wake()

    def trim(self, count: int) -> None:
        """Forget the oldest changes; at least the newest stays."""
        count = min(count, len(self.history) - 1)
        if count <= 0:
            return
        dropped = self.history[:count]
        del self.history[:count]
        self.history_start += count
        self.compacted_version = dropped[-1].version
        self._history_bytes -= sum(len(change.record.raw) for change in dropped)

    def forget_until(self, version: int) -> None:
        """Forget changes up to a version, but the newest."""
        self.trim(bisect_right(self.history, version, key=_VERSION_OF))

    def compact(self, version: int) -> None:
        """Forget everything up to a version, as etcd's compaction does."""
        keep = bisect_right(self.history, version, key=_VERSION_OF)
        dropped = self.history[:keep]
        del self.history[:keep]
        self.history_start += keep
        self.compacted_version = max(self.compacted_version, version)
        self._history_bytes -= sum(len(change.record.raw) for change in dropped)
        self.wake()

    def cursor_after(self, version: int) -> int:
        """Where a watch from a version starts; GoneError when that is forgotten."""
        if version < self.compacted_version:
            raise too_old(version, self.compacted_version)
        return self.history_start + bisect_right(self.history, version, key=_VERSION_OF)

    def changes_from(self, cursor: int) -> Iterator[Change]:
        """The changes from a cursor on; GoneError when the reader was too slow."""
        if cursor < self.history_start:
            raise too_old(cursor, self.history_start)
        return iter(self.history[cursor - self.history_start :])

    def state_at(self, version: int) -> tuple[list[Key], dict[Key, Record]]:
        """Keys and records as they were; the present is not copied."""
        if version < self.compacted_version:
            raise too_old(version, self.compacted_version)
        first = bisect_right(self.history, version, key=_VERSION_OF)
        if first == len(self.history):
            return self.keys, self.records
        past = dict(self.records)
        for change in reversed(self.history[first:]):
            if change.previous is None:
                past.pop(change.record.key, None)
            else:
                past[change.record.key] = change.previous
        return sorted(past), past

    def wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, seconds: float | None) -> None:
        """Until the next change, or so long. Callers look for themselves what happened."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(seconds):
                await waiter
        except TimeoutError:
            pass
        finally:
            if not waiter.done() or waiter.cancelled():
                self._waiters = [w for w in self._waiters if w is not waiter]


def too_old(asked: int, oldest: int) -> GoneError:
    return GoneError(f"too old resource version: {asked} ({oldest})")


class Store:
    """All tables, and the one counter over them."""

    def __init__(self, *, history_max: int = HISTORY_MAX) -> None:
        self.version = 0
        self.listeners: list[Callable[[Table, Change], None]] = []
        """Called after every write, in order; they must not write themselves."""
        self.per_namespace: dict[str, int] = {}
        """How many objects a namespace holds, over all tables."""
        self._history_max = history_max
        self._tables: dict[tuple[str, str], Table] = {}

    def table(self, resource: Resource) -> Table:
        table = self._tables.get(resource.storage)
        if table is None:
            table = self._tables[resource.storage] = Table(resource, history_max=self._history_max)
        return table

    def tables(self) -> list[Table]:
        return list(self._tables.values())

    def find(self, resource: Resource, key: Key) -> Record | None:
        return self.table(resource).records.get(key)

    def put(self, resource: Resource, obj: JsonObject) -> Record:
        """Write an object under the next version. The caller gives up the object."""
        self.version += 1
        meta = obj["metadata"]
        meta["resourceVersion"] = str(self.version)
        record = Record(
            namespace=meta.get("namespace", ""),
            name=meta["name"],
            uid=meta["uid"],
            version=self.version,
            raw=msgspec.json.encode(obj),
            labels=meta.get("labels") or {},
            fields=field_values(resource, obj),
            owners=tuple(ref.get("uid", "") for ref in meta.get("ownerReferences") or ()),
            finalizers=tuple(meta.get("finalizers") or ()),
            deleting="deletionTimestamp" in meta,
        )
        table = self.table(resource)
        previous = table.records.get(record.key)
        if previous is None and record.namespace:
            held = self.per_namespace.get(record.namespace, 0)
            self.per_namespace[record.namespace] = held + 1
        kind = ADDED if previous is None else MODIFIED
        self._commit(table, Change(kind, self.version, record, previous))
        return record

    def remove(self, resource: Resource, key: Key) -> Record:
        """Take an object out; the deletion has a version of its own, as watchers see it."""
        table = self.table(resource)
        previous = table.records[key]
        self.version += 1
        last = with_version(previous, self.version)
        if previous.namespace:
            self.per_namespace[previous.namespace] -= 1
        self._commit(table, Change(DELETED, self.version, last, previous))
        return last

    def _commit(self, table: Table, change: Change) -> None:
        table.append(change)
        for listener in self.listeners:
            listener(table, change)


def with_version(record: Record, version: int) -> Record:
    """The same state under another version, for the last event of an object."""
    obj = record.object()
    obj["metadata"]["resourceVersion"] = str(version)
    return msgspec.structs.replace(record, version=version, raw=msgspec.json.encode(obj))
