"""Two prefixes on one bus: neither sees the other's topics, nor takes the other's share of a group."""

import secrets

from tests.contracts.bus.backends import Backend
from tests.contracts.bus.steps import WAIT_SECONDS_MAX, message, topic
from vc.bus.prefixed import PrefixedBus
from vc.messages.record import Record, TopicPartition


async def test_two_prefixes_do_not_meet(backend: Backend) -> None:
    declared = topic()
    one, two = (PrefixedBus(backend.bus, f"{name}-{secrets.token_hex(3)}.") for name in "ab")
    assert await one.ensure_topics([declared]) == [declared.name]
    assert await two.missing_topics([declared]) == [declared.name]
    assert await two.ensure_topics([declared]) == [declared.name]
    assert await backend.bus.missing_topics([declared]) == [declared.name]
    await one.publish([message(declared.name, "k", b"one")])
    assert sum(await one.end_offsets(declared.name)) == 1
    assert sum(await two.end_offsets(declared.name)) == 0
    assert await two.start_offsets(declared.name) == await two.end_offsets(declared.name)
    reader = await one.reader({TopicPartition(declared.name, 0): 0})
    (read,) = await reader.poll(max_records=10, wait_seconds=WAIT_SECONDS_MAX)
    assert (read.topic, read.value) == (declared.name, b"one")
    assert reader.positions() == {TopicPartition(declared.name, 0): 1}
    await reader.close()


async def test_groups_of_one_name_are_two(backend: Backend) -> None:
    declared = topic()
    buses = [PrefixedBus(backend.bus, f"{name}-{secrets.token_hex(3)}.") for name in "ab"]
    everything = {TopicPartition(declared.name, n) for n in range(declared.partitions)}
    members = []
    for bus in buses:
        await bus.ensure_topics([declared])
        members.append(await bus.member("group", [declared.name]))
    for number, (bus, member) in enumerate(zip(buses, members, strict=True)):
        await bus.publish([message(declared.name, "k", b"%d" % number)])
        records: list[Record] = []
        while not records:
            polled = await member.poll(max_records=10, wait_seconds=WAIT_SECONDS_MAX)
            records = polled.records
        assert set(polled.assigned) == everything
        assert [(r.topic, r.value) for r in records] == [(declared.name, b"%d" % number)]
        await member.commit({r.log: r.offset + 1 for r in records})
        assert sum((await bus.lag("group", [declared.name])).values()) == 0
    for member in members:
        await member.close()
