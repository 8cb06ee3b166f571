"""predicates: cordons, node selector and affinity, taints, other pods, volumes.

Each check is a mask over all nodes (`session/node_masks.py`). The number of pods is a resource
(`pods`), so batch fit checks it together with the other resources. Checks that depend on other pods
are in `pod_affinity`, and those of volumes in `session/volumes`.

Arguments: `predicate.<check>Enable` (true) for the checks NodeAffinity, TaintToleration, NodePorts,
PodAffinity, PodTopologySpread, NodeVolumeLimits, VolumeZone and VolumeBinding.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from vc.messages.sessions import Reason
from vc.model.api.node import Taint
from vc.scheduling.model.node_table import Mask, StaticTable
from vc.scheduling.model.rows import PodRow
from vc.scheduling.model.shapes import Shape
from vc.scheduling.plugins.predicates.pod_affinity import (
    TOPOLOGY_SPREAD,
    affinity_checks,
    port_checks,
    spread_check,
)
from vc.scheduling.session import reasons
from vc.scheduling.session.node_masks import affine, any_term, selected, tolerated, tolerates
from vc.scheduling.session.pod_affinity import PodAffinity
from vc.scheduling.session.volumes import (
    VOLUME_AFFINITY,
    VOLUME_BINDING,
    VOLUME_LIMITS,
    VOLUME_ZONE,
    Claims,
)

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session

TAINTS = "taints"
_NO = ("false", "f", "0")
"""Values that Volcano parses as false."""
_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class Predicates:
    """Decides which nodes a pod may use."""

    name: ClassVar[str] = "predicates"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._affinity = _enabled(arguments, "NodeAffinity")
        self._taints = _enabled(arguments, "TaintToleration")
        self._ports = _enabled(arguments, "NodePorts")
        self._pod_affinity = _enabled(arguments, "PodAffinity")
        self._spread = _enabled(arguments, "PodTopologySpread")
        self._limits = _enabled(arguments, "NodeVolumeLimits")
        self._zones = _enabled(arguments, "VolumeZone")
        self._binds_volumes = _enabled(arguments, "VolumeBinding")

    def volume_binding(self) -> bool:
        """Whether the check of volume claims is enabled."""
        return self._binds_volumes

    def pre_predicate_refusal(self, session: "Session", pod: PodRow) -> Reason | None:
        """Refuse a pod whose volume claim is missing or must first be bound by another component."""
        if not self._binds_volumes or not pod.shape.pod_terms.claims:
            return None
        obstacle = session.pod_affinity.claims.obstacle(pod)
        return reasons.claim_obstacle(obstacle) if obstacle is not None else None

    def predicate_masks(self, shape: Shape, nodes: StaticTable) -> Iterable[tuple[str, Mask]]:
        """Yield the static checks in the order of Volcano's stable filters."""
        constraints = shape.constraints
        # A toleration of the unschedulable taint permits cordoned nodes, as in kube-scheduler.
        if not tolerates(constraints.tolerations, _CORDON):
            yield "schedulable", nodes.schedulable
        if self._affinity:
            if constraints.selector:
                yield "node selector", selected(constraints.selector, nodes)
            if constraints.terms is not None:
                yield "node affinity", any_term(constraints.terms, nodes)
        if self._taints:
            yield TAINTS, tolerated(constraints.tolerations, nodes)

    def pod_predicate_masks(
        self, pod_affinity: PodAffinity, pod: PodRow
    ) -> Iterable[tuple[str, Mask]]:
        """Yield the checks that depend on placed pods, in the order of Volcano's filters."""
        if self._ports:
            yield from port_checks(pod_affinity, pod)
        # The order decides which check a refusal names, because each check counts only the nodes that
        # the checks before it have left.
        if self._pod_affinity:
            yield from affinity_checks(pod_affinity, pod)
        if pod.shape.pod_terms.claims:
            yield from self._volume_checks(pod_affinity.claims, pod)
        for spread in pod.shape.pod_terms.spread if self._spread else ():
            # Node inclusion policies decide which nodes form the domains that the skew compares.
            eligible = np.ones(len(pod_affinity.nodes.names), dtype=np.bool_)
            if spread.honor_affinity:
                eligible &= affine(pod.shape.constraints, pod_affinity.nodes)
            if spread.honor_taints:
                eligible &= tolerated(pod.shape.constraints.tolerations, pod_affinity.nodes)
            yield TOPOLOGY_SPREAD, spread_check(pod_affinity, pod, spread, eligible=eligible)

    def _volume_checks(self, claims: Claims, pod: PodRow) -> Iterable[tuple[str, Mask]]:
        """Yield the checks of the pod's volume claims that are enabled."""
        if self._limits:
            yield VOLUME_LIMITS, claims.attachments.limits(pod)
        if self._zones:
            yield VOLUME_ZONE, claims.zones(pod)
        if self._binds_volumes:
            yield VOLUME_AFFINITY, claims.affinity(pod)
            yield VOLUME_BINDING, claims.binding(pod)


def _enabled(arguments: Mapping[str, str], check: str) -> bool:
    return arguments.get(f"predicate.{check}Enable", "true").strip().lower() not in _NO
