"""From which checkpoints a service may start; in doubt it starts cold."""

from typing import Any

import msgspec
import pytest

from vc.messages.facts import Stamp
from vc.messages.topics import PARTITIONS, TOMBSTONE_RETENTION_SECONDS
from vc.snapshot import Checkpoint, digest_of
from vc.snapshot.validity import LogSpan, why_unusable

NOW = 1_800_000_000.0
PODS, NODES = "cluster.pods", "cluster.nodes"
LOGS = {topic: LogSpan(starts=[10] * PARTITIONS, ends=[20] * PARTITIONS) for topic in (PODS, NODES)}


def checkpoint(**changes: Any) -> Checkpoint:
    """A good one, unless something is changed; its digest is always right."""
    fields: dict[str, Any] = {
        "incarnation": "one",
        "epoch": 3,
        "offsets": {PODS: [15] * PARTITIONS, NODES: [15] * PARTITIONS},
        "row_counts": {},
        "chunks": {"head": b"x"},
        "written_at": NOW - 60,
        **changes,
    }
    digest = digest_of(
        incarnation=fields["incarnation"],
        epoch=fields["epoch"],
        offsets=fields["offsets"],
        chunks=fields["chunks"],
    )
    return Checkpoint(**{"digest": digest, **fields})


class Case(msgspec.Struct, frozen=True):
    """A checkpoint, and a part of the reason to refuse it; empty when it is good."""

    id: str
    change: dict[str, Any]
    why: str


def offsets(number: int) -> dict[str, list[int]]:
    """All in the middle, but for the last partition of nodes."""
    return {PODS: [15] * PARTITIONS, NODES: [*[15] * (PARTITIONS - 1), number]}


CASES = [
    Case("a good one", {}, ""),
    Case("an older epoch", {"epoch": 2}, ""),
    Case("all at the log's start", {"offsets": offsets(10)}, ""),
    Case("all at the log's end", {"offsets": offsets(20)}, ""),
    Case("written this very moment", {"written_at": NOW}, ""),
    Case("not quite too old", {"written_at": NOW - TOMBSTONE_RETENTION_SECONDS / 2 + 1}, ""),
    Case("another digest", {"digest": "0" * 64}, "digest"),
    Case("another incarnation", {"incarnation": "two"}, "of incarnation two, not one"),
    Case("an epoch without progress", {"epoch": 4}, "epoch 4, newer than 3"),
    Case("below the log's start", {"offsets": offsets(9)}, "cluster.nodes[11] begins at 10"),
    Case("beyond the log's end", {"offsets": offsets(21)}, "cluster.nodes[11] ends at 20"),
    Case("a negative offset", {"offsets": offsets(-1)}, "cluster.nodes[11] begins"),
    Case("a topic is missing", {"offsets": {PODS: [15] * PARTITIONS}}, "it is of cluster.pods,"),
    Case(
        "a topic too many",
        {"offsets": {**offsets(15), "cluster.jobs": [15] * PARTITIONS}},
        "it is of cluster.jobs, cluster.nodes, cluster.pods,",
    ),
    Case(
        "a partition is missing",
        {"offsets": {PODS: [15] * PARTITIONS, NODES: [15] * (PARTITIONS - 1)}},
        "cluster.nodes has 12 partitions, not 11",
    ),
    Case(
        "half the tombstone retention old",
        {"written_at": NOW - TOMBSTONE_RETENTION_SECONDS / 2},
        "deletions may be forgotten",
    ),
    Case("written in the future", {"written_at": NOW + 0.5}, "0.5 s in the future"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_checkpoint_is_used_or_refused_with_a_reason(case: Case) -> None:
    stamp = Stamp(incarnation="one", epoch=3)
    why = why_unusable(checkpoint(**case.change), stamp=stamp, logs=LOGS, now=NOW)
    assert case.why in why
    assert bool(why) == bool(case.why)
