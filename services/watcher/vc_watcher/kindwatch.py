"""One kind: list, publish the difference, watch, and again when the watch has a gap.

A reading and a publishing half with a bounded queue between them, so that many events leave in one
publish. What the API server said is only claimed (`reached`) after the bus has acknowledged it.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec

from vc_bus import BusUnavailableError
from vc_cluster import ClusterError, ForbiddenError, GoneError, NotFoundError, WatchEvent
from vc_messages.codec import MessageTooLargeError
from vc_messages.effects import RecordEvent
from vc_messages.progress import Progress
from vc_messages.record import Message
from vc_model.job import Job
from vc_model.meta import ApiObject
from vc_runtime.backoff import delay_seconds
from vc_runtime.context import Context
from vc_runtime.events import EventRecorder
from vc_watcher.config import Config
from vc_watcher.logic import Decoder, Index, UnreadableError
from vc_watcher.meters import Meters
from vc_watcher.spans import JobSpans

OPTIONAL_LOOK_SECONDS: Final = 60.0
"""Between two looks for a kind that a cluster need not have."""

GATHER_SECONDS: Final = 0.02
"""Between two departures, of whatever kinds. Each costs the broker, us and every reader a round trip,
however little is in it; below the scheduler's debounce nobody notices that some events left together."""


class _Item(msgspec.Struct, frozen=True):
    """Messages, and the version the API server had reached with them."""

    messages: list[Message]
    reached: str
    synced: bool
    jobs: list[Job] = []
    """To be told of when the messages are out."""


class Publisher:
    """Publishes for one term of leadership; refuses when the term is over."""

    def __init__(self, context: Context, *, may_write: Callable[[], bool]) -> None:
        self._context = context
        self._may_write = may_write
        self.departed_at = float("-inf")
        """When events of any kind last left; monotonic. Kinds that wait for the next departure leave
        in the same moment, so that readers are woken once for all of them."""

    async def publish(self, messages: list[Message]) -> list[int]:
        """Publish and wait; a bus that is away is waited for, nothing is dropped."""
        attempt = 0
        while True:
            if not self._may_write():
                raise TermOverError("lost the lease")
            try:
                return await self._context.bus.publish(messages)
            except BusUnavailableError as error:
                attempt += 1
                self._context.log.warning("bus away, %d messages wait: %s", len(messages), error)
                await self._context.clock.sleep(delay_seconds(attempt, self._context.chance))


