"""The difference between what a topic says and what the API server says."""

import msgspec
import pytest

from vc.messages.facts import HEADER_PROJECTION, Stamp, fact_message
from vc.messages.record import Message, Record
from vc.model.api.kinds import JOBS, PODS
from vc.model.api.meta import ObjectMeta, OwnerReference
from vc.model.api.pod import Pod
from vc.watcher.logic import Bare, Decoder, Index, UnreadableError

OLD = Stamp(incarnation="i1", epoch=1)
NOW = Stamp(incarnation="i1", epoch=2)


def pod(name: str, *, uid: str = "u1", version: str = "1", job: str = "") -> Pod:
    owners = [
        OwnerReference(
            api_version=JOBS.api_version, kind="Job", name=job, uid="j1", controller=True
        )
    ]
    metadata = ObjectMeta(
        name=name,
        namespace="ns",
        uid=uid,
        resource_version=version,
        owner_references=owners if job else [],
    )
    return Pod(api_version="v1", kind="Pod", metadata=metadata)


class Log:
    """A topic: publishes messages and gives them back as records."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._ends: dict[int, int] = {}

    def publish(self, messages: list[Message]) -> None:
        for message in messages:
            offset = self._ends.get(message.partition, 0)
            self._ends[message.partition] = offset + 1
            self.records.append(
                Record(
                    topic=message.topic,
                    partition=message.partition,
                    offset=offset,
                    key=message.key,
                    value=message.value,
                    headers=message.headers,
                )
            )

    def index(self, stamp: Stamp = NOW) -> Index:
        """As a restarted watcher reads it back."""
        index = Index(PODS, stamp=stamp)
        for record in self.records:
            index.replay(record)
        return index


def test_an_object_seen_twice_is_published_once() -> None:
    index = Index(PODS, stamp=NOW)
    assert [m.key for m in index.seen(pod("a"))] == ["ns/a"]
    assert index.seen(pod("a")) == []
    assert [m.key for m in index.seen(pod("a", version="2"))] == ["ns/a"]


def test_a_restarted_watcher_publishes_only_the_difference() -> None:
    log = Log()
    first = Index(PODS, stamp=OLD)
    for name in ("kept", "changed", "gone"):
        log.publish(first.seen(pod(name)))
    index = log.index()
    published = index.seen(pod("kept")) + index.seen(pod("changed", version="2"))
    published += index.gone_but({"ns/kept", "ns/changed"})
    assert [(m.key, m.value is None) for m in published] == [
        ("ns/changed", False),
        ("ns/gone", True),
    ]


def test_a_tombstone_carries_the_uid_and_partition_of_the_record_it_kills() -> None:
    index = Index(PODS, stamp=NOW)
    (fact,) = index.seen(pod("a", uid="first"))
    (tombstone,) = index.gone("ns/a")
    assert tombstone.value is None
    assert tombstone.partition == fact.partition
    assert tombstone.headers["uid"] == "first"


def test_the_end_of_another_uid_is_not_the_end_of_this_one() -> None:
    index = Index(PODS, stamp=NOW)
    index.seen(pod("a", uid="second"))
    assert index.gone("ns/a", uid="first") == []


def test_an_object_that_changes_owner_leaves_its_old_partition() -> None:
    index = Index(PODS, stamp=NOW)
    (alone,) = index.seen(pod("a"))
    tombstone, fact = index.seen(pod("a", version="2", job="owner"))
    assert tombstone.value is None
    assert tombstone.partition == alone.partition != fact.partition


def test_what_an_older_watcher_wrote_after_the_fence_is_overwritten() -> None:
    log = Log()
    young = Index(PODS, stamp=NOW)
    log.publish(young.fences())
    log.publish(young.seen(pod("a", version="7")))
    log.publish([fact_message(PODS, pod("a", version="3"), stamp=OLD)])
    log.publish([fact_message(PODS, pod("ghost", uid="dead"), stamp=OLD)])
    index = log.index()
    assert index.is_foreign("ns/a")
    again = index.seen(pod("a", version="7"), again=index.is_foreign("ns/a"))
    assert [m.key for m in again] == ["ns/a"]
    tombstones = index.take_foreign_tombstones(dict(index.foreign))
    assert [(m.key, m.headers["uid"]) for m in tombstones] == [("ns/ghost", "dead")]
    assert index.foreign == {}


def test_what_nobody_can_read_is_overwritten() -> None:
    log = Log()
    young = Index(PODS, stamp=NOW)
    log.publish(young.fences())
    (fact,) = young.seen(pod("a", version="7"))
    junk = msgspec.structs.replace(fact, value=b"junk", headers={})
    log.publish([fact, junk, msgspec.structs.replace(junk, key="ns/nothing")])
    index = log.index()
    assert index.is_foreign("ns/a")
    assert index.seen(pod("a", version="7"), again=True) == [fact]
    assert [(m.key, m.value) for m in index.take_foreign_tombstones(dict(index.foreign))] == [
        ("ns/nothing", None)
    ]


def test_no_tombstone_follows_the_living_record_of_its_name_in_a_partition() -> None:
    log = Log()
    young = Index(PODS, stamp=NOW)
    log.publish(young.fences())
    log.publish([fact_message(PODS, pod("a", uid="dead"), stamp=OLD)])
    index = log.index()
    (fact,) = index.seen(pod("a", uid="alive", version="9"), again=index.is_foreign("ns/a"))
    assert fact.headers["uid"] == "alive"
    assert index.take_foreign_tombstones(dict(index.foreign)) == [], (
        "compaction would keep only the tombstone"
    )


def test_a_foreign_record_that_came_after_the_live_read_stays_noted() -> None:
    index = Index(PODS, stamp=NOW)
    index.note_foreign("ns/before", uid="dead", partition=1)
    index.note_foreign("ns/twice", uid="dead", partition=2)
    noted = dict(index.foreign)
    index.note_foreign("ns/after", uid="dead", partition=1)
    index.note_foreign("ns/twice", uid="dead", partition=2)
    assert [m.key for m in index.take_foreign_tombstones(noted)] == ["ns/before"]
    assert {key for key, _ in index.foreign} == {"ns/after", "ns/twice"}


class Event(msgspec.Struct, frozen=True):
    """What a watch tells of a pod whose version 7 is on the topic."""

    id: str
    version: str
    uid: str = "u1"
    listed: bool = False
    published: bool = False


@pytest.mark.parametrize(
    "event",
    [
        Event("a newer version is news", "8", published=True),
        Event("the same version is none", "7"),
        Event("an older version is ignored", "5"),
        Event("versions are numbers, not texts", "10", published=True),
        Event("an older version of another uid is ignored, too", "5", uid="u0"),
        Event("a version that is no number has no age", "opaque", published=True),
        Event("a list is the present, whatever its versions", "5", listed=True, published=True),
    ],
    ids=lambda event: event.id,
)
def test_a_watch_does_not_take_the_topic_back_in_time(event: Event) -> None:
    index = Index(PODS, stamp=NOW)
    index.seen(pod("a", version="7"))
    messages = index.seen(pod("a", uid=event.uid, version=event.version), listed=event.listed)
    assert bool(messages) == event.published


def test_an_unreadable_object_is_known_by_name_and_uid() -> None:
    raw = b'{"metadata":{"name":"a","namespace":"ns","uid":"u1","labels":3},"spec":"nonsense"}'
    with pytest.raises(UnreadableError):
        Decoder(PODS).decode(raw)
    assert Decoder(PODS).decode_bare(raw) == Bare("ns/a", "u1")


@pytest.mark.parametrize("raw", [b"{", b"[]", b"{}", b'{"metadata":{}}', b'{"metadata":3}'])
def test_an_object_without_a_name_is_not_known_at_all(raw: bytes) -> None:
    with pytest.raises(UnreadableError):
        Decoder(PODS).decode_bare(raw)


def test_an_unreadable_object_ends_only_another_of_its_name() -> None:
    index = Index(PODS, stamp=NOW)
    index.seen(pod("a", uid="first"))
    assert index.gone_unless(Bare("ns/a", "first")) == []
    assert [m.headers["uid"] for m in index.gone_unless(Bare("ns/a", "second"))] == ["first"]


def test_records_of_another_incarnation_say_nothing() -> None:
    log = Log()
    log.publish(Index(PODS, stamp=Stamp(incarnation="before", epoch=9)).seen(pod("a")))
    assert len(log.index()) == 0


def test_items_of_a_list_get_their_kind_back() -> None:
    raw = b'{"metadata":{"name":"a","namespace":"ns"}}'
    assert Decoder(PODS).decode(raw).kind == "Pod"


def test_nulls_where_nothing_is_meant_are_forgiven() -> None:
    raw = b'{"kind":"Pod","metadata":{"name":"a","labels":null},"spec":{"tolerations":null}}'
    assert Decoder(PODS).decode(raw).metadata.name == "a"


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"metadata": 3}', b"[" * 100_000])
def test_an_unreadable_object_is_an_error_of_one_line(raw: bytes) -> None:
    with pytest.raises(UnreadableError) as caught:
        Decoder(PODS).decode(raw)
    assert "\n" not in str(caught.value)


def test_a_too_large_object_leaves_the_index_as_it_was() -> None:
    index = Index(PODS, stamp=NOW)
    index.seen(pod("a"))
    huge = msgspec.structs.replace(
        pod("a", version="2"),
        metadata=msgspec.structs.replace(
            pod("a", version="2").metadata, annotations={"x": "y" * 5_000_000}
        ),
    )
    with pytest.raises(ValueError, match="bytes"):
        index.seen(huge)
    assert len(index.gone("ns/a")) == 1


def test_facts_of_another_projection_are_written_again_by_the_next_watcher() -> None:
    """A topic of an older release holds more than may travel: nothing has changed, and all is published again."""
    log = Log()
    first = Index(PODS, stamp=OLD)
    log.publish(first.seen(pod("a")) + first.seen(pod("b")))
    older = {
        key: value for key, value in log.records[0].headers.items() if key != HEADER_PROJECTION
    }
    log.records[0] = msgspec.structs.replace(log.records[0], headers=older)
    index = log.index()
    assert [m.key for m in index.seen(pod("a"), listed=True)] == ["ns/a"]
    assert index.seen(pod("b"), listed=True) == []
    assert index.seen(pod("a"), listed=True) == []
    assert [m.key for m in log.index().gone_but({"ns/b"})] == ["ns/a"]
