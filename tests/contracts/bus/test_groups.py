"""Groups: partitions are shared, taken over, materialised from their beginning, and committed."""

import asyncio

import pytest

from tests.contracts.bus.backends import Backend
from tests.contracts.bus.steps import (
    Participant,
    group,
    message,
    new_topic,
    numbered,
    poll_quietly,
    poll_until,
    values,
)
from vc.bus import Bus, BusClosedError, TopicMissingError
from vc.messages.record import TopicPartition
from vc.messages.topics import PARTITIONS

EVERY_NUMBER = set(range(PARTITIONS))


async def join(bus: Bus, name_of_group: str, *topics: str) -> Participant:
    return Participant(await bus.member(name_of_group, topics))


async def alone(participant: Participant) -> None:
    """Until it owns everything."""
    await poll_until([participant], lambda: participant.numbers == EVERY_NUMBER, why="not alone")


async def share(*participants: Participant) -> None:
    """Until every partition has one owner, and every participant some."""

    def shared() -> bool:
        owned = [number for participant in participants for number in participant.numbers]
        return sorted(owned) == sorted(EVERY_NUMBER) and all(p.numbers for p in participants)

    await poll_until(participants, shared, why="partitions were not shared")


async def close(*participants: Participant) -> None:
    for participant in participants:
        await participant.member.close()


async def test_a_single_member_owns_everything_and_has_a_generation(bus: Bus) -> None:
    name = await new_topic(bus)
    member = await join(bus, group(), name)
    assert (member.generation, member.assigned) == (0, frozenset())
    await alone(member)
    assert member.generation >= 1
    assert member.assigned == {TopicPartition(name, number) for number in EVERY_NUMBER}
    await close(member)


async def test_members_share_partitions_and_each_record_has_one_reader(bus: Bus) -> None:
    name, name_of_group = await new_topic(bus), group()
    one, other = await join(bus, name_of_group, name), await join(bus, name_of_group, name)
    await share(one, other)
    await bus.publish([message(name, f"k{p}", partition=p) for p in range(PARTITIONS)])
    await poll_until(
        [one, other],
        lambda: len(one.records) + len(other.records) >= PARTITIONS,
        why="records are missing",
    )
    await poll_quietly([one, other])
    for participant in (one, other):
        assert {record.partition for record in participant.records} == participant.numbers
    assert len(one.records) + len(other.records) == PARTITIONS
    await close(one, other)


async def test_topics_of_equal_size_are_shared_by_partition_number(bus: Bus) -> None:
    names, name_of_group = [await new_topic(bus) for _ in range(3)], group()
    members = [await join(bus, name_of_group, *names) for _ in range(3)]
    await poll_until(
        members,
        lambda: (
            sorted(at for m in members for at in m.assigned)
            == sorted(TopicPartition(name, n) for name in names for n in EVERY_NUMBER)
            and all(m.assigned for m in members)
        ),
        why="partitions were not shared",
    )
    for member in members:
        assert member.assigned == {TopicPartition(t, n) for t in names for n in member.numbers}
    await close(*members)


async def test_groups_do_not_share(bus: Bus) -> None:
    name = await new_topic(bus)
    one, other = await join(bus, group(), name), await join(bus, group(), name)
    await asyncio.gather(alone(one), alone(other))
    await bus.publish(numbered(name, 3))
    for member in (one, other):
        await poll_until([member], lambda m=member: len(m.records) == 3, why="not read")  # type: ignore[misc]
    await close(one, other)


async def test_a_new_member_begins_a_new_generation_for_all(bus: Bus) -> None:
    name, name_of_group = await new_topic(bus), group()
    one = await join(bus, name_of_group, name)
    await alone(one)
    before = one.generation
    other = await join(bus, name_of_group, name)
    await share(one, other)
    assert one.generation > before
    await close(one, other)


