"""The publishing half of a kind: a bounded queue that leaves in few, large publishes.

`put` never waits, so messages leave in the order in which the index gave them, whoever asked it;
whoever put waits for `room` afterwards. So the queue holds at most its bound and one item of each
that puts. What the API server said is only claimed (`reached`) after the bus has acknowledged it.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import msgspec

from vc_bus import BusUnavailableError
from vc_messages.record import Message
from vc_model.job import Job
from vc_runtime.backoff import delay_seconds
from vc_runtime.context import Context
from vc_watcher.config import Config
from vc_watcher.meters import Meters
from vc_watcher.spans import JobSpans

GATHER_SECONDS: Final = 0.02
"""Between two departures, of whatever kinds. Each costs the broker, us and every reader a round trip,
however little is in it; below the scheduler's debounce nobody notices that some events left together."""

NEVER: Final = float("-inf")


class TermOverError(Exception):
    """Somebody else may lead now: stop writing and start over."""


class Publisher:
    """Publishes for one term of leadership; refuses when the term is over.

    While the lease has run out and nobody else has it, publishes wait: what was read is kept, and nothing
    is listed or published again when it is renewed.
    """

    def __init__(
        self,
        context: Context,
        *,
        may_write: Callable[[], bool],
        regained: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """`regained` waits for a lease that ran out; without it the term is over then."""
        self._context = context
        self._may_write = may_write
        self._regained = regained
        self.departed_at = NEVER
        """When events of any kind last left; monotonic. Kinds that wait for the next departure leave
        in the same moment, so that readers are woken once for all of them."""

    async def publish(self, messages: list[Message]) -> list[int]:
        """Publish and wait; a bus that is away is waited for, nothing is dropped."""
        attempt = 0
        while True:
            while not self._may_write():
                if self._regained is None or not await self._regained():
                    raise TermOverError("lost the lease")
            try:
                return await self._context.bus.publish(messages)
            except BusUnavailableError as error:
                attempt += 1
                self._context.log.warning("bus away, %d messages wait: %s", len(messages), error)
                await self._context.clock.sleep(delay_seconds(attempt, self._context.chance))


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """Messages, and what holds when they are out."""

    messages: list[Message] = []
    reached: str = ""
    """The version the API server had reached with them; empty says nothing."""
    completes: int = 0
    """The number of the sync that ends with them; 0 for none."""
    heard_until: float = NEVER
    """With them all is told that we knew then, and we count as following until this; monotonic."""
    jobs: list[Job] = []
    """To be told of when the messages are out."""

    @property
    def bytes(self) -> int:
        return sum(len(message.value or b"") for message in self.messages)


class Outbox:
    """What one kind has to say, on its way to the bus."""

    def __init__(
        self,
        context: Context,
        config: Config,
        *,
        kind: str,
        publisher: Publisher,
        end_offsets: list[int],
        meters: Meters,
        spans: JobSpans,
    ) -> None:
        self._context = context
        self._config = config
        self._kind = kind
        self._publisher = publisher
        self._meters = meters
        self._spans = spans
        self.end_offsets = end_offsets
        """Of each partition, behind the last message that is out."""
        self.published = 0
        """Messages that the bus has acknowledged."""
        self.reached = ""
        self.completed = 0
        """The number of the last sync whose difference is out."""
        self.heard_until = NEVER
        """We count as following until then; monotonic."""
        self.turned = asyncio.Event()
        """Set when a sync is complete; whoever has told of it clears it."""
        self._queue: deque[tuple[float, Item]] = deque()
        """With the moment each came in; monotonic."""
        self._queued = 0
        self.queued_bytes = 0
        """Of the values that wait or are on their way."""
        self._filled = asyncio.Event()
        self._drained = asyncio.Event()
        self._batch_waits = asyncio.Event()

    def put(self, item: Item) -> None:
        """Behind everything that was put before; then wait for `room`."""
        self._queue.append((self._context.clock.monotonic(), item))
        self._queued += len(item.messages)
        self.queued_bytes += item.bytes
        self._filled.set()
        if self._has_batch():
            self._batch_waits.set()
            self._meters.waiting(self._kind, queued=self._queued)

    async def room(self) -> None:
        """Until the queue is below its bounds."""
        while self._is_full():
            self._drained.clear()
            await self._drained.wait()

    def _is_full(self) -> bool:
        config = self._config
        return self._queued >= config.queue_max or self.queued_bytes >= config.queue_bytes_max

    def _has_batch(self) -> bool:
        config = self._config
        return self._queued >= config.batch_max or self.queued_bytes >= config.batch_bytes_max

    async def run(self) -> None:
        """Until cancelled or the term is over."""
        while True:
            while not self._queue:
                self._filled.clear()
                await self._filled.wait()
            await self._gather()
            oldest = self._queue[0][0]
            items = self._take_batch()
            messages = [message for item in items for message in item.messages]
            await self._send(messages)
            self._queued -= len(messages)
            self.queued_bytes -= sum(item.bytes for item in items)
            self._drained.set()
            if messages:
                self._meters.published(
                    self._kind,
                    messages=len(messages),
                    age_seconds=self._context.clock.monotonic() - oldest,
                    queued=self._queued,
                )
            for item in items:
                self._is_out(item)

    def _take_batch(self) -> list[Item]:
        items: list[Item] = []
        count = size = 0
        while (
            self._queue and count < self._config.batch_max and size < self._config.batch_bytes_max
        ):
            _, item = self._queue.popleft()
            items.append(item)
            count += len(item.messages)
            size += item.bytes
        return items

    async def _gather(self) -> None:
        """At once when idle; in a crowd, wait for others to go out together with what is there."""
        rest = self._publisher.departed_at + GATHER_SECONDS - self._context.clock.monotonic()
        if rest > 0 and not self._has_batch():
            self._batch_waits.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await self._batch_waits.wait()

    async def _send(self, messages: list[Message]) -> None:
        if not messages:
            return
        self._publisher.departed_at = self._context.clock.monotonic()
        offsets = await self._publisher.publish(messages)
        for message, offset in zip(messages, offsets, strict=True):
            end = offset + 1
            if end > self.end_offsets[message.partition]:
                self.end_offsets[message.partition] = end
        self.published += len(messages)

    def _is_out(self, item: Item) -> None:
        for job in item.jobs:
            self._spans.published(job)
        self.reached = item.reached or self.reached
        self.heard_until = max(self.heard_until, item.heard_until)
        if item.completes > self.completed:
            self.completed = item.completes
            self.turned.set()
