"""Scores of the plugin nodeorder that look at other pods: preferred pod affinity, soft spread.

As kube-scheduler's, from 0 to `POINTS` over the nodes the pod may go to. Only what the pod itself
prefers counts; what placed pods would prefer about it does not.
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
    """Pods it wants to be near add their term's weight, those it shuns take it away."""
    score = np.zeros(len(peers.nodes.names), dtype=np.int64)
    for wish in pod.shape.peering.wishes:
        codes = peers.nodes.label(wish.term.topology_key).codes
        counts = domain_sums(codes, peers.selection(wish.term, pod)[1])[codes]
        score += wish.weight * np.where(codes >= 0, counts, 0)
    least, most = _bounds(score, mask)
    if most == least:
        return np.zeros_like(score)
    return np.clip((score - least) * POINTS // (most - least), 0, POINTS)


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
