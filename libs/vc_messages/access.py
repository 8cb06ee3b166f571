"""Who reads and writes which topic, in which group, and which keys of Redis: the table behind the ACLs.

Producers and consumers come from `topics`; what stands here besides is which kinds of facts a service
follows. `vc_cli.acls` makes commands of it, the chart carries them, and tests run all services with
exactly these rights. A guest plugin (`plugin-<name>` of a third party) has the rights of a plugin.
"""

from typing import Final

import msgspec

from vc_messages.topics import (
    ALL,
    DEAD_LETTERS,
    EVERYONE,
    PLUGIN_REGISTRY,
    PROGRESS,
    Topic,
    plugin_requests,
)
from vc_model import kinds
from vc_model.kinds import Kind

WATCHER: Final = "watcher"
JOB_CONTROLLER: Final = "job-controller"
PLUGIN: Final = "plugin-"
_PLUGINS_PRODUCER: Final = "plugins"

_SCHEDULED: Final = (
    kinds.PODS, kinds.NODES, kinds.PODGROUPS, kinds.QUEUES, kinds.PRIORITYCLASSES, kinds.NAMESPACES,
    kinds.CLAIMS, kinds.VOLUMES, kinds.STORAGECLASSES, kinds.CSINODES, kinds.QUOTAS, kinds.BUDGETS,
)  # fmt: skip

FOLLOWED: Final[dict[str, tuple[Kind, ...]]] = {
    WATCHER: kinds.WATCHED,
    JOB_CONTROLLER: (
        kinds.JOBS, kinds.PODGROUPS, kinds.PODS, kinds.COMMANDS,
        kinds.QUEUES, kinds.PRIORITYCLASSES, kinds.CLAIMS,
    ),
    "podgroup-controller": (
        kinds.PODS, kinds.PODGROUPS, kinds.REPLICASETS, kinds.STATEFULSETS, kinds.DAEMONSETS,
        kinds.BATCHJOBS,
    ),
    "queue-controller": (kinds.QUEUES, kinds.PODGROUPS, kinds.COMMANDS, kinds.PODS, kinds.JOBS),
    "scheduler": (*_SCHEDULED, kinds.CONFIGMAPS),
    "admission": (kinds.QUEUES, kinds.NAMESPACES, kinds.CONFIGMAPS, kinds.QUOTAS),
    "dashboard": (*_SCHEDULED, kinds.JOBS, kinds.CONFIGMAPS),
}  # fmt: skip
"""Which facts a service reads, whole or its share of them."""

PURE_PLUGINS: Final = frozenset({"plugin-env", "plugin-pytorch", "plugin-mpi", "plugin-tensorflow"})
"""Do not look whose the topics are."""


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """What one service may do on the bus. Names are those of our code, without a prefix."""

    service: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    groups: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    """Topics that it creates, and whose settings it verifies."""


def access_of(service: str) -> Access:
    """Of a service of ours, or of a guest plugin."""
    topics = topics_of(service)
    reads = [PROGRESS.name, *(kind.topic for kind in FOLLOWED.get(service, ()))]
    if service in PURE_PLUGINS:
        reads = []
    reads += [t.name for t in topics if service in t.consumers and t.name not in reads]
    writes = [t.name for t in topics if _produces(service, t)]
    if service.startswith(PLUGIN):
        reads.append(PLUGIN_REGISTRY.name)  # whether its announcement is there
    return Access(
        service=service,
        reads=tuple(sorted(reads)),
        writes=tuple(sorted(writes)),
        groups=(f"vc-{service}",)
        if service == JOB_CONTROLLER or service.startswith(PLUGIN)
        else (),
        makes=tuple(t.name for t in ALL) if service == WATCHER else (),
    )


def topics_of(service: str) -> tuple[Topic, ...]:
    """All topics that are declared, with that of a guest plugin."""
    if service.startswith(PLUGIN):
        own = plugin_requests(service.removeprefix(PLUGIN))
        return (*ALL, own) if own not in ALL else ALL
    return ALL


def _produces(service: str, topic: Topic) -> bool:
    if topic is DEAD_LETTERS:
        return True
    by_plugins = topic.producer == _PLUGINS_PRODUCER and service.startswith(PLUGIN)
    return topic.producer in (service, EVERYONE) or by_plugins


class KeyAccess(msgspec.Struct, frozen=True, kw_only=True):
    """What one service may do in the snapshot cache."""

    checkpoints: tuple[str, ...] = ()
    """Names of those that it loads and saves."""
    writes_sessions: bool = False
    reads_sessions: bool = False


SNAPSHOTS: Final[dict[str, KeyAccess]] = {
    "queue-controller": KeyAccess(checkpoints=("usage",)),
    "scheduler": KeyAccess(checkpoints=("scheduler",), writes_sessions=True, reads_sessions=True),
    "dashboard": KeyAccess(reads_sessions=True),
}
