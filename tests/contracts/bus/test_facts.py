"""docs/protocol.md 1 to 8 over a bus: what a view believes, and when it lets one act.

The view's own logic is tested in tests/unit/messages; here it is fed by a real reader, so order,
headers, tombstones, compaction and wipes are the bus's own.
"""

import msgspec
import pytest

from tests.contracts.bus.backends import TAIL_KEY, Backend
from tests.contracts.bus.steps import POLL_SECONDS, WAIT_SECONDS_MAX, topic, until_error
from vc.bus import Bus, Reader, TopicMissingError
from vc.messages.facts import Stamp, fact_message, fence_message, tombstone_message
from vc.messages.partition import partition_of
from vc.messages.progress import Progress, progress_message
from vc.messages.record import Message, TopicPartition
from vc.messages.topics import BY_NAME, PROGRESS, fact_partitions
from vc.messages.view import IncarnationChanged, View
from vc.model.api.kinds import PODS, QUEUES, Kind
from vc.model.api.meta import ApiObject, ObjectMeta
from vc.model.api.pod import Pod
from vc.model.api.scheduling import Queue

KINDS = (PODS, QUEUES)
TOPICS = [BY_NAME[kind.topic] for kind in KINDS] + [PROGRESS]
FIRST = Stamp(incarnation="one", epoch=1)


