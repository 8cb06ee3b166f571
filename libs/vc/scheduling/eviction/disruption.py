"""Disruption limits on victims that are evicted together. The plugin pdb has such a limit.

Pods that may not be evicted at all are excluded before (`eviction/victims.py`). Here is the rule
for the victim search (`eviction/victim_search.py`) that decides which of the others may be evicted
together.
"""

from collections.abc import Sequence

from vc.scheduling.eviction.victims import Bundle
from vc.scheduling.framework.eviction_points import VictimCounter
from vc.scheduling.model.rows import PodRow
from vc.scheduling.session.session import Session


class Limiting:
    """The disruption limits of one action: `switch` is PREEMPTABLE or RECLAIMABLE."""

    def __init__(self, session: Session, *, switch: str) -> None:
        self._session = session
        self._switch = switch

    @property
    def any(self) -> bool:
        """Whether any plugin limits evictions."""
        return bool(self._counters())

    def together(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """The bundles that may be evicted together with all accepted bundles before them."""
        counters = self._counters()
        if not counters:
            return list(bundles)
        gone: dict[str, None] = {}
        kept: list[Bundle] = []
        for bundle in bundles:
            # A whole gang and its single pods overlap, and a pod counts only once against a limit.
            more = [pod for pod in bundle.pods if pod.uid not in gone]
            if _count(counters, more):
                kept.append(bundle)
                gone.update({pod.uid: None for pod in more})
        return kept

    def _counters(self) -> list[VictimCounter]:
        """New counts of the limits, with the victims of the session so far."""
        return self._session.framework.evictions.victim_counters(self._session, switch=self._switch)


def _count(counters: Sequence[VictimCounter], pods: Sequence[PodRow]) -> bool:
    """Count the pods against all limits, or against none if one limit does not allow them."""
    if not all(counter.allows(pods) for counter in counters):
        return False
    for counter in counters:
        counter.count(pods)
    return True
