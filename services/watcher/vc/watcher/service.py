"""The watcher service: leads, prepares the topics, follows every kind, and publishes progress.

A *term* lasts from acquiring the lease until another replica has it, or until the topics have
changed unexpectedly. A lease that runs out and is renewed without another holder does not end the
term: nothing is published meanwhile, and then the term continues. Each term starts from the topics
and the API server, never from memory.
"""

import asyncio
import os
from typing import Final

from vc.bus import BusError
from vc.cluster import ClusterError
from vc.messages.facts import Stamp
from vc.messages.incarnations import EPOCH_MAX, new_incarnation
from vc.messages.progress import PROGRESS_PERIOD_SECONDS, progress_message
from vc.messages.record import TopicPartition
from vc.messages.topics import ALL, FACTS, PROGRESS
from vc.model.api.kinds import WATCHED
from vc.model.values.backoff import delay_seconds
from vc.runtime.consuming.problem_events import report_problems
from vc.runtime.hosting.cluster_uid import read_cluster_uid
from vc.runtime.hosting.context import Context
from vc.runtime.leading.election import Leadership
from vc.watcher.config import Config
from vc.watcher.kindwatch import KindWatch
from vc.watcher.logic import Index
from vc.watcher.metrics import WatcherMetrics
from vc.watcher.outbox import Publisher, TermOverError
from vc.watcher.topic_owner import ForeignTopicsError, OwnershipCheck, TopicOwnership
from vc.watcher.topic_reader import read_to_end
from vc.watcher.topics_guard import StampReusedError, TopicsGuard

LEASE_CHECK_SECONDS: Final = 0.25
"""Interval between two checks of the lease."""
EPOCH_GAP_MAX: Final = 1000
"""Maximum distance by which a deleted and recreated Lease may be behind the epochs on the bus."""


