"""FIFO queues: no job starts before an earlier job of its queue that still waits.

A job that does not fit is handled when its turn comes (`actions/job_order.py`); it has had its turn
when backfill begins, so best-effort jobs behind it are checked there (`after_turns`). A job whose own
pods are gated, in bind backoff or not all created has no turn, but keeps its position. A job
without any pods, which may never be created, and a job with an invalid manifest do not keep their
position.
"""

from collections.abc import Iterable
from typing import Final

from vc.messages.sessions import Stage
from vc.scheduling.framework.order_points import OrderKey
from vc.scheduling.model.rows import PENDING, GroupRow
from vc.scheduling.session import reasons
from vc.scheduling.session.session import Session

_OWN_PODS: Final = (Stage.TASKS, Stage.BIND)
_NOT_PLACED: Final = (*_OWN_PODS, Stage.QUOTA, Stage.VOLUMES, Stage.PREDICATE, Stage.GANG)
"""Stages of enqueued jobs that were tried and do not fit, and of those that wait for their own pods."""


class FifoOrder:
    """The first job of each FIFO queue that is enqueued and waits: for its own pods, or (`after_turns`)
    because it does not fit."""

    def __init__(self, session: Session, *, after_turns: bool = False) -> None:
        self._session = session
        self._stages = _NOT_PLACED if after_turns else _OWN_PODS
        self._first: dict[str, tuple[OrderKey, GroupRow]] = {}
        fifo = {row.name: None for row in session.snapshot.queues.values() if row.fifo}
        for group in session.snapshot.groups if fifo else ():
            # Only the first waiting job of a queue matters: it blocks all jobs behind it.
            if group.queue in fifo and self._waits(group):
                entry = (session.framework.order.job_order_key(session, group), group)
                known = self._first.get(group.queue)
                if known is None or entry[0] < known[0]:
                    self._first[group.queue] = entry

    def _waits(self, group: GroupRow) -> bool:
        reason = self._session.refused.get(group.key)
        return (
            reason is not None
            and reason.stage in self._stages
            and group.pending > 0
            and self._session.phase(group) != PENDING
            and self._session.starving(group)
        )

    def before(self, group: GroupRow) -> GroupRow | None:
        """The job that waits before this one in the same FIFO queue; None if there is none."""
        first = self._first.get(group.queue)
        if (
            first is None
            or self._session.framework.order.job_order_key(self._session, group) < first[0]
        ):
            return None
        return first[1]


def keep_fifo_order(
    session: Session, groups: Iterable[GroupRow], *, after_turns: bool = False
) -> list[GroupRow]:
    """The groups that overtake no waiting job. Starving groups among the others get a reason."""
    order = FifoOrder(session, after_turns=after_turns)
    passing: list[GroupRow] = []
    for group in groups:
        first = order.before(group)
        if first is None:
            passing.append(group)
        elif session.starving(group) and group.key not in session.refused:
            session.refuse(group, reasons.behind(first))
    return passing
