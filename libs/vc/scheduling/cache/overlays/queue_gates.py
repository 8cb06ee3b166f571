"""Pods whose queue-allocation gate we remove.

The request of such a pod stays reserved in its queue until the pod is bound or deleted. The write
that removes the gate also sets the annotation `QUEUE_ALLOCATED`. The annotation alone is not
trusted, because any client that may write the pod can set it: only gates that this process removed
count.
"""

import msgspec

from vc.scheduling.model.rows import PodRow, Task


class LiftedGates:
    """By pod uid; bounded by the number of waiting pods."""

    def __init__(self) -> None:
        self._lifted: dict[str, None] = {}

    def over(self, row: PodRow) -> PodRow:
        """The row with the overlay. The queue has a reservation only for pods whose gate this
        process removed, until they are bound."""
        if row.uid not in self._lifted:
            return msgspec.structs.replace(row, queue_reserved=False) if row.queue_reserved else row
        if row.status is not Task.PENDING:
            del self._lifted[row.uid]
            return row
        return msgspec.structs.replace(row, queue_reserved=True)

    def put(self, row: PodRow, *, lifted: bool) -> PodRow:
        """The gate of a pod is being removed, or (not `lifted`) its removal failed."""
        if lifted:
            self._lifted[row.uid] = None
            return self.over(row)
        self._lifted.pop(row.uid, None)
        return msgspec.structs.replace(row, queue_reserved=False) if row.queue_gated else row

    def gone(self, uid: str) -> None:
        self._lifted.pop(uid, None)
