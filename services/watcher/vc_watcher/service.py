"""The shell: lead, prepare the topics, keep every kind in step, tell how far we are.

One *term* lasts from getting the lease until somebody else has it or until the topics are not what they
were. A lease that runs out and is renewed without another holder ends no term: nothing is published
meanwhile, and then it goes on. Each term starts from what the topics and the API server say, never from
memory.
"""

import asyncio
import os
from typing import Final

from vc_bus import BusError
from vc_cluster import ClusterError
from vc_messages.facts import Stamp
from vc_messages.incarnations import EPOCH_MAX, new_incarnation
from vc_messages.progress import PROGRESS_PERIOD_SECONDS, progress_message
from vc_messages.record import TopicPartition
from vc_messages.topics import ALL, FACTS, PROGRESS
from vc_model.kinds import WATCHED
from vc_runtime.backoff import delay_seconds
from vc_runtime.cluster_uid import read_cluster_uid
from vc_runtime.context import Context
from vc_runtime.leader import Leadership
from vc_runtime.problem_events import tell_problems
from vc_watcher.claims import Claiming, Claims, ForeignTopicsError
from vc_watcher.config import Config
from vc_watcher.guarding import OvertakenError, TopicsGuard
from vc_watcher.kindwatch import KindWatch
from vc_watcher.logic import Index
from vc_watcher.meters import Meters
from vc_watcher.outbox import Publisher, TermOverError
from vc_watcher.reading import read_to_end

LEASE_LOOK_SECONDS: Final = 0.25
OUTGROWN_EPOCHS_MAX: Final = 1000
"""How far a Lease that was deleted may be behind what it counted before."""


