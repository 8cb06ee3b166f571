"""Writes the truth over foreign records of one kind, beside its watch.

The truth of one name is read live. The watch goes on meanwhile, and may learn more than the answer says
or less: an answer that the watch has overtaken is thrown away and asked for again, and an object that
is gone while the index still has it is left for the watch to bury, whose tombstone takes the place of
the foreign record: buried here, an event that is still on its way would bring it back. What cannot be
settled so is settled by listing anew.
"""

import asyncio
from typing import Final

from vc_cluster import ClusterError, ForbiddenError, NotFoundError
from vc_cluster.errors import BadRequestError
from vc_model.meta import ApiObject, split_key
from vc_runtime.backoff import delay_seconds
from vc_runtime.context import Context
from vc_watcher.facts import Facts
from vc_watcher.logic import Bare
from vc_watcher.outbox import Item, Outbox

ATTEMPTS_MAX: Final = 12
"""Of settling one name alone, over about half a minute; then the whole kind is listed anew."""


class Settling:
    """Of one kind: the names whose truth must be written again."""

    def __init__(self, context: Context, facts: Facts, outbox: Outbox) -> None:
        self._context = context
        self._facts = facts
        self._index = facts.index
        self._outbox = outbox
        self._attempts: dict[str, int] = {}
        """Of each name that is to be settled; as many as somebody wrote foreign records."""
        self._asked = asyncio.Event()
        self._reading = ""
        self._overtaken = False
        self.list_lock = asyncio.Lock()
        """Held by a list: nothing is settled by itself while everything is."""
        self.wants_list = False
        """Something could not be settled; whoever lists anew takes this back."""

    def ask(self, key: str) -> None:
        """A foreign record of that name was noted."""
        self._attempts.setdefault(key, 0)
        self._asked.set()

    def overtake(self, key: str) -> None:
        """The watch told of that name: what is being read of it may be older."""
        self._overtaken |= key == self._reading

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            while not self._attempts:
                self._asked.clear()
                await self._asked.wait()
            for key in list(self._attempts):
                async with self.list_lock:
                    settled = await self._settle(key)
                if settled:
                    del self._attempts[key]
                else:
                    self._count(key)
            if self._attempts:
                attempt = max(self._attempts.values())
                await self._context.clock.sleep(delay_seconds(attempt, self._context.chance))

    def _count(self, key: str) -> None:
        self._attempts[key] += 1
        if self._attempts[key] >= ATTEMPTS_MAX:
            self._context.log.warning("truth of %s not read: listing anew", key)
            del self._attempts[key]
            self.wants_list = True

    async def _settle(self, key: str) -> bool:
        """Whether the topic says the truth of that name now, or nothing more can be done."""
        noted = self._index.foreign_of(key)
        if not noted:
            return True  # a list was quicker
        self._reading, self._overtaken = key, False
        try:
            found = await self._read_live(key)
        except ClusterError as error:
            self._context.log.warning("truth of %s not read: %s", key, error)
            return False
        finally:
            self._reading = ""
        if self._overtaken:
            return False
        if isinstance(found, Bare):
            return True  # cannot be written; its next change, or its end, can
        messages = self._facts.messages_of(found, again=True) if found is not None else []
        self._outbox.put(Item(messages=messages + self._index.settle_foreign(noted)))
        await self._outbox.room()
        await self._facts.tell_refused()
        return True

    async def _read_live(self, key: str) -> ApiObject | Bare | None:
        """As the API server has it now; None when there is none, or it is none of our business."""
        kind = self._facts.kind
        namespace, name = split_key(key)
        if self._facts.namespace not in ("", namespace):
            return None
        try:
            page = await self._context.cluster.list(
                kind, namespace=namespace, field_selector=f"metadata.name={name}"
            )
        except BadRequestError:
            return None  # nothing can have such a name
        except (NotFoundError, ForbiddenError):
            if kind.optional:
                return None
            raise
        if not page.items:
            return None
        found = self._facts.decode(page.items[0])
        return found if found is not None else Bare(key, "")
