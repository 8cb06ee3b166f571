"""Which nodes would fit a pod that is not placed: labels, topology domains and taints.

A reason that requires more resources must name the nodes, or users add nodes that do not help. This
module turns a pod's node selector, affinities and volumes into labels that a node would need.
`None` means that no node can meet all conditions, however many nodes are added.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from vc.messages.sessions import Where
from vc.model.api.selectors import LabelSelectorRequirement, requirement_matches
from vc.model.values.bounded import read_integer
from vc.scheduling.model.node_table import StaticTable
from vc.scheduling.model.pod_affinity_terms import PodAffinityTerm, Selection
from vc.scheduling.model.rows import PodRow
from vc.scheduling.model.shapes import NodeTerm, Shape
from vc.scheduling.model.volume_rows import VolumeRow
from vc.scheduling.session.node_masks import tolerated, tolerates
from vc.scheduling.session.pod_affinity import PodAffinity

COMBINATIONS_MAX: Final = 64
"""Limit of the combinations of selector terms that are tried. Usually the first can be met."""
TAINTS_MAX: Final = 5
HOSTNAME: Final = "kubernetes.io/hostname"


def wanted_nodes(
    shape: Shape, nodes: StaticTable, volumes: Sequence[VolumeRow] = (), *, taints: bool
) -> Where | None:
    """The conditions of a pod and its volumes on nodes; None if no node can meet them.

    With `taints`, the result names taints of existing nodes that the pod does not tolerate.
    """
    written = shape.constraints.terms
    terms = [written] if written is not None else []
    terms += [volume.terms for volume in volumes if volume.terms is not None]
    terms += [(_zone(volume),) for volume in volumes if volume.zones]
    # Terms of one source are alternatives, and all sources must be met, so combinations are tried.
    for alternative in itertools.islice(itertools.product(*terms), COMBINATIONS_MAX):
        met = _met(dict(shape.constraints.selector), alternative)
        if met is not None:
            node, labels = met
            return Where(node=node, labels=labels, taints=_taints(shape, nodes) if taints else [])
    return None


def _zone(volume: VolumeRow) -> NodeTerm:
    """The zones of a volume as a node selector term."""
    needs = [
        LabelSelectorRequirement(key=key, operator="In", values=list(values))
        for key, values in volume.zones
    ]
    return NodeTerm(labels=tuple(needs), fields=())


def _met(
    selector: Mapping[str, str], alternative: Iterable[NodeTerm]
) -> tuple[str, dict[str, str]] | None:
    """A node name and labels that satisfy the selector and all terms; None if they contradict.

    An empty name means any name.
    """
    chosen = list(alternative)
    by_key: dict[str, list[LabelSelectorRequirement]] = {}
    for term in chosen:
        for need in term.labels:
            by_key.setdefault(need.key, []).append(need)
    labels = dict(selector)
    for key, needs in by_key.items():
        candidates = [selector[key]] if key in selector else _candidates(needs)
        fitting = [v for v in candidates if all(_holds(need, v) for need in needs)]
        if not fitting:
            return None
        if fitting[0] is not None:
            labels[key] = fitting[0]
    name = _name([need for term in chosen for need in term.fields])
    return None if name is None else (name, labels)


def _candidates(needs: Sequence[LabelSelectorRequirement]) -> list[str | None]:
    """Candidate values of a label; None stands for the absence of the label.

    If any value meets all requirements, then one of the candidates does.
    """
    found: list[str | None] = [None]
    for need in needs:
        if need.operator == "In":
            found += need.values
        elif need.operator in ("Gt", "Lt"):
            found += _beyond(need, 1 + sum(len(other.values) for other in needs))
    return [*found, "", "true"]


def _beyond(need: LabelSelectorRequirement, count: int) -> list[str]:
    """The next `count` numbers above (Gt) or below (Lt) the bound of the requirement.

    The caller passes more than the number of values that other requirements may exclude.
    """
    bound = read_integer(need.values[0] if need.values else None)
    if bound is None:
        return []
    step = 1 if need.operator == "Gt" else -1
    return [str(bound + step * n) for n in range(1, count + 1)]


def _holds(need: LabelSelectorRequirement, value: str | None) -> bool:
    """Whether a label value, or None for no label, meets a requirement."""
    return requirement_matches(need, {} if value is None else {need.key: value})


def _name(needs: Sequence[LabelSelectorRequirement]) -> str | None:
    """The required node name, empty for any; None if no name meets all requirements."""
    named = [name for need in needs if need.operator == "In" for name in need.values]
    for name in named:
        if all(requirement_matches(need, {need.key: name}) for need in needs):
            return name
    return None if named else ""


def _taints(shape: Shape, nodes: StaticTable) -> list[str]:
    """Taints of nodes that the pod does not tolerate, formatted as `dedicated=ml:NoSchedule`."""
    tolerations = shape.constraints.tolerations
    found: dict[str, None] = {}
    for row in np.flatnonzero(~tolerated(tolerations, nodes)).tolist():
        for taint in nodes.taints[row]:
            if not tolerates(tolerations, taint):
                value = f"={taint.value}" if taint.value else ""
                found[f"{taint.key}{value}:{taint.effect}"] = None
                if len(found) >= TAINTS_MAX:
                    return sorted(found)
    return sorted(found)


# -- conditions that depend on other pods ----------------------------------------------------------


def beside_others(where: Where, pod_affinity: PodAffinity, pod: PodRow) -> Where:
    """The same, with the conditions of pod (anti-)affinity, host ports and topology spread."""
    peering = pod.shape.pod_terms
    labels, apart, across = dict(where.labels), dict[str, None](), dict[str, None]()
    for term in peering.affinity:
        value = _domain(pod_affinity, term, pod)
        if not labels.get(term.topology_key):
            labels[term.topology_key] = value
    if peering.ports:
        apart[HOSTNAME] = None
    apart.update({term.topology_key: None for term in peering.anti})
    apart.update({owner.topology_key: None for owner in pod_affinity.keeping_away(pod)})
    for spread in peering.spread:
        key = spread.term.topology_key
        # With too few domains a node in a new domain is needed. Otherwise capacity in all domains
        # is.
        domains = len(pod_affinity.nodes.label(key).values)
        more = apart if not domains or domains < spread.min_domains else across
        more[key] = None
    return msgspec.structs.replace(
        where,
        labels=labels,
        apart=[key for key in apart if not labels.get(key)],
        across=[key for key in across if key not in apart and not labels.get(key)],
    )


def _domain(pod_affinity: PodAffinity, term: PodAffinityTerm, pod: PodRow) -> str:
    """The topology domain with the most pods that the affinity term selects; empty if none."""
    _, counts = pod_affinity.selection(term, pod)
    column = pod_affinity.nodes.label(term.topology_key)
    lying = {
        value: int(counts[column.codes == code].sum()) for value, code in column.values.items()
    }
    value = max(lying, key=lambda value: (lying[value], value), default="")
    return value if lying.get(value) else ""


def lonely(pod_affinity: PodAffinity, pod: PodRow) -> Selection | None:
    """The selection of an affinity term that no placed pod matches; None if there is no such term.

    If the pod itself matches all its terms, the result is None too: the first pod of a group may
    start without others.
    """
    found = [pod_affinity.selection(term, pod) for term in pod.shape.pod_terms.affinity]
    if all(s.matches(pod.namespace, pod.labels) for s, _ in found):
        return None
    for selection, counts in found:
        if not counts.any():
            return selection
    return None


def pod_affinity_labels(selection: Selection) -> dict[str, str] | None:
    """Labels that a pod needs to match the selection; None if no pod can match it."""
    if selection.nothing:
        return None
    term = NodeTerm(labels=selection.needs, fields=())
    met = _met(dict(selection.labels), [term])
    return None if met is None else met[1]


# -- text ------------------------------------------------------------------------------------------


def shown_labels(labels: Mapping[str, str]) -> str:
    """Labels as text, such as `disk=ssd, rack`. A label without a value is only its key."""
    return ", ".join(f"{key}={value}" if value else key for key, value in labels.items())


def shown_where(where: Where) -> str:
    """The conditions as the end of a sentence; empty if any node would do."""
    parts: list[str] = []
    if where.node:
        parts.append(f"on node {where.node}")
    if where.labels:
        parts.append(f"on nodes with {shown_labels(where.labels)}")
    if where.apart:
        parts.append(f"on nodes each with its own {' and '.join(where.apart)}")
    if where.across:
        parts.append(f"at every {' and '.join(where.across)}")
    if where.taints:
        parts.append(f"on nodes without {', '.join(where.taints)} (or tolerates it)")
    return "".join(f" {part}" for part in parts)
