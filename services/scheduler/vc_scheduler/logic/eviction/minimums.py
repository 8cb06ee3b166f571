"""Which pods can go together without a gang falling below its minimum.

A gang that is below its minimum already is of no use as it is, so each of its pods may go alone. A bundle of a
whole gang is not counted here: that it breaks the gang is part of the order of victim sets.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vc_scheduler.logic.rows import GroupRow, PodRow

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session
    from vc_scheduler.logic.victims import Bundle


class Minimums:
    """Counts what each gang keeps, with this session's victims gone."""

    def __init__(self, session: "Session") -> None:
        self._session = session

    def together(self, bundles: "Sequence[Bundle]") -> "list[Bundle]":
        """Those that can go, one after the other, when all before them have gone."""
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
    """The pods of one gang that stay, all together and by role."""

    def __init__(self, group: GroupRow, gone: Sequence[PodRow]) -> None:
        """`gone` leave already."""
        self._least = dict(group.role_minimums)
        self._ready = {count.role: count.ready for count in group.roles}
        for pod in gone:
            self._ready[pod.role] = self._ready.get(pod.role, 0) - 1
        self._beyond = group.ready - len(gone) - group.min_member
        self._broken = self._beyond < 0

    def can_give(self, pod: PodRow) -> bool:
        """Whether the gang has its minimum without this pod."""
        if self._broken:
            return True
        return self._beyond > 0 and self._ready.get(pod.role, 0) > self._least.get(pod.role, 0)

    def give(self, pod: PodRow) -> bool:
        """The pod goes, if it can."""
        if not self.can_give(pod):
            return False
        self._beyond -= 1
        self._ready[pod.role] = self._ready.get(pod.role, 0) - 1
        return True


def gang_left(session: "Session", group: GroupRow) -> GangLeft:
    """What a gang has without the victims that the session has so far."""
    return GangLeft(group, [pod for pod in group.placed if pod.uid in session.evicted_uids])
