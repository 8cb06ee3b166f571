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
    incomplete: bool = False
    """Some of the victims were not evicted: only what the others freed is held."""
    incomplete_since: float | None = None
    """When that was so for the first time; other victims chosen since do not change it."""

    @property
    def age(self) -> tuple[float, int]:
        """Sorts promises, oldest first."""
        return (self.since, self.after)

    @property
    def begun(self) -> float:
        """When the time began for which room is held: that of an incomplete one begins only once, so that
        victims which are refused again and again do not keep room from others for ever."""
        if self.incomplete and self.incomplete_since is not None:
            return self.incomplete_since
        return self.since

    def shifted(self, seconds: float) -> "Nomination":
        """The same, by a clock that was set."""
        incomplete = self.incomplete_since
        return msgspec.structs.replace(
            self,
            since=self.since + seconds,
            incomplete_since=None if incomplete is None else incomplete + seconds,
        )

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
    if not told:
        return None
    # Whether all victims were evicted before the predecessor ended cannot be seen: what is free is held.
    found = gathered(told, uid=uid, since=since)
    return msgspec.structs.replace(found, incomplete=True, incomplete_since=since)


def promise_to(group: GroupRow, known: Mapping[str, Nomination]) -> Nomination | None:
    """What a group was promised, not one that had its name before."""
    found = known.get(group.key)
    return found if found is not None and found.uid in ("", group.uid) else None


def incomplete_nomination(group: GroupRow, known: Mapping[str, Nomination]) -> Nomination | None:
    """What a group was promised, where only a part of it may be free."""
    found = promise_to(group, known)
    return found if found is not None and found.incomplete else None


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
