"""Extension points that concern nodes, jobs and queues, and the plugins behind them.

Each extension point is one small Protocol. Its results are arrays or values, so that no call per
pod and node is needed. A plugin is a class with a `name`, constructed from its arguments. It takes
part in every extension point whose methods it has. Plugins are called in the order of the tiers.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Protocol,
    runtime_checkable,
)

import numpy as np

from vc.messages.sessions import Reason
from vc.scheduling.cache.images import ImageRow
from vc.scheduling.framework.stopwatch import NO_STOPWATCH, PREDICATE, SCORING, Stopwatch
from vc.scheduling.framework.voting import Voters
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.model.node_table import Filtered, Ints, Mask, StaticTable
from vc.scheduling.model.rows import GroupRow, PodRow, QueueRow
from vc.scheduling.model.shapes import Shape

if TYPE_CHECKING:
    from vc.scheduling.conf.model import Conf, PluginConf
    from vc.scheduling.session.pod_affinity import PodAffinity
    from vc.scheduling.session.session import Session

READY: Final = "ready"
"""The check that is always applied; no configuration disables it."""

OrderKey = tuple[Any, ...]
"""A sort key, compared only with keys of the same plugin; smaller comes first."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates:
    """Nodes to be scored for each of the next `deep` pods of a shape."""

    shape: Shape
    request: Ints
    resources: Mapping[str, int]
    used: Ints
    """[node, resource]: the amount used now."""
    allocatable: Ints
    """[node, resource]"""
    deep: int
    rows: Ints
    """Row numbers of these nodes in the node table."""
    nodes: StaticTable
    allowed: Mask
    """Over all nodes: those allowed for the shape. Scores are normalized over these nodes."""

    def used_after(self, column: int) -> Ints:
        """[node, pod]: the used amount of a resource after that many pods were added."""
        more = np.arange(1, self.deep + 1, dtype=np.int64) * self.request[column]
        after: Ints = self.used[:, column, None] + more
        return after

    @property
    def form(self) -> tuple[int, int]:
        """The required dimensions of a score: [node, pod]."""
        return (len(self.used), self.deep)


@runtime_checkable
class NodeFilter(Protocol):
    """Predicate: which nodes are allowed for a shape, regardless of free resources."""

    name: ClassVar[str]

    def checks(self, shape: Shape, nodes: StaticTable) -> Iterable[tuple[str, Mask]]:
        """Named masks. The framework combines them and counts the nodes that each of them leaves."""
        ...


@runtime_checkable
class PodAffinityFilter(Protocol):
    """Predicate: which nodes are allowed for one pod, given the pods that are on them now."""

    name: ClassVar[str]

    def peer_checks(self, pod_affinity: "PodAffinity", pod: PodRow) -> Iterable[tuple[str, Mask]]:
        """Named masks. The framework combines them and counts the nodes that each of them leaves."""
        ...


@runtime_checkable
class NodeScorer(Protocol):
    """NodeOrder: scores of nodes as fixed-point integers. The scores of all plugins are added."""

    name: ClassVar[str]

    def score(self, candidates: Candidates) -> Ints:
        """The scores as an array [node, pod]."""
        ...


@runtime_checkable
class ImageScorer(Protocol):
    """The score bonus of nodes that already have images, independent of the pods on them."""

    name: ClassVar[str]

    def image_score(
        self, images: tuple[str, ...], there: Mapping[str, ImageRow], nodes: StaticTable
    ) -> Ints | None:
        """The bonus over all nodes for containers with these images; None if it is equal everywhere."""
        ...


@runtime_checkable
class JobOrder(Protocol):
    """JobOrder: which job of a queue comes first."""

    name: ClassVar[str]

    def job_key(self, session: "Session", group: GroupRow) -> OrderKey: ...


@runtime_checkable
class QueueOrder(Protocol):
    """QueueOrder: which queue comes first; evaluated again after each job."""

    name: ClassVar[str]

    def queue_key(self, session: "Session", queue: QueueRow) -> OrderKey: ...


@runtime_checkable
class EnqueueGate(Protocol):
    """JobEnqueueable: whether a pod group may be enqueued."""

    name: ClassVar[str]

    def refuse_enqueue(self, session: "Session", group: GroupRow) -> Reason | None: ...


@runtime_checkable
class JobGate(Protocol):
    """Whether a job may be tried at all."""

    name: ClassVar[str]

    def refuse_job(self, session: "Session", group: GroupRow) -> Reason | None: ...


@runtime_checkable
class QueueLimits(Protocol):
    """Whether capabilities limit a queue along its ancestors, or (flat) only the queue's own
    capability does."""

    @property
    def flat(self) -> bool: ...


