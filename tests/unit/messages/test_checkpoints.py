"""Checkpoints as chunks: equal bytes for equal states, small changes change few chunks, damage is detected."""

from collections.abc import Callable

import msgspec
import pytest

from vc.messages.checkpoints import (
    HEAD,
    SLICE_ROWS_MAX,
    Chunker,
    Restorer,
    offsets_of,
    row_counts_of,
)
from vc.messages.codec import CodecError
from vc.messages.facts import Identity, Stamp
from vc.messages.record import TopicPartition
from vc.messages.topics import fact_partitions
from vc.messages.view import ViewEntry, ViewState
from vc.model.api.kinds import NODES, PODS
from vc.model.api.meta import ObjectMeta
from vc.model.api.pod import Pod

KINDS = (PODS, NODES)
ROWS = 6_000
STAMP = Stamp(incarnation="one", epoch=2)

Chunks = dict[str, bytes]


def entry(name: str, *, version: str = "1") -> ViewEntry:
    return ViewEntry(
        object=Pod(metadata=ObjectMeta(name=name, uid=f"uid-{name}", resource_version=version)),
        identity=Identity(uid=f"uid-{name}", resource_version=version, stamp=STAMP),
        partition=0,
    )


def state_of(pods: dict[str, ViewEntry]) -> ViewState:
    logs = [TopicPartition(kind.topic, p) for kind in KINDS for p in range(fact_partitions(kind))]
    return ViewState(
        incarnation="one",
        epoch=2,
        positions=dict.fromkeys(logs, 7),
        epochs={logs[0]: 2},
        tables={PODS.topic: pods, NODES.topic: {}},
    )


def restored(state: ViewState, chunks: Chunks) -> ViewState:
    restorer = Restorer(
        KINDS, incarnation=state.incarnation, epoch=state.epoch, offsets=offsets_of(state)
    )
    for name, chunk in chunks.items():
        restorer.take(name, chunk)
    return restorer.state(row_counts_of(state))


@pytest.fixture(scope="module")
def pods() -> dict[str, ViewEntry]:
    return {name: entry(name) for name in (f"pod-{n:05}" for n in range(ROWS))}


def test_a_large_state_comes_back_and_no_chunk_is_large(pods: dict[str, ViewEntry]) -> None:
    state = state_of(pods)
    chunks = dict(Chunker(KINDS).chunks(state))
    assert restored(state, chunks) == state
    rows = [len(msgspec.msgpack.decode(chunk)) for name, chunk in chunks.items() if name != HEAD]
    assert len(rows) > 4
    assert max(rows) <= SLICE_ROWS_MAX


def test_the_order_in_which_rows_came_does_not_show(pods: dict[str, ViewEntry]) -> None:
    turned = dict(reversed(pods.items()))
    assert dict(Chunker(KINDS).chunks(state_of(turned))) == dict(
        Chunker(KINDS).chunks(state_of(pods))
    )


def _change(pods: dict[str, ViewEntry]) -> None:
    pods["pod-03000"] = entry("pod-03000", version="2")


def _add(pods: dict[str, ViewEntry]) -> None:
    pods["pod-03000-a"] = entry("pod-03000-a")


def _remove(pods: dict[str, ViewEntry]) -> None:
    del pods["pod-03000"]


@pytest.mark.parametrize("happens", [_change, _add, _remove])
def test_one_change_writes_one_chunk_again(
    pods: dict[str, ViewEntry], happens: Callable[[dict[str, ViewEntry]], None]
) -> None:
    chunker = Chunker(KINDS)
    before = {id(chunk): chunk for _, chunk in chunker.chunks(state_of(pods))}
    changed = dict(pods)
    happens(changed)
    after = dict(chunker.chunks(state_of(changed)))
    written = [name for name, chunk in after.items() if name != HEAD and id(chunk) not in before]
    assert len(written) == 1
    assert after == dict(Chunker(KINDS).chunks(state_of(changed)))


class Case(msgspec.Struct, frozen=True):
    """What happened to the chunks, and a part of what is said of it."""

    id: str
    spoil: Callable[[Chunks], object]
    why: str


def _other_types(chunks: Chunks) -> None:
    head = msgspec.msgpack.decode(chunks[HEAD])
    chunks[HEAD] = msgspec.msgpack.encode({**head, "types": "others"})


def _other_topics(chunks: Chunks) -> None:
    head = msgspec.msgpack.decode(chunks[HEAD])
    chunks[HEAD] = msgspec.msgpack.encode({**head, "epochs": {"cluster.pods": [1]}})


CASES = [
    Case("no head", lambda chunks: chunks.pop(HEAD), "without a head"),
    Case("a head that is none", lambda chunks: chunks.update({HEAD: b"\x01"}), "chunk head"),
    Case("of a release with other fields", _other_types, "knows other fields"),
    Case("epochs of other logs", _other_topics, "not the topics and partitions"),
    Case("rows are missing", lambda chunks: chunks.pop("cluster.pods/0/0"), "rows are missing"),
    Case("a broken row", lambda c: c.update({"cluster.pods/0/0": b"\x91\x01"}), "cluster.pods/0/0"),
    Case("another kind", lambda c: c.update({"cluster.jobs/0/0": b"\x90"}), "not among our kinds"),
    Case("no partition", lambda c: c.update({"cluster.pods/12/0": b"\x90"}), "is of no log"),
    Case("a strange name", lambda c: c.update({"cluster.pods": b"\x90"}), "is of no log"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_cannot_be_believed_is_refused(case: Case) -> None:
    state = state_of({"a": entry("a")})
    chunks = dict(Chunker(KINDS).chunks(state))
    case.spoil(chunks)
    with pytest.raises(CodecError, match=case.why):
        restored(state, chunks)
