"""Access table behind the ACLs: topics, consumer groups and Redis keys of each service.

Producers and consumers come from `topics`; this module adds the kinds of facts that a service
follows. `vc.cli.pyroclast.acls` turns it into commands, the chart contains them, and tests run all
services with exactly these rights. A third-party plugin (`plugin-<name>`) has the rights of a
plugin.
"""

from typing import Final

import msgspec

from vc.messages.job_plugins import JOB_PLUGINS
from vc.messages.topics import (
    ALL,
    DEAD_LETTERS,
    EVERYONE,
    PLUGIN_REGISTRY,
    PROGRESS,
    Topic,
    plugin_requests,
)
from vc.model.api import kinds
from vc.model.api.kinds import Kind

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
    "queue-controller": (kinds.QUEUES, kinds.PODGROUPS, kinds.COMMANDS),
    "usage-ledger": (kinds.PODS, kinds.PODGROUPS, kinds.JOBS),
    "scheduler": (*_SCHEDULED, kinds.CONFIGMAPS),
    "admission": (kinds.QUEUES, kinds.NAMESPACES, kinds.CONFIGMAPS, kinds.QUOTAS),
    "dashboard": (*_SCHEDULED, kinds.JOBS, kinds.CONFIGMAPS),
}  # fmt: skip
"""The facts that a service reads, completely or its share of the partitions."""

PURE_PLUGINS: Final = frozenset(
    f"{PLUGIN}{name}" for name, plugin in JOB_PLUGINS.items() if plugin.makes_nothing
)
"""Plugins that do not check which cluster owns the topics."""


class DataAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The rights of one service on the bus. Names are without the topic prefix."""

    service: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    groups: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    """Topics that the service creates, and whose settings it verifies."""


def access_of(service: str) -> DataAccess:
    """The rights of one of our services, or of a third-party plugin."""
    topics = topics_of(service)
    # Every follower needs progress to know its incarnation.
    reads = [PROGRESS.name, *(kind.topic for kind in FOLLOWED.get(service, ()))]
    # They have no right to read the cluster's uid, so progress is of no use to them.
    if service in PURE_PLUGINS:
        reads = []
    reads += [t.name for t in topics if service in t.consumers and t.name not in reads]
    writes = [t.name for t in topics if _produces(service, t)]
    if service.startswith(PLUGIN):
        reads.append(PLUGIN_REGISTRY.name)  # to check that its announcement is present
    return DataAccess(
        service=service,
        reads=tuple(sorted(reads)),
        writes=tuple(sorted(writes)),
        groups=(f"vc-{service}",)
        if service == JOB_CONTROLLER or service.startswith(PLUGIN)
        else (),
        makes=tuple(t.name for t in ALL) if service == WATCHER else (),
    )


def topics_of(service: str) -> tuple[Topic, ...]:
    """All declared topics, including the request topic of a third-party plugin."""
    if service.startswith(PLUGIN):
        own = plugin_requests(service.removeprefix(PLUGIN))
        return (*ALL, own) if own not in ALL else ALL
    return ALL


def _produces(service: str, topic: Topic) -> bool:
    # Every service may find a record that it cannot use.
    if topic is DEAD_LETTERS:
        return True
    by_plugins = topic.producer == _PLUGINS_PRODUCER and service.startswith(PLUGIN)
    return topic.producer in (service, EVERYONE) or by_plugins


class KeyAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The rights of one service in the snapshot cache."""

    checkpoints: tuple[str, ...] = ()
    """Names of the checkpoints that it loads and saves."""
    writes_sessions: bool = False
    reads_sessions: bool = False


SNAPSHOTS: Final[dict[str, KeyAccess]] = {
    "usage-ledger": KeyAccess(checkpoints=("usage",)),
    "scheduler": KeyAccess(checkpoints=("scheduler",), writes_sessions=True, reads_sessions=True),
    "dashboard": KeyAccess(reads_sessions=True),
}
