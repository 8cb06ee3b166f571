"""Whatever a bus and a stale watcher do to a history, a view that may act knows the truth.

A history is drawn: objects made, changed, moved between partitions, deleted and made again; new
watchers that fence; and noise that must not matter: doubled batches, records of a fenced watcher,
of another incarnation, tombstones of older uids. It is then read in a drawn interleaving of the
partitions, each in its own order. Only what the logs say, in no particular order between them, may
decide, and before every offset of the newest progress has passed nobody may act.
"""

import random
from collections.abc import Callable

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from vc.messages.facts import Stamp, fact_message, fence_message, tombstone_message
from vc.messages.progress import Progress, progress_message
from vc.messages.record import Message, Record
from vc.messages.topics import PARTITIONS
from vc.messages.view import View
from vc.model.api.kinds import PODS
from vc.model.api.meta import ObjectMeta
from vc.model.api.pod import Pod

KEYS = ("a", "b", "c")
USED_PARTITIONS = (0, 1, 2)
"""Few, so that objects often move and meet."""
FOREIGN = Stamp(incarnation="foreign", epoch=99)


class Life(msgspec.Struct, frozen=True):
    """An object as it is at the API server."""

    uid: str
    version: int
    partition: int


class History:
    """A watcher's history as logs, with the truth beside it."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.logs: dict[int, list[Message]] = {number: [] for number in range(PARTITIONS)}
        self.truth: dict[str, Life] = {}
        self.dead: list[tuple[str, Life]] = []
        self.stamp = Stamp(incarnation="ours", epoch=1)
        self.version = 0
        self.progress: list[Progress] = []

    def write(self, *messages: Message) -> None:
        """As one publish; a producer's retry may leave the batch twice."""
        for _ in range(self.dice.choice((1, 1, 1, 2))):
            for message in messages:
                self.logs[message.partition].append(message)

    def fact(self, name: str, life: Life, stamp: Stamp) -> Message:
        metadata = ObjectMeta(name=name, uid=life.uid, resource_version=str(life.version))
        made = fact_message(PODS, Pod(metadata=metadata), stamp=stamp)
        return msgspec.structs.replace(made, partition=life.partition)

    def tombstone(self, name: str, life: Life, stamp: Stamp) -> Message:
        return tombstone_message(
            PODS,
            key=name,
            partition=life.partition,
            uid=life.uid,
            resource_version=str(self.version),
            stamp=stamp,
        )

    # -- what may happen -------------------------------------------------------------------------

    def put(self) -> None:
        """Make, change or move an object."""
        name = self.dice.choice(KEYS)
        known = self.truth.get(name)
        self.version += 1
        life = Life(
            uid=known.uid if known else f"uid-{self.version}",
            version=self.version,
            partition=self.dice.choice(USED_PARTITIONS),
        )
        batch = [self.fact(name, life, self.stamp)]
        if known and known.partition != life.partition:
            batch.append(self.tombstone(name, known, self.stamp))
            self.dice.shuffle(batch)
            self.dead.append((name, known))
        self.truth[name] = life
        self.write(*batch)

    def delete(self) -> None:
        if self.truth:
            name = self.dice.choice(sorted(self.truth))
            life = self.truth.pop(name)
            self.version += 1
            self.dead.append((name, life))
            self.write(self.tombstone(name, life, self.stamp))

    def fence(self) -> None:
        self.stamp = msgspec.structs.replace(self.stamp, epoch=self.stamp.epoch + 1)
        self.write(*(fence_message(PODS, partition=n, stamp=self.stamp) for n in range(PARTITIONS)))

    def stale(self) -> None:
        """A watcher that was fenced goes on writing."""
        if self.stamp.epoch > 1:
            self.noise(msgspec.structs.replace(self.stamp, epoch=self.stamp.epoch - 1))

    def foreign(self) -> None:
        self.noise(FOREIGN)

    def noise(self, stamp: Stamp) -> None:
        name = self.dice.choice(KEYS)
        partition = self.dice.choice(USED_PARTITIONS)
        life = self.truth.get(name) or Life(uid="phantom", version=10**6, partition=partition)
        lie = msgspec.structs.replace(life, version=life.version + 1000, partition=partition)
        kind: Callable[[str, Life, Stamp], Message] = self.dice.choice((self.fact, self.tombstone))
        self.write(kind(name, lie, stamp))

    def late_tombstone(self) -> None:
        """A relist buries again what was buried before; never where the name lives again.

        Readers would know the difference by the uid, but compaction keeps only the last record of a
        key: a late tombstone would take the living one out of the log.
        """
        if self.dead:
            name, life = self.dice.choice(self.dead)
            living = self.truth.get(name)
            if living is None or living.partition != life.partition:
                self.write(self.tombstone(name, life, self.stamp))

    def tell(self) -> None:
        """Progress: who has read up to here knows all there is."""
        ends = [len(self.logs[number]) for number in range(PARTITIONS)]
        self.progress.append(
            Progress(
                kind=PODS.short,
                stamp=self.stamp,
                sequence=len(self.progress) + 1,
                synced=True,
                resource_version=str(self.version),
                end_offsets=ends,
            )
        )


