"""The order in which jobs are tried: queues by queue order, and the jobs of a queue by job order.

Both orders are total, so the sequence depends only on the session. The key of a queue is computed
again when the queue reaches the head of the heap. It changes when jobs of the queue are placed and,
in a queue hierarchy, also when jobs of sibling queues are placed. Shares only grow while jobs are
placed, so a queue that is still first after its key is computed again is first among all queues.
"""

import heapq
from collections.abc import Iterable

from vc.scheduling.framework.order_points import OrderKey
from vc.scheduling.model.rows import GroupRow, QueueRow
from vc.scheduling.session.session import Session


class JobOrder:
    """A priority queue of queues, each with a priority queue of its jobs."""

    def __init__(self, session: Session, groups: Iterable[GroupRow]) -> None:
        self._session = session
        self._jobs: dict[str, list[tuple[OrderKey, GroupRow]]] = {}
        self._queues: list[tuple[OrderKey, QueueRow]] = []
        for group in groups:
            key = session.framework.order.job_order_key(session, group)
            self._jobs.setdefault(group.queue, []).append((key, group))
        for name in sorted(self._jobs):
            heapq.heapify(self._jobs[name])
            self._offer(session.snapshot.queues[name])

    def _offer(self, queue: QueueRow) -> None:
        """Add a queue to the heap with its current key."""
        key = self._session.framework.order.queue_order_key(self._session, queue)
        heapq.heappush(self._queues, (key, queue))

    def next(self) -> GroupRow | None:
        """The next job, or None.

        The job's queue gets no other turn until `done` is called with the job.
        """
        while self._queues:
            known, queue = heapq.heappop(self._queues)
            # The stored key may be outdated. If the queue is no longer first, it is stored again.
            now = self._session.framework.order.queue_order_key(self._session, queue)
            if self._queues and known < now and self._queues[0][0] < now:
                heapq.heappush(self._queues, (now, queue))
                continue
            _, group = heapq.heappop(self._jobs[queue.name])
            return group
        return None

    def instead(self, group: GroupRow) -> GroupRow | None:
        """The job that replaces one which needs no turn.

        It is the next job of the same queue, because the share of that queue has not changed.
        """
        jobs = self._jobs[group.queue]
        return heapq.heappop(jobs)[1] if jobs else self.next()

    def done(self, group: GroupRow, *, again: bool = False) -> None:
        """End the turn of a job, so that its queue can have another one.

        With `again`, the job has more pods to place and returns to its queue.
        """
        jobs = self._jobs[group.queue]
        if again:
            key = self._session.framework.order.job_order_key(self._session, group)
            heapq.heappush(jobs, (key, group))
        if jobs:
            self._offer(self._session.snapshot.queues[group.queue])

    def blocked(self, group: GroupRow) -> list[GroupRow]:
        """The remaining jobs of the group's queue, if it is FIFO. They get no turn any more.

        Call it when the group has to wait, so that no later job of the queue overtakes it.
        """
        if not self._session.snapshot.queues[group.queue].fifo:
            return []
        behind = [waiting for _, waiting in sorted(self._jobs[group.queue])]
        self._jobs[group.queue].clear()
        return behind

    def contested(self, group: GroupRow) -> bool:
        """Whether another job, of any queue, waits for a turn."""
        return bool(self._queues) or bool(self._jobs[group.queue])
