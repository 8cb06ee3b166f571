"""Limits on how many go together, over bundles of victims (the plugin pdb is one).

Who may not go at all is left out from the beginning. Beyond that it is not known which victims are of use
before the gang was tried. So there are two ways: with those that may all go, cheapest first; where they
are of no use, with everybody, and then the victims that are left must be such as may go together.
"""

from collections.abc import Sequence

from vc_scheduler.logic.rows import PodRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.victims import Bundle, pods_of
from vc_scheduler.logic.voters import Tally


class Limiting:
    """The limits of one way of evicting; `switch` says which."""

    def __init__(self, session: Session, *, switch: str) -> None:
        self._session = session
        self._switch = switch

    def ways(self, bundles: Sequence[Bundle]) -> list[Sequence[Bundle]]:
        """Which bundles to try, one way after the other."""
        if not self._tallies():
            return [bundles]
        together = self._together(bundles)
        return [together] if len(together) == len(bundles) else [together, bundles]

    def allows(self, chosen: Sequence[Bundle]) -> bool:
        """Whether these may all go."""
        pods = pods_of(chosen)
        return all(tally.has_room(pods) for tally in self._tallies())

    def _together(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Those that may go when all of them before do."""
        tallies = self._tallies()
        gone: dict[str, None] = {}
        kept: list[Bundle] = []
        for bundle in bundles:
            more = [pod for pod in bundle.pods if pod.uid not in gone]
            if _take(tallies, more):
                kept.append(bundle)
                gone.update({pod.uid: None for pod in more})
        return kept

    def _tallies(self) -> list[Tally]:
        return self._session.framework.voters.tallies(self._session, switch=self._switch)


def _take(tallies: Sequence[Tally], pods: Sequence[PodRow]) -> bool:
    if not all(tally.has_room(pods) for tally in tallies):
        return False
    for tally in tallies:
        tally.take(pods)
    return True
