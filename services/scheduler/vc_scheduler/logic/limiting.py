"""Limits on how many go together, over bundles of victims (the plugin pdb is one).

Who may not go at all is left out from the beginning. Which of the others may go together is one of the
rules of the search for victims (`eviction/victim_search.py`).
"""

from collections.abc import Sequence

from vc_scheduler.logic.rows import PodRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.victims import Bundle
from vc_scheduler.logic.voters import Tally


class Limiting:
    """The limits of one way of evicting; `switch` says which."""

    def __init__(self, session: Session, *, switch: str) -> None:
        self._session = session
        self._switch = switch

    @property
    def any(self) -> bool:
        """Whether there is a limit at all."""
        return bool(self._tallies())

    def together(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Those that may go when all of them before do."""
        tallies = self._tallies()
        if not tallies:
            return list(bundles)
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
