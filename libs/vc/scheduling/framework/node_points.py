"""Extension points that choose nodes: predicates and node order.

Answers are arrays over all nodes, so that no call per pod and node is needed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from vc.messages.sessions import Reason
from vc.scheduling.cache.images import ImageRow
from vc.scheduling.framework.extension_point import Combine, ConfiguredPlugins, ExtensionPoint
from vc.scheduling.framework.stopwatch import PREDICATE as PREDICATE_PART
from vc.scheduling.framework.stopwatch import SCORING, Stopwatch
from vc.scheduling.model.node_table import Filtered, Ints, Mask, StaticTable
from vc.scheduling.model.rows import GroupRow, PodRow
from vc.scheduling.model.shapes import Shape

if TYPE_CHECKING:
    from vc.scheduling.session.pod_affinity import PodAffinity
    from vc.scheduling.session.session import Session

READY: Final = "ready"
"""The check that is always applied; no configuration disables it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeCandidates:
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


class PrePredicate(Protocol):
    """Whether a pod can be placed at all, independent of nodes."""

    def pre_predicate_refusal(self, session: "Session", pod: PodRow) -> Reason | None: ...


class Predicate(Protocol):
    """Which nodes are allowed for a shape, regardless of free resources and other pods."""

    def predicate_masks(self, shape: Shape, nodes: StaticTable) -> Iterable[tuple[str, Mask]]:
        """Named masks. The framework combines them and counts the nodes that each of them leaves."""
        ...


class PodPredicate(Protocol):
    """Which nodes are allowed for one pod, given the pods that are on them now."""

    def pod_predicate_masks(
        self, pod_affinity: "PodAffinity", pod: PodRow
    ) -> Iterable[tuple[str, Mask]]:
        """Named masks. The framework combines them and counts the nodes that each of them leaves."""
        ...


class VolumeBinding(Protocol):
    """Whether a plugin chooses volumes, so that pods wait until their claims are bound."""

    def volume_binding(self) -> bool: ...


class BatchNodeOrder(Protocol):
    """Scores of nodes for the next pods of one shape, as fixed-point integers."""

    def batch_node_order_scores(self, candidates: NodeCandidates) -> Ints:
        """The scores as an array [node, pod]."""
        ...


class NodeOrder(Protocol):
    """Scores of nodes for one pod, given the pods that are on them now."""

    def node_order_scores(self, session: "Session", pod: PodRow, mask: Mask) -> Ints | None:
        """Scores by node; None if the plugin does not distinguish them. `mask`: the nodes allowed
        for the pod."""
        ...


class ImageNodeOrder(Protocol):
    """Scores of nodes that already have the images of a pod, independent of the pods on them."""

    def image_node_order_scores(
        self, images: tuple[str, ...], there: Mapping[str, ImageRow], nodes: StaticTable
    ) -> Ints | None:
        """The scores over all nodes for containers with these images; None if they are equal."""
        ...


class PlaceOneByOne(Protocol):
    """Whether the best node of a pod of a job depends on the pods that are placed before it."""

    def place_one_by_one(self, group: GroupRow) -> bool: ...


PRE_PREDICATE: Final = ExtensionPoint[PrePredicate](
    PrePredicate, Combine.FIRST_REFUSAL, "predicate"
)
PREDICATE: Final = ExtensionPoint[Predicate](Predicate, Combine.ALL_MASKS, "predicate")
POD_PREDICATE: Final = ExtensionPoint[PodPredicate](PodPredicate, Combine.ALL_MASKS, "predicate")
VOLUME_BINDING: Final = ExtensionPoint[VolumeBinding](
    VolumeBinding, Combine.ANY_AGREES, "predicate"
)
BATCH_NODE_ORDER: Final = ExtensionPoint[BatchNodeOrder](BatchNodeOrder, Combine.SUM, "nodeorder")
NODE_ORDER: Final = ExtensionPoint[NodeOrder](NodeOrder, Combine.SUM, "nodeorder")
IMAGE_NODE_ORDER: Final = ExtensionPoint[ImageNodeOrder](ImageNodeOrder, Combine.SUM, "nodeorder")
PLACE_ONE_BY_ONE: Final = ExtensionPoint[PlaceOneByOne](
    PlaceOneByOne, Combine.ANY_AGREES, "nodeorder"
)


