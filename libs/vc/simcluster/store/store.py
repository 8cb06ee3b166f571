"""Objects, versions and history: the equivalent of etcd and the watch cache of an API server.

One counter over all tables assigns every write its resourceVersion. Each table has the current
records and a bounded history of changes. A record's JSON is encoded once, when it is written, and
lists and watches return those bytes. A watcher is only a cursor into the history, so many watchers
need no copies. A watcher whose cursor is older than the history gets 410 and relists. A past state
is computed by undoing the newer changes; this keeps the pages of one list consistent.
"""

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Final, TypeAlias

import msgspec

from vc.cluster.errors import GoneError
from vc.model.api.struct import JsonObject
from vc.simcluster.store.fields import field_values
from vc.simcluster.store.resource import Resource

Key: TypeAlias = tuple[str, str]
"""Namespace and name. The namespace of a cluster-scoped object is empty."""

HISTORY_MAX: Final = 10_000
"""Most changes that the history of a table keeps."""
HISTORY_BYTES_MAX: Final = 64 * 1024 * 1024
"""Most bytes that the changes in a table's history may have together."""
_TRIM_FRACTION: Final = 4
"""A full history drops 1/n of its changes at once, so that the cost of trimming is amortised."""

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
    """Values of the selectable fields."""
    owners: tuple[str, ...] = ()
    """Uids of the owner references."""
    finalizers: tuple[str, ...] = ()
    deleting: bool = False

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)

    def object(self) -> JsonObject:
        """A new decoded copy, which the caller may modify."""
        decoded: JsonObject = msgspec.json.decode(self.raw)
        return decoded


class Change(msgspec.Struct, frozen=True):
    """One write, with the record before and after it."""

    type: str
    version: int
    record: Record
    """The record after the write. For a deletion: the last state with the deletion's version."""
    previous: Record | None


