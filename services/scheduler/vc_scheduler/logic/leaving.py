"""Pods that are taken off the nodes for the length of a trial.

While they are away, the rooms, the counts beside them and the sums of their queues are as if they were
gone. What a statement puts in their place stays when they come back (`back(kept=True)`): those rows
are then more than full, so nobody else finds room there. That is the reservation.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vc_scheduler.logic.amounts import Amounts
from vc_scheduler.logic.placing import Missing
from vc_scheduler.logic.reach import Reach
from vc_scheduler.logic.rows import GroupRow, PodRow
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.shapes import Shape
from vc_scheduler.logic.table import Ints


class _Part(NamedTuple):
    """Pods of one shape and their rows."""

    shape: Shape
    pods: tuple[PodRow, ...]
    rows: Ints


def those_leaving(session: Session, *, victims: bool) -> "Leaving":
    """Pods that leave anyway, with `victims` those of this session too; put together once, however many
    ask."""
    evicted = session.evicted if victims else {}
    known = session.gone.get(len(evicted))
    if known is None:
        pods = [*session.snapshot.leaving, *(pod for some in evicted.values() for pod in some)]
        known = session.gone[len(evicted)] = Leaving(session, pods, counted=False)
    return known


def reach_without(session: Session, pods: Sequence[PodRow]) -> Reach:
    """What could be placed at most if these went, too; holds until somebody is evicted."""
    rooms = session.rooms
    free = rooms.nodes.allocatable - rooms.used
    for shape, _, rows in [*those_leaving(session, victims=True).parts, *_by_shape(session, pods)]:
        np.add.at(free, rows, rooms.request(shape))
    return Reach(rooms, free)


def could_help(session: Session, group: GroupRow, missing: Missing, reach: Reach) -> bool:
    """Whether a trial may end well. Where jobs hold room for a part of them nobody knows before: that room
    moves with the trials."""
    return bool(session.parts) or reach.covers(group, missing)


class Leaving:
    """Some pods on nodes, away or there."""

    def __init__(self, session: Session, pods: Sequence[PodRow], *, counted: bool) -> None:
        """`counted`: they still count for their queues (victims do, pods being deleted do not)."""
        self._session = session
        self._freed = freed_by_queue(session, pods) if counted else {}
        """By queue; added up once, since trials go and come back many times."""
        self.parts = _by_shape(session, pods)

    def go(self) -> None:
        """They are away."""
        for shape, pods, rows in self.parts:
            self._session.rooms.leave(shape, rows)
            self._session.peers.put(pods, rows, sign=-1)
        for queue, freed in self._freed.items():
            self._session.count_leaving(queue, freed, sign=-1)

    def back(self, *, kept: bool) -> None:
        """They are there again, and with `kept` so is what was put in their place.

        Kept victims do not count for their queues again: they are on their way out.
        """
        for shape, pods, rows in reversed(self.parts):
            self._session.peers.put(pods, rows, sign=1)
            if kept:
                self._session.rooms.take(shape, rows)
            else:
                self._session.rooms.stay(shape, rows)
        for queue, freed in self._freed.items() if not kept else ():
            self._session.count_leaving(queue, freed, sign=1)


def _by_shape(session: Session, pods: Sequence[PodRow]) -> list[_Part]:
    """Those whose nodes are there, equal ones together."""
    row_of = session.snapshot.nodes.static.row
    found: dict[bytes, tuple[Shape, list[PodRow], list[int]]] = {}
    for pod in pods:
        row = row_of(pod.node)
        if row is None:
            continue
        shape = pod.shape
        if shape.key not in found:
            found[shape.key] = (shape, [], [])
        _, alike, rows = found[shape.key]
        alike.append(pod)
        rows.append(row)
    return [
        _Part(shape, tuple(alike), np.array(rows, dtype=np.int64))
        for shape, alike, rows in found.values()
    ]


def freed_by_queue(session: Session, pods: Sequence[PodRow]) -> dict[str, Amounts]:
    """What pods take of their queues."""
    shapes: dict[bytes, Shape] = {}
    counts: dict[tuple[str, bytes], int] = {}
    for pod in pods:
        shapes[pod.shape.key] = pod.shape
        asked = (pod.group, pod.shape.key)
        counts[asked] = counts.get(asked, 0) + 1
    freed: dict[str, Amounts] = {}
    for (key, shape), count in counts.items():
        group = session.snapshot.everybody.get(key)
        if group is not None:
            total = freed.setdefault(group.queue, {})
            for name, amount in shapes[shape].request:
                total[name] = total.get(name, 0) + amount * count
    return freed
