"""A service beside a newer watcher: it stops deciding and reports the reason, and continues after a rollback.

The newer watcher is the old one paused, and its messages written here with the next schema version.
"""

import asyncio

import msgspec

from tests.simulation.stack import Stack
from tests.unit.watcher.test_service import Reader, queue, read_all, run
from vc.messages.codec import HEADER_SCHEMA, SCHEMA_VERSION, SCHEMA_VERSION_READ_MAX
from vc.messages.facts import fact_message, fence_message, tombstone_message
from vc.messages.progress import PROGRESS_STALE_SECONDS, Progress, progress_message
from vc.messages.record import Message
from vc.messages.topics import DEAD_LETTERS, fact_partitions
from vc.messages.view import ViewEntry
from vc.model.api.kinds import NODES, QUEUES, WATCHED, Kind
from vc.model.api.meta import ApiObject
from vc.runtime.consuming.refusals import DEAD_LETTERS_PER_TOPIC_MAX

NEXT = str(SCHEMA_VERSION_READ_MAX + 1)


def newer(message: Message) -> Message:
    """The same from the next release: its headers are all that an older one may look at."""
    headers = {**message.headers, HEADER_SCHEMA: NEXT}
    return msgspec.structs.replace(message, headers=headers, value=message.value and b"\xc1")


def named(obj: ApiObject, name: str) -> ApiObject:
    metadata = msgspec.structs.replace(obj.metadata, name=name, uid=f"uid-{name}")
    return msgspec.structs.replace(obj, metadata=metadata)


async def known_queue(stack: Stack, reader: Reader) -> ViewEntry:
    await stack.cluster.create(QUEUES, queue("a"))
    await reader.until_queues({"a"})
    return reader.follower.view.entries(QUEUES)["a"]


async def refused(stack: Stack, reader: Reader, *, of: str, seconds: float = 3) -> None:
    await stack.until(
        lambda: f"{of} holds" in reader.follower.unready(), seconds=seconds, what="a sentence"
    )
    said = reader.follower.unready()
    assert f"schema version {NEXT}" in said
    assert "upgrade it" in said


def test_a_fact_of_a_newer_release_stops_decisions_at_once_and_says_why() -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        known = await known_queue(stack, reader)
        stack.pause("watcher")
        fact = fact_message(QUEUES, named(known.object, "b"), stamp=known.identity.stamp)
        await stack.bus.publish([newer(fact), newer(fact)])
        await refused(stack, reader, of=QUEUES.topic)
        assert reader.queues() == {"a"}, "nothing is guessed, nothing is thrown away"
        assert len(await read_all(stack, DEAD_LETTERS.name)) == 1, "the same key is told once"
        await stack.bus.publish([fact])
        await stack.until(lambda: reader.queues() == {"a", "b"}, seconds=1, what="b")
        assert "holds" not in reader.follower.unready()
        stack.resume("watcher")

    run(test)


def test_a_deletion_of_a_newer_release_stops_decisions_too() -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        known = await known_queue(stack, reader)
        stack.pause("watcher")
        gone = tombstone_message(
            QUEUES,
            key="a",
            partition=known.partition,
            uid=known.identity.uid,
            resource_version="99",
            stamp=known.identity.stamp,
        )
        await stack.bus.publish([newer(gone)])
        await refused(stack, reader, of=QUEUES.topic)
        stack.resume("watcher")

    run(test)


def test_many_facts_of_a_newer_release_are_a_few_letters() -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        known = await known_queue(stack, reader)
        stack.pause("watcher")
        objects = [named(known.object, f"q{n}") for n in range(500)]
        facts = [fact_message(QUEUES, obj, stamp=known.identity.stamp) for obj in objects]
        await stack.bus.publish([newer(fact) for fact in facts])
        await stack.until(
            lambda: "holds 500 records" in reader.follower.unready(), seconds=3, what="all"
        )
        assert len(await read_all(stack, DEAD_LETTERS.name)) == DEAD_LETTERS_PER_TOPIC_MAX
        stack.resume("watcher")

    run(test)


def test_progress_of_a_newer_release_is_refused_for_as_long_as_it_comes() -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        await known_queue(stack, reader)
        stack.pause("watcher")
        telling = asyncio.create_task(tell_newer_progress(stack, reader))
        stale = PROGRESS_STALE_SECONDS + 1
        await refused(stack, reader, of="cluster.progress", seconds=stale)
        assert "s old" in reader.follower.unready(), "it is no more than a reason to have none"
        started_late = Reader(stack)
        await stack.clock.sleep(60)
        await refused(stack, reader, of="cluster.progress")
        assert started_late.follower.unready(), "not even its incarnation may be believed"
        dead_letters = await read_all(stack, DEAD_LETTERS.name)
        assert len(dead_letters) <= 2 * DEAD_LETTERS_PER_TOPIC_MAX
        telling.cancel()
        stack.resume("watcher")
        await reader.until_queues({"a"})
        await started_late.until_queues({"a"})

    run(test)


def of_kind(progress: Progress, kind: Kind) -> Progress:
    ends = [0] * fact_partitions(kind)
    return msgspec.structs.replace(progress, kind=kind.short, end_offsets=ends)


async def tell_newer_progress(stack: Stack, reader: Reader) -> None:
    """As a watcher does, about once a second."""
    known = [reader.follower.view.progress(kind) for kind in (QUEUES, NODES)]
    while True:
        await stack.bus.publish([newer(progress_message(p)) for p in known if p is not None])
        await stack.clock.sleep(1)


def test_a_rollback_writes_over_what_the_newer_release_has_left() -> None:
    async def test(stack: Stack) -> None:
        reader = Reader(stack)
        known = await known_queue(stack, reader)
        stack.pause("watcher")
        stamp = known.identity.stamp
        progress = reader.follower.view.progress(QUEUES)
        assert progress is not None
        left = [
            fence_message(QUEUES, partition=0, stamp=stamp),
            fact_message(QUEUES, known.object, stamp=stamp),
            fact_message(QUEUES, named(known.object, "ghost"), stamp=stamp),
            *(progress_message(of_kind(progress, kind)) for kind in WATCHED),
        ]
        await stack.bus.publish([newer(message) for message in left])
        await stack.clock.sleep(2)
        assert reader.follower.unready()
        await stack.cluster.create(QUEUES, queue("b"))
        stack.resume("watcher")
        stack.kill("watcher")
        await reader.until_queues({"a", "b"})
        assert reader.follower.view.incarnation not in (None, stamp.incarnation), (
            "all published again"
        )
        fresh = Reader(stack)
        await fresh.until_queues({"a", "b"})
        newest = {record.key: record for record in await read_all(stack, QUEUES.topic)}
        assert {record.headers[HEADER_SCHEMA] for record in newest.values()} == {
            str(SCHEMA_VERSION)
        }
        assert newest["ghost"].value is None

    run(test)
