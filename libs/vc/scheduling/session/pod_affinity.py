"""Which pods are on which nodes, during one session, for pod affinity and host ports.

The counts of the pod affinity index become arrays over nodes. Statements add and remove the pods
that they place. `delicate` determines which pods cannot be placed in a batch: pods with terms about
other pods, and pods that a term of a placed pod concerns.
"""

from collections.abc import Iterable

import numpy as np

from vc.scheduling.cache.pod_affinity_index import (
    Matcher,
    Owner,
    PerNode,
    PodAffinityTable,
    owner_of,
)
from vc.scheduling.model.node_table import Ints, StaticTable
from vc.scheduling.model.pod_affinity_terms import (
    NO_POD_TERMS,
    PodAffinityTerm,
    Port,
    Selection,
    resolve,
)
from vc.scheduling.model.rows import GroupRow, PodRow, Run
from vc.scheduling.session.volumes import Claims


class Terms:
    """Terms of placed pods, found by the pods that they select."""

    def __init__(self, owners: Iterable[Owner]) -> None:
        self._owners: dict[tuple[bytes, str], Owner] = {}
        self._selecting = Matcher()
        self._keys_of: dict[bytes, list[str]] = {}
        """Topology keys by selection."""
        for owner in owners:
            self.add(owner)

    def add(self, owner: Owner) -> None:
        # Many pods of one job have the same term. It is matched once for all of them.
        if owner.key not in self._owners:
            self._owners[owner.key] = owner
            self._selecting.add(owner.selection)
            self._keys_of.setdefault(owner.selection.key, []).append(owner.topology_key)

    def about(self, pod: PodRow) -> list[Owner]:
        if not self._owners:
            return []
        return [
            self._owners[selection.key, topology_key]
            for selection in self._selecting.matching(pod.namespace, pod.labels)
            for topology_key in self._keys_of[selection.key]
        ]

    def about_any(self, pods: Iterable[PodRow]) -> bool:
        return bool(self._owners) and any(self.about(pod) for pod in pods)


class PodAffinity:
    """Counts of pods per node in the current state of a session."""

    def __init__(self, table: PodAffinityTable, nodes: StaticTable, claims: Claims) -> None:
        self.nodes = nodes
        self.claims = claims
        self._followed: dict[str, dict[str, tuple[str, int]]] = {}
        """By group, for callers of `follow`: where its pods are."""
        self._table = table
        self._arrays: dict[object, Ints] = {}
        """By the key of a selection, a term or a port; created on first use."""
        self._asked = Matcher(selection for selection, _ in table.selections.values())
        self._keeping = Terms(owner for owner, _ in table.owners.values())
        self._pulling = Terms(owner for owner, _ in table.pulls.values())

    def delicate(self, run: Run) -> bool:
        """Whether the pods of a run must be placed one by one, because each placement changes the
        next one."""
        if run.shape.pod_terms is not NO_POD_TERMS and run.shape.pod_terms != NO_POD_TERMS:
            return True
        # A term of a placed pod may select only some pods of the run: labels can differ by pod.
        return self._keeping.about_any(run.pods) or self._pulling.about_any(run.pods)

    def keeping_away(self, pod: PodRow) -> list[Owner]:
        """Anti-affinity terms of placed pods that select this pod."""
        return self._keeping.about(pod)

    def pulling(self, pod: PodRow) -> list[Owner]:
        """Preferred terms of placed pods that select this pod."""
        return self._pulling.about(pod)

    def selection(self, term: PodAffinityTerm, pod: PodRow) -> tuple[Selection, Ints]:
        """The pods that a term of this pod selects, and their number on each node."""
        selection = resolve(term, pod.namespace, pod.labels, known=self._table.namespaces)
        _, counts = self._table.selections.get(selection.key, (selection, {}))
        return selection, self._array(selection.key, counts)

    def owners(self, owner: Owner) -> Ints:
        """The number of pods with that term on each node."""
        _, counts = self._table.owners.get(owner.key, (owner, {}))
        return self._array(owner.key, counts)

    def pulls(self, owner: Owner) -> Ints:
        """The sum of the weights of that term over the pods of each node."""
        _, weights = self._table.pulls.get(owner.key, (owner, {}))
        return self._array(("pulls", owner.key), weights)

    def port(self, port: Port) -> Ints:
        """The number of pods that use that host port on each node."""
        return self._array(port, self._table.ports.get(port, {}))

    def _array(self, key: object, counts: PerNode) -> Ints:
        array = self._arrays.get(key)
        if array is None:
            # Filled from the snapshot on first use. Later placements change the array in place, so
            # it must not be filled again.
            array = self._arrays[key] = np.zeros(len(self.nodes.names), dtype=np.int64)
            for name, count in counts.items():
                row = self.nodes.row(name)
                if row is not None:
                    array[row] = count
        return array

    def follow(self, group: GroupRow) -> dict[str, tuple[str, int]]:
        """Track where the pods of a group are: by uid, the task and the row. The result is kept up
        to date."""
        known = self._followed.get(group.key)
        if known is None:
            known = self._followed[group.key] = {}
            for pod in group.placed:
                row = self.nodes.row(pod.node)
                if row is not None:
                    known[pod.uid] = (pod.task, row)
        return known

    def put(self, pods: tuple[PodRow, ...], rows: Ints, *, sign: int) -> None:
        """Record that pods are placed on rows, or (-1) removed from them."""
        followed = self._followed.get(pods[0].group) if self._followed and pods else None
        if followed is not None:
            for pod, row in zip(pods, rows.tolist(), strict=True):
                if sign > 0:
                    followed[pod.uid] = (pod.task, row)
                else:
                    followed.pop(pod.uid, None)
        # Most clusters have no affinity terms, and a batch has one shape, so the first pod decides
        # for all.
        asked = bool(self._table.selections)
        if not asked and pods and pods[0].shape.pod_terms == NO_POD_TERMS:
            return
        for pod, row in zip(pods, rows.tolist(), strict=True):
            self._put(pod, row, sign)

    def _put(self, pod: PodRow, row: int, sign: int) -> None:
        for selection in self._asked.matching(pod.namespace, pod.labels):
            _, counts = self._table.selections[selection.key]
            self._array(selection.key, counts)[row] += sign
        # Terms of the placed pod itself now restrict later pods, so they are registered as well.
        for term in pod.shape.pod_terms.anti:
            owner = owner_of(term, pod, self._table.namespaces)
            self._keeping.add(owner)
            self.owners(owner)[row] += sign
        for preferred in pod.shape.pod_terms.pulls:
            owner = owner_of(preferred.term, pod, self._table.namespaces)
            self._pulling.add(owner)
            self.pulls(owner)[row] += sign * preferred.weight
        for port in pod.shape.pod_terms.ports:
            self.port(port)[row] += sign
        if pod.shape.pod_terms.claims:
            self.claims.put(pod, row, sign)
