"""The table of all topics: name, key, partitioning, retention, producer and consumers.

A test compares ARCHITECTURE.md and the READMEs of the services with this table. Partition counts
are fixed for the lifetime of a topic, because the partition determines the owner of a job
(`partition.py`).
"""

import enum
from typing import Final

import msgspec

from vc.messages.job_plugins import JOB_PLUGINS
from vc.model.api import kinds

PARTITIONS: Final = 12
"""Partition count of every topic that is split; equal everywhere, so that all objects of a job have
the same partition number.
"""
KINDS_OF_JOBS: Final = (kinds.JOBS, kinds.PODGROUPS, kinds.PODS, kinds.COMMANDS)
"""Facts that are shared among job-controller replicas. Other kinds are always read completely, so
they are not split: a read names each partition, and an empty one costs as much as a full one.
"""

MESSAGE_BYTES_MAX: Final = 4 * 1024 * 1024
"""Size limit of a message; the watcher rejects larger objects, with an event on the object."""

_DAY_SECONDS: Final = 24 * 3600
TOMBSTONE_RETENTION_SECONDS: Final = _DAY_SECONDS
"""How long a deletion stays readable in a compacted topic."""

PLUGINS: Final = tuple(JOB_PLUGINS)
"""The job plugins in this repository;
third-party plugins announce themselves on `plugin.registry`.
"""

EVERYONE: Final = "everyone"


class Split(enum.Enum):
    """How keys are distributed over partitions."""

    BY_JOB = "by owning job"
    BY_KEY = "by key"
    SINGLE = "one partition"


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic and its configuration."""

    name: str
    key: str
    split: Split
    compacted: bool
    retention_seconds: int
    """Retention of messages; in a compacted topic, of tombstones."""
    producer: str
    consumers: tuple[str, ...]

    @property
    def partitions(self) -> int:
        return 1 if self.split is Split.SINGLE else PARTITIONS


def _fact_topic(kind: kinds.Kind) -> Topic:
    return Topic(
        name=kind.topic,
        key="namespace/name" if kind.namespaced else "name",
        # Only kinds that a consumer group shares gain from partitions.
        split=Split.BY_JOB if kind in KINDS_OF_JOBS else Split.SINGLE,
        compacted=True,
        retention_seconds=TOMBSTONE_RETENTION_SECONDS,
        producer="watcher",
        consumers=(EVERYONE,),
    )


def fact_partitions(kind: kinds.Kind) -> int:
    """The partition count of a kind's facts."""
    return BY_NAME[kind.topic].partitions


def plugin_requests(plugin: str) -> Topic:
    """The request topic of a job plugin; third-party plugins use the same rule."""
    return Topic(
        name=f"plugin.{plugin}.requests",
        key="namespace/job",
        split=Split.BY_JOB,
        compacted=False,
        retention_seconds=_DAY_SECONDS,
        producer="job-controller",
        consumers=(f"plugin-{plugin}",),
    )


PROGRESS: Final = Topic(
    name="cluster.progress",
    key="kind",
    split=Split.SINGLE,
    compacted=True,
    retention_seconds=TOMBSTONE_RETENTION_SECONDS,
    producer="watcher",
    consumers=(EVERYONE,),
)
PLUGIN_REGISTRY: Final = Topic(
    name="plugin.registry",
    key="plugin",
    split=Split.SINGLE,
    compacted=True,
    retention_seconds=TOMBSTONE_RETENTION_SECONDS,
    producer="plugins",
    consumers=("job-controller", "admission"),
)
PLUGIN_REPLIES: Final = Topic(
    name="plugin.replies",
    key="namespace/job",
    split=Split.BY_JOB,
    compacted=False,
    retention_seconds=_DAY_SECONDS,
    producer="plugins",
    consumers=("job-controller",),
)
SESSIONS: Final = Topic(
    name="scheduling.sessions",
    key="session id",
    split=Split.BY_KEY,
    compacted=False,
    retention_seconds=7 * _DAY_SECONDS,
    producer="scheduler",
    consumers=("dashboard",),
)
USAGE_LEDGER: Final = Topic(
    name="usage.ledger",
    key="queue/namespace/job/hour",
    split=Split.BY_KEY,
    compacted=True,
    retention_seconds=TOMBSTONE_RETENTION_SECONDS,
    producer="usage-ledger",
    consumers=("dashboard",),
)
DEAD_LETTERS: Final = Topic(
    name="dead-letters",
    key="origin key",
    split=Split.BY_KEY,
    compacted=False,
    retention_seconds=30 * _DAY_SECONDS,
    producer=EVERYONE,
    consumers=("people",),
)

FACTS: Final[tuple[Topic, ...]] = tuple(_fact_topic(kind) for kind in kinds.WATCHED)
ALL: Final[tuple[Topic, ...]] = (
    *FACTS,
    PROGRESS,
    PLUGIN_REGISTRY,
    *(plugin_requests(name) for name in PLUGINS),
    PLUGIN_REPLIES,
    SESSIONS,
    USAGE_LEDGER,
    DEAD_LETTERS,
)
BY_NAME: Final[dict[str, Topic]] = {topic.name: topic for topic in ALL}
