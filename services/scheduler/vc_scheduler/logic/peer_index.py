"""Who lies where, as far as somebody asks: counts per node of the pods that terms speak of.

Kept beside the columns, one fact at a time. Nothing is counted unless a waiting pod asks about it
(`Selection`), a placed pod keeps others away (its anti-affinity terms), would rather have them near or far,
or takes host ports; a cluster without such pods pays nothing.

Selections that are new are counted together, in one walk over all pods before the next session. With
fifty thousand pods such a walk takes longer than the event loop may stand still, and a job that speaks of its
own label is a new selection: so it goes a few pods at a time (`count_some`), and pods that change
meanwhile are counted as they change.
"""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from vc_model.kubernetes import Namespace
from vc_scheduler.logic.peering import Namespaces, PeerTerm, Port, Selection, resolve
from vc_scheduler.logic.rows import ON_NODE, PodRow, Task

SELECTIONS_MAX: Final = 2_000
"""Selections kept counted; beyond that those nobody waits for are dropped before the next session."""

PerNode = dict[str, int]


class Owner(msgspec.Struct, frozen=True, eq=False):
    """A term of placed pods: whom it speaks of, and within which topology."""

    selection: Selection
    topology_key: str

    @property
    def key(self) -> tuple[bytes, str]:
        return (self.selection.key, self.topology_key)


Owned = dict[tuple[bytes, str], tuple[Owner, PerNode]]
"""Terms of placed pods by their key, with a number for each node."""


def owner_of(term: PeerTerm, pod: PodRow, known: Namespaces) -> Owner:
    return Owner(resolve(term, pod.namespace, pod.labels, known=known), term.topology_key)


