"""Room that was promised to a job: on which nodes its pods will lie once the victims have left.

A promise speaks of roles and shapes, not of pods: one that is made anew meanwhile takes the place of
its predecessor. It is kept in memory, and written to the pods that victims make room for
(`status.nominatedNodeName`), so that whoever leads next keeps it too.
"""

from collections.abc import Iterable, Mapping

import msgspec

from vc_scheduler.logic.rows import GroupRow, PodRow


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One pod and the node where it will lie."""

    namespace: str
    name: str
    uid: str
    role: str
    shape: bytes
    node: str
    freed: bool
    """A victim leaves that node: the pod is told, so that the promise outlives us."""


class Nomination(msgspec.Struct, frozen=True, kw_only=True):
    """What a job was promised, and when."""

    since: float
    uid: str = ""
    """Of the pod group; another one of the same name has nothing of it. Empty while it is not known."""
    after: int = 0
    """How many promises were made before it at the same time."""
    nodes: tuple[tuple[str, bytes, tuple[str, ...]], ...] = ()
    """Role, shape, and a node for each of so many pods of them."""

    @property
    def age(self) -> tuple[float, int]:
        """Sorts promises, oldest first."""
        return (self.since, self.after)

    def places(self, role: str, shape: bytes) -> tuple[str, ...]:
        """Nodes for pods of a role and shape, one each."""
        for known_role, known_shape, nodes in self.nodes:
            if (known_role, known_shape) == (role, shape):
                return nodes
        return ()


def nomination(places: Iterable[Place], *, uid: str, since: float, after: int = 0) -> Nomination:
    """The promise that these places make."""
    told = ((p.role, p.shape, p.node) for p in places)
    return gathered(told, uid=uid, since=since, after=after)


def told_nomination(pods: Iterable[PodRow], *, uid: str, since: float) -> Nomination | None:
    """The promise that waiting pods tell of; None when they tell of none."""
    told = [(pod.role, pod.shape.key, pod.nominated) for pod in pods if pod.nominated]
    return gathered(told, uid=uid, since=since) if told else None


def promise_to(group: GroupRow, known: Mapping[str, Nomination]) -> Nomination | None:
    """What a group was promised, not one that had its name before."""
    found = known.get(group.key)
    return found if found is not None and found.uid in ("", group.uid) else None


def gathered(
    found: Iterable[tuple[str, bytes, str]], *, since: float, uid: str = "", after: int = 0
) -> Nomination:
    """Role, shape and node of each pod, put together."""
    nodes: dict[tuple[str, bytes], list[str]] = {}
    for role, shape, node in found:
        nodes.setdefault((role, shape), []).append(node)
    return Nomination(
        since=since,
        uid=uid,
        after=after,
        nodes=tuple((role, shape, tuple(listed)) for (role, shape), listed in nodes.items()),
    )