STEPS: tuple[Callable[[History], None], ...] = (
    History.put,
    History.put,
    History.put,
    History.delete,
    History.fence,
    History.stale,
    History.foreign,
    History.late_tombstone,
    History.tell,
)


def as_record(message: Message, offset: int) -> Record:
    return Record(offset=offset, **msgspec.structs.asdict(message))


class Reading:
    """A view that is fed, one record of a drawn log at a time."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.view = View([PODS])
        self.at = dict.fromkeys(history.logs, 0)
        self.told = 0

    def unread(self) -> list[int]:
        return [n for n, log in self.history.logs.items() if self.at[n] < len(log)]

    def hear(self) -> None:
        """The next progress; the first one is read before any fact."""
        message = progress_message(self.history.progress[self.told])
        self.view.apply(as_record(message, self.told), received_at=0.0, live=True)
        self.told += 1

    def read(self, number: int) -> None:
        message = self.history.logs[number][self.at[number]]
        self.view.apply(as_record(message, self.at[number]), received_at=0.0, live=True)
        self.at[number] += 1

    def check(self) -> None:
        ends = self.history.progress[self.told - 1].end_offsets
        behind = any(self.at[number] < end for number, end in enumerate(ends))
        assert bool(self.view.unready(0.0)) == behind


def view_as_truth(view: View) -> dict[str, Life]:
    return {
        key: Life(
            uid=entry.identity.uid,
            version=int(entry.identity.resource_version),
            partition=entry.partition,
        )
        for key, entry in view.entries(PODS).items()
    }


@given(
    steps=st.lists(st.sampled_from(STEPS), max_size=60),
    dice=st.randoms(use_true_random=False),
)
def test_a_view_that_may_act_knows_the_truth(
    steps: list[Callable[[History], None]], dice: random.Random
) -> None:
    history = History(dice)
    history.tell()
    for step in steps:
        step(history)
    history.tell()
    reading = Reading(history)
    reading.hear()
    while reading.unread() or reading.told < len(history.progress):
        unread = reading.unread()
        if reading.told < len(history.progress) and (not unread or dice.random() < 0.1):
            reading.hear()
        else:
            reading.read(dice.choice(unread))
        reading.check()
    assert reading.view.unready(0.0) == ""
    assert view_as_truth(reading.view) == history.truth


@given(steps=st.lists(st.sampled_from(STEPS), max_size=40), dice=st.randoms(use_true_random=False))
def test_compaction_changes_nothing(
    steps: list[Callable[[History], None]], dice: random.Random
) -> None:
    """Any record that has a later one of its key in its log may be missing."""
    history = History(dice)
    for step in steps:
        step(history)
    history.tell()
    view = View([PODS])
    view.apply(
        as_record(progress_message(history.progress[-1]), len(history.progress)),
        received_at=0.0,
        live=True,
    )
    for log in history.logs.values():
        last = {message.key: offset for offset, message in enumerate(log)}
        for offset, message in enumerate(log):
            believed = message.headers["incarnation"] == "ours"
            if last[message.key] == offset or not believed or dice.random() < 0.5:
                view.apply(as_record(message, offset), received_at=0.0, live=True)
    assert view.unready(0.0) == ""
    lied = {m.key for log in history.logs.values() for m in log if is_lie(m, log)}
    truth = {key: life for key, life in history.truth.items() if key not in lied}
    assert {k: v for k, v in view_as_truth(view).items() if k not in lied} == truth


def is_lie(message: Message, log: list[Message]) -> bool:
    """Written by somebody who is not believed: compaction may let it replace the truth.

    That is why the watcher reads its own topics and republishes the truth over anything foreign
    (docs/protocol.md 4); until it has, a compacted log may lack the fact.
    """
    at = log.index(message)
    epochs = [int(earlier.headers["epoch"]) for earlier in log[:at]]
    fenced = int(message.headers["epoch"]) < max(epochs, default=0)
    return message.headers["incarnation"] != "ours" or fenced
