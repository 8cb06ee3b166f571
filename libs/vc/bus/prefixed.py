"""A bus whose topics and groups have a prefix, so that several clusters can share one Kafka.

Our code uses names without the prefix; only the broker and error messages have the full names.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from vc.bus.interface import Bus, GroupMember, Polled, Reader
from vc.messages.record import Message, Record, TopicPartition
from vc.messages.topics import Topic


def forbidden_on(bus: Bus) -> str:
    """Which publish the ACLs of that bus deny; empty if none."""
    return str(getattr(bus, "forbidden", ""))


class PrefixedBus:
    """A bus whose topics and groups have a prefix. Callers see only the names without it."""

    def __init__(self, bus: Bus, prefix: str) -> None:
        self._bus = bus
        self._names = _Names(prefix)

    async def ensure_topics(self, topics: Iterable[Topic]) -> list[str]:
        created = await self._bus.ensure_topics(self._names.topics(topics))
        return [self._names.inner(name) for name in created]

    async def missing_topics(self, topics: Iterable[Topic]) -> list[str]:
        missing = await self._bus.missing_topics(self._names.topics(topics))
        return [self._names.inner(name) for name in missing]

    async def publish(self, messages: Sequence[Message]) -> list[int]:
        outer = self._names.outer
        renamed = [msgspec.structs.replace(m, topic=outer(m.topic)) for m in messages]
        return await self._bus.publish(renamed)

    async def start_offsets(self, topic: str) -> list[int]:
        return await self._bus.start_offsets(self._names.outer(topic))

    async def end_offsets(self, topic: str) -> list[int]:
        return await self._bus.end_offsets(self._names.outer(topic))

    async def reader(self, positions: Mapping[TopicPartition, int]) -> Reader:
        return _PrefixedReader(
            await self._bus.reader(self._names.outer_logs(positions)), self._names
        )

    async def member(
        self,
        group: str,
        topics: Sequence[str],
        *,
        from_start: Iterable[str] = (),
        from_end: Iterable[str] = (),
    ) -> GroupMember:
        outer = self._names.outer
        member = await self._bus.member(
            # In a common group every rebalance of one cluster would interrupt the other.
            outer(group),
            [outer(topic) for topic in topics],
            from_start=[outer(topic) for topic in from_start],
            from_end=[outer(topic) for topic in from_end],
        )
        return _PrefixedMember(member, self._names)

    async def lag(self, group: str, topics: Sequence[str]) -> dict[TopicPartition, int]:
        outer = self._names.outer
        found = await self._bus.lag(outer(group), [outer(topic) for topic in topics])
        return self._names.inner_logs(found)

    @property
    def forbidden(self) -> str:
        return forbidden_on(self._bus)

    async def close(self) -> None:
        await self._bus.close()


class _Names:
    """Maps between our names and the broker's."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def outer(self, name: str) -> str:
        return self._prefix + name

    def inner(self, name: str) -> str:
        return name.removeprefix(self._prefix)

    def topics(self, topics: Iterable[Topic]) -> list[Topic]:
        return [msgspec.structs.replace(t, name=self.outer(t.name)) for t in topics]

    def outer_logs(self, positions: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        return {TopicPartition(self.outer(t), p): at for (t, p), at in positions.items()}

    def inner_logs(self, positions: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        return {TopicPartition(self.inner(t), p): at for (t, p), at in positions.items()}

    def records(self, records: Iterable[Record]) -> list[Record]:
        return [msgspec.structs.replace(r, topic=self.inner(r.topic)) for r in records]


class _PrefixedReader:
    """A reader whose records have the names of topics without the prefix."""

    def __init__(self, reader: Reader, names: _Names) -> None:
        self._reader = reader
        self._names = names

    async def poll(self, *, max_records: int, wait_seconds: float) -> list[Record]:
        records = await self._reader.poll(max_records=max_records, wait_seconds=wait_seconds)
        return self._names.records(records)

    def positions(self) -> dict[TopicPartition, int]:
        return self._names.inner_logs(self._reader.positions())

    async def close(self) -> None:
        await self._reader.close()


class _PrefixedMember:
    """A group member whose records and partitions have the names without the prefix."""

    def __init__(self, member: GroupMember, names: _Names) -> None:
        self._member = member
        self._names = names

    async def poll(self, *, max_records: int, wait_seconds: float) -> Polled:
        polled = await self._member.poll(max_records=max_records, wait_seconds=wait_seconds)
        return Polled(
            records=self._names.records(polled.records),
            assigned=frozenset(
                TopicPartition(self._names.inner(topic), p) for topic, p in polled.assigned
            ),
            generation=polled.generation,
        )

    async def commit(self, positions: Mapping[TopicPartition, int]) -> None:
        await self._member.commit(self._names.outer_logs(positions))

    async def close(self) -> None:
        await self._member.close()
