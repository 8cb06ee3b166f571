"""The moves of the contract tests: topics and messages in one line, and waiting for what must come."""

import asyncio
import secrets
from collections.abc import Callable, Sequence

from vc.bus import Bus, GroupMember, Reader
from vc.messages.record import Message, Record, TopicPartition
from vc.messages.topics import Split, Topic

WAIT_SECONDS_MAX = 30.0
"""What has not come by then does not come."""
POLL_SECONDS = 0.2
QUIET_SECONDS = 0.6
"""Nothing came for so long: nothing comes."""
DAY_SECONDS = 24 * 3600


def topic(*, compacted: bool = False, single: bool = False) -> Topic:
    """A topic that no other test has."""
    return Topic(
        name=f"contract.{secrets.token_hex(6)}",
        key="any",
        split=Split.SINGLE if single else Split.BY_KEY,
        compacted=compacted,
        retention_seconds=DAY_SECONDS,
        producer="tests",
        consumers=("tests",),
    )


async def new_topic(bus: Bus, *, compacted: bool = False, single: bool = False) -> str:
    """Create one; its name."""
    made = topic(compacted=compacted, single=single)
    await bus.ensure_topics([made])
    return made.name


def group() -> str:
    """A group that no other test has."""
    return f"contract-{secrets.token_hex(6)}"


def message(
    name: str, key: str = "k", value: bytes | None = b"v", *, partition: int = 0
) -> Message:
    """One message with a header."""
    return Message(topic=name, partition=partition, key=key, value=value, headers={"uid": key})


def numbered(name: str, count: int, *, partition: int = 0) -> list[Message]:
    """Messages whose values tell their order."""
    return [message(name, f"k{n}", str(n).encode(), partition=partition) for n in range(count)]


def values(records: Sequence[Record]) -> list[bytes | None]:
    return [record.value for record in records]


def at_start(name: str, *, partitions: int = 1) -> dict[TopicPartition, int]:
    """Positions at the beginning of a topic."""
    return {TopicPartition(name, number): 0 for number in range(partitions)}


async def read(reader: Reader, count: int) -> list[Record]:
    """The next so many records."""
    records: list[Record] = []
    deadline = asyncio.get_running_loop().time() + WAIT_SECONDS_MAX
    while len(records) < count:
        records += await reader.poll(max_records=count, wait_seconds=POLL_SECONDS)
        assert asyncio.get_running_loop().time() < deadline, f"{len(records)} of {count} came"
    return records


async def until_error(reader: Reader | GroupMember, kind: type[Exception]) -> Exception:
    """Poll until it answers with an error of that kind."""
    deadline = asyncio.get_running_loop().time() + WAIT_SECONDS_MAX
    while asyncio.get_running_loop().time() < deadline:
        try:
            await reader.poll(max_records=100, wait_seconds=POLL_SECONDS)
        except kind as error:
            return error
    raise AssertionError(f"no {kind.__name__} came")


class Participant:
    """A member with what it was told in its current generation."""

    def __init__(self, member: GroupMember) -> None:
        self.member = member
        self.records: list[Record] = []
        self.assigned: frozenset[TopicPartition] = frozenset()
        self.generation = 0

    async def poll(self) -> None:
        polled = await self.member.poll(max_records=100, wait_seconds=POLL_SECONDS)
        assert polled.generation >= self.generation, "a generation never goes back"
        if polled.generation != self.generation:
            self.records = []
        self.generation = polled.generation
        self.assigned = polled.assigned
        self.records += polled.records

    @property
    def numbers(self) -> set[int]:
        """The partition numbers it owns."""
        return {at.partition for at in self.assigned}


async def poll_until(
    participants: Sequence[Participant], holds: Callable[[], bool], *, why: str
) -> None:
    """All of them poll side by side until something holds."""
    deadline = asyncio.get_running_loop().time() + WAIT_SECONDS_MAX
    while not holds():
        await asyncio.gather(*(participant.poll() for participant in participants))
        assert asyncio.get_running_loop().time() < deadline, why


async def poll_quietly(participants: Sequence[Participant]) -> None:
    """All of them poll until nothing can come any more."""
    deadline = asyncio.get_running_loop().time() + QUIET_SECONDS
    while asyncio.get_running_loop().time() < deadline:
        await asyncio.gather(*(participant.poll() for participant in participants))