@runtime_checkable
class QueueGate(Protocol):
    """Allocatable: whether the queue of a job may run more of its pods."""

    name: ClassVar[str]

    def refuse_pods(
        self, session: "Session", group: GroupRow, *, shape: Shape, count: int
    ) -> Reason | None: ...


@runtime_checkable
class Shares(Protocol):
    """The deserved resources of queues, on which reclaim is based."""

    name: ClassVar[str]

    def deserved(self, session: "Session") -> Mapping[str, Amounts]:
        """The deserved resources by queue, including parent queues."""
        ...


@runtime_checkable
class Guard(Protocol):
    """Preemptable and Reclaimable: which pods must never be evicted."""

    name: ClassVar[str]

    def may_evict(self, session: "Session", pod: PodRow) -> bool: ...


@runtime_checkable
class Minimum(Protocol):
    """JobReady: how many pods of a job must be bound together."""

    name: ClassVar[str]

    def missing(self, group: GroupRow) -> list[tuple[str | None, int]]:
        """Pairs of a task (None for any task) and a number of pods; empty if the job has its minimum."""
        ...


class Plugin(Protocol):
    """What all plugins have in common."""

    name: ClassVar[str]


PluginFactory = Callable[[Mapping[str, str]], Plugin]


class UnknownPluginError(ValueError):
    """The configuration names an unknown plugin. The message lists the known ones."""


class PluginFailedError(ValueError):
    """A plugin could not be constructed from its arguments. The cause is what it raised."""

    def __init__(self, name: str) -> None:
        super().__init__(f"plugin {name!r} cannot be made from its arguments")
        self.name = name


class Framework:
    """The plugins of a configuration, by extension point."""

    def __init__(
        self,
        conf: "Conf",
        registry: Mapping[str, PluginFactory],
        stopwatch: Stopwatch = NO_STOPWATCH,
    ) -> None:
        self._stopwatch = stopwatch
        # Each plugin is constructed once and shared by all its extension points, so it can keep state.
        asked = _Asked(
            [(p, _make(p.name, p.arguments_with_hierarchy, registry)) for p in conf.plugins]
        )
        self.plugins = asked.plugins
        self.filters: list[NodeFilter] = asked.at("predicate", NodeFilter)
        self.peer_filters: list[PodAffinityFilter] = asked.at("predicate", PodAffinityFilter)
        self.scorers: list[NodeScorer] = asked.at("nodeorder", NodeScorer)
        self.image_scorers: list[ImageScorer] = asked.at("nodeorder", ImageScorer)
        self.job_orders: list[JobOrder] = asked.at("joborder", JobOrder)
        self.queue_orders: list[QueueOrder] = asked.at("queueorder", QueueOrder)
        self.enqueue_gates: list[EnqueueGate] = asked.at("jobenqueued", EnqueueGate)
        # No switch exists for this extension point, so it is always on.
        self.job_gates: list[JobGate] = asked.at("", JobGate)
        self.queue_gates: list[QueueGate] = asked.at("allocatable", QueueGate)
        # Several plugins may implement the next two points; the first one in tier order decides.
        limits: list[QueueLimits] = asked.at("allocatable", QueueLimits)
        self.queue_limits = limits[0] if limits else None
        shares: list[Shares] = asked.at("reclaimable", Shares)
        self.shares = shares[0] if shares else None
        self.actions = conf.actions
        self._action_arguments = {action.name: action.arguments for action in conf.configurations}
        self.minimums: list[Minimum] = asked.at("jobready", Minimum)
        self._missing: dict[str, tuple[GroupRow, list[tuple[str | None, int]]]] = {}
        """By group: the cached result of `missing`. It is needed many times in a session, and rows
        are immutable."""
        # Masks are cached with the node table across sessions, so the key must cover all that they
        # depend on.
        self._filters_key = repr(
            [(c.name, sorted(c.arguments.items())) for c in conf.plugins if c.on("predicate")]
        )
        self.voters = Voters(asked.tiers(conf))

    def filtered(self, shape: Shape, nodes: StaticTable) -> Filtered:
        """The nodes that pass all predicates of a shape, cached with the node table.

        Whatever is configured, only ready nodes run pods (docs/behaviour.md 5.1).
        """
        key = (self._filters_key, shape.constraints_key)
        known = nodes.masks.get(key)
        if known is None:
            mask = nodes.ready.copy()
            left = [(READY, int(mask.sum()))]
            for plugin in self.filters:
                with self._stopwatch.part(PREDICATE, plugin.name):
                    for name, passed in plugin.checks(shape, nodes):
                        mask &= passed
                        # The number of nodes left after each check explains a refusal later.
                        left.append((name, int(mask.sum())))
            known = nodes.keep(key, Filtered(mask=mask, left=tuple(left)))
        return known

    def beside(self, pod_affinity: "PodAffinity", pod: PodRow, static: Filtered) -> Filtered:
        """The nodes allowed for one pod now, among those allowed for its shape."""
        # The mask of the shape is cached and shared, so it must not be changed.
        mask, left = static.mask.copy(), list(static.left)
        for plugin in self.peer_filters:
            for name, passed in plugin.peer_checks(pod_affinity, pod):
                mask &= passed
                left.append((name, int(mask.sum())))
        return Filtered(mask=mask, left=tuple(left))

    def score(self, candidates: Candidates) -> Ints:
        """The sum of the scores of all plugins."""
        total = np.zeros(candidates.form, dtype=np.int64)
        for plugin in self.scorers:
            with self._stopwatch.part(SCORING, plugin.name):
                total += plugin.score(candidates)
        return total

    def image_score(
        self, images: tuple[str, ...], there: Mapping[str, ImageRow], nodes: StaticTable
    ) -> Ints | None:
        """The sum over plugins; None if no plugin distinguishes the nodes."""
        found = [plugin.image_score(images, there, nodes) for plugin in self.image_scorers]
        told = [score for score in found if score is not None]
        return np.sum(told, axis=0, dtype=np.int64) if told else None

    def job_key(self, session: "Session", group: GroupRow) -> OrderKey:
        """The keys of the plugins in tier order, then creation time, then uid. The order is total."""
        keys = [plugin.job_key(session, group) for plugin in self.job_orders]
        # The last elements break all ties, so that a replay sorts the same way.
        return (*keys, group.created, group.uid, group.key)

    def queue_key(self, session: "Session", queue: QueueRow) -> OrderKey:
        """The keys of the plugins in tier order, then creation time, then uid. The order is total."""
        keys = [plugin.queue_key(session, queue) for plugin in self.queue_orders]
        return (*keys, queue.created, queue.uid, queue.name)

    def action_arguments(self, action: str) -> Mapping[str, str]:
        """The arguments of an action from `configurations`."""
        return self._action_arguments.get(action, {})

    def missing(self, group: GroupRow) -> list[tuple[str | None, int]]:
        """The pods that the gang still needs, by task; empty if no plugin requires a minimum."""
        known = self._missing.get(group.key)
        # Another row may have the same key, so the cached result counts only for the same row.
        if known is None or known[0] is not group:
            known = self._missing[group.key] = (group, self._ask_missing(group))
        return known[1]

    def _ask_missing(self, group: GroupRow) -> list[tuple[str | None, int]]:
        for plugin in self.minimums:
            missing = plugin.missing(group)
            if missing:
                return missing
        return []


