"""Which pods can be evicted together without a gang falling below its minimum.

A gang that is already below its minimum does no work, so each of its pods may be evicted on its
own. Bundles of a whole gang are not counted here: the order of victim sets accounts for a broken
gang.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vc.scheduling.model.rows import GroupRow, PodRow

if TYPE_CHECKING:
    from vc.scheduling.eviction.victims import Bundle
    from vc.scheduling.session.session import Session


class Minimums:
    """Counts the pods that each gang keeps, without the victims of this session."""

    def __init__(self, session: "Session") -> None:
        self._session = session

    def together(self, bundles: "Sequence[Bundle]") -> "list[Bundle]":
        """The bundles that can be evicted together with all accepted bundles before them."""
        left: dict[str, GangLeft] = {}
        kept: list[Bundle] = []
        for bundle in bundles:
            if bundle.whole:
                kept.append(bundle)
                continue
            group = bundle.group
            if group.key not in left:
                left[group.key] = gang_left(self._session, group)
            if left[group.key].give(bundle.pods[0]):
                kept.append(bundle)
        return kept


class GangLeft:
    """Counts of the remaining pods of one gang, in total and by task."""

    def __init__(self, group: GroupRow, gone: Sequence[PodRow]) -> None:
        """`gone` are pods of the gang that were chosen as victims before."""
        self._least = dict(group.role_minimums)
        self._ready = {count.role: count.ready for count in group.roles}
        for pod in gone:
            self._ready[pod.role] = self._ready.get(pod.role, 0) - 1
        self._beyond = group.ready - len(gone) - group.min_member
        self._broken = self._beyond < 0

    def can_give(self, pod: PodRow) -> bool:
        """Whether this pod may be evicted: the gang keeps its minimums, or is already broken."""
        if self._broken:
            return True
        return self._beyond > 0 and self._ready.get(pod.role, 0) > self._least.get(pod.role, 0)

    def give(self, pod: PodRow) -> bool:
        """Count the pod as evicted if `can_give` allows it; return whether it does."""
        if not self.can_give(pod):
            return False
        self._beyond -= 1
        self._ready[pod.role] = self._ready.get(pod.role, 0) - 1
        return True


def gang_left(session: "Session", group: GroupRow) -> GangLeft:
    """The counts of a gang without the victims that the session has chosen so far."""
    return GangLeft(group, [pod for pod in group.placed if pod.uid in session.decided.evicted_uids])
