"""Pods whose queue-allocation gate we remove.

The request of such a pod stays reserved in its queue until the pod is bound or deleted. The write
that removes the gate also sets the annotation `QUEUE_ALLOCATED`. The annotation alone is not
trusted, because any client that may write the pod can set it: only gates that this process removed
count.
"""

import msgspec

from vc.scheduling.model.rows import PodRow, TaskStatus


class RemovedGates:
    """By pod uid; bounded by the number of waiting pods."""

    def __init__(self) -> None:
        self._removed: dict[str, None] = {}

    def over(self, row: PodRow) -> PodRow:
        """The row with the overlay. The queue has a reservation only for pods whose gate this
        process removed, until they are bound."""
        if row.uid not in self._removed:
            return msgspec.structs.replace(row, queue_reserved=False) if row.queue_reserved else row
        # A bound pod is charged to its queue by its request, so the reservation ends.
        if row.status is not TaskStatus.PENDING:
            del self._removed[row.uid]
            return row
        return msgspec.structs.replace(row, queue_reserved=True)

    def put(self, row: PodRow, *, removed: bool) -> PodRow:
        """The gate of a pod is being removed, or (not `removed`) its removal failed."""
        if removed:
            self._removed[row.uid] = None
            return self.over(row)
        self._removed.pop(row.uid, None)
        return msgspec.structs.replace(row, queue_reserved=False) if row.queue_gated else row

    def pod_deleted(self, uid: str) -> None:
        self._removed.pop(uid, None)
