"""Counts pods per node, as far as terms of other pods select them.

The index is updated one fact at a time. Pods are counted only if a term of a waiting pod selects
them (`Selection`), if they have anti-affinity or preferred terms themselves, or if they use host
ports. A cluster without such pods has no cost.

New selections are counted together, in one pass over all pods before the next session. With fifty
thousand pods such a pass would block the event loop for too long, and every job that selects its
own label adds a selection. So the pass handles a few pods at a time (`count_some`), and pods that
change meanwhile are counted as they change.
"""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from vc.model.api.kubernetes import Namespace
from vc.scheduling.model.pod_affinity_terms import (
    Namespaces,
    PodAffinityTerm,
    Port,
    Selection,
    resolve,
)
from vc.scheduling.model.rows import ON_NODE, PodRow, TaskStatus

SELECTIONS_MAX: Final = 2_000
"""The maximum number of counted selections. Beyond it, those without a waiting pod are dropped
before the next session."""

PerNode = dict[str, int]


class Owner(msgspec.Struct, frozen=True, eq=False):
    """A term of placed pods: the pods that it selects, and its topology key."""

    selection: Selection
    topology_key: str

    @property
    def key(self) -> tuple[bytes, str]:
        return (self.selection.key, self.topology_key)


Owned = dict[tuple[bytes, str], tuple[Owner, PerNode]]
"""Terms of placed pods by key, with a number for each node."""


def owner_of(term: PodAffinityTerm, pod: PodRow, known: Namespaces) -> Owner:
    return Owner(resolve(term, pod.namespace, pod.labels, known=known), term.topology_key)


class Matcher:
    """Finds the selections that a pod matches, without testing all of them.

    A selection with matchLabels is indexed by one of its labels; other selections are always
    tested.
    """

    def __init__(self, selections: Iterable[Selection] = ()) -> None:
        self._by_pair: dict[tuple[str, str], dict[bytes, Selection]] = {}
        self._others: dict[bytes, Selection] = {}
        for selection in selections:
            self.add(selection)

    def add(self, selection: Selection) -> None:
        self._bucket(selection)[selection.key] = selection

    def _bucket(self, selection: Selection) -> dict[bytes, Selection]:
        if not selection.labels:
            return self._others
        # One label suffices as the index, because a matching pod has all of them.
        return self._by_pair.setdefault(selection.labels[0], {})

    def matching(self, namespace: str, labels: Mapping[str, str]) -> list[Selection]:
        """The matching selections, in a deterministic order."""
        found = [s for s in self._others.values() if s.matches(namespace, labels)]
        for pair in labels.items() if self._by_pair else ():
            bucket = self._by_pair.get(pair)
            if bucket:
                found += [s for s in bucket.values() if s.matches(namespace, labels)]
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class PodAffinityTable:
    """A copy for one session."""

    selections: dict[bytes, tuple[Selection, PerNode]] = field(default_factory=dict)
    owners: Owned = field(default_factory=dict)
    """Anti-affinity terms: the number of pods with them on each node."""
    pulls: Owned = field(default_factory=dict)
    """Preferred terms, and required affinity: the sum of their weights on each node."""
    ports: dict[Port, PerNode] = field(default_factory=dict)
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    """Labels by name; empty if no term selects namespaces by label."""


