"""Checks of the plugin predicates that look at other pods: host ports, pod affinity, spread.

They are asked for one pod at a time, with everything placed so far in this session on its node.
Rules are kube-scheduler's: the first pod of a group that wants to be near itself may go anywhere; a
placed pod's anti-affinity counts as much as one's own; a node without the topology key is in no
domain.
"""

from collections.abc import Iterable

import numpy as np

from vc_scheduler.logic.peering import Spread
from vc_scheduler.logic.peers import Peers
from vc_scheduler.logic.rows import PodRow
from vc_scheduler.logic.table import Ints, Mask

HOST_PORTS = "host ports"
POD_AFFINITY = "pod affinity"
POD_ANTI_AFFINITY = "pod anti-affinity"
KEPT_AWAY = "anti-affinity of placed pods"
TOPOLOGY_SPREAD = "topology spread"


def port_checks(peers: Peers, pod: PodRow) -> Iterable[tuple[str, Mask]]:
    """Nodes on which all its host ports are free."""
    free = [peers.port(port) == 0 for port in pod.shape.peering.ports]
    if free:
        yield HOST_PORTS, np.logical_and.reduce(free)


def affinity_checks(peers: Peers, pod: PodRow) -> Iterable[tuple[str, Mask]]:
    """Near whom it must be, and far from whom."""
    peering = pod.shape.peering
    if peering.affinity:
        yield POD_AFFINITY, _near_all(peers, pod)
    if peering.anti:
        far = [
            ~_near(peers, term.topology_key, peers.selection(term, pod)[1]) for term in peering.anti
        ]
        yield POD_ANTI_AFFINITY, np.logical_and.reduce(far)
    keeping = peers.keeping_away(pod)
    if keeping:
        kept = [~_near(peers, owner.topology_key, peers.owners(owner)) for owner in keeping]
        yield KEPT_AWAY, np.logical_and.reduce(kept)


def _near_all(peers: Peers, pod: PodRow) -> Mask:
    terms = pod.shape.peering.affinity
    found = [peers.selection(term, pod) for term in terms]
    first = all(not counts.any() and s.matches(pod.namespace, pod.labels) for s, counts in found)
    masks: list[Mask] = []
    for term, (_, counts) in zip(terms, found, strict=True):
        has_key: Mask = peers.nodes.label(term.topology_key).codes >= 0
        masks.append(has_key if first else _near(peers, term.topology_key, counts))
    near: Mask = np.logical_and.reduce(masks)
    return near


def _near(peers: Peers, topology_key: str, counts: Ints) -> Mask:
    """Nodes in a domain that has any of the counted pods."""
    codes = peers.nodes.label(topology_key).codes
    per_domain = domain_sums(codes, counts)
    near: Mask = (codes >= 0) & (per_domain[codes] > 0)
    return near


def domain_sums(codes: Ints, counts: Ints) -> Ints:
    """Per domain; one more at the end for nodes without the key, which code -1 finds there."""
    sums = np.zeros(int(codes.max(initial=-1)) + 2, dtype=np.int64)
    np.add.at(sums, codes, counts)
    sums[-1] = 0
    return sums


def spread_check(peers: Peers, pod: PodRow, spread: Spread, *, eligible: Mask) -> Mask:
    """Nodes whose domain stays within the skew with one more. `eligible` nodes make the domains."""
    codes = peers.nodes.label(spread.term.topology_key).codes
    selection, counts = peers.selection(spread.term, pod)
    counted = eligible & (codes >= 0)
    domains = np.unique(codes[counted])
    if not len(domains):
        return np.zeros(len(codes), dtype=np.bool_)
    sums = domain_sums(codes, np.where(counted, counts, 0))
    emptiest = int(sums[domains].min()) if len(domains) >= spread.min_domains else 0
    one_more = int(selection.matches(pod.namespace, pod.labels))
    within: Mask = (codes >= 0) & (sums[codes] + one_more - emptiest <= spread.max_skew)
    return within
