"""Lists one kind, publishes the difference, watches it, and relists after a gap (410 Gone).

client-go calls this a reflector. This is the reading half; `outbox` publishes what it reads, with a
bounded queue in between. A kind is *synced* while the difference of its last list is published and
the watch since then is alive. It is not synced between a known gap and the next published list, nor
after a silence that is longer than a healthy watch has. Nothing of a list is published before readers know that the kind is not
synced: half of a list could show a node as free although its new pod is in the other half.
"""

import asyncio
from typing import Final

from vc.cluster import ClusterError, ForbiddenError, GoneError, NotFoundError, WatchEvent
from vc.messages.progress import PROGRESS_STALE_SECONDS, Progress
from vc.messages.record import Message
from vc.model.api.job import Job
from vc.model.api.meta import ApiObject
from vc.model.values.backoff import delay_seconds
from vc.runtime.hosting.context import Context
from vc.watcher.config import Config
from vc.watcher.facts import Facts
from vc.watcher.foreign_records import ForeignRecords
from vc.watcher.logic import Bare, Index, is_lower
from vc.watcher.metrics import WatcherMetrics
from vc.watcher.outbox import NEVER, Item, Outbox, Publisher

OPTIONAL_RETRY_SECONDS: Final = 60.0
"""Interval between two attempts to list a kind that a cluster need not have."""

UNHEARD_SECONDS_MAX: Final = PROGRESS_STALE_SECONDS
"""How long, beyond the duration of one watch, a silent kind still counts as synced.

No reader notices a restart of the API server within this time.
"""

RESUMED_WATCH_SECONDS: Final = 3.0
"""Duration of a watch after a failure, until it has caught up.

Short watches restore readiness soon, also for kinds without events. An API server sends its last
bookmark two seconds before the end.
"""

RESTORE_CHECK_SECONDS: Final = 60.0
"""Interval of the check that a silent API server still has the version that is watched."""


