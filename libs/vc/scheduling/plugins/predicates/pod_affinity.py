"""Checks of the plugin predicates that depend on other pods: host ports, pod affinity, spread.

They run for one pod at a time and see all placements of the session so far. The rules are
kube-scheduler's: the first pod of a group with affinity to itself may use any node that has the
topology key; the anti-affinity of placed pods counts as much as the pod's own; a node without the
topology key is in no domain.
"""

from collections.abc import Iterable

import numpy as np

from vc.scheduling.model.node_table import Ints, Mask
from vc.scheduling.model.pod_affinity_terms import Spread
from vc.scheduling.model.rows import PodRow
from vc.scheduling.session.pod_affinity import PodAffinity

HOST_PORTS = "host ports"
POD_AFFINITY = "pod affinity"
POD_ANTI_AFFINITY = "pod anti-affinity"
KEPT_AWAY = "anti-affinity of placed pods"
TOPOLOGY_SPREAD = "topology spread"


def port_checks(pod_affinity: PodAffinity, pod: PodRow) -> Iterable[tuple[str, Mask]]:
    """Yield the nodes on which all host ports of the pod are free."""
    free = [pod_affinity.port(port) == 0 for port in pod.shape.pod_terms.ports]
    if free:
        yield HOST_PORTS, np.logical_and.reduce(free)


def affinity_checks(pod_affinity: PodAffinity, pod: PodRow) -> Iterable[tuple[str, Mask]]:
    """Yield required affinity, the pod's anti-affinity, and the anti-affinity of placed pods."""
    peering = pod.shape.pod_terms
    if peering.affinity:
        yield POD_AFFINITY, _near_all(pod_affinity, pod)
    if peering.anti:
        far = [
            ~_near(pod_affinity, term.topology_key, pod_affinity.selection(term, pod)[1])
            for term in peering.anti
        ]
        yield POD_ANTI_AFFINITY, np.logical_and.reduce(far)
    keeping = pod_affinity.keeping_away(pod)
    if keeping:
        kept = [
            ~_near(pod_affinity, owner.topology_key, pod_affinity.owners(owner))
            for owner in keeping
        ]
        yield KEPT_AWAY, np.logical_and.reduce(kept)


def _near_all(pod_affinity: PodAffinity, pod: PodRow) -> Mask:
    """Return the nodes that satisfy all required affinity terms."""
    terms = pod.shape.pod_terms.affinity
    found = [pod_affinity.selection(term, pod) for term in terms]
    # Without this exception no pod of a group with affinity to itself could ever be placed first.
    first = all(not counts.any() and s.matches(pod.namespace, pod.labels) for s, counts in found)
    masks: list[Mask] = []
    for term, (_, counts) in zip(terms, found, strict=True):
        has_key: Mask = pod_affinity.nodes.label(term.topology_key).codes >= 0
        masks.append(has_key if first else _near(pod_affinity, term.topology_key, counts))
    near: Mask = np.logical_and.reduce(masks)
    return near


def _near(pod_affinity: PodAffinity, topology_key: str, counts: Ints) -> Mask:
    """Return the nodes in domains that have at least one of the counted pods."""
    codes = pod_affinity.nodes.label(topology_key).codes
    per_domain = domain_sums(codes, counts)
    near: Mask = (codes >= 0) & (per_domain[codes] > 0)
    return near


def domain_sums(codes: Ints, counts: Ints) -> Ints:
    """Return the sum per domain, and one extra zero at the end for nodes without the key.

    Such nodes have code -1, which indexes that last element.
    """
    sums = np.zeros(int(codes.max(initial=-1)) + 2, dtype=np.int64)
    np.add.at(sums, codes, counts)
    sums[-1] = 0
    return sums


def spread_check(pod_affinity: PodAffinity, pod: PodRow, spread: Spread, *, eligible: Mask) -> Mask:
    """Return the nodes whose domain stays within maxSkew with one more pod.

    Only `eligible` nodes form domains.
    """
    codes = pod_affinity.nodes.label(spread.term.topology_key).codes
    selection, counts = pod_affinity.selection(spread.term, pod)
    counted = eligible & (codes >= 0)
    domains = np.unique(codes[counted])
    if not len(domains):
        return np.zeros(len(codes), dtype=np.bool_)
    sums = domain_sums(codes, np.where(counted, counts, 0))
    # With fewer domains than minDomains the minimum is 0, as kube-scheduler treats the missing
    # domains as empty ones.
    emptiest = int(sums[domains].min()) if len(domains) >= spread.min_domains else 0
    # A pod that its own selector does not match does not add to the skew.
    one_more = int(selection.matches(pod.namespace, pod.labels))
    within: Mask = (codes >= 0) & (sums[codes] + one_more - emptiest <= spread.max_skew)
    return within
