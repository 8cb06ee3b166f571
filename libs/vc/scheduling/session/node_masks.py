"""Evaluates node selectors, node affinity terms and tolerations as masks over all nodes.

A selector compares one label column with one code. Taints are evaluated once per distinct set.
"""

import numpy as np

from vc.model.api.node import Taint
from vc.model.api.pod import Toleration
from vc.model.api.selectors import LabelSelectorRequirement
from vc.model.values.bounded import read_integer
from vc.scheduling.model.node_table import Ints, Mask, StaticTable
from vc.scheduling.model.shapes import Constraints, NodeTerm


def affine(constraints: Constraints, nodes: StaticTable) -> Mask:
    """Nodes that match the node selector and the required node affinity."""
    mask = selected(constraints.selector, nodes)
    return mask if constraints.terms is None else mask & any_term(constraints.terms, nodes)


def selected(selector: tuple[tuple[str, str], ...], nodes: StaticTable) -> Mask:
    mask = np.ones(len(nodes.names), dtype=np.bool_)
    for key, value in selector:
        column = nodes.label(key)
        # Code -1 means that a node has no such label, so an unknown value needs another code to
        # match nothing.
        mask &= column.codes == column.values.get(value, -2)
    return mask


def any_term(terms: tuple[NodeTerm, ...], nodes: StaticTable) -> Mask:
    mask = np.zeros(len(nodes.names), dtype=np.bool_)
    for term in terms:
        holds = np.ones(len(nodes.names), dtype=np.bool_)
        for need in term.labels:
            holds &= _holds(need, nodes)
        for need in term.fields:
            # The API server allows only metadata.name as a field, with In and NotIn.
            named = np.array([name in need.values for name in nodes.names], dtype=np.bool_)
            holds &= named if need.operator == "In" else ~named
        mask |= holds
    return mask


def _holds(need: LabelSelectorRequirement, nodes: StaticTable) -> Mask:
    """One requirement on a label, over all nodes."""
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
            # Distinct values are fewer than nodes, so each value is compared once.
            wanted = [code for value, code in column.values.items() if _compares(value, need)]
            return np.isin(column.codes, np.array(wanted, dtype=np.int64))


def _compares(value: str, need: LabelSelectorRequirement) -> bool:
    """`Gt` and `Lt` compare integers; other values do not match."""
    left, right = read_integer(value), read_integer(need.values[0] if need.values else None)
    if left is None or right is None:
        return False
    return left > right if need.operator == "Gt" else left < right


def tolerated(tolerations: tuple[Toleration, ...], nodes: StaticTable) -> Mask:
    answers: dict[tuple[Taint, ...], bool] = {(): True}
    # Many nodes have equal taints.
    for taints in nodes.taints:
        if taints not in answers:
            answers[taints] = all(tolerates(tolerations, taint) for taint in taints)
    return np.array([answers[taints] for taints in nodes.taints], dtype=np.bool_)


def tolerates(tolerations: tuple[Toleration, ...], taint: Taint) -> bool:
    return any(_accepts(toleration, taint) for toleration in tolerations)


def _accepts(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == taint.value


def intolerable(tolerations: tuple[Toleration, ...], nodes: StaticTable) -> Ints:
    """By node: the number of its PreferNoSchedule taints that are not tolerated."""
    answers: dict[tuple[Taint, ...], int] = {(): 0}
    for taints in nodes.soft_taints:
        if taints not in answers:
            answers[taints] = sum(not tolerates(tolerations, taint) for taint in taints)
    return np.array([answers[taints] for taints in nodes.soft_taints], dtype=np.int64)