class NodePoints:
    """Predicates and node order over all plugins of a configuration."""

    def __init__(
        self, plugins: ConfiguredPlugins, *, predicates_key: str, stopwatch: Stopwatch
    ) -> None:
        self._stopwatch = stopwatch
        # Masks are cached with the node table across sessions, so the key must cover all that they
        # depend on.
        self._predicates_key = predicates_key
        self._pre_predicates = plugins.all(PRE_PREDICATE)
        self._predicates = plugins.named(PREDICATE)
        self._pod_predicates = plugins.all(POD_PREDICATE)
        self._batch_node_order = plugins.named(BATCH_NODE_ORDER)
        self._node_order = plugins.all(NODE_ORDER)
        self._image_node_order = plugins.all(IMAGE_NODE_ORDER)
        self._one_by_one = plugins.all(PLACE_ONE_BY_ONE)
        # Claims are only waited for if a plugin handles volumes.
        self.binds_volumes = any(plugin.volume_binding() for plugin in plugins.all(VOLUME_BINDING))

    def pre_predicate_refusal(self, session: "Session", pod: PodRow) -> Reason | None:
        """Why a pod cannot be placed on any node; None if no plugin refuses it."""
        for plugin in self._pre_predicates:
            reason = plugin.pre_predicate_refusal(session, pod)
            if reason is not None:
                return reason
        return None

    def filtered(self, shape: Shape, nodes: StaticTable) -> Filtered:
        """The nodes that pass all predicates of a shape, cached with the node table.

        Whatever is configured, only ready nodes run pods (docs/behaviour.md 5.1).
        """
        key = (self._predicates_key, shape.constraints_key)
        known = nodes.masks.get(key)
        if known is None:
            mask = nodes.ready.copy()
            left = [(READY, int(mask.sum()))]
            for name, plugin in self._predicates:
                with self._stopwatch.part(PREDICATE_PART, name):
                    for check, passed in plugin.predicate_masks(shape, nodes):
                        mask &= passed
                        # The number of nodes left after each check explains a refusal later.
                        left.append((check, int(mask.sum())))
            known = nodes.keep(key, Filtered(mask=mask, left=tuple(left)))
        return known

    def pod_filtered(self, pod_affinity: "PodAffinity", pod: PodRow, static: Filtered) -> Filtered:
        """The nodes allowed for one pod now, among those allowed for its shape."""
        # The mask of the shape is cached and shared, so it must not be changed.
        mask, left = static.mask.copy(), list(static.left)
        for plugin in self._pod_predicates:
            for check, passed in plugin.pod_predicate_masks(pod_affinity, pod):
                mask &= passed
                left.append((check, int(mask.sum())))
        return Filtered(mask=mask, left=tuple(left))

    def batch_node_order_scores(self, candidates: NodeCandidates) -> Ints:
        """The sum of the scores of all plugins."""
        total = np.zeros(candidates.form, dtype=np.int64)
        for name, plugin in self._batch_node_order:
            with self._stopwatch.part(SCORING, name):
                total += plugin.batch_node_order_scores(candidates)
        return total

    def node_order_scores(self, session: "Session", pod: PodRow, mask: Mask) -> Ints | None:
        """The sum over plugins; None if no plugin distinguishes the nodes."""
        return _sum([plugin.node_order_scores(session, pod, mask) for plugin in self._node_order])

    def image_node_order_scores(
        self, images: tuple[str, ...], there: Mapping[str, ImageRow], nodes: StaticTable
    ) -> Ints | None:
        """The sum over plugins; None if no plugin distinguishes the nodes."""
        return _sum(
            [
                plugin.image_node_order_scores(images, there, nodes)
                for plugin in self._image_node_order
            ]
        )

    def place_one_by_one(self, group: GroupRow) -> bool:
        """Whether the node of a pod of this group depends on the pods placed before it."""
        return any(plugin.place_one_by_one(group) for plugin in self._one_by_one)


def _sum(found: list[Ints | None]) -> Ints | None:
    """The sum of the scores that there are; None if there are none."""
    scores = [score for score in found if score is not None]
    return np.sum(scores, axis=0, dtype=np.int64) if scores else None
