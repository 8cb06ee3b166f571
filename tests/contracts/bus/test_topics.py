"""Topics: made once, verified always, and noticed when they are wiped."""

import asyncio

import msgspec
import pytest

from tests.contracts.bus.backends import Backend
from tests.contracts.bus.steps import (
    Participant,
    at_start,
    group,
    message,
    new_topic,
    numbered,
    poll_until,
    read,
    topic,
    until_error,
    values,
)
from vc.bus import Bus, BusError, TopicMismatchError, TopicMissingError
from vc.messages.topics import Split, Topic


class Mismatch(msgspec.Struct, frozen=True):
    """A declaration that differs from the topic that is there."""

    id: str
    change: dict[str, object]
    names: str


MISMATCHES = [
    Mismatch("another policy", {"compacted": False}, "compact"),
    Mismatch("another retention", {"retention_seconds": 60}, "retention"),
    Mismatch("other partitions", {"split": Split.SINGLE}, "partitions"),
]


async def test_topics_are_made_once(bus: Bus) -> None:
    wanted = [topic(), topic(compacted=True), topic(single=True)]
    names = [made.name for made in wanted]
    assert await bus.missing_topics(wanted) == names
    assert await bus.ensure_topics(wanted) == names
    assert await bus.missing_topics(wanted) == []
    assert await bus.ensure_topics(wanted) == []
    assert len(await bus.end_offsets(names[0])) == 12
    assert len(await bus.end_offsets(names[2])) == 1


async def test_only_what_is_missing_is_made(bus: Bus) -> None:
    old, new = topic(), topic()
    await bus.ensure_topics([old])
    await bus.publish(numbered(old.name, 2))
    assert await bus.ensure_topics([old, new]) == [new.name]
    assert (await bus.end_offsets(old.name))[0] == 2


async def test_two_who_make_the_same_topics_at_once_both_succeed(bus: Bus) -> None:
    wanted = [topic(), topic()]
    made = await asyncio.gather(bus.ensure_topics(wanted), bus.ensure_topics(wanted))
    assert await bus.missing_topics(wanted) == []
    assert {name for names in made for name in names} == {t.name for t in wanted}


@pytest.mark.parametrize("case", MISMATCHES, ids=lambda case: case.id)
async def test_a_topic_that_is_not_as_declared_is_refused(bus: Bus, case: Mismatch) -> None:
    declared = topic(compacted=True)
    await bus.ensure_topics([declared])
    other: Topic = msgspec.structs.replace(declared, **case.change)
    with pytest.raises(TopicMismatchError, match=rf"{declared.name}.*{case.names}"):
        await bus.ensure_topics([other])


async def test_a_wiped_topic_is_noticed_by_its_reader(backend: Backend) -> None:
    bus = backend.bus
    name = await new_topic(bus)
    await bus.publish(numbered(name, 3))
    reader = await bus.reader(at_start(name))
    await read(reader, 3)
    await backend.delete_topics([name])
    assert name in str(await until_error(reader, TopicMissingError))
    await reader.close()


async def test_a_wipe_of_one_of_many_topics_is_noticed(backend: Backend) -> None:
    bus = backend.bus
    names = [await new_topic(bus) for _ in range(3)]
    reader = await bus.reader({at: 0 for name in names for at in at_start(name, partitions=12)})
    await bus.publish([message(names[0])])
    await read(reader, 1)
    await backend.delete_topics([names[1]])
    await until_error(reader, TopicMissingError)
    await reader.close()


async def test_a_wiped_topic_is_noticed_by_a_waiting_poll(backend: Backend) -> None:
    bus = backend.bus
    name = await new_topic(bus)
    reader = await bus.reader(at_start(name))
    waiting = asyncio.ensure_future(reader.poll(max_records=10, wait_seconds=25))
    await asyncio.sleep(0.2)
    await backend.delete_topics([name])
    with pytest.raises(TopicMissingError):
        await asyncio.wait_for(waiting, 20)
    await reader.close()


async def test_a_wiped_topic_is_noticed_by_a_member(backend: Backend) -> None:
    bus = backend.bus
    name = await new_topic(bus)
    participant = Participant(await bus.member(group(), [name]))
    await poll_until([participant], lambda: bool(participant.assigned), why="no assignment")
    await backend.delete_topics([name])
    await until_error(participant.member, TopicMissingError)
    await participant.member.close()


async def test_a_wiped_topic_takes_no_messages_until_it_is_made_again(backend: Backend) -> None:
    bus = backend.bus
    made = topic(compacted=True)
    await bus.ensure_topics([made])
    await bus.publish(numbered(made.name, 3))
    await backend.delete_topics([made.name])
    with pytest.raises(TopicMissingError, match=made.name):
        await bus.publish([message(made.name)])
    assert await bus.missing_topics([made]) == [made.name]
    assert await bus.ensure_topics([made]) == [made.name]
    assert await bus.publish([message(made.name, value=b"reborn")]) == [0]
    reader = await bus.reader(at_start(made.name))
    assert values(await read(reader, 1)) == [b"reborn"]
    await reader.close()


async def test_a_topic_that_was_wiped_and_made_again_is_another_log(backend: Backend) -> None:
    bus = backend.bus
    made = topic()
    await bus.ensure_topics([made])
    await bus.publish(numbered(made.name, 5))
    reader = await bus.reader(at_start(made.name))
    await read(reader, 5)
    await backend.delete_topics([made.name])
    await bus.ensure_topics([made])
    await bus.publish([message(made.name)])
    await until_error(reader, BusError)
    await reader.close()


async def test_commits_die_with_the_topic(backend: Backend) -> None:
    bus, name_of_group = backend.bus, group()
    made = topic()
    await bus.ensure_topics([made])
    await bus.publish(numbered(made.name, 5))
    first = Participant(await bus.member(name_of_group, [made.name]))
    await poll_until([first], lambda: len(first.records) == 5, why="not read")
    await first.member.commit({at: 5 for at in first.assigned if at.partition == 0})
    await first.member.close()
    await backend.delete_topics([made.name])
    await bus.ensure_topics([made])
    await bus.publish(numbered(made.name, 2))
    second = Participant(await bus.member(name_of_group, [made.name]))
    await poll_until([second], lambda: len(second.records) == 2, why="not read from the start")
    await second.member.close()
