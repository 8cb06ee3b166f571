"""Scores of the plugin nodeorder that depend on other pods: preferred pod affinity and soft spread.

Scores follow kube-scheduler and range from 0 to `POINTS` over the nodes that the pod may use.
Affinity counts in both directions: the preferences of the pod about placed pods, and the
preferences of placed pods about it.
"""

import math
from typing import Final

import numpy as np

from vc.scheduling.model.node_table import Ints, Mask
from vc.scheduling.model.rows import PodRow
from vc.scheduling.plugins.predicates.pod_affinity import domain_sums
from vc.scheduling.session.pod_affinity import PodAffinity

POINTS: Final = 1_000_000
"""A full score of 100 in fixed point."""
_THOUSAND: Final = 1000


def affinity_scores(pod_affinity: PodAffinity, pod: PodRow, mask: Mask) -> Ints:
    """Score by preferred pod affinity; preferred anti-affinity terms have negative weight.

    The terms of placed pods that select this pod count as well.
    """
    score = np.zeros(len(pod_affinity.nodes.names), dtype=np.int64)
    for preference in pod.shape.pod_terms.preferred:
        counts = pod_affinity.selection(preference.term, pod)[1]
        score += preference.weight * _around(pod_affinity, preference.term.topology_key, counts)
    for owner in pod_affinity.pulling(pod):
        score += _around(pod_affinity, owner.topology_key, pod_affinity.pulls(owner))
    least, most = _bounds(score, mask)
    # Without a difference there is no preference, and the scale below would divide by zero.
    if most == least:
        return np.zeros_like(score)
    return np.clip((score - least) * POINTS // (most - least), 0, POINTS)


def _around(pod_affinity: PodAffinity, topology_key: str, amounts: Ints) -> Ints:
    """Return per node the sum over its topology domain; zero where the node lacks the key."""
    codes = pod_affinity.nodes.label(topology_key).codes
    return domain_sums(codes, amounts)[codes]


def spread_scores(pod_affinity: PodAffinity, pod: PodRow, mask: Mask) -> Ints:
    """Score domains with fewer pods higher; a node that lacks one of the keys has score 0."""
    crowd = np.zeros(len(pod_affinity.nodes.names), dtype=np.int64)
    keyed = np.ones(len(pod_affinity.nodes.names), dtype=np.bool_)
    for spread in pod.shape.pod_terms.soft_spread:
        codes = pod_affinity.nodes.label(spread.term.topology_key).codes
        counts = domain_sums(codes, pod_affinity.selection(spread.term, pod)[1])[codes]
        # kube-scheduler's weight: a key with many domains, such as the host name, has few pods in
        # each of them, and would otherwise count less than a zone.
        domains = len(np.unique(codes[mask & (codes >= 0)]))
        crowd += counts * round(math.log(domains + 2) * _THOUSAND)
        crowd += (spread.max_skew - 1) * _THOUSAND
        keyed &= codes >= 0
    least, most = _bounds(crowd, mask & keyed)
    points = (most + least - crowd) * POINTS // most if most else np.full_like(crowd, POINTS)
    return np.where(keyed, np.clip(points, 0, POINTS), 0)


def _bounds(score: Ints, mask: Mask) -> tuple[int, int]:
    among = score[mask]
    return (int(among.min()), int(among.max())) if len(among) else (0, 0)
