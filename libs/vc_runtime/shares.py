"""Keeps a view of our share of the partitions fed: for services that split jobs among replicas.

The group only says which partitions are ours. On every change of that, all of ours are materialised
again from their beginnings, silently; when they have passed the barrier, every key in them is to be
reconciled once (`SharedBatch.rebuilt`). Progress is read outside the group, by every member.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from vc_bus import BusError, BusUnavailableError, Member
from vc_messages.codec import CodecError
from vc_messages.record import Record, TopicPartition
from vc_messages.topics import Topic
from vc_messages.view import Change, IncarnationChanged, View
from vc_model.kinds import Kind
from vc_runtime.backoff import delay_seconds
from vc_runtime.context import Context
from vc_runtime.follower import (
    POLL_RECORDS_MAX,
    UNREADY_POLL_SECONDS,
    ProgressReader,
    send_to_dead_letters,
)
from vc_runtime.meters import meter_view

_NO_GENERATION: Final = 0


class SharedBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What one poll brought."""

    changes: list[Change] = []
    records: list[Record] = []
    """Of the extra topics, only what came after we got the partition."""
    rebuilt: bool = False
    """The assignment changed: forget what was derived, reconcile every key when ready."""


class SharedFollower:
    """A view of our partitions of some kinds, kept through a consumer group."""

    def __init__(
        self, context: Context, kinds: Iterable[Kind], *, group: str, extra: Sequence[Topic] = ()
    ) -> None:
        self._context = context
        self._kinds = tuple(kinds)
        self._group = group
        self._extra = frozenset(topic.name for topic in extra)
        self._progress = ProgressReader(context)
        self._member: Member | None = None
        self._generation = _NO_GENERATION
        self._failures = 0
        self._trouble = "not started"
        self.view = View(self._kinds, partitions=())
        meter_view(context, lambda: self.view, name="share")

    def unready(self, partition: int | None = None) -> str:
        """Why nothing may be decided now, in one partition or in any of ours."""
        if self._trouble:
            return self._trouble
        if self._generation == _NO_GENERATION:
            return "no partitions assigned yet"
        partitions = self.view.partitions if partition is None else (partition,)
        return self.view.unready(self._context.clock.monotonic(), partitions=partitions)

    async def poll(self, *, wait_seconds: float = 0.25) -> SharedBatch:
        """What came since the last poll; never raises for a bus that is away or was wiped."""
        try:
            if self._member is None:
                return await self._open()
            await self._progress.poll(self.view)
            wait = min(wait_seconds, UNREADY_POLL_SECONDS) if self.unready() else wait_seconds
            polled = await self._member.poll(max_records=POLL_RECORDS_MAX, wait_seconds=wait)
            rebuilt = polled.generation != self._generation
            if rebuilt:
                await self._start_over(polled.generation, polled.assigned)
            batch = await self._take(polled.records, rebuilt=rebuilt)
            await self._progress.poll(self.view)
        except IncarnationChanged as changed:
            return await self._forget(f"topics were born anew: {changed}")
        except BusUnavailableError as error:
            await self._wait_out(f"bus away: {error}")
            return SharedBatch()
        except BusError as error:
            return await self._forget(f"topics are not what they were: {error}")
        self._failures = 0
        self._trouble = ""
        return batch

    async def commit(self) -> None:
        """Everything taken so far has had its effect."""
        if self._member is not None:
            await self._member.commit(dict(self.view.positions))

    async def _open(self) -> SharedBatch:
        await self._progress.close()
        self.view = View(self._kinds, partitions=())
        await self._progress.open(self.view)
        if self.view.incarnation is None:
            await self._wait_out("no progress on the bus yet")
            return SharedBatch(rebuilt=True)
        facts = [kind.topic for kind in self._kinds]
        self._generation = _NO_GENERATION
        self._member = await self._context.bus.member(
            self._group, facts + sorted(self._extra), from_start=facts, from_end=self._extra
        )
        self._trouble = ""
        return SharedBatch(rebuilt=True)

    async def _start_over(self, generation: int, assigned: frozenset[TopicPartition]) -> None:
        """A fresh view of what is ours now; progress is read again, since it lives in the view."""
        self._generation = generation
        ours = sorted({log.partition for log in assigned})
        self._context.log.info("generation %d: partitions %s", generation, ours)
        self.view = View(self._kinds, partitions=ours)
        await self._progress.close()
        await self._progress.open(self.view)

    async def _take(self, records: list[Record], *, rebuilt: bool) -> SharedBatch:
        changes: list[Change] = []
        others: list[Record] = []
        now = self._context.clock.monotonic()
        for record in records:
            if record.topic in self._extra:
                self.view.positions[record.log] = record.offset + 1
                others.append(record)
                continue
            try:
                change = self.view.apply(record, received_at=now, live=True)
            except CodecError as error:
                await send_to_dead_letters(self._context, record, error)
                continue
            if change is not None:
                changes.append(change)
        return SharedBatch(changes=changes, records=others, rebuilt=rebuilt)

    async def _forget(self, why: str) -> SharedBatch:
        self._context.log.warning("view thrown away: %s", why)
        await self.close()
        self.view = View(self._kinds, partitions=())
        await self._wait_out(why)
        return SharedBatch(rebuilt=True)

    async def _wait_out(self, why: str) -> None:
        self._failures += 1
        self._trouble = why
        await self._context.clock.sleep(delay_seconds(self._failures, self._context.chance))

    async def close(self) -> None:
        """Leave the group."""
        await self._progress.close()
        if self._member is not None:
            await self._member.close()
            self._member = None
