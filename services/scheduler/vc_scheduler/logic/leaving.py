"""Pods that are taken off the nodes for the length of a trial.

While they are away, the rooms, the counts beside them and the sums of their queues are as if they were
gone. What a statement puts in their place stays when they come back (`back(kept=True)`): those rows
are then more than full, so nobody else finds room there. That is the reservation.
"""

from collections.abc import Sequence

import numpy as np

from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.rows import PodRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.shapes import Shape
from vc_scheduler.logic.table import Ints


class Leaving:
    """Some pods on nodes, away or there."""

    def __init__(self, session: Session, pods: Sequence[PodRow], *, counted: bool) -> None:
        """`counted`: they still count for their queues (victims do, pods being deleted do not)."""
        self._session = session
        self._freed = _freed(session, pods) if counted else {}
        """By queue; added up once, since trials go and come back many times."""
        by_shape: dict[bytes, list[tuple[PodRow, int]]] = {}
        for pod in pods:
            row = session.snapshot.nodes.static.row(pod.node)
            if row is not None:
                by_shape.setdefault(pod.shape.key, []).append((pod, row))
        self._parts: list[tuple[Shape, tuple[PodRow, ...], Ints]] = [
            (
                listed[0][0].shape,
                tuple(pod for pod, _ in listed),
                np.array([row for _, row in listed], dtype=np.int64),
            )
            for listed in by_shape.values()
        ]

    def go(self) -> None:
        """They are away."""
        for shape, pods, rows in self._parts:
            self._session.rooms.leave(shape, rows)
            self._session.peers.put(pods, rows, sign=-1)
        for queue, freed in self._freed.items():
            self._session.count_leaving(queue, freed, sign=-1)

    def back(self, *, kept: bool) -> None:
        """They are there again, and with `kept` so is what was put in their place.

        Kept victims do not count for their queues again: they are on their way out.
        """
        for shape, pods, rows in reversed(self._parts):
            self._session.peers.put(pods, rows, sign=1)
            if kept:
                self._session.rooms.take(shape, rows)
            else:
                self._session.rooms.stay(shape, rows)
        for queue, freed in self._freed.items() if not kept else ():
            self._session.count_leaving(queue, freed, sign=1)


def _freed(session: Session, pods: Sequence[PodRow]) -> dict[str, Amounts]:
    """What pods take of their queues."""
    counts: dict[tuple[str, bytes], tuple[Shape, int]] = {}
    for pod in pods:
        group = session.snapshot.everybody.get(pod.group)
        if group is not None:
            asked = (group.queue, pod.shape.key)
            counts[asked] = (pod.shape, counts[asked][1] + 1 if asked in counts else 1)
    freed: dict[str, Amounts] = {}
    for (queue, _), (shape, count) in counts.items():
        total = freed.setdefault(queue, {})
        for name, amount in shape.request:
            total[name] = total.get(name, 0) + amount * count
    return freed