class WatcherService:
    """The one reader of the API server."""

    name = "watcher"

    def __init__(self, context: Context, config: Config) -> None:
        self._context = context
        self._config = config
        self._leadership = Leadership(context)
        self._metrics = WatcherMetrics(context.metrics)
        self._watches: dict[str, KindWatch] = {}
        self._unready_reason = "not leading yet"
        self._sequence = 0
        self._ownership_check = OwnershipCheck(context, take_over_from=config.take_over_from)
        self._own_epoch = -1
        """Last epoch under which this process began to write; -1 when it must not be used again."""
        self._needs_new_incarnation = False
        """Whether the next term needs a new incarnation; an epoch on the bus cannot be exceeded."""
        self._failures = 0
        """Consecutive terms that ended before they published any progress."""

    def unready(self) -> str:
        """Return why facts may be outdated; empty when they are not."""
        return self._unready_reason

    async def run(self) -> None:
        """Lead, and start a new term whenever one ends."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._leadership.run())
            group.create_task(self._serve())

    async def _serve(self) -> None:
        while True:
            await self._leadership.wait_until_leading()
            try:
                await self._term()
            except* (TermOverError, BusError) as ended:
                self._log_term_end(_first(ended))
            # Every end of a term counts, so that a term that fails at once does not loop without a
            # pause.
            self._failures += 1
            await self._context.clock.sleep(delay_seconds(self._failures, self._context.rng))

    def _log_term_end(self, ended: BaseException) -> None:
        """Log why a term ended.

        Topics of another cluster are checked repeatedly, but logged once.
        """
        if isinstance(ended, StampReusedError):
            self._own_epoch = -1
        foreign = isinstance(ended, ForeignTopicsError)
        reason = str(ended) if foreign else f"term over: {ended}"
        if not foreign or reason != self._unready_reason:
            self._context.log.warning("term over reason=%s", ended)
        self._unready_reason = reason

    # -- a term ----------------------------------------------------------------------------------

    async def _term(self) -> None:
        """Run one term: read the topics back, fence them, then follow all kinds."""
        stamp, owner = await self._begin()
        publisher = Publisher(
            self._context,
            may_write=lambda: self._leadership.holds(stamp.epoch),
            regained=lambda: self._leadership.regained(stamp.epoch),
        )
        # The order matters. The topics are read back first, so that only differences are published.
        # The epoch must exceed all others before the fences are written. After the fences no older
        # watcher can change what readers accept.
        ends = {topic.name: await self._context.bus.end_offsets(topic.name) for topic in FACTS}
        indices = await self._read_back(stamp, ends)
        published = owner.epoch if owner.incarnation == stamp.incarnation else -1
        await self._raise_epoch_above(stamp, indices, published)
        fenced = await self._fence(indices, publisher, ends)
        self._watches = {
            kind.short: KindWatch(
                self._context,
                self._config,
                index=indices[kind.topic],
                publisher=publisher,
                end_offsets=list(fenced[kind.topic]),
                metrics=self._metrics,
            )
            for kind in WATCHED
        }
        guard = TopicsGuard(
            self._context,
            stamp=stamp,
            indices=indices,
            watches=self._watches,
            publisher=publisher,
            metrics=self._metrics,
            sequence=self._sequence,
        )
        own = _positions({**fenced, PROGRESS.name: [owner.read_to]})
        async with asyncio.TaskGroup() as group:
            group.create_task(self._guard_lease(stamp))
            group.create_task(report_problems(self._context))
            group.create_task(self._publish_progress(publisher, guard))
            group.create_task(guard.run(own, unknown_keys=owner.unknown_keys))
            for watch in self._watches.values():
                group.create_task(watch.run())

    async def _begin(self) -> tuple[Stamp, TopicOwnership]:
        """Return the stamp of the term and the ownership of the topics.

        The epoch comes from the lease. The incarnation is that of the topics, or a new one for new
        topics.
        """
        own = await self._cluster_uid()
        owner = await self._ownership_check.check(own)
        created = await self._context.bus.ensure_topics(ALL)
        # A topic that had to be created is new or was wiped. Readers with old offsets must start again, which
        # a new incarnation makes them do.
        facts = {topic.name for topic in FACTS} | {PROGRESS.name}
        incarnation = (
            "" if self._needs_new_incarnation or facts.intersection(created) else owner.incarnation
        )
        if not incarnation:
            incarnation = new_incarnation(own, self._context.rng.getrandbits(64))
            self._context.log.info("topics get a new incarnation incarnation=%s", incarnation)
        self._needs_new_incarnation = False
        if PROGRESS.name in created:
            owner = TopicOwnership()
        return Stamp(incarnation=incarnation, epoch=self._leadership.epoch), owner

    async def _cluster_uid(self) -> str:
        """Return the uid of the cluster, which is that of the namespace kube-system."""
        try:
            own = await read_cluster_uid(self._context)
        except ClusterError as error:
            raise TermOverError(f"the cluster does not say which it is: {error}") from None
        if not own:
            raise TermOverError("the watcher must be allowed to get the namespace kube-system")
        return own

    async def _read_back(self, stamp: Stamp, ends: dict[str, list[int]]) -> dict[str, Index]:
        """Read the topics, so that only the difference is published."""
        indices: dict[str, Index] = {}
        for kind in WATCHED:
            index = indices[kind.topic] = Index(kind, stamp=stamp)
            async for batch in read_to_end(self._context.bus, kind.topic, ends[kind.topic]):
                for record in batch:
                    index.replay(record)
        return indices

    async def _raise_epoch_above(
        self, stamp: Stamp, indices: dict[str, Index], published: int
    ) -> None:
        """Ensure that our epoch is above all epochs on the topics.

        Epochs never decrease, even if the Lease that counts them was deleted. Readers drop our
        records as long as a higher epoch is on a topic. An epoch that is so high that only another
        writer can have written it is not exceeded, because the Lease counts in 32 bits. The topics
        get a new incarnation instead.
        """
        highest = max(published, *(index.highest_epoch for index in indices.values()))
        # An equal epoch is accepted only if this process wrote it: the lease was held all the time.
        if highest < stamp.epoch or self._own_epoch == stamp.epoch == highest:
            self._own_epoch = stamp.epoch
            return
        if highest - stamp.epoch > EPOCH_GAP_MAX or highest >= EPOCH_MAX:
            self._needs_new_incarnation = True
            raise TermOverError(f"epoch {highest} is on the bus, far beyond {stamp.epoch}")
        try:
            await self._leadership.raise_epoch(highest)
        except ClusterError as error:
            raise TermOverError(f"epoch {highest} is on the bus already: {error}") from None
        # The new epoch counts from the next term on, which reads the topics again.
        raise TermOverError(f"epoch {highest} is on the bus already; ours is raised above it")

    async def _fence(
        self, indices: dict[str, Index], publisher: Publisher, ends: dict[str, list[int]]
    ) -> dict[str, list[int]]:
        """Fence every partition, read what precedes the fence, and return the offsets after it."""
        fenced: dict[str, list[int]] = {}
        for topic, index in indices.items():
            offsets = await publisher.publish(index.fences())
            await self._read_before_fence(index, ends[topic], offsets)
            fenced[topic] = [offset + 1 for offset in offsets]
        return fenced

    async def _read_before_fence(self, index: Index, ends: list[int], offsets: list[int]) -> None:
        """Read what an older watcher wrote since the read-back; readers accept it."""
        # No record was written between the read-back and the fences.
        if ends == offsets:
            return
        async for batch in read_to_end(self._context.bus, index.kind.topic, offsets, starts=ends):
            for record in batch:
                index.replay(record)
        if index.highest_epoch > index.stamp.epoch:
            raise TermOverError(f"epoch {index.highest_epoch} writes to {index.kind.topic}")

    # -- lease and progress ----------------------------------------------------------------------

    async def _guard_lease(self, stamp: Stamp) -> None:
        """End the term when another replica has the lease."""
        lease, epoch = self._leadership, stamp.epoch
        while await lease.regained(epoch):
            await self._context.clock.sleep(LEASE_CHECK_SECONDS)
            if not lease.holds(epoch) and not lease.passed_on(epoch):
                self._unready_reason = "the lease ran out: nothing is published until it is renewed"
                self._context.log.warning("lease ran out, publishing waits epoch=%d", epoch)
        raise TermOverError("lost the lease")

    async def _publish_progress(self, publisher: Publisher, guard: TopicsGuard) -> None:
        """Publish progress every second, and at once when a kind becomes synced or loses track."""
        while True:
            self._sequence += 1
            guard.sequence = self._sequence
            watches = self._watches.values()
            progress = [watch.progress(self._sequence) for watch in watches]
            for watch in watches:
                # Cleared before the publish: a change during it leads to another publish at once.
                watch.turned.clear()
            await publisher.publish([progress_message(p) for p in progress])
            for watch, published in zip(watches, progress, strict=True):
                watch.progress_published(published)
            self._failures = 0
            waiting = [p.kind for p in progress if not p.synced]
            self._unready_reason = f"not synced: {', '.join(waiting)}" if waiting else ""
            await self._wait_for_turn_or_period()

    async def _wait_for_turn_or_period(self) -> None:
        """Wait until a kind turns, or for one period."""
        waiters = [asyncio.ensure_future(watch.turned.wait()) for watch in self._watches.values()]
        try:
            await asyncio.wait(
                waiters,
                timeout=PROGRESS_PERIOD_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            for waiter in waiters:
                waiter.cancel()


def _positions(ends: dict[str, list[int]]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, partition): offset
        for topic, offsets in ends.items()
        for partition, offset in enumerate(offsets)
    }


def _first(error: BaseException) -> BaseException:
    """Return the first error of nested groups; a group has no useful message."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def build(context: Context, config: Config | None = None) -> WatcherService:
    """Return the service with its configuration from the environment."""
    return WatcherService(context, config or Config.from_env(os.environ))
