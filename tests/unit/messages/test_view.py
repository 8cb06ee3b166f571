"""The view (the informer store of a service), record by record: accepted and dropped facts, fencing, and readiness."""

import math

import msgspec
import pytest

from vc.messages.codec import CodecError
from vc.messages.facts import FENCE_KEY, Stamp, fact_message, fence_message, tombstone_message
from vc.messages.progress import PROGRESS_STALE_SECONDS, Progress, progress_message
from vc.messages.record import Message, Record, TopicPartition
from vc.messages.view import IncarnationChanged, View
from vc.model.api.kinds import JOBS, PODS, QUEUES, Kind
from vc.model.api.meta import ObjectMeta
from vc.model.api.pod import Pod

OURS = Stamp(incarnation="one", epoch=1)
NEWER = Stamp(incarnation="one", epoch=2)
FOREIGN = Stamp(incarnation="two", epoch=9)


class Told(msgspec.Struct, frozen=True):
    """A fact about the pod `ns/p`."""

    uid: str = "u"
    version: str = "1"
    partition: int = 0
    stamp: Stamp = OURS
    gone: bool = False
    fence: bool = False

    def message(self) -> Message:
        if self.fence:
            return fence_message(PODS, partition=self.partition, stamp=self.stamp)
        if self.gone:
            return tombstone_message(
                PODS,
                key="ns/p",
                partition=self.partition,
                uid=self.uid,
                resource_version=self.version,
                stamp=self.stamp,
            )
        metadata = ObjectMeta(name="p", namespace="ns", uid=self.uid, resource_version=self.version)
        made = fact_message(PODS, Pod(metadata=metadata), stamp=self.stamp)
        return msgspec.structs.replace(made, partition=self.partition)


class Log:
    """Gives messages their offsets."""

    def __init__(self) -> None:
        self.ends: dict[TopicPartition, int] = {}

    def record(self, message: Message) -> Record:
        at = TopicPartition(message.topic, message.partition)
        offset = self.ends.get(at, 0)
        self.ends[at] = offset + 1
        return Record(offset=offset, **msgspec.structs.asdict(message))


def progress(kind: Kind = PODS, **change: object) -> Message:
    told = Progress(
        kind=kind.short,
        stamp=OURS,
        sequence=1,
        synced=True,
        resource_version="1",
        end_offsets=[0] * 12,
    )
    return progress_message(msgspec.structs.replace(told, **change))


def fed(*told: Told, kinds: tuple[Kind, ...] = (PODS,)) -> View:
    """A view that knows its incarnation and then was told."""
    view, log = View(kinds), Log()
    view.apply(log.record(progress()), received_at=0.0, live=True)
    for one in told:
        view.apply(log.record(one.message()), received_at=0.0, live=True)
    return view


class Case(msgspec.Struct, frozen=True):
    """A history and the version that is believed in the end (None: no object)."""

    id: str
    told: list[Told]
    version: str | None