async def test_who_leaves_is_replaced_at_once(bus: Bus) -> None:
    name, name_of_group = await new_topic(bus), group()
    one, other = await join(bus, name_of_group, name), await join(bus, name_of_group, name)
    await share(one, other)
    await close(one)
    began = asyncio.get_running_loop().time()
    await alone(other)
    assert asyncio.get_running_loop().time() - began < 8, "close waits for no session time-out"
    await close(other)


async def test_without_commits_a_group_begins_at_the_start(bus: Bus) -> None:
    name = await new_topic(bus)
    await bus.publish(numbered(name, 3))
    member = await join(bus, group(), name)
    await poll_until([member], lambda: len(member.records) == 3, why="not read")
    assert values(member.records) == [b"0", b"1", b"2"]
    await close(member)


async def test_what_was_not_committed_comes_again(bus: Bus) -> None:
    name, name_of_group = await new_topic(bus), group()
    await bus.publish(numbered(name, 5))
    first = await join(bus, name_of_group, name)
    await poll_until([first], lambda: len(first.records) == 5, why="not read")
    await first.member.commit({TopicPartition(name, 0): 2})
    await close(first)
    second = await join(bus, name_of_group, name)
    await poll_until([second], lambda: len(second.records) >= 3, why="not read again")
    await poll_quietly([second])
    assert values(second.records) == [b"2", b"3", b"4"]
    await close(second)


async def test_reading_alone_commits_nothing(bus: Bus) -> None:
    name, name_of_group = await new_topic(bus), group()
    await bus.publish(numbered(name, 3))
    first = await join(bus, name_of_group, name)
    await poll_until([first], lambda: len(first.records) == 3, why="not read")
    await close(first)
    assert (await bus.lag(name_of_group, [name]))[TopicPartition(name, 0)] == 3


async def test_after_a_rebalance_uncommitted_records_come_to_the_new_owner(bus: Bus) -> None:
    name, name_of_group = await new_topic(bus), group()
    await bus.publish([message(name, f"k{p}", partition=p) for p in range(PARTITIONS)])
    one = await join(bus, name_of_group, name)
    await poll_until([one], lambda: len(one.records) == PARTITIONS, why="not read")
    other = await join(bus, name_of_group, name)
    await share(one, other)
    await poll_until(
        [one, other],
        lambda: {r.partition for r in other.records} == other.numbers,
        why="the new owner did not get what was not committed",
    )
    await close(one, other)


async def test_a_log_named_in_from_start_is_materialised_whatever_was_committed(bus: Bus) -> None:
    facts, orders, name_of_group = await new_topic(bus), await new_topic(bus), group()
    await bus.publish(numbered(facts, 3) + numbered(orders, 3))
    first = Participant(await bus.member(name_of_group, [facts, orders], from_start=[facts]))
    await poll_until([first], lambda: len(first.records) == 6, why="not read")
    await first.member.commit({TopicPartition(facts, 0): 3, TopicPartition(orders, 0): 2})
    await close(first)
    second = Participant(await bus.member(name_of_group, [facts, orders], from_start=[facts]))
    await poll_until([second], lambda: len(second.records) >= 4, why="not materialised")
    await poll_quietly([second])
    assert values([r for r in second.records if r.topic == facts]) == [b"0", b"1", b"2"]
    assert values([r for r in second.records if r.topic == orders]) == [b"2"]
    await close(second)


async def test_every_generation_reads_from_start_again(bus: Bus) -> None:
    name, name_of_group = await new_topic(bus), group()
    await bus.publish([message(name, f"k{p}", partition=p) for p in range(PARTITIONS)])
    one = Participant(await bus.member(name_of_group, [name], from_start=[name]))
    await poll_until([one], lambda: len(one.records) == PARTITIONS, why="not materialised")
    other = Participant(await bus.member(name_of_group, [name], from_start=[name]))
    await share(one, other)
    await poll_until(
        [one, other],
        lambda: (
            {r.partition for r in one.records} == one.numbers
            and {r.partition for r in other.records} == other.numbers
        ),
        why="partitions were not materialised after the rebalance",
    )
    await close(one, other)