class Matcher:
    """Finds the selections a pod matches, without asking all of them.

    A selection with a label that must be equal is found under one of them; others are asked always.
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
        return self._by_pair.setdefault(selection.labels[0], {})

    def matching(self, namespace: str, labels: Mapping[str, str]) -> list[Selection]:
        """In the order they were added, within a label."""
        found = [s for s in self._others.values() if s.matches(namespace, labels)]
        for pair in labels.items() if self._by_pair else ():
            bucket = self._by_pair.get(pair)
            if bucket:
                found += [s for s in bucket.values() if s.matches(namespace, labels)]
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class PeerTable:
    """A copy for one session."""

    selections: dict[bytes, tuple[Selection, PerNode]] = field(default_factory=dict)
    owners: Owned = field(default_factory=dict)
    """Anti-affinity terms: how many pods with them each node has."""
    pulls: Owned = field(default_factory=dict)
    """Preferred terms, and required affinity: the sum of their weights on each node."""
    ports: dict[Port, PerNode] = field(default_factory=dict)
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    """Labels by name; empty when nobody selects namespaces."""


class PeerIndex:
    """Counts per node name."""

    def __init__(self) -> None:
        self._selections: dict[bytes, tuple[Selection, PerNode]] = {}
        self._matcher = Matcher()
        self._new: dict[bytes, Selection] = {}
        """Asked for, not counted yet."""
        self._fresh: dict[bytes, tuple[Selection, PerNode]] = {}
        """Being counted: of all pods but those in `_uncounted`."""
        self._fresh_matcher = Matcher()
        self._uncounted: dict[str, None] = {}
        self._owners: Owned = {}
        self._pulls: Owned = {}
        self._ports: dict[Port, PerNode] = {}
        self._namespaces: dict[str, dict[str, str]] = {}
        self._selecting = False
        """Somebody selects namespaces by their labels."""
        self._stale = False
        """Such a selection may mean other namespaces now: everything is counted anew."""

    def put_namespace(self, namespace: Namespace, *, gone: bool) -> bool:
        """Take a namespace in; whether it can change what terms speak of."""
        name, labels = namespace.metadata.name, namespace.metadata.labels
        before = self._namespaces.get(name)
        if gone:
            self._namespaces.pop(name, None)
        else:
            self._namespaces[name] = labels
        changed = self._selecting and before != (None if gone else labels)
        self._stale |= changed
        return changed

    def _count_anew(self, pods: Iterable[PodRow]) -> None:
        self._stale = False
        self._selections, self._new, self._matcher = {}, {}, Matcher()
        self._fresh, self._fresh_matcher, self._uncounted = {}, Matcher(), {}
        self._owners, self._pulls, self._ports = {}, {}, {}
        for pod in pods:
            self.replace(None, pod)

    def _resolve(self, term: PeerTerm, pod: PodRow) -> Selection:
        self._selecting |= term.namespace_selector is not None
        return resolve(term, pod.namespace, pod.labels, known=self._namespaces)

    def replace(self, before: PodRow | None, after: PodRow | None) -> None:
        """A pod's row is exchanged."""
        if self._stale:
            return
        if self._fresh:
            self._move(before, after)
        if before is not None and _lies(before):
            self._count(before, -1)
        if after is None:
            return
        if _lies(after):
            self._count(after, 1)
        elif after.status is Task.PENDING and after.ours:
            for term in after.shape.peering.terms:
                selection = self._resolve(term, after)
                if selection.key not in self._selections and selection.key not in self._fresh:
                    self._new[selection.key] = selection

    def _count(self, pod: PodRow, sign: int) -> None:
        if self._selections:
            for selection in self._matcher.matching(pod.namespace, pod.labels):
                _add(self._selections[selection.key][1], pod.node, sign)
        peering = pod.shape.peering
        for term in peering.anti:
            self._own(self._owners, term, pod, sign)
        for wish in peering.pulls:
            self._own(self._pulls, wish.term, pod, sign * wish.weight)
        for port in peering.ports:
            taken = self._ports.setdefault(port, {})
            _add(taken, pod.node, sign)
            if not taken:
                del self._ports[port]

    def _own(self, owned: Owned, term: PeerTerm, pod: PodRow, more: int) -> None:
        self._selecting |= term.namespace_selector is not None
        owner = owner_of(term, pod, self._namespaces)
        known = owned.setdefault(owner.key, (owner, {}))
        _add(known[1], pod.node, more)
        if not known[1]:
            del owned[owner.key]

    def table(self, pods: Mapping[str, PodRow]) -> PeerTable:
        """For a session. `pods` are all there are, by key; what is not counted yet is counted now."""
        if self._stale:
            self._count_anew(pods.values())
        while self.count_some(pods, pods_max=len(pods)):
            pass  # selections that came during a walk have a walk of their own
        return PeerTable(
            selections={key: (s, dict(counts)) for key, (s, counts) in self._selections.items()},
            owners={key: (o, dict(counts)) for key, (o, counts) in self._owners.items()},
            pulls={key: (o, dict(weights)) for key, (o, weights) in self._pulls.items()},
            ports={port: dict(counts) for port, counts in self._ports.items()},
            namespaces=dict(self._namespaces) if self._selecting else {},
        )

    def count_some(self, pods: Mapping[str, PodRow], *, pods_max: int) -> bool:
        """Count some pods for the selections that are new; whether there are more of them."""
        if self._stale:
            return False  # everything will be counted anew
        if self._new and not self._fresh:
            self._begin(pods)
        for key in list(itertools.islice(self._uncounted, pods_max)):
            if _lies(pods[key]):
                self._count_fresh(pods[key], 1)
            del self._uncounted[key]
        if self._fresh and not self._uncounted:
            self._end()
        return bool(self._fresh or self._new)

    def _begin(self, pods: Mapping[str, PodRow]) -> None:
        if len(self._selections) + len(self._new) > SELECTIONS_MAX:
            self._drop_unwanted(pods.values())
        self._fresh = {key: (selection, {}) for key, selection in self._new.items()}
        self._fresh_matcher = Matcher(self._new.values())
        self._new = {}
        self._uncounted = dict.fromkeys(
            pods
        )  # of all of them: to choose would be a walk of its own

    def _end(self) -> None:
        for selection, _ in self._fresh.values():
            self._matcher.add(selection)
        self._selections.update(self._fresh)
        self._fresh, self._fresh_matcher = {}, Matcher()

    def _move(self, before: PodRow | None, after: PodRow | None) -> None:
        """A pod changes while selections are counted; from now on it is counted in them."""
        if before is not None:
            if before.key not in self._uncounted and _lies(before):
                self._count_fresh(before, -1)
            self._uncounted.pop(before.key, None)
        if after is not None and _lies(after):
            self._count_fresh(after, 1)

    def _count_fresh(self, pod: PodRow, sign: int) -> None:
        for selection in self._fresh_matcher.matching(pod.namespace, pod.labels):
            _add(self._fresh[selection.key][1], pod.node, sign)

    def _drop_unwanted(self, pods: Iterable[PodRow]) -> None:
        """Keep only what pods that wait ask for."""
        wanted = {
            self._resolve(term, pod).key: None
            for pod in pods
            if pod.status is Task.PENDING and pod.ours
            for term in pod.shape.peering.terms
        }
        kept = {key: known for key, known in self._selections.items() if key in wanted}
        self._selections = kept
        self._matcher = Matcher(selection for selection, _ in kept.values())


def _lies(pod: PodRow) -> bool:
    return bool(pod.node) and pod.status in ON_NODE


def _add(counts: PerNode, node: str, more: int) -> None:
    left = counts.get(node, 0) + more
    if left:
        counts[node] = left
    else:
        counts.pop(node, None)
