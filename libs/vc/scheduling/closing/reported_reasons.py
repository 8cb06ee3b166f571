"""The reason that is reported for a waiting group.

A refusal is what the first failed check said. Before it leaves the session, it is replaced or
completed: a gang that can never start says so first, and a group that lost its reservation says to
which group.
"""

from vc.messages.sessions import Reason
from vc.scheduling.model.rows import PENDING, GroupRow
from vc.scheduling.session.infeasible import infeasible_first
from vc.scheduling.session.reasons import outranked
from vc.scheduling.session.session import Session


def reported_reason(session: Session, group: GroupRow) -> Reason | None:
    """Why a group waits; None for a group that has its minimum and only lacks surplus pods."""
    waits = session.starving(group) or (session.phase(group) == PENDING and not group.ready)
    refusal = session.refused.get(group.key) if waits else None
    if refusal is None:
        return None
    reported = session.cached(ReportedReasons).of(group, refusal)
    taker = session.reservations.lost_to.get(group.key)
    return reported if taker is None else outranked(reported, by=taker)


class ReportedReasons:
    """Reports of refusals. Equal gangs of a queue share the refusal, so they share the report."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[tuple[int, object], tuple[Reason, Reason]] = {}
        """By id of a refusal and its group: the refusal, kept alive so that its id stays unique, and
        its report."""

    def of(self, group: GroupRow, refusal: Reason) -> Reason:
        """The report of a refusal for this group."""
        # Placed pods or several runs make the needs of a group unique, so its report is not shared.
        alike = not group.placed and len(group.runs) < 2
        least = (group.min_resources, group.gated_request)
        who = (group.queue, *least) if alike else group.key
        known = self._known.get((id(refusal), who))
        if known is None:
            known = (refusal, infeasible_first(self._session, group, refusal))
            self._known[id(refusal), who] = known
        return known[1]
