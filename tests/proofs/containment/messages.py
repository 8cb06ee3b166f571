"""Boundaries on the bus and in the cache: whatever bytes come, a CodecError or a value, and nothing else."""

import asyncio
import functools
import random
from typing import Final

import msgspec

from tests.builders.contexts import memory_context
from tests.proofs.containment.inputs import ODD_TEXTS, flipped, manifest_of, mutated
from tests.unit.messages import samples
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock, run_virtual
from vc.messages.checkpoints import Chunker, Restorer, offsets_of, row_counts_of
from vc.messages.codec import CodecError, decode, encode, wire_headers
from vc.messages.dead_letters import DeadLetter
from vc.messages.facts import Identity, Stamp, identity_of, object_of
from vc.messages.plugins import PluginAnnouncement, PluginReply, PluginRequest
from vc.messages.progress import Progress, progress_message, progress_of
from vc.messages.record import Message, Record, TopicPartition
from vc.messages.sessions import entry_of, session_of
from vc.messages.topics import ALL, PARTITIONS, fact_partitions
from vc.messages.usage import usage_of
from vc.messages.view import ViewEntry, ViewState
from vc.model.api.kinds import PODS, QUEUES, WATCHED, Kind
from vc.runtime.consuming.follower import Follower
from vc.snapshot import redis
from vc.watcher.logic import Decoder

STAMP: Final = Stamp(incarnation="00f1a2b3c4d5e6f7", epoch=3)


@functools.cache
def fact_value(kind: Kind) -> bytes:
    """A sound fact's bytes."""
    return encode(Decoder(kind).decode(msgspec.json.encode(manifest_of(kind))))


@functools.cache
def fact_values(kind: Kind) -> tuple[bytes, ...]:
    """Facts of odd manifests that can be projected."""
    rng, decoder = random.Random(kind.short), Decoder(kind)
    found = [fact_value(kind)]
    for _ in range(60):
        try:
            found.append(
                encode(decoder.decode(msgspec.json.encode(mutated(rng, manifest_of(kind)))))
            )
        except Exception:  # noqa: BLE001 - those are for the projection
            continue
    return tuple(found)


def decode_messages(rng: random.Random, count: int) -> int:
    """Every struct that travels, from damaged bytes."""
    others = _others()
    for _ in range(count):
        if rng.random() < 0.5:
            kind = rng.choice(WATCHED)
            into, value = kind.type, fact_value(kind)
        else:
            into, value = rng.choice(others)
        try:
            decode(flipped(rng, value), into=into, headers=wire_headers())
        except CodecError:
            continue
    return count


@functools.cache
def _others() -> tuple[tuple[type, bytes], ...]:
    """Types and sound bytes of all that is no fact."""
    types = {
        "plugin.replies": PluginReply, "plugin.registry": PluginAnnouncement,
        "cluster.progress": Progress, "dead-letters": DeadLetter,
    }  # fmt: skip
    found: list[tuple[type, bytes]] = []
    for value in vars(samples).values():
        if isinstance(value, Message) and value.value:
            into = types.get(value.topic)
            into = PluginRequest if value.topic.endswith(".requests") else into
            if into is not None:
                found.append((into, value.value))
    progress = Progress(
        kind="pods", stamp=STAMP, sequence=1, synced=True, resource_version="1",
        end_offsets=[0] * PARTITIONS,
    )  # fmt: skip
    return (*found, (Progress, encode(progress)))


def read_records(rng: random.Random, count: int) -> int:
    """Headers, keys and values together, by those who read each topic."""
    for _ in range(count):
        record = odd_record(rng, rng.choice(WATCHED), offset=rng.randrange(9))
        for read in (identity_of, object_of, progress_of, usage_of, session_of):
            try:
                read(record)
            except CodecError:
                continue
        try:
            entry_of(record.value or b"")
        except CodecError:
            continue
    return count


