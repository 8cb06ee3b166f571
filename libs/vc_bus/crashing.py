"""Crash points: before and after every call to a bus, numbered, so that a test can enumerate them.

A reliability test runs once to count the points, then once more for every point and crashes there
(reliability 2). *Before* a call nothing has happened; *after* it everything has, and nobody was
told. `CrashingBus` wraps one service's bus, so one service crashes and the others go on. The same
`CrashPoints` may be shared with wrappers of the other adapters: they take any `reach`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from vc_bus.interface import Bus, Member, Polled, Reader
from vc_messages.record import Message, Record, TopicPartition
from vc_messages.topics import Topic

Reach = Callable[[str], None]
"""Told the name of each point; raises to crash there."""


class SimulatedCrash(BaseException):
    """The service died here. No `except Exception` sees it, as none would see a SIGKILL."""


class CrashPoints:
    """Counts points, and crashes at one of them."""

    def __init__(self, *, crash_at: int | None = None) -> None:
        self.names: list[str] = []
        """Of the points that were reached, in order."""
        self._crash_at = crash_at

    def reach(self, name: str) -> None:
        number = len(self.names)
        self.names.append(name)
        if number == self._crash_at:
            raise SimulatedCrash(f"point {number}: {name}")


class CrashingReader:
    """A reader with crash points around its polls."""

    def __init__(self, reader: Reader, reach: Reach) -> None:
        self._reader = reader
        self._reach = reach

    async def poll(self, *, max_records: int, wait_seconds: float) -> list[Record]:
        self._reach("reader.poll before")
        records = await self._reader.poll(max_records=max_records, wait_seconds=wait_seconds)
        self._reach("reader.poll after")
        return records

    def positions(self) -> dict[TopicPartition, int]:
        return self._reader.positions()

    async def close(self) -> None:
        await self._reader.close()


class CrashingMember:
    """A member with crash points around polls and commits."""

    def __init__(self, member: Member, reach: Reach) -> None:
        self._member = member
        self._reach = reach

    async def poll(self, *, max_records: int, wait_seconds: float) -> Polled:
        self._reach("member.poll before")
        polled = await self._member.poll(max_records=max_records, wait_seconds=wait_seconds)
        self._reach("member.poll after")
        return polled

    async def commit(self, positions: Mapping[TopicPartition, int]) -> None:
        self._reach("member.commit before")
        await self._member.commit(positions)
        self._reach("member.commit after")

    async def close(self) -> None:
        await self._member.close()


class CrashingBus:
    """Any bus, with crash points around every call that has an effect or brings news."""

    def __init__(self, bus: Bus, reach: Reach) -> None:
        self._bus = bus
        self._reach = reach

    async def ensure_topics(self, topics: Iterable[Topic]) -> list[str]:
        self._reach("bus.ensure_topics before")
        created = await self._bus.ensure_topics(topics)
        self._reach("bus.ensure_topics after")
        return created

    async def missing_topics(self, topics: Iterable[Topic]) -> list[str]:
        return await self._bus.missing_topics(topics)

    async def publish(self, messages: Sequence[Message]) -> list[int]:
        self._reach("bus.publish before")
        offsets = await self._bus.publish(messages)
        self._reach("bus.publish after")
        return offsets

    async def start_offsets(self, topic: str) -> list[int]:
        return await self._bus.start_offsets(topic)

    async def end_offsets(self, topic: str) -> list[int]:
        return await self._bus.end_offsets(topic)

    async def reader(self, positions: Mapping[TopicPartition, int]) -> Reader:
        return CrashingReader(await self._bus.reader(positions), self._reach)

    async def member(
        self,
        group: str,
        topics: Sequence[str],
        *,
        from_start: Iterable[str] = (),
        from_end: Iterable[str] = (),
    ) -> Member:
        self._reach("bus.member before")
        member = await self._bus.member(group, topics, from_start=from_start, from_end=from_end)
        self._reach("bus.member after")
        return CrashingMember(member, self._reach)

    async def lag(self, group: str, topics: Sequence[str]) -> dict[TopicPartition, int]:
        return await self._bus.lag(group, topics)

    async def close(self) -> None:
        await self._bus.close()
