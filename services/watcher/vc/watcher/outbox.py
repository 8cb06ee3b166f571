"""The publishing half of a kind: a bounded queue that is emptied in few, large publishes.

`put` never waits, so messages are published in the order in which the index returned them,
whichever task called it. A task calls `wait_for_space` after its `put`, so the queue holds at most
its bound plus one item per task. A version of the API server is reported as reached (`reached`)
only after the bus has acknowledged the messages up to it.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import msgspec

from vc.bus import BusUnavailableError
from vc.messages.record import Message
from vc.model.api.job import Job
from vc.model.values.backoff import delay_seconds
from vc.runtime.hosting.context import Context
from vc.watcher.config import Config
from vc.watcher.metrics import WatcherMetrics
from vc.watcher.spans import JobSpans

GATHER_SECONDS: Final = 0.02
"""Minimum interval between two publishes, over all kinds.

Each publish costs the broker, the watcher and every reader a round trip, however small it is. The
interval is below the debounce of the scheduler, so the delay has no effect.
"""

NEVER: Final = float("-inf")


class TermOverError(Exception):
    """Another replica may lead: stop writing and start a new term."""


class Publisher:
    """Publishes during one term; raises TermOverError when the term is over.

    While the lease has run out and no other replica holds it, publishes wait. What was read is
    kept, and nothing is listed or published again after the lease is renewed.
    """

    def __init__(
        self,
        context: Context,
        *,
        may_write: Callable[[], bool],
        regained: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """Prepare a publisher; `regained` waits for a lease that ran out.

        Without `regained` the term ends when the lease runs out.
        """
        self._context = context
        self._may_write = may_write
        self._regained = regained
        self.last_publish_at = NEVER
        """Time of the last publish of any kind; monotonic.

        Kinds that wait for the next publish are sent at the same moment, so that readers wake up
        once.
        """

    async def publish(self, messages: list[Message]) -> list[int]:
        """Publish and wait for the acknowledgement; retries while the bus is away."""
        attempt = 0
        while True:
            # The lease is checked before every attempt, because the bus may have been away for
            # long.
            while not self._may_write():
                if self._regained is None or not await self._regained():
                    raise TermOverError("lost the lease")
            try:
                return await self._context.bus.publish(messages)
            except BusUnavailableError as error:
                attempt += 1
                self._context.log.warning(
                    "bus unavailable, will retry messages=%d error=%s", len(messages), error
                )
                await self._context.clock.sleep(delay_seconds(attempt, self._context.rng))


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """Messages, and what holds after they are published."""

    messages: list[Message] = []
    reached: str = ""
    """Version that the API server had reached with them; empty for none."""
    completes: int = 0
    """Number of the sync that ends with them; 0 for none."""
    heard_until: float = NEVER
    """Time until which the kind counts as followed after these messages; monotonic."""
    jobs: list[Job] = []
    """Jobs whose spans are exported after the publish."""

    @property
    def bytes(self) -> int:
        """Total size of the values."""
        return sum(len(message.value or b"") for message in self.messages)


class Outbox:
    """Messages of one kind that wait for the bus."""

    def __init__(
        self,
        context: Context,
        config: Config,
        *,
        kind: str,
        publisher: Publisher,
        end_offsets: list[int],
        metrics: WatcherMetrics,
        spans: JobSpans,
    ) -> None:
        self._context = context
        self._config = config
        self._kind = kind
        self._publisher = publisher
        self._metrics = metrics
        self._spans = spans
        self.end_offsets = end_offsets
        """Offset after the last acknowledged message, by partition."""
        self.published = 0
        """Number of messages that the bus has acknowledged."""
        self.reached = ""
        self.completed = 0
        """Number of the last sync whose difference is published."""
        self.heard_until = NEVER
        """The kind counts as followed until this time; monotonic."""
        self.turned = asyncio.Event()
        """Set when a sync is complete; cleared by the task that publishes progress."""
        self._queue: deque[tuple[float, Item]] = deque()
        """Items with the time of their arrival; monotonic."""
        self._queued = 0
        self.queued_bytes = 0
        """Size of the values that are queued or being published."""
        self._filled = asyncio.Event()
        self._drained = asyncio.Event()
        self._batch_waits = asyncio.Event()

    def put(self, item: Item) -> None:
        """Append an item; the caller must then call `wait_for_space`."""
        self._queue.append((self._context.clock.monotonic(), item))
        self._queued += len(item.messages)
        self.queued_bytes += item.bytes
        self._filled.set()
        if self._has_batch():
            self._batch_waits.set()
            self._metrics.waiting(self._kind, queued=self._queued)

    async def wait_for_space(self) -> None:
        """Wait until the queue is below its bounds."""
        while self._is_full():
            self._drained.clear()
            await self._drained.wait()

    def _is_full(self) -> bool:
        """Whether the queue has reached one of its bounds."""
        config = self._config
        return self._queued >= config.queue_max or self.queued_bytes >= config.queue_bytes_max

    def _has_batch(self) -> bool:
        """Whether the queue holds enough for a full publish."""
        config = self._config
        return self._queued >= config.batch_max or self.queued_bytes >= config.batch_bytes_max

    async def run(self) -> None:
        """Publish until cancelled or the term ends."""
        while True:
            while not self._queue:
                self._filled.clear()
                await self._filled.wait()
            await self._gather()
            oldest = self._queue[0][0]
            items = self._take_batch()
            messages = [message for item in items for message in item.messages]
            await self._send(messages)
            # The counts include messages that are being published, so that back-pressure applies to
            # them, too.
            self._queued -= len(messages)
            self.queued_bytes -= sum(item.bytes for item in items)
            self._drained.set()
            if messages:
                self._metrics.published(
                    self._kind,
                    messages=len(messages),
                    age_seconds=self._context.clock.monotonic() - oldest,
                    queued=self._queued,
                )
            for item in items:
                self._is_out(item)

    def _take_batch(self) -> list[Item]:
        """Remove items from the queue, up to the bounds of one publish."""
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
        """Publish at once when idle; under load, wait so that more messages share the publish."""
        rest = self._publisher.last_publish_at + GATHER_SECONDS - self._context.clock.monotonic()
        # A full batch gains nothing from waiting.
        if rest > 0 and not self._has_batch():
            self._batch_waits.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await self._batch_waits.wait()

    async def _send(self, messages: list[Message]) -> None:
        """Publish the messages and update the end offsets."""
        if not messages:
            return
        self._publisher.last_publish_at = self._context.clock.monotonic()
        offsets = await self._publisher.publish(messages)
        for message, offset in zip(messages, offsets, strict=True):
            end = offset + 1
            # The order of offsets within a publish is not guaranteed; the largest one counts.
            if end > self.end_offsets[message.partition]:
                self.end_offsets[message.partition] = end
        self.published += len(messages)

    def _is_out(self, item: Item) -> None:
        """Apply what holds after an item was published."""
        for job in item.jobs:
            self._spans.published(job)
        self.reached = item.reached or self.reached
        # Items without an answer of the API server carry `NEVER` and must not revoke an earlier
        # one.
        self.heard_until = max(self.heard_until, item.heard_until)
        if item.completes > self.completed:
            self.completed = item.completes
            self.turned.set()
