"""Which nodes would take a pod that finds no room: the labels, the neighbourhood, the taints.

A reason that asks for room must say where, or people add nodes that change nothing. What a pod's
selector, its affinities and its volumes ask for is turned round here: into labels that a node would
need. `None` stands for conditions that no node can meet together, however many are added.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from vc_messages.sessions import Where
from vc_model.bounded import read_integer
from vc_model.selectors import LabelSelectorRequirement, requirement_matches
from vc_scheduler.logic.node_masks import tolerated, tolerates
from vc_scheduler.logic.peering import PeerTerm, Selection
from vc_scheduler.logic.peers import Peers
from vc_scheduler.logic.rows import PodRow
from vc_scheduler.logic.shapes import NodeTerm, Shape
from vc_scheduler.logic.table import StaticTable
from vc_scheduler.logic.volume_rows import VolumeRow

COMBINATIONS_MAX: Final = 64
"""Alternatives of selector terms that are looked at; one that can be met is usually the first."""
TAINTS_MAX: Final = 5
HOSTNAME: Final = "kubernetes.io/hostname"


def wanted_nodes(
    shape: Shape, nodes: StaticTable, volumes: Sequence[VolumeRow] = (), *, taints: bool
) -> Where | None:
    """What the pod itself and its volumes say of nodes; None when no node can be like that.

    With `taints` it names those that keep it away.
    """
    written = shape.constraints.terms
    terms = [written] if written is not None else []
    terms += [volume.terms for volume in volumes if volume.terms is not None]
    terms += [(_zone(volume),) for volume in volumes if volume.zones]
    for alternative in itertools.islice(itertools.product(*terms), COMBINATIONS_MAX):
        met = _met(dict(shape.constraints.selector), alternative)
        if met is not None:
            node, labels = met
            return Where(node=node, labels=labels, taints=_taints(shape, nodes) if taints else [])
    return None


def _zone(volume: VolumeRow) -> NodeTerm:
    needs = [
        LabelSelectorRequirement(key=key, operator="In", values=list(values))
        for key, values in volume.zones
    ]
    return NodeTerm(labels=tuple(needs), fields=())


def _met(
    selector: Mapping[str, str], alternative: Iterable[NodeTerm]
) -> tuple[str, dict[str, str]] | None:
    """A name and labels that satisfy the selector and all terms of one alternative."""
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
    """Values a label may need, so that one of them will do if any does; None is no such label."""
    found: list[str | None] = [None]
    for need in needs:
        if need.operator == "In":
            found += need.values
        elif need.operator in ("Gt", "Lt"):
            found += _beyond(need, 1 + sum(len(other.values) for other in needs))
    return [*found, "", "true"]


def _beyond(need: LabelSelectorRequirement, count: int) -> list[str]:
    """The next numbers: more than there are values that may be excluded."""
    bound = read_integer(need.values[0] if need.values else None)
    if bound is None:
        return []
    step = 1 if need.operator == "Gt" else -1
    return [str(bound + step * n) for n in range(1, count + 1)]


def _holds(need: LabelSelectorRequirement, value: str | None) -> bool:
    return requirement_matches(need, {} if value is None else {need.key: value})


def _name(needs: Sequence[LabelSelectorRequirement]) -> str | None:
    """The name that is asked for, empty for any; None when none will do."""
    named = [name for need in needs if need.operator == "In" for name in need.values]
    for name in named:
        if all(requirement_matches(need, {need.key: name}) for need in needs):
            return name
    return None if named else ""


def _taints(shape: Shape, nodes: StaticTable) -> list[str]:
    """Taints that it does not tolerate, as they are written: `dedicated=ml:NoSchedule`."""
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


# -- beside other pods -------------------------------------------------------------------------------


def beside_others(where: Where, peers: Peers, pod: PodRow) -> Where:
    """The same, and what the pod and those that lie there say about one another."""
    peering = pod.shape.peering
    labels, apart, across = dict(where.labels), dict[str, None](), dict[str, None]()
    for term in peering.affinity:
        value = _domain(peers, term, pod)
        if not labels.get(term.topology_key):
            labels[term.topology_key] = value
    if peering.ports:
        apart[HOSTNAME] = None
    apart.update({term.topology_key: None for term in peering.anti})
    apart.update({owner.topology_key: None for owner in peers.keeping_away(pod)})
    for spread in peering.spread:
        key = spread.term.topology_key
        domains = len(peers.nodes.label(key).values)
        more = apart if not domains or domains < spread.min_domains else across
        more[key] = None
    return msgspec.structs.replace(
        where,
        labels=labels,
        apart=[key for key in apart if not labels.get(key)],
        across=[key for key in across if key not in apart and not labels.get(key)],
    )


def _domain(peers: Peers, term: PeerTerm, pod: PodRow) -> str:
    """The value of the topology key where most of those lie whom it wants near; empty where nobody does."""
    _, counts = peers.selection(term, pod)
    column = peers.nodes.label(term.topology_key)
    lying = {
        value: int(counts[column.codes == code].sum()) for value, code in column.values.items()
    }
    value = max(lying, key=lambda value: (lying[value], value), default="")
    return value if lying.get(value) else ""


def lonely(peers: Peers, pod: PodRow) -> Selection | None:
    """Whom its affinity asks for and who is nowhere; None when room is all that it lacks."""
    found = [peers.selection(term, pod) for term in pod.shape.peering.affinity]
    if all(s.matches(pod.namespace, pod.labels) for s, _ in found):
        return None
    for selection, counts in found:
        if not counts.any():
            return selection
    return None


def peer_labels(selection: Selection) -> dict[str, str] | None:
    """Labels that a pod needs to be selected; None when no pod can be."""
    if selection.nothing:
        return None
    term = NodeTerm(labels=selection.needs, fields=())
    met = _met(dict(selection.labels), [term])
    return None if met is None else met[1]


# -- in words ----------------------------------------------------------------------------------------


def shown_labels(labels: Mapping[str, str]) -> str:
    """`disk=ssd, rack`: a label without a value stands alone."""
    return ", ".join(f"{key}={value}" if value else key for key, value in labels.items())


def shown_where(where: Where) -> str:
    """As the end of a sentence about room; empty where any node will do."""
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
