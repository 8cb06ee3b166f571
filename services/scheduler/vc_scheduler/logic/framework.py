"""Extension points and the plugins that fill them.

One small Protocol per extension point, and its answers are arrays or values: no call per pod and
node. A plugin is a class with a `name`, made from its arguments; it takes part in every point whose
method it has. Plugins are asked in the order of the tiers.
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

from vc_messages.sessions import Reason
from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.images import ImageRow
from vc_scheduler.logic.peers import Peers
from vc_scheduler.logic.rows import GroupRow, PodRow, QueueRow
from vc_scheduler.logic.shapes import Shape
from vc_scheduler.logic.stopwatch import NO_STOPWATCH, PREDICATE, SCORING, Stopwatch
from vc_scheduler.logic.table import Filtered, Ints, Mask, StaticTable
from vc_scheduler.logic.voters import Voters

if TYPE_CHECKING:
    from vc_scheduler.logic.conf import Conf, PluginConf
    from vc_scheduler.logic.session import Session

READY: Final = "ready"
"""The check that no plugin can take away."""

OrderKey = tuple[Any, ...]
"""Compared with others of the same plugin only; smaller goes first."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates:
    """Nodes to be scored for each of the next `deep` pods of a shape."""

    shape: Shape
    request: Ints
    resources: Mapping[str, int]
    used: Ints
    """[node, resource]: what is used now."""
    allocatable: Ints
    """[node, resource]"""
    deep: int
    rows: Ints
    """Rows of the nodes in the table."""
    nodes: StaticTable
    allowed: Mask
    """Over all nodes: where the shape may go; scores are measured against these."""

    def used_after(self, column: int) -> Ints:
        """[node, pod]: what is used of a resource when that many pods have come."""
        more = np.arange(1, self.deep + 1, dtype=np.int64) * self.request[column]
        after: Ints = self.used[:, column, None] + more
        return after

    @property
    def form(self) -> tuple[int, int]:
        """Of a scorer's answer: [node, pod]."""
        return (len(self.used), self.deep)


@runtime_checkable
class NodeFilter(Protocol):
    """Which nodes a shape may go to, whatever is free there."""

    name: ClassVar[str]

    def checks(self, shape: Shape, nodes: StaticTable) -> Iterable[tuple[str, Mask]]:
        """Named masks; the framework combines and counts them."""
        ...


@runtime_checkable
class PeerFilter(Protocol):
    """Which nodes one pod may go to beside the pods that lie there now."""

    name: ClassVar[str]

    def peer_checks(self, peers: Peers, pod: PodRow) -> Iterable[tuple[str, Mask]]:
        """Named masks; the framework combines and counts them."""
        ...


@runtime_checkable
class NodeScorer(Protocol):
    """How good nodes are, as fixed-point integers; the sum over plugins decides."""

    name: ClassVar[str]

    def score(self, candidates: Candidates) -> Ints:
        """[node, pod]"""
        ...


@runtime_checkable
class ImageScorer(Protocol):
    """What images that are there already are worth, whatever else lies on the nodes."""

    name: ClassVar[str]

    def image_score(
        self, images: tuple[str, ...], there: Mapping[str, ImageRow], nodes: StaticTable
    ) -> Ints | None:
        """Over all nodes, for containers with these images; None when it is the same everywhere."""
        ...


@runtime_checkable
class JobOrder(Protocol):
    """Which job of a queue goes first."""

    name: ClassVar[str]

    def job_key(self, session: "Session", group: GroupRow) -> OrderKey: ...


@runtime_checkable
class QueueOrder(Protocol):
    """Which queue goes first; asked again after each job."""

    name: ClassVar[str]

    def queue_key(self, session: "Session", queue: QueueRow) -> OrderKey: ...


@runtime_checkable
class EnqueueGate(Protocol):
    """Whether a pod group may be let in."""

    name: ClassVar[str]

    def refuse_enqueue(self, session: "Session", group: GroupRow) -> Reason | None: ...


@runtime_checkable
class JobGate(Protocol):
    """Whether a job may be tried at all."""

    name: ClassVar[str]

    def refuse_job(self, session: "Session", group: GroupRow) -> Reason | None: ...


@runtime_checkable
class QueueLimits(Protocol):
    """Capabilities limit queues: those along the tree, or (flat) a queue's own alone."""

    @property
    def flat(self) -> bool: ...


@runtime_checkable
class QueueGate(Protocol):
    """Whether its queue has room for pods of a job."""

    name: ClassVar[str]

    def refuse_pods(
        self, session: "Session", group: GroupRow, *, shape: Shape, count: int
    ) -> Reason | None: ...


@runtime_checkable
class Shares(Protocol):
    """What queues deserve; reclaim goes by it."""

    name: ClassVar[str]

    def deserved(self, session: "Session") -> Mapping[str, Amounts]:
        """By queue, those above others included."""
        ...


@runtime_checkable
class Guard(Protocol):
    """Whom nobody may have evicted."""

    name: ClassVar[str]

    def may_evict(self, session: "Session", pod: PodRow) -> bool: ...


@runtime_checkable
class Minimum(Protocol):
    """How many pods of a job must be bound together."""

    name: ClassVar[str]

    def missing(self, group: GroupRow) -> list[tuple[str | None, int]]:
        """(role or None for any, how many); empty when the job is whole."""
        ...


class Plugin(Protocol):
    """What all have in common."""

    name: ClassVar[str]


