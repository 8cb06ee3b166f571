"""Every topic, once: name, key, partitioning, retention, who writes it and who reads it.

ARCHITECTURE.md and the services' READMEs are compared with this table by a test. Partition counts
are fixed for the life of a topic, because the partition is the owner of a job (`partition.py`).
"""

import enum
from typing import Final

import msgspec

from vc_model import kinds

PARTITIONS: Final = 12
"""Of every topic that is split; equal everywhere, so that all of a job shares one number."""
KINDS_OF_JOBS: Final = (kinds.JOBS, kinds.PODGROUPS, kinds.PODS, kinds.COMMANDS)
"""Facts that job-controllers share among themselves. The others are read whole by whoever reads them,
so they are not split: every read names each log, and costs as much for one that is empty."""

MESSAGE_BYTES_MAX: Final = 4 * 1024 * 1024
"""Larger objects are refused by the watcher, with an event on the object."""

_DAY_SECONDS: Final = 24 * 3600
TOMBSTONE_RETENTION_SECONDS: Final = _DAY_SECONDS
"""How long a deletion stays readable in a compacted topic."""

PLUGINS: Final = ("env", "svc", "ssh", "pytorch", "mpi", "tensorflow", "ray")
"""The plugins in this repository; others announce themselves on `plugin.registry`."""

EVERYONE: Final = "everyone"


class Split(enum.Enum):
    """How keys are spread over partitions."""

    BY_JOB = "by owning job"
    BY_KEY = "by key"
    SINGLE = "one partition"


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic and its policy."""

    name: str
    key: str
    split: Split
    compacted: bool
    retention_seconds: int
    """Of messages when not compacted, of tombstones when compacted."""
    producer: str
    consumers: tuple[str, ...]

    @property
    def partitions(self) -> int:
        return 1 if self.split is Split.SINGLE else PARTITIONS


def _fact_topic(kind: kinds.Kind) -> Topic:
    return Topic(
        name=kind.topic,
        key="namespace/name" if kind.namespaced else "name",
        split=Split.BY_JOB if kind in KINDS_OF_JOBS else Split.SINGLE,
        compacted=True,
        retention_seconds=TOMBSTONE_RETENTION_SECONDS,
        producer="watcher",
        consumers=(EVERYONE,),
    )


def fact_partitions(kind: kinds.Kind) -> int:
    """How many logs a kind's facts are split into."""
    return BY_NAME[kind.topic].partitions


def plugin_requests(plugin: str) -> Topic:
    """Where a plugin is asked; third parties get their topic from the same rule."""
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
    producer="queue-controller",
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
