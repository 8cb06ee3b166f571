"""predicates: cordons, node selector and affinity, taints, other pods, volumes.

Each check is a mask over all nodes (`node_masks`). Pod count is a resource (`pods`) and is checked with
the others by the fit. Checks that look at other pods are in `peer_checks`, those of volumes in `claims`.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from vc_messages.sessions import Reason
from vc_model.node import Taint
from vc_scheduler.logic import reasons
from vc_scheduler.logic.claims import (
    VOLUME_AFFINITY,
    VOLUME_BINDING,
    VOLUME_LIMITS,
    VOLUME_ZONE,
    Claims,
)
from vc_scheduler.logic.node_masks import affine, any_term, selected, tolerated, tolerates
from vc_scheduler.logic.peers import Peers
from vc_scheduler.logic.plugins.peer_checks import (
    TOPOLOGY_SPREAD,
    affinity_checks,
    port_checks,
    spread_check,
)
from vc_scheduler.logic.rows import PodRow
from vc_scheduler.logic.shapes import Shape
from vc_scheduler.logic.table import Mask, StaticTable

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session

TAINTS = "taints"
_NO = ("false", "f", "0")
"""As Volcano reads a no."""
_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class Predicates:
    """Which nodes a pod may go to."""

    name: ClassVar[str] = "predicates"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._affinity = _enabled(arguments, "NodeAffinity")
        self._taints = _enabled(arguments, "TaintToleration")
        self._ports = _enabled(arguments, "NodePorts")
        self._peers = _enabled(arguments, "PodAffinity")
        self._spread = _enabled(arguments, "PodTopologySpread")
        self._limits = _enabled(arguments, "NodeVolumeLimits")
        self._zones = _enabled(arguments, "VolumeZone")
        self.binds_volumes = _enabled(arguments, "VolumeBinding")

    def refuse_pod(self, session: "Session", pod: PodRow) -> Reason | None:
        """A claim that is missing, or that others must bind first."""
        if not self.binds_volumes or not pod.shape.peering.claims:
            return None
        obstacle = session.peers.claims.obstacle(pod)
        return reasons.claim_obstacle(obstacle) if obstacle is not None else None

    def checks(self, shape: Shape, nodes: StaticTable) -> Iterable[tuple[str, Mask]]:
        """In the order of Volcano's stable filters."""
        constraints = shape.constraints
        if not tolerates(constraints.tolerations, _CORDON):
            yield "schedulable", nodes.schedulable
        if self._affinity:
            if constraints.selector:
                yield "node selector", selected(constraints.selector, nodes)
            if constraints.terms is not None:
                yield "node affinity", any_term(constraints.terms, nodes)
        if self._taints:
            yield TAINTS, tolerated(constraints.tolerations, nodes)

    def peer_checks(self, peers: Peers, pod: PodRow) -> Iterable[tuple[str, Mask]]:
        """In the order of Volcano's filters."""
        if self._ports:
            yield from port_checks(peers, pod)
        if self._peers:
            yield from affinity_checks(peers, pod)
        if pod.shape.peering.claims:
            yield from self._volume_checks(peers.claims, pod)
        for spread in pod.shape.peering.spread if self._spread else ():
            eligible = np.ones(len(peers.nodes.names), dtype=np.bool_)
            if spread.honor_affinity:
                eligible &= affine(pod.shape.constraints, peers.nodes)
            if spread.honor_taints:
                eligible &= tolerated(pod.shape.constraints.tolerations, peers.nodes)
            yield TOPOLOGY_SPREAD, spread_check(peers, pod, spread, eligible=eligible)

    def _volume_checks(self, claims: Claims, pod: PodRow) -> Iterable[tuple[str, Mask]]:
        if self._limits:
            yield VOLUME_LIMITS, claims.attachments.limits(pod)
        if self._zones:
            yield VOLUME_ZONE, claims.zones(pod)
        if self.binds_volumes:
            yield VOLUME_AFFINITY, claims.affinity(pod)
            yield VOLUME_BINDING, claims.binding(pod)


def _enabled(arguments: Mapping[str, str], check: str) -> bool:
    return arguments.get(f"predicate.{check}Enable", "true").strip().lower() not in _NO
