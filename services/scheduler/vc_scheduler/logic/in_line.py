"""Fifo queues: nobody passes a job that waits, whatever it waits for.

A job that finds no room is dealt with when its turn comes (`actions/turns.py`). One that cannot be tried,
because pods of its own are gated, rest after a failed bind or are not all made yet, has no turn, and keeps
its place in the line all the same. Not so one without any pods, which nobody may ever make, and one whose
manifest cannot be used.
"""

from collections.abc import Iterable
from typing import Final

from vc_messages.sessions import Stage
from vc_scheduler.logic import reasons
from vc_scheduler.logic.framework import OrderKey
from vc_scheduler.logic.rows import PENDING, GroupRow
from vc_scheduler.logic.session import Session

_OWN_PODS: Final = (Stage.TASKS, Stage.BIND)


class Line:
    """The first job of each fifo queue that was let in and waits for pods of its own."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._first: dict[str, tuple[OrderKey, GroupRow]] = {}
        fifo = {row.name: None for row in session.snapshot.queues.values() if row.fifo}
        for group in session.snapshot.groups if fifo else ():
            if group.queue in fifo and self._waits(group):
                entry = (session.framework.job_key(session, group), group)
                known = self._first.get(group.queue)
                if known is None or entry[0] < known[0]:
                    self._first[group.queue] = entry

    def _waits(self, group: GroupRow) -> bool:
        reason = self._session.refused.get(group.key)
        return (
            reason is not None
            and reason.stage in _OWN_PODS
            and group.pending > 0
            and self._session.phase(group) != PENDING
            and self._session.starving(group)
        )

    def before(self, group: GroupRow) -> GroupRow | None:
        """Who stands before it and waits; None when nobody does."""
        first = self._first.get(group.queue)
        if first is None or self._session.framework.job_key(self._session, group) < first[0]:
            return None
        return first[1]


def keep_in_line(session: Session, groups: Iterable[GroupRow]) -> list[GroupRow]:
    """Those that pass nobody; of the others the starving ones are told."""
    line = Line(session)
    passing: list[GroupRow] = []
    for group in groups:
        first = line.before(group)
        if first is None:
            passing.append(group)
        elif session.starving(group) and group.key not in session.refused:
            session.refuse(group, reasons.behind(first))
    return passing
