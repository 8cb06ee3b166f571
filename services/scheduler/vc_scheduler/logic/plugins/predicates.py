"""predicates: readiness, cordons, node selector and required node affinity, taints, other pods.

Each check is a mask over all nodes. Selectors compare one label column with one code; taints are
looked at once per distinct set of taints. Pod count is a resource (`pods`) and is checked with the
others by the fit. Checks that look at other pods are in `peer_checks`.
"""

from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np

from vc_model.node import Taint
from vc_model.pod import Toleration
from vc_model.selectors import LabelSelectorRequirement
from vc_scheduler.logic.peers import Peers
from vc_scheduler.logic.plugins.peer_checks import (
    TOPOLOGY_SPREAD,
    affinity_checks,
    port_checks,
    spread_check,
)
from vc_scheduler.logic.rows import PodRow
from vc_scheduler.logic.shapes import Constraints, NodeTerm, Shape
from vc_scheduler.logic.table import Mask, StaticTable

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

    def checks(self, shape: Shape, nodes: StaticTable) -> Iterable[tuple[str, Mask]]:
        """In the order of Volcano's stable filters."""
        constraints = shape.constraints
        yield "ready", nodes.ready
        if not _tolerates(constraints.tolerations, _CORDON):
            yield "schedulable", nodes.schedulable
        if self._affinity:
            if constraints.selector:
                yield "node selector", _selected(constraints.selector, nodes)
            if constraints.terms is not None:
                yield "node affinity", _any_term(constraints.terms, nodes)
        if self._taints:
            yield "taints", _tolerated(constraints.tolerations, nodes)

    def peer_checks(self, peers: Peers, pod: PodRow) -> Iterable[tuple[str, Mask]]:
        """In the order of Volcano's filters."""
        if self._ports:
            yield from port_checks(peers, pod)
        if self._peers:
            yield from affinity_checks(peers, pod)
        for spread in pod.shape.peering.spread if self._spread else ():
            eligible = np.ones(len(peers.nodes.names), dtype=np.bool_)
            if spread.honor_affinity:
                eligible &= _affine(pod.shape.constraints, peers.nodes)
            if spread.honor_taints:
                eligible &= _tolerated(pod.shape.constraints.tolerations, peers.nodes)
            yield TOPOLOGY_SPREAD, spread_check(peers, pod, spread, eligible=eligible)


def _enabled(arguments: Mapping[str, str], check: str) -> bool:
    return arguments.get(f"predicate.{check}Enable", "true") != "false"


def _affine(constraints: Constraints, nodes: StaticTable) -> Mask:
    """Nodes that the selector and the required node affinity let through."""
    mask = _selected(constraints.selector, nodes)
    return mask if constraints.terms is None else mask & _any_term(constraints.terms, nodes)


def _selected(selector: tuple[tuple[str, str], ...], nodes: StaticTable) -> Mask:
    mask = np.ones(len(nodes.names), dtype=np.bool_)
    for key, value in selector:
        column = nodes.label(key)
        mask &= column.codes == column.values.get(value, -2)
    return mask


def _any_term(terms: tuple[NodeTerm, ...], nodes: StaticTable) -> Mask:
    mask = np.zeros(len(nodes.names), dtype=np.bool_)
    for term in terms:
        holds = np.ones(len(nodes.names), dtype=np.bool_)
        for need in term.labels:
            holds &= _holds(need, nodes)
        for need in term.fields:
            named = np.array([name in need.values for name in nodes.names], dtype=np.bool_)
            holds &= named if need.operator == "In" else ~named
        mask |= holds
    return mask


def _holds(need: LabelSelectorRequirement, nodes: StaticTable) -> Mask:
    """One condition on a label, over all nodes."""
    column = nodes.label(need.key)
    match need.operator:
        case "Exists":
            return column.codes >= 0
        case "DoesNotExist":
            return column.codes < 0
        case "In" | "NotIn":
            wanted = [column.values[v] for v in need.values if v in column.values]
            among: Mask = np.isin(column.codes, np.array(wanted, dtype=np.int64))
            return among if need.operator == "In" else ~among
        case _:
            wanted = [code for value, code in column.values.items() if _compares(value, need)]
            return np.isin(column.codes, np.array(wanted, dtype=np.int64))


def _compares(value: str, need: LabelSelectorRequirement) -> bool:
    """`Gt` and `Lt` compare integers; anything else does not match."""
    try:
        left, right = int(value), int(need.values[0])
    except (ValueError, IndexError):
        return False
    return left > right if need.operator == "Gt" else left < right


def _tolerated(tolerations: tuple[Toleration, ...], nodes: StaticTable) -> Mask:
    answers: dict[tuple[Taint, ...], bool] = {(): True}
    for taints in nodes.taints:
        if taints not in answers:
            answers[taints] = all(_tolerates(tolerations, taint) for taint in taints)
    return np.array([answers[taints] for taints in nodes.taints], dtype=np.bool_)


def _tolerates(tolerations: tuple[Toleration, ...], taint: Taint) -> bool:
    return any(_accepts(toleration, taint) for toleration in tolerations)


def _accepts(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == taint.value