PluginFactory = Callable[[Mapping[str, str]], Plugin]


class UnknownPluginError(ValueError):
    """The configuration names something that is not there; says what there is."""


class PluginFailedError(ValueError):
    """A plugin could not be made from its arguments; the cause is what it raised."""

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
        asked = _Asked([(p, _make(p.name, p.told, registry)) for p in conf.plugins])
        self.plugins = asked.plugins
        self.filters: list[NodeFilter] = asked.at("predicate", NodeFilter)
        self.peer_filters: list[PeerFilter] = asked.at("predicate", PeerFilter)
        self.scorers: list[NodeScorer] = asked.at("nodeorder", NodeScorer)
        self.image_scorers: list[ImageScorer] = asked.at("nodeorder", ImageScorer)
        self.job_orders: list[JobOrder] = asked.at("joborder", JobOrder)
        self.queue_orders: list[QueueOrder] = asked.at("queueorder", QueueOrder)
        self.enqueue_gates: list[EnqueueGate] = asked.at("jobenqueued", EnqueueGate)
        self.job_gates: list[JobGate] = asked.at("", JobGate)
        self.queue_gates: list[QueueGate] = asked.at("allocatable", QueueGate)
        limits: list[QueueLimits] = asked.at("allocatable", QueueLimits)
        self.queue_limits = limits[0] if limits else None
        shares: list[Shares] = asked.at("reclaimable", Shares)
        self.shares = shares[0] if shares else None
        self.actions = conf.actions
        self._action_arguments = {action.name: action.arguments for action in conf.configurations}
        self.minimums: list[Minimum] = asked.at("jobready", Minimum)
        self._missing: dict[str, tuple[GroupRow, list[tuple[str | None, int]]]] = {}
        """By group: asked for many times in a session, in which rows do not change."""
        self._filters_key = repr(
            [(c.name, sorted(c.arguments.items())) for c in conf.plugins if c.on("predicate")]
        )
        self.voters = Voters(asked.tiers(conf))

    def filtered(self, shape: Shape, nodes: StaticTable) -> Filtered:
        """The nodes a shape may go to; remembered beside the table.

        Whatever is configured, only ready nodes take pods (behaviour.md 5.1).
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
                        left.append((name, int(mask.sum())))
            known = nodes.keep(key, Filtered(mask=mask, left=tuple(left)))
        return known

    def beside(self, peers: Peers, pod: PodRow, static: Filtered) -> Filtered:
        """The nodes one pod may go to now, of those its shape may go to."""
        mask, left = static.mask.copy(), list(static.left)
        for plugin in self.peer_filters:
            for name, passed in plugin.peer_checks(peers, pod):
                mask &= passed
                left.append((name, int(mask.sum())))
        return Filtered(mask=mask, left=tuple(left))

    def score(self, candidates: Candidates) -> Ints:
        """The sum of all scores."""
        total = np.zeros(candidates.form, dtype=np.int64)
        for plugin in self.scorers:
            with self._stopwatch.part(SCORING, plugin.name):
                total += plugin.score(candidates)
        return total

    def image_score(
        self, images: tuple[str, ...], there: Mapping[str, ImageRow], nodes: StaticTable
    ) -> Ints | None:
        """The sum over plugins; None when none has anything to say."""
        found = [plugin.image_score(images, there, nodes) for plugin in self.image_scorers]
        told = [score for score in found if score is not None]
        return np.sum(told, axis=0, dtype=np.int64) if told else None

    def job_key(self, session: "Session", group: GroupRow) -> OrderKey:
        """Plugins in tier order, then creation, then uid: a total order."""
        keys = [plugin.job_key(session, group) for plugin in self.job_orders]
        return (*keys, group.created, group.uid, group.key)

    def queue_key(self, session: "Session", queue: QueueRow) -> OrderKey:
        """Plugins in tier order, then creation, then uid: a total order."""
        keys = [plugin.queue_key(session, queue) for plugin in self.queue_orders]
        return (*keys, queue.created, queue.uid, queue.name)

    def action_arguments(self, action: str) -> Mapping[str, str]:
        """What `configurations` says to an action."""
        return self._action_arguments.get(action, {})

    def missing(self, group: GroupRow) -> list[tuple[str | None, int]]:
        """What must be bound together; nothing when no plugin cares."""
        known = self._missing.get(group.key)
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
    """Plugins in the order of tiers, as far as their switches let them take part."""

    def __init__(self, plugins: "list[tuple[PluginConf, Plugin]]") -> None:
        self._plugins = plugins

    @property
    def plugins(self) -> list[tuple[str, Plugin]]:
        """With the names that the configuration has for them."""
        return [(conf.name, plugin) for conf, plugin in self._plugins]

    def at(self, switch: str, point: Any) -> list[Any]:
        """Those that have the methods of an extension point."""
        return [
            plugin
            for conf, plugin in self._plugins
            if conf.on(switch) and _takes_part(plugin, point)
        ]

    def tiers(self, conf: "Conf") -> "list[list[tuple[PluginConf, Plugin]]]":
        left = iter(self._plugins)
        return [[next(left) for _ in tier] for tier in conf.tiers]


_PARTS: Final[dict[tuple[type, type], bool]] = {}
"""By plugin and point: asking a runtime protocol costs more than most sessions' decisions."""


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
    except Exception as error:
        raise PluginFailedError(name) from error