CASES = [
    Case("a fact is believed", [Told()], "1"),
    Case("order decides within a partition", [Told(version="9"), Told(version="3")], "3"),
    Case("a duplicate changes nothing", [Told(), Told()], "1"),
    Case("a tombstone removes", [Told(), Told(gone=True, version="2")], None),
    Case("a tombstone of nothing is nothing", [Told(gone=True)], None),
    Case(
        "a tombstone of an older uid deletes nothing",
        [Told(uid="new", version="3"), Told(uid="old", gone=True)],
        "3",
    ),
    Case(
        "a deleted object can come again",
        [Told(), Told(gone=True), Told(uid="again", version="5")],
        "5",
    ),
    Case("another incarnation is not believed", [Told(stamp=FOREIGN)], None),
    Case("nor its tombstones", [Told(), Told(stamp=FOREIGN, gone=True)], "1"),
    Case(
        "an older watcher is not believed behind a fence",
        [Told(), Told(fence=True, stamp=NEWER), Told(version="7")],
        "1",
    ),
    Case(
        "nor its tombstones behind it",
        [Told(), Told(fence=True, stamp=NEWER), Told(gone=True)],
        "1",
    ),
    Case(
        "a fence in another partition says nothing of this one",
        [Told(fence=True, stamp=NEWER, partition=3), Told(version="7")],
        "7",
    ),
    Case(
        "a newer watcher's fact fences too",
        [Told(version="2", stamp=NEWER), Told(version="7")],
        "2",
    ),
    Case(
        "moved: the newer partition wins, read in order",
        [Told(version="1"), Told(version="2", partition=5)],
        "2",
    ),
    Case(
        "moved: the newer partition wins, read the other way round",
        [Told(version="2", partition=5), Told(version="1")],
        "2",
    ),
    Case(
        "moved: the tombstone left behind does not kill it",
        [Told(version="1"), Told(version="2", partition=5), Told(gone=True, version="2")],
        "2",
    ),
    Case(
        "versions compare as numbers between partitions",
        [Told(version="100", partition=5), Told(version="99")],
        "100",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_believed(case: Case) -> None:
    found = fed(*case.told).get(PODS, "ns/p")
    assert (found.metadata.resource_version if found else None) == case.version


def test_changes_tell_before_and_after() -> None:
    view, log = View([PODS]), Log()
    view.apply(log.record(progress()), received_at=0.0, live=True)
    made = view.apply(log.record(Told().message()), received_at=0.0, live=True)
    same = view.apply(log.record(Told().message()), received_at=0.0, live=True)
    gone = view.apply(log.record(Told(gone=True).message()), received_at=0.0, live=True)
    assert made is not None
    assert gone is not None
    assert same is None
    assert made.before is None
    assert made.after is not None
    assert made.after == gone.before
    assert gone.after is None


def test_a_fence_is_no_object() -> None:
    view = fed(Told(fence=True, stamp=NEWER))
    assert list(view.objects(PODS)) == []
    assert view.get(PODS, FENCE_KEY) is None


def test_a_record_that_cannot_be_used_moves_the_position() -> None:
    view = fed()
    broken = Record(topic=PODS.topic, partition=0, offset=4, key="ns/p", value=b"\xc1", headers={})
    with pytest.raises(CodecError):
        view.apply(broken, received_at=0.0, live=True)
    assert view.positions[broken.log] == 5


def test_a_topic_that_is_not_of_the_view_is_an_error() -> None:
    with pytest.raises(CodecError, match=r"cluster\.pods is not among"):
        fed(Told(), kinds=(QUEUES,))


def test_progress_of_another_incarnation_asks_for_a_new_view() -> None:
    view, log = fed(Told()), Log()
    with pytest.raises(IncarnationChanged, match="two"):
        view.apply(log.record(progress(stamp=FOREIGN)), received_at=0.0, live=True)


def test_facts_read_before_any_progress_must_be_read_again() -> None:
    view, log = View([PODS]), Log()
    assert view.apply(log.record(Told().message()), received_at=0.0, live=True) is None
    assert view.unready(0.0) != ""
    with pytest.raises(IncarnationChanged):
        view.apply(log.record(progress(end_offsets=[1] + [0] * 11)), received_at=0.0, live=True)


class ReadyCase(msgspec.Struct, frozen=True):
    """Progress that was read, and why one must not act on it."""

    id: str
    progress: list[Message]
    why: str
    now: float = 0.0


READY_CASES = [
    ReadyCase("nothing was read", [], "no progress of pods yet"),
    ReadyCase("one kind is unknown", [progress(PODS)], "no progress of jobs yet"),
    ReadyCase("all are synced and read", [progress(PODS), progress(JOBS)], ""),
    ReadyCase(
        "one kind is not synced",
        [progress(PODS), progress(JOBS, synced=False)],
        "jobs not synced",
    ),
    ReadyCase(
        "one kind is of an older watcher",
        [progress(PODS), progress(JOBS, stamp=NEWER)],
        "progress of pods is of epoch 1, not 2",
    ),
    ReadyCase(
        "a partition is behind",
        [progress(PODS, end_offsets=[0] * 11 + [3]), progress(JOBS)],
        "cluster.pods[11] is 3 records behind",
    ),
    ReadyCase(
        "progress may be as old as the bound",
        [progress(PODS), progress(JOBS)],
        "",
        now=PROGRESS_STALE_SECONDS,
    ),
    ReadyCase(
        "and no older",
        [progress(PODS), progress(JOBS)],
        "progress of pods is 5.1 s old",
        now=PROGRESS_STALE_SECONDS + 0.1,
    ),
    ReadyCase(
        "an older announcement does not take back a newer one",
        [progress(PODS, sequence=5), progress(PODS, sequence=4, synced=False), progress(JOBS)],
        "",
    ),
    ReadyCase(
        "a newer announcement takes back an older one",
        [progress(PODS), progress(PODS, sequence=2, synced=False), progress(JOBS)],
        "pods not synced",
    ),
    ReadyCase(
        "a new watcher counts from the beginning",
        [
            progress(PODS, sequence=50),
            progress(PODS, sequence=1, stamp=NEWER, synced=False),
            progress(JOBS, stamp=NEWER),
        ],
        "pods not synced",
    ),
]


@pytest.mark.parametrize("case", READY_CASES, ids=lambda case: case.id)
def test_why_one_must_not_act(case: ReadyCase) -> None:
    view, log = View([PODS, JOBS]), Log()
    for message in case.progress:
        view.apply(log.record(message), received_at=0.0, live=True)
    assert view.unready(case.now) == case.why


def test_old_announcements_read_back_do_not_make_a_view_fresh() -> None:
    view, log = View([PODS]), Log()
    view.apply(log.record(progress()), received_at=0.0, live=False)
    assert view.unready(0.0) == "no live progress of pods yet"
    view.apply(log.record(progress(sequence=2)), received_at=3.0, live=True)
    assert view.unready(3.0) == ""


def test_the_same_announcement_again_does_not_make_it_fresher() -> None:
    view, log = View([PODS]), Log()
    for received_at in (0.0, 4.0):
        view.apply(log.record(progress()), received_at=received_at, live=True)
    assert "6.0 s old" in view.unready(6.0)


def test_only_our_partitions_must_be_read() -> None:
    view, log = View([PODS], partitions=[0, 1]), Log()
    ends = [0, 0] + [99] * 10
    view.apply(log.record(progress(end_offsets=ends)), received_at=0.0, live=True)
    assert view.unready(0.0) == ""
    assert "cluster.pods[7] is 99 records behind" in view.unready(0.0, partitions=[1, 7])


def test_a_dropped_partition_is_forgotten_whole() -> None:
    view = fed(Told(), Told(partition=5, uid="v", version="2"))
    view.drop_partition(5)
    assert view.get(PODS, "ns/p") is None
    assert 5 not in view.partitions
    assert TopicPartition(PODS.topic, 5) not in view.positions


def test_how_far_a_view_is_behind() -> None:
    view, log = View([PODS, JOBS], partitions=[0, 3]), Log()
    assert view.behind() == 0
    assert view.progress_age(7.0) == math.inf
    ends = [2, 9, 9, 5] + [9] * 8
    view.apply(log.record(progress(end_offsets=ends)), received_at=1.0, live=True)
    assert view.behind() == 7
    view.apply(log.record(Told().message()), received_at=1.0, live=True)
    assert view.behind() == 6
    assert view.progress_age(7.0) == math.inf, "jobs were never heard of"
    view.apply(log.record(progress(JOBS)), received_at=3.0, live=True)
    assert view.progress_age(7.0) == 6.0