class _Asked:
    """The configured plugins in tier order, selected by extension point and switch."""

    def __init__(self, plugins: "list[tuple[PluginConf, Plugin]]") -> None:
        self._plugins = plugins

    @property
    def plugins(self) -> list[tuple[str, Plugin]]:
        """The plugins with the names that the configuration uses for them."""
        return [(conf.name, plugin) for conf, plugin in self._plugins]

    def at(self, switch: str, point: Any) -> list[Any]:
        """The plugins that implement an extension point and are not switched off there."""
        return [
            plugin
            for conf, plugin in self._plugins
            if conf.on(switch) and _takes_part(plugin, point)
        ]

    def tiers(self, conf: "Conf") -> "list[list[tuple[PluginConf, Plugin]]]":
        left = iter(self._plugins)
        return [[next(left) for _ in tier] for tier in conf.tiers]


_PARTS: Final[dict[tuple[type, type], bool]] = {}
"""By plugin type and extension point, because isinstance with a runtime protocol is slow."""


def _takes_part(plugin: Plugin, point: Any) -> bool:
    asked = (type(plugin), point)
    known = _PARTS.get(asked)
    if known is None:
        known = _PARTS[asked] = isinstance(plugin, point)
    return known


def _make(name: str, arguments: Mapping[str, str], registry: Mapping[str, PluginFactory]) -> Plugin:
    factory = registry.get(name)
    if factory is None:
        known = ", ".join(sorted(registry))
        raise UnknownPluginError(f"plugin {name!r} is not known; there are {known}")
    try:
        return factory(arguments)
    # A third-party plugin may raise anything. The caller needs its name to leave it out.
    except Exception as error:
        raise PluginFailedError(name) from error
