"""Pods whose queue-allocation gate we lift, until their facts show it.

The room of a pod whose gate was lifted is held in the account of its queue until the pod is bound or gone. That
is a function of facts: the write that lifts the gate also sets the annotation `QUEUE_ALLOCATED`, so a
restarted scheduler holds the same. While the write is under way, this overlay stands for it.
"""

import msgspec

from vc_scheduler.logic.rows import PodRow, Task


class LiftedGates:
    """By pod uid; bounded by the pods that wait."""

    def __init__(self) -> None:
        self._lifted: dict[str, None] = {}

    def over(self, row: PodRow) -> PodRow:
        """The row with the overlay. An annotation that says so is anybody's to write: a queue holds room only
        for pods whose gate this process lifted, until they are bound."""
        if row.uid not in self._lifted:
            return msgspec.structs.replace(row, queue_reserved=False) if row.queue_reserved else row
        if row.status is not Task.PENDING:
            del self._lifted[row.uid]
            return row
        return msgspec.structs.replace(row, queue_reserved=True)

    def put(self, row: PodRow, *, lifted: bool) -> PodRow:
        """We lift the gate of a pod, or (not `lifted`) it was not lifted after all."""
        if lifted:
            self._lifted[row.uid] = None
            return self.over(row)
        self._lifted.pop(row.uid, None)
        return msgspec.structs.replace(row, queue_reserved=False) if row.queue_gated else row

    def gone(self, uid: str) -> None:
        self._lifted.pop(uid, None)
