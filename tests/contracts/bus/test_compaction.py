"""Compaction as a reader sees it: the last record of each key, at its old offset."""

from tests.contracts.bus.backends import TAIL_KEY, Backend
from tests.contracts.bus.steps import at_start, message, new_topic, numbered, read, values
from vc.bus import Reader
from vc.messages.record import Record, TopicPartition


async def read_to_end(reader: Reader, *, end: int) -> list[Record]:
    """Everything up to the end but the records of the tail."""
    records: list[Record] = []
    while next(iter(reader.positions().values())) < end:
        records += await read(reader, 1)
    return [record for record in records if record.key != TAIL_KEY]


async def test_only_the_last_record_of_each_key_stays_at_its_offset(backend: Backend) -> None:
    bus = backend.bus
    name = await new_topic(bus, compacted=True, single=True)
    await bus.publish(
        [
            message(name, "a", b"1"),
            message(name, "b", b"1"),
            message(name, "a", b"2"),
            message(name, "b", None),
            message(name, "c", b"1"),
            message(name, TAIL_KEY, b""),
        ]
    )
    await backend.compact(TopicPartition(name, 0), left=3)
    assert await bus.start_offsets(name) == [0], "compaction leaves gaps and moves no start"
    (end,) = await bus.end_offsets(name)
    reader = await bus.reader(at_start(name))
    kept = await read_to_end(reader, end=end)
    assert [(r.offset, r.key, r.value) for r in kept] == [
        (2, "a", b"2"),
        (3, "b", None),
        (4, "c", b"1"),
    ]
    assert kept[1].headers == {"uid": "b"}, "a tombstone within its retention keeps its headers"
    await reader.close()


async def test_a_reader_in_a_gap_goes_on_behind_it(backend: Backend) -> None:
    bus = backend.bus
    name = await new_topic(bus, compacted=True, single=True)
    same_key = [message(name, "a", str(n).encode()) for n in range(9)]
    await bus.publish([*same_key, message(name, TAIL_KEY, b"")])
    await backend.compact(TopicPartition(name, 0), left=1)
    (end,) = await bus.end_offsets(name)
    reader = await bus.reader({TopicPartition(name, 0): 4})
    kept = await read_to_end(reader, end=end)
    assert [(r.offset, r.value) for r in kept] == [(8, b"8")]
    assert reader.positions() == {TopicPartition(name, 0): end}
    await reader.close()


async def test_a_reader_that_follows_sees_every_record_once(backend: Backend) -> None:
    bus = backend.bus
    name = await new_topic(bus, compacted=True, single=True)
    reader = await bus.reader(at_start(name))
    seen: list[Record] = []
    for number in range(5):
        await bus.publish([message(name, "a", str(number).encode())])
        seen += await read(reader, 1)
    assert values(seen) == [b"0", b"1", b"2", b"3", b"4"]
    await reader.close()


async def test_other_topics_are_not_compacted(backend: Backend) -> None:
    bus = backend.bus
    name = await new_topic(bus, single=True)
    await bus.publish([message(name, "a", b"1"), message(name, "a", b"2")] + numbered(name, 3))
    await backend.compact(TopicPartition(name, 0), left=5)
    reader = await bus.reader(at_start(name))
    assert values(await read(reader, 5)) == [b"1", b"2", b"0", b"1", b"2"]
    await reader.close()
