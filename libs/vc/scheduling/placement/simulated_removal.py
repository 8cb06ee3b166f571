"""Simulated removal: pods are taken off their nodes for the duration of a simulation.

While pods are removed, node capacity, pod affinity counts and queue amounts are as if they were
gone. A statement can place other pods on these nodes. With `restore(kept=True)` the removed pods
return and the new placement stays. Such nodes are overcommitted then, so no other pod fits there:
this is a reservation.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vc.model.values.resources import Resources
from vc.scheduling.model.node_table import Ints
from vc.scheduling.model.rows import GroupRow, PodRow
from vc.scheduling.model.shapes import Shape
from vc.scheduling.placement.gang import Missing
from vc.scheduling.session.feasibility import FeasibilityBound
from vc.scheduling.session.session import Session


class _Part(NamedTuple):
    """Pods of one shape, and the rows of their nodes."""

    shape: Shape
    pods: tuple[PodRow, ...]
    rows: Ints


class Simulations:
    """The simulated removals of one session: the shared set of terminating pods, and the cost."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._terminating: dict[int, SimulatedRemoval] = {}
        """By the number of groups with victims included. Groups are only added to the victims, so
        the number identifies the set."""
        self.pods_removed = 0
        """Victims removed in simulations so far. The cost of preemption attempts is counted, not
        timed, so that a replay spends the same budget."""

    def terminating(self, *, victims: bool) -> "SimulatedRemoval":
        """The shared removal of terminating pods, as `terminating_pods` describes it."""
        evicted = self._session.decided.evicted if victims else {}
        known = self._terminating.get(len(evicted))
        if known is None:
            terminating = self._session.snapshot.terminating_pods
            pods = [*terminating, *(pod for some in evicted.values() for pod in some)]
            known = SimulatedRemoval(self._session, pods, counted=False)
            self._terminating[len(evicted)] = known
        return known

    def count(self, pods: int) -> None:
        """Add simulated removals to the cost."""
        self.pods_removed += pods


def terminating_pods(session: Session, *, victims: bool) -> "SimulatedRemoval":
    """The terminating pods of the snapshot; with `victims`, also the victims of this session.

    The result is built once and shared, because every simulation needs it.
    """
    return session.cached(Simulations).terminating(victims=victims)


def remove_victims(session: Session, victims: Sequence[PodRow]) -> "SimulatedRemoval":
    """Remove new victims, and count them as simulation cost."""
    session.cached(Simulations).count(len(victims))
    removal = SimulatedRemoval(session, victims, counted=True)
    removal.remove()
    return removal


def feasibility_without(session: Session, pods: Sequence[PodRow]) -> FeasibilityBound:
    """The feasibility bound without these pods, terminating pods and the victims of this session.

    It is valid until further pods are evicted.
    """
    node_capacity = session.node_capacity
    # Only sums are needed for the bound, so no pod is removed from the session for it.
    free = node_capacity.nodes.allocatable - node_capacity.used
    for shape, _, rows in [
        *terminating_pods(session, victims=True).parts,
        *_by_shape(session, pods),
    ]:
        # `add.at` and not `+=`: two pods on one node repeat its row, and `+=` would add only one.
        np.add.at(free, rows, node_capacity.request(shape))
    return FeasibilityBound(node_capacity, free)


def could_help(
    session: Session, group: GroupRow, missing: Missing, bound: FeasibilityBound
) -> bool:
    """Whether a simulation may succeed according to the bound.

    With partial reservations in the session the answer is always True: a reservation can be given
    up and made again on other nodes during attempts, so the bound is not reliable.
    """
    return bool(session.reservations.partial) or bound.covers(group, missing)


class SimulatedRemoval:
    """A set of pods that can be removed from their nodes with `remove` and returned with `restore`."""

    def __init__(self, session: Session, pods: Sequence[PodRow], *, counted: bool) -> None:
        """`counted` means that the pods still count for their queues.

        New victims do. Terminating pods and earlier victims do not.
        """
        self._session = session
        self._freed = freed_by_queue(session, pods) if counted else {}
        """Amounts by queue, added up once, because simulations remove the pods many times."""
        self.parts = _by_shape(session, pods)

    def remove(self) -> None:
        """Remove the pods from node capacity, pod affinity counts and queue amounts."""
        for shape, pods, rows in self.parts:
            self._session.node_capacity.remove_pods(shape, rows)
            self._session.pod_affinity.put(pods, rows, sign=-1)
        for queue, freed in self._freed.items():
            self._session.accounts.count_terminating(queue, freed, sign=-1)

    def restore(self, *, kept: bool) -> None:
        """Return the pods. With `kept`, pods that were placed meanwhile stay.

        With `kept`, the returned pods do not count for their queues again, because they are about
        to be evicted.
        """
        # Reverse order pops the capacity states in the order in which `remove` pushed them.
        for shape, pods, rows in reversed(self.parts):
            self._session.pod_affinity.put(pods, rows, sign=1)
            # A kept placement gets a new capacity state. Otherwise the state before `remove` is
            # restored, so that cached results are valid again.
            if kept:
                self._session.node_capacity.take(shape, rows)
            else:
                self._session.node_capacity.restore(shape, rows)
        for queue, freed in self._freed.items() if not kept else ():
            self._session.accounts.count_terminating(queue, freed, sign=1)


def _by_shape(session: Session, pods: Sequence[PodRow]) -> list[_Part]:
    """The pods whose nodes exist, grouped by shape."""
    row_of = session.snapshot.nodes.static.row
    found: dict[bytes, tuple[Shape, list[PodRow], list[int]]] = {}
    for pod in pods:
        row = row_of(pod.node)
        # A pod on a deleted node uses nothing of the nodes of this session.
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


def freed_by_queue(session: Session, pods: Sequence[PodRow]) -> dict[str, Resources]:
    """The requests of the pods, added up by queue."""
    shapes: dict[bytes, Shape] = {}
    counts: dict[tuple[str, bytes], int] = {}
    for pod in pods:
        shapes[pod.shape.key] = pod.shape
        # Counted by group and shape first, so that a request is added once per kind of pod.
        asked = (pod.group, pod.shape.key)
        counts[asked] = counts.get(asked, 0) + 1
    freed: dict[str, Resources] = {}
    for (key, shape), count in counts.items():
        group = session.snapshot.all_groups.get(key)
        if group is not None:
            total = freed.setdefault(group.queue, Resources())
            total.add(shapes[shape].request, times=count)
    return freed
