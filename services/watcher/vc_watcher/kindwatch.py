"""One kind: list, publish the difference, watch, and again when the watch has a gap.

This is the reading half; `outbox` publishes what it reads, with a bounded queue between them. A kind is
*synced* while the difference of its last list is out and the watch from there on is alive: from the
moment a gap is known until the next list is out, and after a silence that no healthy watch has, it is
not. Nothing of a list leaves before readers were told that we are not synced, since half of it could
show a node as free whose new pod is in the other half.
"""

import asyncio
from typing import Final

from vc_cluster import ClusterError, ForbiddenError, GoneError, NotFoundError, WatchEvent
from vc_messages.progress import PROGRESS_STALE_SECONDS, Progress
from vc_messages.record import Message
from vc_model.job import Job
from vc_model.meta import ApiObject
from vc_runtime.backoff import delay_seconds
from vc_runtime.context import Context
from vc_watcher.config import Config
from vc_watcher.facts import Facts
from vc_watcher.logic import Bare, Index, is_lower
from vc_watcher.meters import Meters
from vc_watcher.outbox import NEVER, Item, Outbox, Publisher
from vc_watcher.settling import Settling

OPTIONAL_LOOK_SECONDS: Final = 60.0
"""Between two looks for a kind that a cluster need not have."""

UNHEARD_SECONDS_MAX: Final = PROGRESS_STALE_SECONDS
"""How much longer than one watch we may hear nothing and still call ourselves synced. An API server
that restarts within it is not noticed by anybody."""

RESUMED_WATCH_SECONDS: Final = 3.0
"""Of a watch after a failure, until we have caught up: so readiness is back soon also for kinds of which
nothing happens. A real API server sends its last bookmark two seconds before the end."""

LOOK_BEHIND_SECONDS: Final = 60.0
"""Between two looks whether the API server still has the version we watch from, while it is silent."""