class Table:
    """The objects of one storage in key order, and the history of their changes."""

    def __init__(self, resource: Resource, *, history_max: int) -> None:
        self.resource = resource
        self.records: dict[Key, Record] = {}
        self.keys: list[Key] = []
        """The keys of `records`, always sorted."""
        self.history: list[Change] = []
        self.history_start = 0
        """Number of changes dropped before `history[0]`. Cursors count from the table's first
        change.
        """
        self.compacted_version = 0
        """Version of the newest dropped change. A watch from an older version fails with 410."""
        self._history_max = history_max
        self._history_bytes = 0
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def history_end(self) -> int:
        """The cursor of the next change to come."""
        return self.history_start + len(self.history)

    def append(self, change: Change) -> None:
        """Apply one change, add it to the history and wake the waiting watchers."""
        key = change.record.key
        if change.type == DELETED:
            # Bisection keeps deletion cheap: `list.remove` would compare every key.
            del self.records[key]
            del self.keys[bisect_left(self.keys, key)]
        else:
            if change.previous is None:
                insort(self.keys, key)
            self.records[key] = change.record
        self.history.append(change)
        # `previous` is normally part of the history already, so only the new record is counted.
        self._history_bytes += len(change.record.raw)
        # Dropping a quarter at once keeps the cost per write constant on average.
        if len(self.history) > self._history_max or self._history_bytes > HISTORY_BYTES_MAX:
            self.trim(max(1, len(self.history) // _TRIM_FRACTION))
        self.wake()

    def trim(self, count: int) -> None:
        """Drop the oldest changes. The newest change always stays."""
        count = min(count, len(self.history) - 1)
        if count <= 0:
            return
        # The byte count is corrected from the dropped changes, so it never has to be summed again.
        dropped = self.history[:count]
        del self.history[:count]
        self.history_start += count
        self.compacted_version = dropped[-1].version
        self._history_bytes -= sum(len(change.record.raw) for change in dropped)

    def forget_until(self, version: int) -> None:
        """Drop the changes up to a version, except the newest change."""
        self.trim(bisect_right(self.history, version, key=_VERSION_OF))

    def compact(self, version: int) -> None:
        """Drop all changes up to a version, like etcd's compaction."""
        keep = bisect_right(self.history, version, key=_VERSION_OF)
        dropped = self.history[:keep]
        del self.history[:keep]
        self.history_start += keep
        # The version counts even if no change was dropped: etcd compacts a revision of the whole
        # store, so older versions are gone for every kind.
        self.compacted_version = max(self.compacted_version, version)
        self._history_bytes -= sum(len(change.record.raw) for change in dropped)
        # A waiting watcher compares its cursor with the new start now, not after the next write.
        self.wake()

    def cursor_after(self, version: int) -> int:
        """The cursor of the first change after a version. GoneError if it was dropped."""
        # An equal version is fine: the client has seen that change and needs only newer ones.
        if version < self.compacted_version:
            raise too_old(version, self.compacted_version)
        return self.history_start + bisect_right(self.history, version, key=_VERSION_OF)

    def changes_from(self, cursor: int) -> Iterator[Change]:
        """The changes from a cursor on. GoneError if some of them were already dropped."""
        # A watcher that reads too slowly has lost changes. Only a relist can close the gap.
        if cursor < self.history_start:
            raise too_old(cursor, self.history_start)
        # A copy of the rest: a write between two steps of the reader may trim the list.
        return iter(self.history[cursor - self.history_start :])

    def state_at(self, version: int) -> tuple[list[Key], dict[Key, Record]]:
        """The keys and records at a version. The current state is returned without a copy."""
        if version < self.compacted_version:
            raise too_old(version, self.compacted_version)
        # Undoing the newer changes, newest first, needs no stored snapshots of older states.
        first = bisect_right(self.history, version, key=_VERSION_OF)
        # The common case: the first page of a list reads the current state.
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
        # A new list: a watcher registers again for its next wait, so each is woken once.
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            # A cancelled wait is already done, and setting its result would raise.
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, seconds: float | None) -> None:
        """Wait until the next change or the time-out. The caller checks what has changed."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(seconds):
                await waiter
        except TimeoutError:
            pass
        finally:
            # A waiter that was not woken is still registered and would accumulate over time-outs.
            if not waiter.done() or waiter.cancelled():
                self._waiters = [w for w in self._waiters if w is not waiter]


def too_old(requested: int, oldest: int) -> GoneError:
    return GoneError(f"too old resource version: {requested} ({oldest})")


class Store:
    """All tables, and the version counter that they share."""

    def __init__(self, *, history_max: int = HISTORY_MAX) -> None:
        self.version = 0
        self.listeners: list[Callable[[Table, Change], None]] = []
        """Called in order after every write. Listeners must not write to the store themselves."""
        self.per_namespace: dict[str, int] = {}
        """Number of objects per namespace, over all tables. Decides when a namespace is empty."""
        self._history_max = history_max
        self._tables: dict[tuple[str, str], Table] = {}

    def table(self, resource: Resource) -> Table:
        # Resources with one storage share a table: both events APIs read the same objects.
        table = self._tables.get(resource.storage)
        if table is None:
            table = self._tables[resource.storage] = Table(resource, history_max=self._history_max)
        return table

    def tables(self) -> list[Table]:
        return list(self._tables.values())

    def find(self, resource: Resource, key: Key) -> Record | None:
        return self.table(resource).records.get(key)

    def put(self, resource: Resource, obj: JsonObject) -> Record:
        """Store an object under the next version. The caller must not use the object afterwards."""
        # One counter for all kinds, like etcd's revision: a bookmark may carry the store's version,
        # and a client that resumes from it has missed no change of its own kind.
        self.version += 1
        meta = obj["metadata"]
        meta["resourceVersion"] = str(self.version)
        # Selectors and owners are extracted once here, so that lists and watches need no decoding.
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
            # Counted here, so that a terminating namespace need not scan all tables to see that it
            # is empty.
            held = self.per_namespace.get(record.namespace, 0)
            self.per_namespace[record.namespace] = held + 1
        kind = ADDED if previous is None else MODIFIED
        self._commit(table, Change(kind, self.version, record, previous))
        return record

    def remove(self, resource: Resource, key: Key) -> Record:
        """Remove an object.

        The deletion has its own version, which watchers see in the last event.
        """
        table = self.table(resource)
        previous = table.records[key]
        self.version += 1
        # The last event carries the deletion's version: a client that resumes from it does not get
        # the deletion a second time.
        last = with_version(previous, self.version)
        if previous.namespace:
            self.per_namespace[previous.namespace] -= 1
        self._commit(table, Change(DELETED, self.version, last, previous))
        return last

    def _commit(self, table: Table, change: Change) -> None:
        # The change is applied before listeners run, so a listener that reads the store sees it.
        table.append(change)
        for listener in self.listeners:
            listener(table, change)


def with_version(record: Record, version: int) -> Record:
    """The same object with another resourceVersion, for the last event of an object."""
    obj = record.object()
    obj["metadata"]["resourceVersion"] = str(version)
    return msgspec.structs.replace(record, version=version, raw=msgspec.json.encode(obj))
