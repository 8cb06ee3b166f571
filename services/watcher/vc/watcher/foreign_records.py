"""Overwrites foreign records of one kind with the current state, concurrently with its watch.

The current state of an object is read live. The watch continues meanwhile and may be ahead of or
behind the answer. If the watch delivered an event about the object during the read, the answer is
dropped and the read is repeated. If the object is gone but still in the index, its tombstone is
left to the watch: a tombstone written here could be followed by an event that is still on its way
and would bring the object back. If a record cannot be overwritten in this way, the kind is
relisted.
"""

import asyncio
from typing import Final

from vc.cluster import ClusterError, ForbiddenError, NotFoundError
from vc.cluster.errors import BadRequestError
from vc.model.api.meta import ApiObject, split_key
from vc.model.values.backoff import delay_seconds
from vc.runtime.hosting.context import Context
from vc.watcher.facts import Facts
from vc.watcher.logic import Bare
from vc.watcher.outbox import Item, Outbox

ATTEMPTS_MAX: Final = 12
"""Attempts for one object, over about half a minute; after that the kind is relisted."""


class ForeignRecords:
    """The foreign records of one kind that wait to be overwritten with the current state."""

    def __init__(self, context: Context, facts: Facts, outbox: Outbox) -> None:
        self._context = context
        self._facts = facts
        self._index = facts.index
        self._outbox = outbox
        self._attempts: dict[str, int] = {}
        """Attempts by key; bounded by the number of foreign records."""
        self._added = asyncio.Event()
        self._reading = ""
        self._superseded = False
        self.list_lock = asyncio.Lock()
        """Held during a list, which overwrites all foreign records anyway."""
        self.needs_relist = False
        """Set when attempts were used up; the next list resets it."""

    def add(self, key: str) -> None:
        """Request that foreign records of a key are overwritten."""
        self._attempts.setdefault(key, 0)
        self._added.set()

    def note_event(self, key: str) -> None:
        """Note an event of the watch about a key; a live read in progress may be older."""
        self._superseded |= key == self._reading

    async def run(self) -> None:
        """Process requests until cancelled."""
        while True:
            while not self._attempts:
                self._added.clear()
                await self._added.wait()
            for key in list(self._attempts):
                async with self.list_lock:
                    is_done = await self._overwrite(key)
                if is_done:
                    del self._attempts[key]
                else:
                    self._count(key)
            if self._attempts:
                attempt = max(self._attempts.values())
                await self._context.clock.sleep(delay_seconds(attempt, self._context.rng))

    def _count(self, key: str) -> None:
        """Count a failed attempt; after the last one request a list."""
        self._attempts[key] += 1
        if self._attempts[key] >= ATTEMPTS_MAX:
            self._context.log.warning("live read failed too often, relisting key=%s", key)
            del self._attempts[key]
            self.needs_relist = True

    async def _overwrite(self, key: str) -> bool:
        """Return whether the topic has the current state of the key, or nothing more can be done."""
        noted = self._index.foreign_of(key)
        if not noted:
            return True  # a list has overwritten them meanwhile
        self._reading, self._superseded = key, False
        try:
            found = await self._read_live(key)
        except ClusterError as error:
            self._context.log.warning("live read failed, will retry key=%s error=%s", key, error)
            return False
        finally:
            self._reading = ""
        # The watch has published a newer state; the next attempt reads again.
        if self._superseded:
            return False
        if isinstance(found, Bare):
            return True  # cannot be projected; its next change or its deletion is published
        # The fact comes first. Tombstones are then added only for partitions in which the object
        # has no record.
        messages = self._facts.messages_of(found, again=True) if found is not None else []
        self._outbox.put(Item(messages=messages + self._index.take_foreign_tombstones(noted)))
        await self._outbox.wait_for_space()
        await self._facts.report_refused()
        return True

    async def _read_live(self, key: str) -> ApiObject | Bare | None:
        """Return the object of the API server; None when it does not exist or is not followed."""
        kind = self._facts.kind
        namespace, name = split_key(key)
        if self._facts.namespace not in ("", namespace):
            return None
        try:
            page = await self._context.cluster.list(
                kind, namespace=namespace, field_selector=f"metadata.name={name}"
            )
        except BadRequestError:
            return None  # no object can have such a name
        except (NotFoundError, ForbiddenError):
            if kind.optional:
                return None
            raise
        if not page.items:
            return None
        # An object without a readable identity is treated like one that cannot be projected.
        found = self._facts.decode(page.items[0])
        return found if found is not None else Bare(key, "")
