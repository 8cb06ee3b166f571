"""What the rules know besides the object: queues, namespaces, plugins, settings.

A `World` is an immutable value. The shell creates a new one when the bus view changes, and adds
what it read live for one request (`with_queues`). Offline it contains only the objects of the files
and is not `complete`: then an unknown queue is a warning instead of a refusal.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from vc.jobs.plugins.built_in import BUILT_IN_PLUGINS
from vc.messages.plugins import PluginAnnouncement
from vc.model.api.keys import ROOT_QUEUE, SCHEDULER_NAME, SYSTEM_NAMESPACE
from vc.model.api.kubernetes import Namespace, ResourceQuota
from vc.model.api.scheduling import Queue
from vc.model.compat import Compat
from vc.validation.maxima import Maxima
from vc.validation.resource_groups import ResourceGroup

QUEUE_DEPTH_MAX: Final = 5
"""Levels below root, as upstream's `--max-queue-depth`."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the administrator."""

    compat: Compat = Compat.LENIENT
    scheduler_names: tuple[str, ...] = (SCHEDULER_NAME,)
    """Names of our scheduler. The first is the default of jobs."""
    queue_depth_max: int = QUEUE_DEPTH_MAX
    root_queue_protection: bool = True
    allocated_pods_check: bool | None = None
    """Whether a queue in use is protected from deletion. None follows the compatibility setting."""
    queue_allocation_gate: bool = False
    """Whether pods may request to be gated until their queue has free resources for them."""
    maxima: Maxima = Maxima()
    accounts: tuple[str, ...] = ()
    """User names of our own services. If empty, nothing is restored."""
    system_namespace: str = SYSTEM_NAMESPACE
    queue_use_review: bool = False
    """Whether a user who submits to a queue needs the verb `use` on it."""
    time_zones: frozenset[str] = frozenset()
    """Known names. Empty means that they cannot be checked here."""

    @property
    def protects_queues_in_use(self) -> bool:
        """Whether a queue in use is protected. Volcano's default is no, ours is yes."""
        if self.allocated_pods_check is None:
            return self.compat is Compat.LENIENT
        return self.allocated_pods_check


class AccessCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a user may apply a verb to a queue. It is answered by a SubjectAccessReview."""

    username: str
    groups: tuple[str, ...] = ()
    verb: str
    queue: str


class World(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the rules may read."""

    queues: Mapping[str, Queue] = {}
    children: Mapping[str, tuple[str, ...]] = {}
    """Names of the children of each queue, sorted."""
    namespaces: Mapping[str, Namespace] = {}
    plugins: Mapping[str, PluginAnnouncement] = msgspec.field(
        default_factory=lambda: BUILT_IN_PLUGINS
    )
    """Plugins that a job may name. Built-in ones are known without an announcement: a job waits for
    a stopped plugin instead of being refused."""
    resource_groups: tuple[ResourceGroup, ...] = ()
    settings: Settings = Settings()
    unfinished_groups: Mapping[str, int] = {}
    """PodGroups that are not Completed, by queue, if they were counted for the request."""
    objects_there: int | None = None
    """Existing objects of the request's kind and namespace, counted up
    to the maximum, if one is set."""
    granted: frozenset[AccessCheck] = frozenset()
    """The rights that the API server confirmed for the request."""
    quotas: Mapping[str, tuple[ResourceQuota, ...]] = {}
    """Quotas by namespace whose scope is a priority class."""
    complete: bool = True
    """Whether an object that is not here does not exist."""

    def with_queues(self, queues: Iterable[Queue]) -> "World":
        """The world with these queues added or replaced."""
        merged = {**self.queues, **{queue.metadata.name: queue for queue in queues}}
        return msgspec.structs.replace(self, queues=merged, children=children_of(merged))

    def with_namespaces(self, namespaces: Iterable[Namespace]) -> "World":
        """The world with these namespaces added or replaced."""
        added = {namespace.metadata.name: namespace for namespace in namespaces}
        return msgspec.structs.replace(self, namespaces={**self.namespaces, **added})


def parent_of(queue: Queue) -> str:
    """The parent of a queue. Every queue except root has one."""
    if queue.metadata.name == ROOT_QUEUE:
        return ""
    return queue.spec.parent or ROOT_QUEUE


def children_of(queues: Mapping[str, Queue]) -> dict[str, tuple[str, ...]]:
    """The children of each parent, in the order of names."""
    children: dict[str, list[str]] = {}
    for name in sorted(queues):
        parent = parent_of(queues[name])
        if parent:
            children.setdefault(parent, []).append(name)
    return {parent: tuple(names) for parent, names in children.items()}