def odd_record(rng: random.Random, kind: Kind, *, offset: int) -> Record:
    value: bytes | None = rng.choice(fact_values(kind))
    headers = {
        **wire_headers(), "uid": "u", "resource-version": str(rng.randrange(99)),
        "epoch": str(STAMP.epoch), "incarnation": STAMP.incarnation,
    }  # fmt: skip
    if rng.random() < 0.7:
        value = flipped(rng, value or b"")
    if rng.random() < 0.3:
        name = rng.choice(list(headers))
        headers[name] = rng.choice(ODD_TEXTS)
    if rng.random() < 0.05:
        value = None
    key = "default/odd" if kind.namespaced else "odd"
    key = rng.choice(ODD_TEXTS) if rng.random() < 0.1 else key
    return Record(
        topic=kind.topic, partition=rng.randrange(fact_partitions(kind)), offset=offset,
        key=key, value=value, headers=headers,
    )  # fmt: skip


def follow_records(rng: random.Random, count: int) -> int:
    """A real follower on a bus whose records are damaged: it reads to the end."""
    return run_virtual(_follow(rng, count))


async def _follow(rng: random.Random, count: int) -> int:
    clock = LoopClock()
    bus = MemoryBus(clock)
    await bus.ensure_topics(ALL)
    context = memory_context("scheduler", clock=clock, bus=bus)
    kinds = (PODS, QUEUES)
    records = [odd_record(rng, rng.choice(kinds), offset=0) for _ in range(count)]
    progress = [
        Progress(
            kind=kind.short, stamp=STAMP, sequence=1, synced=True, resource_version="1",
            end_offsets=[0] * fact_partitions(kind),
        )
        for kind in kinds
    ]  # fmt: skip
    await bus.publish([progress_message(each) for each in progress])
    await bus.publish(
        [
            Message(
                topic=r.topic, partition=r.partition, key=r.key, value=r.value, headers=r.headers
            )
            for r in records
        ]
    )
    follower = Follower(context, kinds)
    for _ in range(20):
        await follower.poll()
    for kind in kinds:
        for partition, end in enumerate(await bus.end_offsets(kind.topic)):
            at = TopicPartition(kind.topic, partition)
            assert follower.view.positions.get(at, 0) == end, f"{at} is not read to its end"
    await follower.close()
    await asyncio.sleep(0)
    return count


def read_cache(rng: random.Random, count: int) -> int:
    """Heads and chunks of checkpoints, and sessions, as somebody else wrote them to Redis."""
    head, chunks, state = _checkpoint()
    for _ in range(count):
        redis._read_head(flipped(rng, head))
        redis._text(flipped(rng, b"7-12"))
        restorer = Restorer(
            (PODS, QUEUES), incarnation=STAMP.incarnation, epoch=3, offsets=offsets_of(state)
        )
        try:
            for name, chunk in chunks.items():
                odd = rng.random() < 0.5
                named = rng.choice(ODD_TEXTS) if rng.random() < 0.05 else name
                restorer.take(named, flipped(rng, chunk) if odd else chunk)
            restorer.state(row_counts_of(state))
        except CodecError:
            continue
    return count


@functools.cache
def _checkpoint() -> tuple[bytes, dict[str, bytes], ViewState]:
    kinds = (PODS, QUEUES)
    tables: dict[str, dict[str, ViewEntry]] = {}
    for kind in kinds:
        obj = decode(fact_value(kind), into=kind.type, headers=wire_headers())
        identity = Identity(uid="u", resource_version="7", stamp=STAMP)
        tables[kind.topic] = {obj.key: ViewEntry(object=obj, identity=identity, partition=0)}
    logs = [TopicPartition(k.topic, p) for k in kinds for p in range(fact_partitions(k))]
    state = ViewState(
        incarnation=STAMP.incarnation, epoch=3, positions=dict.fromkeys(logs, 1), epochs={},
        tables=tables,
    )  # fmt: skip
    chunks = dict(Chunker(kinds).chunks(state))
    head = {
        "version": "v", "incarnation": STAMP.incarnation, "epoch": 3, "offsets": offsets_of(state),
        "row_counts": row_counts_of(state), "digest": "d", "written_at": 1.0,
        "pieces": dict.fromkeys(chunks, 1),
    }  # fmt: skip
    return msgspec.msgpack.encode(head), chunks, state
