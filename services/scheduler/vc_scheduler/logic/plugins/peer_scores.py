"""Scores of the plugin nodeorder that look at other pods: preferred pod affinity, soft spread.

As kube-scheduler's, from 0 to `POINTS` over the nodes the pod may go to. Nearness counts both ways: what the
pod prefers about those that are placed, and what they prefer about it.
"""

import math
from typing import Final

import numpy as np

from vc_scheduler.logic.peers import Peers
from vc_scheduler.logic.plugins.peer_checks import domain_sums
from vc_scheduler.logic.rows import PodRow
from vc_scheduler.logic.table import Ints, Mask

POINTS: Final = 1_000_000
"""A full score of 100, in fixed point."""
_THOUSAND: Final = 1000


def nearness(peers: Peers, pod: PodRow, mask: Mask) -> Ints:
    """Pods it wants to be near, or that want it near, add the term's weight; shunning takes it away."""
    score = np.zeros(len(peers.nodes.names), dtype=np.int64)
    for wish in pod.shape.peering.wishes:
        counts = peers.selection(wish.term, pod)[1]
        score += wish.weight * _around(peers, wish.term.topology_key, counts)
    for owner in peers.pulling(pod):
        score += _around(peers, owner.topology_key, peers.pulls(owner))
    least, most = _bounds(score, mask)
    if most == least:
        return np.zeros_like(score)
    return np.clip((score - least) * POINTS // (most - least), 0, POINTS)


def _around(peers: Peers, topology_key: str, amounts: Ints) -> Ints:
    """Per node what its domain has together; nothing where the key is not."""
    codes = peers.nodes.label(topology_key).codes
    return domain_sums(codes, amounts)[codes]


def spreading(peers: Peers, pod: PodRow, mask: Mask) -> Ints:
    """Domains with fewer pods are better; a node without one of the keys is the worst."""
    crowd = np.zeros(len(peers.nodes.names), dtype=np.int64)
    keyed = np.ones(len(peers.nodes.names), dtype=np.bool_)
    for spread in pod.shape.peering.soft_spread:
        codes = peers.nodes.label(spread.term.topology_key).codes
        counts = domain_sums(codes, peers.selection(spread.term, pod)[1])[codes]
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