async def test_a_log_named_in_from_end_brings_only_news(bus: Bus) -> None:
    name = await new_topic(bus)
    await bus.publish(numbered(name, 3))
    member = Participant(await bus.member(group(), [name], from_end=[name]))
    await alone(member)
    await poll_quietly([member])
    await bus.publish([message(name, value=b"news")])
    await poll_until([member], lambda: bool(member.records), why="no news")
    assert values(member.records) == [b"news"]
    await close(member)


async def test_a_member_that_keeps_a_log_from_its_end_misses_nothing(bus: Bus) -> None:
    name, name_of_group = await new_topic(bus), group()
    one = Participant(await bus.member(name_of_group, [name], from_end=[name]))
    await alone(one)
    await poll_quietly([one])
    other = Participant(await bus.member(name_of_group, [name], from_end=[name]))
    await share(one, other)
    for partition in range(PARTITIONS):
        await bus.publish([message(name, f"k{partition}", partition=partition)])
    await close(other)
    await alone(one)
    await bus.publish([message(name, "later", partition=min(one.numbers))])
    await poll_until([one], lambda: "later" in {r.key for r in one.records}, why="news were missed")
    await close(one)


async def test_commits_of_logs_that_are_not_ours_are_refused_silently(bus: Bus) -> None:
    name, name_of_group = await new_topic(bus), group()
    await bus.publish(numbered(name, 4) + numbered(name, 4, partition=11))
    one, other = await join(bus, name_of_group, name), await join(bus, name_of_group, name)
    await share(one, other)
    owner, stranger = (one, other) if 0 in one.numbers else (other, one)
    await stranger.member.commit({TopicPartition(name, 0): 3, TopicPartition(name, 11): 1})
    lag = await bus.lag(name_of_group, [name])
    assert lag[TopicPartition(name, 0)] == 4
    assert lag[TopicPartition(name, 11)] == 3
    await owner.member.commit({TopicPartition(name, 0): 3})
    assert (await bus.lag(name_of_group, [name]))[TopicPartition(name, 0)] == 1
    await close(one, other)


async def test_lag_counts_what_was_not_committed_in_every_log(bus: Bus) -> None:
    name, name_of_group = await new_topic(bus), group()
    await bus.publish(numbered(name, 5) + numbered(name, 2, partition=1))
    member = await join(bus, name_of_group, name)
    await alone(member)
    await member.member.commit({TopicPartition(name, 0): 4})
    lag = await bus.lag(name_of_group, [name])
    assert set(lag) == {TopicPartition(name, number) for number in EVERY_NUMBER}
    assert {at.partition: count for at, count in lag.items() if count} == {0: 1, 1: 2}
    await close(member)


async def test_the_lag_of_an_unknown_group_is_everything(bus: Bus) -> None:
    name = await new_topic(bus)
    await bus.publish(numbered(name, 5))
    assert (await bus.lag(group(), [name]))[TopicPartition(name, 0)] == 5


async def test_a_group_goes_on_at_the_start_when_its_commit_is_below_it(backend: Backend) -> None:
    bus, name_of_group = backend.bus, group()
    name = await new_topic(bus)
    await bus.publish(numbered(name, 5))
    first = await join(bus, name_of_group, name)
    await alone(first)
    await first.member.commit({TopicPartition(name, 0): 1})
    await close(first)
    await backend.delete_records({TopicPartition(name, 0): 3})
    second = await join(bus, name_of_group, name)
    await poll_until([second], lambda: len(second.records) == 2, why="not read")
    assert values(second.records) == [b"3", b"4"]
    await close(second)


async def test_a_group_on_a_topic_that_is_not_there_names_it(bus: Bus) -> None:
    with pytest.raises(TopicMissingError, match=r"contract\.nowhere"):
        await bus.member(group(), ["contract.nowhere"])


async def test_a_closed_member_answers_no_more(bus: Bus) -> None:
    member = await bus.member(group(), [await new_topic(bus)])
    await member.close()
    await member.close()
    with pytest.raises(BusClosedError):
        await member.poll(max_records=1, wait_seconds=0)
    with pytest.raises(BusClosedError):
        await member.commit({})
