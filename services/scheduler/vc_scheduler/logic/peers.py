"""Which pods lie where, during one session: the index's counts as arrays over nodes.

Statements add and take off what they place. `delicate` says which pods cannot be placed many at a
time: those that ask about others, or that a placed pod keeps away or would rather have near or far.
"""

from collections.abc import Iterable

import numpy as np

from vc_scheduler.logic.claims import Claims
from vc_scheduler.logic.peer_index import Matcher, Owner, PeerTable, PerNode, owner_of
from vc_scheduler.logic.peering import NO_PEERING, PeerTerm, Port, Selection, resolve
from vc_scheduler.logic.rows import GroupRow, PodRow, Run
from vc_scheduler.logic.table import Ints, StaticTable


class Terms:
    """Terms of placed pods, found by the pods they speak of."""

    def __init__(self, owners: Iterable[Owner]) -> None:
        self._owners: dict[tuple[bytes, str], Owner] = {}
        self._speaking = Matcher()
        self._keys_of: dict[bytes, list[str]] = {}
        """Topology keys by selection."""
        for owner in owners:
            self.add(owner)

    def add(self, owner: Owner) -> None:
        if owner.key not in self._owners:
            self._owners[owner.key] = owner
            self._speaking.add(owner.selection)
            self._keys_of.setdefault(owner.selection.key, []).append(owner.topology_key)

    def about(self, pod: PodRow) -> list[Owner]:
        if not self._owners:
            return []
        return [
            self._owners[selection.key, topology_key]
            for selection in self._speaking.matching(pod.namespace, pod.labels)
            for topology_key in self._keys_of[selection.key]
        ]

    def about_any(self, pods: Iterable[PodRow]) -> bool:
        return bool(self._owners) and any(self.about(pod) for pod in pods)


class Peers:
    """The working copy."""

    def __init__(self, table: PeerTable, nodes: StaticTable, claims: Claims) -> None:
        self.nodes = nodes
        self.claims = claims
        self._followed: dict[str, dict[str, tuple[str, int]]] = {}
        """By group that somebody follows: see `follow`."""
        self._table = table
        self._arrays: dict[object, Ints] = {}
        """By the key of a selection, a term or a port; made when asked for."""
        self._asked = Matcher(selection for selection, _ in table.selections.values())
        self._keeping = Terms(owner for owner, _ in table.owners.values())
        self._pulling = Terms(owner for owner, _ in table.pulls.values())

    def delicate(self, run: Run) -> bool:
        """Whether its pods must be looked at one by one."""
        if run.shape.peering is not NO_PEERING and run.shape.peering != NO_PEERING:
            return True
        return self._keeping.about_any(run.pods) or self._pulling.about_any(run.pods)

    def keeping_away(self, pod: PodRow) -> list[Owner]:
        """Anti-affinity terms of placed pods that speak of this one."""
        return self._keeping.about(pod)

    def pulling(self, pod: PodRow) -> list[Owner]:
        """Terms of placed pods by which they would rather have this one near, or far."""
        return self._pulling.about(pod)

    def selection(self, term: PeerTerm, pod: PodRow) -> tuple[Selection, Ints]:
        """The pods a term of this pod speaks of, and how many of them each node has."""
        selection = resolve(term, pod.namespace, pod.labels, known=self._table.namespaces)
        _, counts = self._table.selections.get(selection.key, (selection, {}))
        return selection, self._array(selection.key, counts)

    def owners(self, owner: Owner) -> Ints:
        """How many pods with that term each node has."""
        _, counts = self._table.owners.get(owner.key, (owner, {}))
        return self._array(owner.key, counts)

    def pulls(self, owner: Owner) -> Ints:
        """The sum of the weights with which the pods of each node have that term."""
        _, weights = self._table.pulls.get(owner.key, (owner, {}))
        return self._array(("pulls", owner.key), weights)

    def port(self, port: Port) -> Ints:
        """How many pods take that host port on each node."""
        return self._array(port, self._table.ports.get(port, {}))

    def _array(self, key: object, counts: PerNode) -> Ints:
        array = self._arrays.get(key)
        if array is None:
            array = self._arrays[key] = np.zeros(len(self.nodes.names), dtype=np.int64)
            for name, count in counts.items():
                row = self.nodes.row(name)
                if row is not None:
                    array[row] = count
        return array

    def follow(self, group: GroupRow) -> dict[str, tuple[str, int]]:
        """Where each pod of a group lies from now on: by uid, its role and row."""
        known = self._followed.get(group.key)
        if known is None:
            known = self._followed[group.key] = {}
            for pod in group.placed:
                row = self.nodes.row(pod.node)
                if row is not None:
                    known[pod.uid] = (pod.role, row)
        return known

    def put(self, pods: tuple[PodRow, ...], rows: Ints, *, sign: int) -> None:
        """Pods come to lie on rows, or (-1) leave them."""
        lying = self._followed.get(pods[0].group) if self._followed and pods else None
        if lying is not None:
            for pod, row in zip(pods, rows.tolist(), strict=True):
                if sign > 0:
                    lying[pod.uid] = (pod.role, row)
                else:
                    lying.pop(pod.uid, None)
        asked = bool(self._table.selections)
        if not asked and pods and pods[0].shape.peering == NO_PEERING:
            return
        for pod, row in zip(pods, rows.tolist(), strict=True):
            self._put(pod, row, sign)

    def _put(self, pod: PodRow, row: int, sign: int) -> None:
        for selection in self._asked.matching(pod.namespace, pod.labels):
            _, counts = self._table.selections[selection.key]
            self._array(selection.key, counts)[row] += sign
        for term in pod.shape.peering.anti:
            owner = owner_of(term, pod, self._table.namespaces)
            self._keeping.add(owner)
            self.owners(owner)[row] += sign
        for wish in pod.shape.peering.pulls:
            owner = owner_of(wish.term, pod, self._table.namespaces)
            self._pulling.add(owner)
            self.pulls(owner)[row] += sign * wish.weight
        for port in pod.shape.peering.ports:
            self.port(port)[row] += sign
        if pod.shape.peering.claims:
            self.claims.put(pod, row, sign)
