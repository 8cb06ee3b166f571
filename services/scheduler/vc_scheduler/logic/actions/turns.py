"""Whose turn it is: queues by queue order, jobs of a queue by job order.

Both orders are total, so the sequence is a function of the session. A queue's place is looked up
again when its turn comes: its share changes when it is served, and with queues below one another
also when its siblings are. Shares only grow while jobs are placed, so who is first then is first.
"""

import heapq
from collections.abc import Iterable

from vc_scheduler.logic.framework import OrderKey
from vc_scheduler.logic.rows import GroupRow, QueueRow
from vc_scheduler.logic.session import Session


class Turns:
    """A priority queue of queues of jobs."""

    def __init__(self, session: Session, groups: Iterable[GroupRow]) -> None:
        self._session = session
        self._jobs: dict[str, list[tuple[OrderKey, GroupRow]]] = {}
        self._queues: list[tuple[OrderKey, QueueRow]] = []
        for group in groups:
            key = session.framework.job_key(session, group)
            self._jobs.setdefault(group.queue, []).append((key, group))
        for name in sorted(self._jobs):
            heapq.heapify(self._jobs[name])
            self._offer(session.snapshot.queues[name])

    def _offer(self, queue: QueueRow) -> None:
        key = self._session.framework.queue_key(self._session, queue)
        heapq.heappush(self._queues, (key, queue))

    def next(self) -> GroupRow | None:
        """The next job; its queue waits until `done` is called with it."""
        while self._queues:
            known, queue = heapq.heappop(self._queues)
            now = self._session.framework.queue_key(self._session, queue)
            if self._queues and known < now and self._queues[0][0] < now:
                heapq.heappush(self._queues, (now, queue))
                continue
            _, group = heapq.heappop(self._jobs[queue.name])
            return group
        return None

    def instead(self, group: GroupRow) -> GroupRow | None:
        """The next job when this one needs no turn: of its own queue, which is as it was."""
        jobs = self._jobs[group.queue]
        return heapq.heappop(jobs)[1] if jobs else self.next()

    def done(self, group: GroupRow, *, again: bool = False) -> None:
        """Its queue may go on; with `again` the job has more to place."""
        jobs = self._jobs[group.queue]
        if again:
            key = self._session.framework.job_key(self._session, group)
            heapq.heappush(jobs, (key, group))
        if jobs:
            self._offer(self._session.snapshot.queues[group.queue])

    def blocked(self, group: GroupRow) -> list[GroupRow]:
        """With a fifo queue, those behind a job that has to wait: they get no turn any more."""
        if not self._session.snapshot.queues[group.queue].fifo:
            return []
        behind = [waiting for _, waiting in sorted(self._jobs[group.queue])]
        self._jobs[group.queue].clear()
        return behind

    def contested(self, group: GroupRow) -> bool:
        """Whether another job waits for its turn, of another queue or of its own."""
        return bool(self._queues) or bool(self._jobs[group.queue])