class TermOverError(Exception):
    """Somebody else may lead now: stop writing and start over."""


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
        self._publisher = publisher
        self._decoder = Decoder(index.kind)
        self._events = EventRecorder(context)
        self._spans = JobSpans(context)
        self._meters = meters
        self._end_offsets = end_offsets
        self._queue: deque[tuple[float, _Item]] = deque()
        """With the moment each came in; monotonic."""
        self._queued = 0
        self._filled = asyncio.Event()
        self._drained = asyncio.Event()
        self._full = asyncio.Event()
        """A whole batch waits to be published."""
        self._reached = ""
        self._synced = False
        self._failures = 0
        self.sync_ended = asyncio.Event()
        """Set when a sync ends: progress is to be told at once."""
        self.published = 0

    @property
    def _namespace(self) -> str:
        """ConfigMaps are followed only in our own namespace: others' are none of our business."""
        return self._context.namespace if self._kind.short == "configmaps" else ""

    def progress(self, sequence: int) -> Progress:
        """How far this kind has come, as far as the bus has acknowledged it."""
        return Progress(
            kind=self._kind.short,
            stamp=self._index.stamp,
            sequence=sequence,
            synced=self._synced,
            resource_version=self._reached,
            end_offsets=list(self._end_offsets),
        )

    async def run(self) -> None:
        """Until cancelled or the term is over."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read())
            group.create_task(self._publish())

    # -- reading ---------------------------------------------------------------------------------

    async def _read(self) -> None:
        version = ""
        while True:
            try:
                if not version:
                    version = await self._sync()
                version = await self._watch(version)
                self._failures = 0
            except GoneError as error:
                self._context.log.warning("%s: gap, listing anew: %s", self._kind.short, error)
                version = ""
            except ClusterError as error:
                if self._kind.optional and isinstance(error, NotFoundError | ForbiddenError):
                    version = ""
                    await self._do_without(error)
                else:
                    await self._back_off(error)

    async def _do_without(self, error: ClusterError) -> None:
        """This cluster has none of the kind, as far as we may see; look again after a while."""
        if not self._synced:
            self._context.log.info("%s: done without: %s", self._kind.short, error)
        rest = self._index.gone_but(set()) + self._index.settle_foreign()
        await self._put(_Item(rest, "", synced=True))
        await self._context.clock.sleep(OPTIONAL_LOOK_SECONDS)

    async def _back_off(self, error: ClusterError) -> None:
        self._failures += 1
        level = "not served yet" if isinstance(error, NotFoundError) else "API server"
        self._context.log.warning("%s: %s: %s", self._kind.short, level, error)
        await self._context.clock.sleep(delay_seconds(self._failures, self._context.chance))

    async def _sync(self) -> str:
        """List everything, publish the difference, and only then say that we are synced."""
        listed: set[str] = set()
        token = ""
        while True:
            page = await self._context.cluster.list(
                self._kind,
                namespace=self._namespace,
                limit=self._config.page_size,
                continue_token=token,
            )
            messages: list[Message] = []
            jobs: list[Job] = []
            for raw in page.items:
                obj = self._decode(raw)
                if obj is not None:
                    listed.add(obj.key)
                    messages += await self._messages_of(obj)
                    jobs += self._untold(obj)
            await self._put(_Item(messages, "", synced=False, jobs=jobs))
            token = page.continue_token
            if not token:
                break
        rest = self._index.gone_but(listed) + self._index.settle_foreign()
        await self._put(_Item(rest, page.resource_version, synced=True))
        return page.resource_version

    async def _watch(self, version: str) -> str:
        """Follow until the request ends; the version reached."""
        events = self._context.cluster.watch(
            self._kind,
            resource_version=version,
            namespace=self._namespace,
            timeout_seconds=self._config.watch_seconds,
        )
        async for event in events:
            version = event.resource_version
            await self._put(await self._item(event))
        return version

    async def _item(self, event: WatchEvent) -> _Item:
        reached = event.resource_version
        obj = None if event.type == "BOOKMARK" else self._decode(event.object)
        if obj is None:
            return _Item([], reached, synced=True)
        if event.type == "DELETED":
            gone = self._index.gone(obj.key, uid=obj.metadata.uid)
            return _Item(gone, reached, synced=True)
        messages = await self._messages_of(obj)
        return _Item(messages, reached, synced=True, jobs=self._untold(obj))

    def _untold(self, obj: ApiObject) -> list[Job]:
        """The job, when its publication is yet to be told as a span."""
        return [obj] if isinstance(obj, Job) and self._spans.wants(obj) else []

    async def _messages_of(self, obj: ApiObject) -> list[Message]:
        """What makes the topic say what the object says now."""
        again = bool(self._index.foreign) and self._index.is_foreign(obj.key)
        try:
            return self._index.seen(obj, again=again)
        except MessageTooLargeError as error:
            await self._refuse(obj, str(error))
            return self._index.gone(obj.key)

    def _decode(self, raw: bytes) -> ApiObject | None:
        try:
            return self._decoder.decode(raw)
        except UnreadableError as error:
            self._context.log.error("%s: an object is left out: %s", self._kind.short, error)
            return None

    async def _refuse(self, obj: ApiObject, why: str) -> None:
        """An object larger than a message: say so on the object, go on with the others."""
        self._context.log.error("%s %s is left out: %s", self._kind.short, obj.key, why)
        await self._events.record(
            RecordEvent(
                kind=self._kind,
                namespace=obj.metadata.namespace,
                name=obj.metadata.name,
                uid=obj.metadata.uid,
                type="Warning",
                reason="TooLarge",
                message=f"{why}; make the object smaller",
            )
        )

    # -- between the halves ----------------------------------------------------------------------

    async def _put(self, item: _Item) -> None:
        while self._queued >= self._config.queue_max:
            self._drained.clear()
            await self._drained.wait()
        self._queue.append((self._context.clock.monotonic(), item))
        self._queued += len(item.messages)
        self._filled.set()
        if self._queued >= self._config.batch_max:
            self._full.set()

    # -- publishing ------------------------------------------------------------------------------

    async def _publish(self) -> None:
        while True:
            while not self._queue:
                self._filled.clear()
                await self._filled.wait()
            await self._gather()
            messages: list[Message] = []
            jobs: list[Job] = []
            reached, synced = self._reached, self._synced
            oldest = self._queue[0][0]
            while self._queue and len(messages) < self._config.batch_max:
                _, item = self._queue.popleft()
                messages += item.messages
                jobs += item.jobs
                reached = item.reached or reached
                synced = synced or item.synced
            await self._send(messages)
            for job in jobs:
                self._spans.published(job)
            self._queued -= len(messages)
            self._drained.set()
            if messages:
                self._meters.published(
                    self._kind.short,
                    messages=len(messages),
                    age_seconds=self._context.clock.monotonic() - oldest,
                    queued=self._queued,
                )
            self._reached = reached
            if synced and not self._synced:
                self._synced = True
                self.sync_ended.set()

    async def _gather(self) -> None:
        """At once when idle; in a crowd, wait for others to go out together with what is there."""
        rest = self._publisher.departed_at + GATHER_SECONDS - self._context.clock.monotonic()
        if rest > 0 and self._queued < self._config.batch_max:
            self._full.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await self._full.wait()

    async def _send(self, messages: list[Message]) -> None:
        if not messages:
            return
        self._publisher.departed_at = self._context.clock.monotonic()
        offsets = await self._publisher.publish(messages)
        for message, offset in zip(messages, offsets, strict=True):
            end = offset + 1
            if end > self._end_offsets[message.partition]:
                self._end_offsets[message.partition] = end
        self.published += len(messages)