class Stage:
    """A watcher's pen and a view's eyes on one bus."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.bus: Bus = backend.bus
        self.stamp = FIRST
        self.view = View(KINDS)
        self.reader: Reader | None = None
        self.sequence = 0

    async def begin(self) -> None:
        """Fresh topics: their names are fixed, so earlier tests may have left some."""
        left = {t.name for t in TOPICS} - set(await self.bus.missing_topics(TOPICS))
        await self.backend.delete_topics(sorted(left))
        await self.bus.ensure_topics(TOPICS)

    async def follow(self) -> None:
        """A new view, from the beginning."""
        self.view = View(KINDS)
        positions = {TopicPartition(t.name, n): 0 for t in TOPICS for n in range(t.partitions)}
        self.reader = await self.bus.reader(positions)

    async def say(self, *messages: Message) -> None:
        await self.bus.publish(messages)

    async def tell_progress(self, *kinds: Kind, synced: bool = True) -> None:
        for kind in kinds:
            self.sequence += 1
            ends = await self.bus.end_offsets(kind.topic)
            progress = Progress(
                kind=kind.short,
                stamp=self.stamp,
                sequence=self.sequence,
                synced=synced,
                resource_version="9",
                end_offsets=ends,
            )
            await self.say(progress_message(progress))

    async def read_all(self) -> None:
        """Progress first, as shells do: nothing is believed before an incarnation is known."""
        assert self.reader is not None
        ends = {
            TopicPartition(t.name, n): end
            for t in TOPICS
            for n, end in enumerate(await self.bus.end_offsets(t.name))
        }
        waited, records = 0.0, []
        while any(self.reader.positions()[at] < end for at, end in ends.items()):
            got = await self.reader.poll(max_records=500, wait_seconds=POLL_SECONDS)
            waited += 0 if got else POLL_SECONDS
            assert waited < WAIT_SECONDS_MAX, "the ends were not reached"
            records += got
        try:
            for record in sorted(records, key=lambda r: r.topic != PROGRESS.name):
                if record.key != TAIL_KEY:
                    self.view.apply(record, received_at=0.0, live=True)
        except IncarnationChanged:
            await self.reader.close()
            await self.follow()
            await self.read_all()

    def fact(self, obj: ApiObject) -> Message:
        kind = PODS if isinstance(obj, Pod) else QUEUES
        return fact_message(kind, obj, stamp=self.stamp)

    def tombstone(self, obj: ApiObject, version: str) -> Message:
        kind = PODS if isinstance(obj, Pod) else QUEUES
        return tombstone_message(
            kind,
            key=obj.key,
            partition=partition_of(kind, obj),
            uid=obj.metadata.uid,
            resource_version=version,
            stamp=self.stamp,
        )

    def names(self, kind: Kind) -> set[str]:
        return {obj.key for obj in self.view.objects(kind)}


@pytest.fixture
async def stage(backend: Backend) -> Stage:
    made = Stage(backend)
    await made.begin()
    return made


def pod(name: str, *, uid: str = "u", version: str = "1") -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace="ns", uid=uid, resource_version=version))


def queue(name: str) -> Queue:
    return Queue(metadata=ObjectMeta(name=name, uid="q", resource_version="1"))


async def test_no_one_acts_before_every_kind_is_synced_and_read(stage: Stage) -> None:
    await stage.follow()
    await stage.say(stage.fact(pod("a")), stage.fact(queue("default")))
    await stage.read_all()
    assert stage.view.unready(0.0) == "no progress of pods yet"
    await stage.tell_progress(PODS)
    await stage.read_all()
    assert stage.view.unready(0.0) == "no progress of queues yet"
    await stage.tell_progress(QUEUES, synced=False)
    await stage.read_all()
    assert stage.view.unready(0.0) == "queues not synced"
    await stage.tell_progress(QUEUES)
    await stage.read_all()
    assert stage.view.unready(0.0) == ""
    assert "old" in stage.view.unready(5.1)


async def test_a_view_made_later_equals_the_one_that_followed(stage: Stage) -> None:
    await stage.tell_progress(*KINDS)
    await stage.follow()
    for number in range(30):
        await stage.say(stage.fact(pod(f"p{number}", uid=f"u{number}")))
    for number in range(0, 30, 3):
        await stage.say(stage.tombstone(pod(f"p{number}", uid=f"u{number}"), "2"))
    await stage.say(stage.fact(pod("p3", uid="again", version="3")))
    await stage.tell_progress(*KINDS)
    await stage.read_all()
    followed = dict(stage.view.entries(PODS))
    assert len(followed) == 21
    await stage.follow()
    await stage.read_all()
    assert dict(stage.view.entries(PODS)) == followed
    assert stage.view.unready(0.0) == ""


async def test_duplicates_and_republished_facts_change_nothing(stage: Stage) -> None:
    await stage.tell_progress(*KINDS)
    await stage.follow()
    facts = [stage.fact(pod(f"p{n}", uid=f"u{n}")) for n in range(10)]
    await stage.say(*facts)
    await stage.read_all()
    before = dict(stage.view.entries(PODS))
    await stage.say(*facts, *facts)
    await stage.read_all()
    assert dict(stage.view.entries(PODS)) == before


async def test_a_stale_watcher_is_not_believed_behind_a_fence(stage: Stage) -> None:
    stale = stage.stamp
    await stage.tell_progress(*KINDS)
    await stage.follow()
    await stage.say(stage.fact(pod("a", version="5")))
    stage.stamp = Stamp(incarnation="one", epoch=2)
    fences = [
        fence_message(kind, partition=n, stamp=stage.stamp)
        for kind in KINDS
        for n in range(fact_partitions(kind))
    ]
    await stage.say(*fences)
    late = [
        fact_message(PODS, pod("a", version="4"), stamp=stale),
        fact_message(PODS, pod("phantom"), stamp=stale),
    ]
    await stage.say(*late)
    await stage.tell_progress(*KINDS)
    await stage.read_all()
    assert stage.names(PODS) == {"ns/a"}
    (entry,) = stage.view.entries(PODS).values()
    assert entry.identity.resource_version == "5"
    assert stage.view.unready(0.0) == ""


async def test_a_tombstone_of_an_older_object_kills_no_younger_one(stage: Stage) -> None:
    await stage.tell_progress(*KINDS)
    await stage.follow()
    await stage.say(
        stage.fact(pod("a", uid="old", version="1")),
        stage.fact(pod("a", uid="new", version="3")),
        stage.tombstone(pod("a", uid="old"), "2"),
    )
    await stage.read_all()
    assert stage.names(PODS) == {"ns/a"}


async def test_wiped_topics_are_noticed_and_rebuilt(stage: Stage) -> None:
    await stage.tell_progress(*KINDS)
    await stage.follow()
    await stage.say(stage.fact(pod("lost")))
    await stage.read_all()
    await stage.backend.delete_topics([t.name for t in TOPICS])
    assert stage.reader is not None
    await until_error(stage.reader, TopicMissingError)
    await stage.reader.close()
    await stage.bus.ensure_topics(TOPICS)
    stage.stamp = msgspec.structs.replace(stage.stamp, incarnation="two")
    await stage.say(stage.fact(pod("kept")))
    await stage.tell_progress(*KINDS)
    await stage.follow()
    await stage.read_all()
    assert stage.names(PODS) == {"ns/kept"}
    assert stage.view.incarnation == "two"
    assert stage.view.unready(0.0) == ""


async def test_compaction_leaves_the_same_view(stage: Stage) -> None:
    await stage.tell_progress(*KINDS)
    for version in range(20):
        await stage.say(stage.fact(pod("busy", version=str(version))))
    await stage.say(stage.fact(pod("gone", uid="g")), stage.tombstone(pod("gone", uid="g"), "2"))
    await stage.tell_progress(*KINDS)
    at = TopicPartition(PODS.topic, partition_of(PODS, pod("busy")))
    await stage.backend.compact(at, left=1)
    await stage.follow()
    await stage.read_all()
    assert stage.names(PODS) == {"ns/busy"}
    assert stage.view.unready(0.0) == ""


async def test_the_topics_of_the_project_can_be_made_and_verified(bus: Bus) -> None:
    everything = [msgspec.structs.replace(t, name=f"{t.name}.{topic().name}") for t in TOPICS]
    await bus.ensure_topics(everything)
    assert await bus.ensure_topics(everything) == []