class PodAffinityIndex:
    """Counts per node name."""

    def __init__(self) -> None:
        self._selections: dict[bytes, tuple[Selection, PerNode]] = {}
        self._matcher = Matcher()
        self._new: dict[bytes, Selection] = {}
        """Requested, and not counted yet."""
        self._fresh: dict[bytes, tuple[Selection, PerNode]] = {}
        """Being counted; complete except for the pods in `_uncounted`."""
        self._fresh_matcher = Matcher()
        self._uncounted: dict[str, None] = {}
        self._owners: Owned = {}
        self._pulls: Owned = {}
        self._ports: dict[Port, PerNode] = {}
        self._namespaces: dict[str, dict[str, str]] = {}
        self._selecting = False
        """Whether any term selects namespaces by label."""
        self._stale = False
        """Whether such a term may select other namespaces now, so that all counts are invalid."""

    def put_namespace(self, namespace: Namespace, *, gone: bool) -> bool:
        """Apply a namespace, and return whether terms may select other pods."""
        name, labels = namespace.metadata.name, namespace.metadata.labels
        before = self._namespaces.get(name)
        if gone:
            self._namespaces.pop(name, None)
        else:
            self._namespaces[name] = labels
        # Labels are kept even while no term selects by them: a later term must find them.
        changed = self._selecting and before != (None if gone else labels)
        # A label change may move a namespace in or out of any selection. Which counts are affected
        # is unknown, so all of them are invalid until the next session counts again.
        self._stale |= changed
        return changed

    def _count_again(self, pods: Iterable[PodRow]) -> None:
        # Cleared first, because `replace` does nothing while the counts are stale.
        self._stale = False
        self._selections, self._new, self._matcher = {}, {}, Matcher()
        self._fresh, self._fresh_matcher, self._uncounted = {}, Matcher(), {}
        self._owners, self._pulls, self._ports = {}, {}, {}
        # Selections of waiting pods are requested by this pass and counted by the following one.
        for pod in pods:
            self.replace(None, pod)

    def _resolve(self, term: PodAffinityTerm, pod: PodRow) -> Selection:
        self._selecting |= term.namespace_selector is not None
        return resolve(term, pod.namespace, pod.labels, known=self._namespaces)

    def replace(self, before: PodRow | None, after: PodRow | None) -> None:
        """Replace the row of a pod."""
        # Everything will be counted again before the next session.
        if self._stale:
            return
        # During a pass two sets of counts exist; both must see every change, or the new ones would
        # be wrong as soon as they replace the old ones.
        if self._fresh:
            self._move(before, after)
        if before is not None and _is_placed(before):
            self._count(before, -1)
        if after is None:
            return
        if _is_placed(after):
            self._count(after, 1)
        # Selections are counted for our waiting pods only. Those of other pods would cost a pass
        # over all pods, and no session would read the counts.
        elif after.status is TaskStatus.PENDING and after.ours:
            for term in after.shape.pod_terms.terms:
                selection = self._resolve(term, after)
                # Counted once however many pods ask: selections are shared by their key.
                if selection.key not in self._selections and selection.key not in self._fresh:
                    self._new[selection.key] = selection

    def _count(self, pod: PodRow, sign: int) -> None:
        # The matcher is consulted only if there is a selection, since most clusters have none.
        if self._selections:
            for selection in self._matcher.matching(pod.namespace, pod.labels):
                _add(self._selections[selection.key][1], pod.node, sign)
        pod_terms = pod.shape.pod_terms
        for term in pod_terms.anti:
            self._own(self._owners, term, pod, sign)
        for weighted in pod_terms.pulls:
            self._own(self._pulls, weighted.term, pod, sign * weighted.weight)
        for port in pod_terms.ports:
            taken = self._ports.setdefault(port, {})
            _add(taken, pod.node, sign)
            # Without this the table would grow with every host port that was ever used.
            if not taken:
                del self._ports[port]

    def _own(self, owned: Owned, term: PodAffinityTerm, pod: PodRow, more: int) -> None:
        self._selecting |= term.namespace_selector is not None
        owner = owner_of(term, pod, self._namespaces)
        # Placed pods of one job have the same term, so it is one entry with a number per node.
        known = owned.setdefault(owner.key, (owner, {}))
        _add(known[1], pod.node, more)
        # Each job may have a term of its own, so terms without pods are dropped.
        if not known[1]:
            del owned[owner.key]

    def table(self, pods: Mapping[str, PodRow]) -> PodAffinityTable:
        """The counts for a session. `pods` are all pods by key; those not counted yet are counted now."""
        if self._stale:
            self._count_again(pods.values())
        while self.count_some(pods, pods_max=len(pods)):
            pass  # selections that arrived during a pass need another pass
        # Copies: the session reads them in a worker thread while new facts change the index.
        return PodAffinityTable(
            selections={key: (s, dict(counts)) for key, (s, counts) in self._selections.items()},
            owners={key: (o, dict(counts)) for key, (o, counts) in self._owners.items()},
            pulls={key: (o, dict(weights)) for key, (o, weights) in self._pulls.items()},
            ports={port: dict(counts) for port, counts in self._ports.items()},
            namespaces=dict(self._namespaces) if self._selecting else {},
        )

    def count_some(self, pods: Mapping[str, PodRow], *, pods_max: int) -> bool:
        """Count some pods for new selections, and return whether more remain."""
        if self._stale:
            return False  # everything will be counted again
        # One pass at a time: selections that are requested meanwhile wait for the next one.
        if self._new and not self._fresh:
            self._begin(pods)
        # A list, because the loop deletes from the dictionary that it reads.
        for key in list(itertools.islice(self._uncounted, pods_max)):
            # A pod that was deleted during the pass has left `_uncounted` in `_move`, so each key
            # is still in `pods`.
            if _is_placed(pods[key]):
                self._count_fresh(pods[key], 1)
            del self._uncounted[key]
        if self._fresh and not self._uncounted:
            self._end()
        return bool(self._fresh or self._new)

    def _begin(self, pods: Mapping[str, PodRow]) -> None:
        # Selections of finished jobs stay up to the limit, so that the next job with the same
        # labels needs no pass of its own.
        if len(self._selections) + len(self._new) > SELECTIONS_MAX:
            self._drop_unwanted(pods.values())
        self._fresh = {key: (selection, {}) for key, selection in self._new.items()}
        self._fresh_matcher = Matcher(self._new.values())
        self._new = {}
        self._uncounted = dict.fromkeys(pods)  # filtering them would be a pass itself

    def _end(self) -> None:
        # Only complete counts become visible. A session never reads a selection that covers some
        # of the pods.
        for selection, _ in self._fresh.values():
            self._matcher.add(selection)
        self._selections.update(self._fresh)
        self._fresh, self._fresh_matcher = {}, Matcher()

    def _move(self, before: PodRow | None, after: PodRow | None) -> None:
        """A pod changes during the pass. From now on it is included in the new counts."""
        if before is not None:
            # A pod that the pass has not reached is not in the new counts, so nothing is subtracted.
            if before.key not in self._uncounted and _is_placed(before):
                self._count_fresh(before, -1)
            self._uncounted.pop(before.key, None)
        if after is not None and _is_placed(after):
            self._count_fresh(after, 1)

    def _count_fresh(self, pod: PodRow, sign: int) -> None:
        for selection in self._fresh_matcher.matching(pod.namespace, pod.labels):
            _add(self._fresh[selection.key][1], pod.node, sign)

    def _drop_unwanted(self, pods: Iterable[PodRow]) -> None:
        """Keep only selections of waiting pods."""
        wanted = {
            self._resolve(term, pod).key: None
            for pod in pods
            if pod.status is TaskStatus.PENDING and pod.ours
            for term in pod.shape.pod_terms.terms
        }
        kept = {key: known for key, known in self._selections.items() if key in wanted}
        self._selections = kept
        self._matcher = Matcher(selection for selection, _ in kept.values())


def _is_placed(pod: PodRow) -> bool:
    return bool(pod.node) and pod.status in ON_NODE


def _add(counts: PerNode, node: str, more: int) -> None:
    left = counts.get(node, 0) + more
    # Zero is removed, so that an empty dictionary means that no pod is counted.
    if left:
        counts[node] = left
    else:
        counts.pop(node, None)