class KindWatch:
    """Keeps the topic of one kind consistent with the API server."""

    def __init__(
        self,
        context: Context,
        config: Config,
        *,
        index: Index,
        publisher: Publisher,
        end_offsets: list[int],
        metrics: WatcherMetrics,
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
            metrics=metrics,
            spans=self._facts.spans,
        )
        self._foreign_records = ForeignRecords(context, self._facts, self._outbox)
        self._version = ""
        """Version to watch from: of the last event, bookmark or list; empty when a list is needed."""
        self._syncs = 1
        """Number of the current or last sync; the kind is synced when it is published."""
        self._restore_check_at = NEVER
        self._failures = 0
        """Failures since the watch was last up to date; 0 while it is."""
        self._listed_version = ""
        """Version of the API server at the time of the recovery from a failure."""
        self._unsynced_published = asyncio.Event()
        self.turned = self._outbox.turned
        """Set when the kind becomes synced or loses track, so that progress is published at once."""

    def progress(self, sequence: int) -> Progress:
        """Return the progress of the kind, as far as the bus has acknowledged it."""
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
        """Number of messages that the bus has acknowledged."""
        return self._outbox.published

    def _is_synced(self) -> bool:
        if self._outbox.completed != self._syncs:
            return False
        return self._context.clock.monotonic() <= self._outbox.heard_until

    def progress_published(self, progress: Progress) -> None:
        """Note that this progress is on the bus and no newer one is."""
        if not progress.synced:
            self._unsynced_published.set()

    def overwrite(self, key: str) -> None:
        """Overwrite a foreign record that was noted in the index."""
        self._foreign_records.add(key)

    async def run(self) -> None:
        """Read and publish until cancelled or the term ends."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read())
            group.create_task(self._outbox.run())
            group.create_task(self._foreign_records.run())

    async def _read(self) -> None:
        """List and watch forever; a gap leads to a relist, an error to a backoff."""
        while True:
            try:
                # A list overwrites all foreign records that could not be overwritten one by one.
                if self._foreign_records.needs_relist and self._version:
                    self._lose_track()
                if not self._version:
                    await self._sync()
                await self._check_restored()
                await self._watch()
            except GoneError as error:
                self._context.log.warning(
                    "watch gap, relisting kind=%s error=%s", self._kind.short, error
                )
                self._lose_track()
            except ClusterError as error:
                if self._kind.optional and isinstance(error, NotFoundError | ForbiddenError):
                    await self._treat_as_empty(error)
                else:
                    await self._back_off(error)

    # -- synced or not ---------------------------------------------------------------------------

    def _lose_track(self) -> None:
        """Revoke synced until the next list is published."""
        self._version = ""
        self._syncs += 1
        self._unsynced_published.clear()
        self.turned.set()

    def _heard(self, next_within_seconds: float) -> float:
        """Note that the kind is up to date now, and that the next answer is due within this time.

        Returns until when the kind counts as followed, once everything read so far is published.
        """
        self._failures = 0
        now = self._context.clock.monotonic()
        return now + next_within_seconds + UNHEARD_SECONDS_MAX

    async def _treat_as_empty(self, error: ClusterError) -> None:
        """Treat the kind as empty while the cluster does not serve it or forbids it."""
        if not self._is_synced():
            self._context.log.info(
                "kind not served, treated as empty kind=%s error=%s", self._kind.short, error
            )
        self._version = ""
        # The kind may have been uninstalled, so facts that are still on the topic are deleted.
        rest = self._index.gone_but(set()) + self._index.take_foreign_tombstones(
            dict(self._index.foreign)
        )
        heard_until = self._heard(OPTIONAL_RETRY_SECONDS)
        self._outbox.put(Item(messages=rest, completes=self._syncs, heard_until=heard_until))
        await self._outbox.wait_for_space()
        await self._context.clock.sleep(OPTIONAL_RETRY_SECONDS)

    async def _back_off(self, error: ClusterError) -> None:
        """Log an error and wait with exponential backoff."""
        self._failures += 1
        event = "kind not served yet" if isinstance(error, NotFoundError) else "watch failed"
        self._context.log.warning("%s kind=%s error=%s", event, self._kind.short, error)
        await self._context.clock.sleep(delay_seconds(self._failures, self._context.rng))

    # -- listing ---------------------------------------------------------------------------------

    async def _sync(self) -> None:
        """List all objects and publish the difference; the kind is synced only after that."""
        # Readers must know that the kind is not synced before they see half of a list.
        await self._unsynced_published.wait()
        async with self._foreign_records.list_lock:
            self._foreign_records.needs_relist = False
            await self._list_all()
        self._put_off_restore_check()

    async def _list_all(self) -> None:
        """List page by page, then delete what was not listed and complete the sync."""
        # Only foreign records noted before the list are overwritten by it. Later ones may be newer than
        # the answer of the API server.
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
                key = await self._publish_listed(raw)
                listed.add(key)
                # With an object without identity, deletions cannot be derived from the list.
                nameless |= not key
            await self._facts.report_refused()
            token = page.continue_token
            if not token:
                break
        # With an unidentifiable object in the list, any object that seems missing may be that one.
        rest = [] if nameless else self._index.gone_but(listed)
        rest += self._index.take_foreign_tombstones(foreign)
        self._outbox.put(
            Item(
                messages=rest,
                reached=page.resource_version,
                completes=self._syncs,
                heard_until=self._heard(self._config.watch_seconds),
            )
        )
        await self._outbox.wait_for_space()
        self._version = page.resource_version

    async def _publish_listed(self, raw: bytes) -> str:
        """Publish an object of the list; return its key, or an empty string if it has no identity."""
        obj = self._facts.decode(raw)
        if obj is None:
            return ""
        # The fact of the same object stays. A fact of an earlier object with that name is deleted.
        if isinstance(obj, Bare):
            self._outbox.put(Item(messages=self._index.gone_unless(obj)))
        else:
            messages = self._facts.messages_of(obj, listed=True)
            self._outbox.put(Item(messages=messages, jobs=self._facts.jobs_to_trace(obj)))
        await self._outbox.wait_for_space()
        return obj.key

    # -- watching --------------------------------------------------------------------------------

    async def _check_restored(self) -> None:
        """Raise GoneError when the API server is behind the version that is watched.

        The API server was restored to an older state (etcd from a backup). A watch would be silent
        until the server reaches that version again, so only a list shows it. The check runs while a
        watch is silent and after a failure, because an API server is not restored without being
        stopped.
        """
        if not self._failures and self._context.clock.monotonic() < self._restore_check_at:
            return
        page = await self._context.cluster.list(
            self._kind, namespace=self._facts.namespace, limit=1
        )
        if is_lower(page.resource_version, self._version):
            raise GoneError(
                f"watched from {self._version}, but the server is at {page.resource_version}"
            )
        self._listed_version = page.resource_version
        self._put_off_restore_check()

    def _put_off_restore_check(self) -> None:
        self._restore_check_at = self._context.clock.monotonic() + RESTORE_CHECK_SECONDS

    async def _watch(self) -> None:
        """Follow events until the request ends.

        After a failure many events may be pending, so the first one does not show that the kind is
        up to date. It is when the events reach the version of the API server at recovery, or when
        there are none.
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
            caught_up = not self._failures or not is_lower(
                event.resource_version, self._listed_version
            )
            heard_until = self._heard(watch_seconds) if caught_up else NEVER
            self._outbox.put(self._item(event, heard_until))
            self._version = event.resource_version or self._version
            self._put_off_restore_check()
            await self._outbox.wait_for_space()
            await self._facts.report_refused()
        # A watch that ended normally shows that the kind is up to date. After a failure that holds
        # only for a silent one, because events may still be pending.
        if silent or not self._failures:
            self._outbox.put(Item(heard_until=self._heard(watch_seconds)))

    def _item(self, event: WatchEvent, heard_until: float) -> Item:
        """Return the messages of an event, and what holds after they are published."""
        obj = None if event.type == "BOOKMARK" else self._facts.decode(event.object)
        messages: list[Message] = []
        jobs: list[Job] = []
        if obj is not None:
            # A live read of the same object may now return an older state than this event.
            self._foreign_records.note_event(obj.key)
        if event.type == "DELETED" and obj is not None:
            uid = obj.uid if isinstance(obj, Bare) else obj.metadata.uid
            self._facts.gone(obj.key)
            messages = self._index.gone(obj.key, uid=uid)
        elif isinstance(obj, ApiObject):
            messages = self._facts.messages_of(obj)
            jobs = self._facts.jobs_to_trace(obj)
        return Item(
            messages=messages,
            reached=event.resource_version,
            heard_until=heard_until,
            jobs=jobs,
        )