class WatcherService:
    """The one reader."""

    name = "watcher"

    def __init__(self, context: Context, config: Config) -> None:
        self._context = context
        self._config = config
        self._leadership = Leadership(context)
        self._meters = Meters(context.metrics)
        self._watches: dict[str, KindWatch] = {}
        self._trouble = "not leading yet"
        self._sequence = 0
        self._claiming = Claiming(context, take_over_from=config.take_over_from)
        self._own_epoch = -1
        """The last one under which this process began to write; -1 when it is spent."""
        self._begin_anew = False
        """The topics hold what cannot be outgrown: the next term gives them another incarnation."""
        self._failures = 0
        """Terms that ended before they told any progress, in a row."""

    def unready(self) -> str:
        """Why the facts may be old."""
        return self._trouble

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
                self._say(_first(ended))
            self._failures += 1
            await self._context.clock.sleep(delay_seconds(self._failures, self._context.chance))

    def _say(self, ended: BaseException) -> None:
        """Why a term ended; topics of another cluster are looked at again and again, and told once."""
        if isinstance(ended, OvertakenError):
            self._own_epoch = -1
        foreign = isinstance(ended, ForeignTopicsError)
        trouble = str(ended) if foreign else f"term over: {ended}"
        if not foreign or trouble != self._trouble:
            self._context.log.warning("%s", trouble)
        self._trouble = trouble

    # -- a term ----------------------------------------------------------------------------------

    async def _term(self) -> None:
        stamp, claims = await self._begin()
        publisher = Publisher(
            self._context,
            may_write=lambda: self._leadership.holds(stamp.epoch),
            regained=lambda: self._leadership.regained(stamp.epoch),
        )
        ends = {topic.name: await self._context.bus.end_offsets(topic.name) for topic in FACTS}
        indices = await self._read_back(stamp, ends)
        told = claims.epoch if claims.incarnation == stamp.incarnation else -1
        await self._outgrow(stamp, indices, told)
        fenced = await self._fence(indices, publisher, ends)
        self._watches = {
            kind.short: KindWatch(
                self._context,
                self._config,
                index=indices[kind.topic],
                publisher=publisher,
                end_offsets=list(fenced[kind.topic]),
                meters=self._meters,
            )
            for kind in WATCHED
        }
        guard = TopicsGuard(
            self._context,
            stamp=stamp,
            indices=indices,
            watches=self._watches,
            publisher=publisher,
            meters=self._meters,
            sequence=self._sequence,
        )
        own = _positions({**fenced, PROGRESS.name: [claims.read_to]})
        async with asyncio.TaskGroup() as group:
            group.create_task(self._guard_lease(stamp))
            group.create_task(tell_problems(self._context))
            group.create_task(self._tell_progress(publisher, guard))
            group.create_task(guard.run(own, strangers=claims.strangers))
            for watch in self._watches.values():
                group.create_task(watch.run())

    async def _begin(self) -> tuple[Stamp, Claims]:
        """What to write under, and what was told there before.

        Epoch from the lease; the topics' incarnation, or a new one when they are new.
        """
        own = await self._cluster_uid()
        claims = await self._claiming.settle(own)
        created = await self._context.bus.ensure_topics(ALL)
        facts = {topic.name for topic in FACTS} | {PROGRESS.name}
        incarnation = "" if self._begin_anew or facts.intersection(created) else claims.incarnation
        if not incarnation:
            incarnation = new_incarnation(own, self._context.chance.getrandbits(64))
            self._context.log.info("the topics begin anew: incarnation %s", incarnation)
        self._begin_anew = False
        if PROGRESS.name in created:
            claims = Claims()
        return Stamp(incarnation=incarnation, epoch=self._leadership.epoch), claims

    async def _cluster_uid(self) -> str:
        try:
            own = await read_cluster_uid(self._context)
        except ClusterError as error:
            raise TermOverError(f"the cluster does not say which it is: {error}") from None
        if not own:
            raise TermOverError("the watcher must be allowed to get the namespace kube-system")
        return own

    async def _read_back(self, stamp: Stamp, ends: dict[str, list[int]]) -> dict[str, Index]:
        """What the topics say, so that only the difference is published."""
        indices: dict[str, Index] = {}
        for kind in WATCHED:
            index = indices[kind.topic] = Index(kind, stamp=stamp)
            async for batch in read_to_end(self._context.bus, kind.topic, ends[kind.topic]):
                for record in batch:
                    index.replay(record)
        return indices

    async def _outgrow(self, stamp: Stamp, indices: dict[str, Index], told: int) -> None:
        """Epochs never go back, even when somebody deletes the Lease that counts them.

        A higher epoch than ours makes readers drop what we write, wherever it stands. One that is so
        high that only somebody else can have written it is not outgrown, since the Lease counts no
        further than 32 bits: the topics begin anew.
        """
        highest = max(told, *(index.highest_epoch for index in indices.values()))
        if highest < stamp.epoch or self._own_epoch == stamp.epoch == highest:
            self._own_epoch = stamp.epoch
            return
        if highest - stamp.epoch > OUTGROWN_EPOCHS_MAX or highest >= EPOCH_MAX:
            self._begin_anew = True
            raise TermOverError(f"epoch {highest} is on the bus, far beyond {stamp.epoch}")
        try:
            await self._leadership.raise_epoch(highest)
        except ClusterError as error:
            raise TermOverError(f"epoch {highest} is on the bus already: {error}") from None
        raise TermOverError(f"epoch {highest} is on the bus already; ours grows beyond it")

    async def _fence(
        self, indices: dict[str, Index], publisher: Publisher, ends: dict[str, list[int]]
    ) -> dict[str, list[int]]:
        """Fence every partition, and read what came in before the fence; where that stands."""
        fenced: dict[str, list[int]] = {}
        for topic, index in indices.items():
            offsets = await publisher.publish(index.fences())
            await self._read_before_fence(index, ends[topic], offsets)
            fenced[topic] = [offset + 1 for offset in offsets]
        return fenced

    async def _read_before_fence(self, index: Index, ends: list[int], offsets: list[int]) -> None:
        """What an older watcher wrote since we read back, and every reader believes."""
        if ends == offsets:
            return
        async for batch in read_to_end(self._context.bus, index.kind.topic, offsets, starts=ends):
            for record in batch:
                index.replay(record)
        if index.highest_epoch > index.stamp.epoch:
            raise TermOverError(f"epoch {index.highest_epoch} writes to {index.kind.topic}")

    # -- what runs beside the kinds --------------------------------------------------------------

    async def _guard_lease(self, stamp: Stamp) -> None:
        """End the term when somebody else has the lease."""
        lease, epoch = self._leadership, stamp.epoch
        while await lease.regained(epoch):
            await self._context.clock.sleep(LEASE_LOOK_SECONDS)
            if not lease.holds(epoch) and not lease.passed_on(epoch):
                self._trouble = "the lease ran out: nothing is published until it is renewed"
                self._context.log.warning(self._trouble)
        raise TermOverError("lost the lease")

    async def _tell_progress(self, publisher: Publisher, guard: TopicsGuard) -> None:
        """About once a second, and at once when a sync ends or a kind loses track."""
        while True:
            self._sequence += 1
            guard.sequence = self._sequence
            watches = self._watches.values()
            progress = [watch.progress(self._sequence) for watch in watches]
            for watch in watches:
                watch.turned.clear()
            await publisher.publish([progress_message(p) for p in progress])
            for watch, told in zip(watches, progress, strict=True):
                watch.told(told)
            self._failures = 0
            waiting = [p.kind for p in progress if not p.synced]
            self._trouble = f"not synced: {', '.join(waiting)}" if waiting else ""
            await self._wait_for_turn_or_period()

    async def _wait_for_turn_or_period(self) -> None:
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
    """The first of what went wrong together: a group of errors says nothing by itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def build(context: Context, config: Config | None = None) -> WatcherService:
    """The service on its adapters."""
    return WatcherService(context, config or Config.from_env(os.environ))