class KindWatch:
    """Keeps one topic in step with the API server."""

    def __init__(
        self,
        context: Context,
        config: Config,
        *,
        index: Index,
        publisher: Publisher,
        end_offsets: list[int],
        meters: Meters,
    ) -> None:
        self._context = context
        self._config = config
        self._index = index
        self._kind = index.kind
        self._facts = Facts(context, index)
        self._outbox = Outbox(
            context,
            config,
            kind=index.kind.short,
            publisher=publisher,
            end_offsets=end_offsets,
            meters=meters,
            spans=self._facts.spans,
        )
        self._settling = Settling(context, self._facts, self._outbox)
        self._version = ""
        """To watch from: of the last event, bookmark or list; empty when we must list."""
        self._syncs = 1
        """The number of the sync that is due or was last; synced when it is out."""
        self._look_behind_at = NEVER
        self._failures = 0
        """Since we last knew all there was to know; 0 while we keep up."""
        self._must_reach = ""
        """Where the API server was when we came back to it after a failure."""
        self._unsynced_told = asyncio.Event()
        self.turned = self._outbox.turned
        """Set when we become synced or lose track: progress is to be told at once."""

    def progress(self, sequence: int) -> Progress:
        """How far this kind has come, as far as the bus has acknowledged it."""
        return Progress(
            kind=self._kind.short,
            stamp=self._index.stamp,
            sequence=sequence,
            synced=self._is_synced(),
            resource_version=self._outbox.reached,
            end_offsets=list(self._outbox.end_offsets),
        )

    @property
    def published(self) -> int:
        """Messages that the bus has acknowledged."""
        return self._outbox.published

    def _is_synced(self) -> bool:
        if self._outbox.completed != self._syncs:
            return False
        return self._context.clock.monotonic() <= self._outbox.heard_until

    def told(self, progress: Progress) -> None:
        """That progress of ours is on the bus, and none is newer."""
        if not progress.synced:
            self._unsynced_told.set()

    def settle(self, key: str) -> None:
        """Write the truth over a foreign record that was noted in the index."""
        self._settling.ask(key)

    async def run(self) -> None:
        """Until cancelled or the term is over."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read())
            group.create_task(self._outbox.run())
            group.create_task(self._settling.run())

    async def _read(self) -> None:
        while True:
            try:
                if self._settling.wants_list and self._version:
                    self._lose_track()
                if not self._version:
                    await self._sync()
                await self._look_behind()
                await self._watch()
            except GoneError as error:
                self._context.log.warning("%s: gap, listing anew: %s", self._kind.short, error)
                self._lose_track()
            except ClusterError as error:
                if self._kind.optional and isinstance(error, NotFoundError | ForbiddenError):
                    await self._do_without(error)
                else:
                    await self._back_off(error)

    # -- whether we follow -----------------------------------------------------------------------

    def _lose_track(self) -> None:
        """From now on until the next sync is out nobody may decide on this kind."""
        self._version = ""
        self._syncs += 1
        self._unsynced_told.clear()
        self.turned.set()

    def _heard(self, next_within_seconds: float) -> float:
        """We know all there is to know at this moment, and will hear again within so long.

        Until when that may be said, once all of it is out.
        """
        self._failures = 0
        now = self._context.clock.monotonic()
        return now + next_within_seconds + UNHEARD_SECONDS_MAX

    async def _do_without(self, error: ClusterError) -> None:
        """This cluster has none of the kind, as far as we may see; look again after a while."""
        if not self._is_synced():
            self._context.log.info("%s: done without: %s", self._kind.short, error)
        self._version = ""
        rest = self._index.gone_but(set()) + self._index.settle_foreign(dict(self._index.foreign))
        heard_until = self._heard(OPTIONAL_LOOK_SECONDS)
        self._outbox.put(Item(messages=rest, completes=self._syncs, heard_until=heard_until))
        await self._outbox.room()
        await self._context.clock.sleep(OPTIONAL_LOOK_SECONDS)

    async def _back_off(self, error: ClusterError) -> None:
        self._failures += 1
        level = "not served yet" if isinstance(error, NotFoundError) else "API server"
        self._context.log.warning("%s: %s: %s", self._kind.short, level, error)
        await self._context.clock.sleep(delay_seconds(self._failures, self._context.chance))

    # -- listing ---------------------------------------------------------------------------------

    async def _sync(self) -> None:
        """List everything, publish the difference, and only then say that we are synced."""
        await self._unsynced_told.wait()
        async with self._settling.list_lock:
            self._settling.wants_list = False
            await self._list_all()
        self._put_off_looking_behind()

    async def _list_all(self) -> None:
        foreign = dict(self._index.foreign)
        listed: set[str] = set()
        nameless = False
        token = ""
        while True:
            page = await self._context.cluster.list(
                self._kind,
                namespace=self._facts.namespace,
                limit=self._config.page_size,
                continue_token=token,
            )
            for raw in page.items:
                key = await self._take_listed(raw)
                listed.add(key)
                nameless |= not key
            await self._facts.tell_refused()
            token = page.continue_token
            if not token:
                break
        # Any that is missing could be the one without a name.
        rest = [] if nameless else self._index.gone_but(listed)
        rest += self._index.settle_foreign(foreign)
        self._outbox.put(
            Item(
                messages=rest,
                reached=page.resource_version,
                completes=self._syncs,
                heard_until=self._heard(self._config.watch_seconds),
            )
        )
        await self._outbox.room()
        self._version = page.resource_version

    async def _take_listed(self, raw: bytes) -> str:
        """The key of an object of the list; empty when nobody can say which it is."""
        obj = self._facts.decode(raw)
        if obj is None:
            return ""
        if isinstance(obj, Bare):
            self._outbox.put(Item(messages=self._index.gone_unless(obj)))
        else:
            messages = self._facts.messages_of(obj, listed=True)
            self._outbox.put(Item(messages=messages, jobs=self._facts.untold(obj)))
        await self._outbox.room()
        return obj.key

    # -- watching --------------------------------------------------------------------------------

    async def _look_behind(self) -> None:
        """GoneError when the API server has not even come to the version we watch from.

        It was set back to an older state (etcd from a backup), and a watch would be silent until it
        has got there again: nothing but a list tells. Asked while a watch brings nothing, and after
        a failure, since nobody sets an API server back without stopping it.
        """
        if not self._failures and self._context.clock.monotonic() < self._look_behind_at:
            return
        page = await self._context.cluster.list(
            self._kind, namespace=self._facts.namespace, limit=1
        )
        if is_lower(page.resource_version, self._version):
            raise GoneError(
                f"watched from {self._version}, but the server is at {page.resource_version}"
            )
        self._must_reach = page.resource_version
        self._put_off_looking_behind()

    def _put_off_looking_behind(self) -> None:
        self._look_behind_at = self._context.clock.monotonic() + LOOK_BEHIND_SECONDS

    async def _watch(self) -> None:
        """Follow until the request ends.

        After a failure much may be waiting to be told, so that the first event says little: we have
        caught up with where the API server was then, or when there was nothing to tell.
        """
        watch_seconds = self._config.watch_seconds
        events = self._context.cluster.watch(
            self._kind,
            resource_version=self._version,
            namespace=self._facts.namespace,
            timeout_seconds=RESUMED_WATCH_SECONDS if self._failures else watch_seconds,
        )
        silent = True
        async for event in events:
            silent = False
            caught_up = not self._failures or not is_lower(event.resource_version, self._must_reach)
            heard_until = self._heard(watch_seconds) if caught_up else NEVER
            self._outbox.put(self._item(event, heard_until))
            self._version = event.resource_version or self._version
            self._put_off_looking_behind()
            await self._outbox.room()
            await self._facts.tell_refused()
        if silent or not self._failures:
            self._outbox.put(Item(heard_until=self._heard(watch_seconds)))

    def _item(self, event: WatchEvent, heard_until: float) -> Item:
        obj = None if event.type == "BOOKMARK" else self._facts.decode(event.object)
        messages: list[Message] = []
        jobs: list[Job] = []
        if obj is not None:
            self._settling.overtake(obj.key)
        if event.type == "DELETED" and obj is not None:
            uid = obj.uid if isinstance(obj, Bare) else obj.metadata.uid
            self._facts.gone(obj.key)
            messages = self._index.gone(obj.key, uid=uid)
        elif isinstance(obj, ApiObject):
            messages = self._facts.messages_of(obj)
            jobs = self._facts.untold(obj)
        return Item(
            messages=messages,
            reached=event.resource_version,
            heard_until=heard_until,
            jobs=jobs,
        )
