"""Nominations: the nodes planned for the pods of a job once its victims have terminated.

A nomination refers to tasks and shapes, not to pods: a recreated pod uses the node of its
predecessor. It is kept in memory, and written to pods whose node a victim frees
(`status.nominatedNodeName`), so that the next leader keeps it, too.
"""

from collections.abc import Iterable, Mapping

import msgspec

from vc.scheduling.model.rows import GroupRow, PodRow


class ReservedNode(msgspec.Struct, frozen=True, kw_only=True):
    """One pod and the node planned for it."""

    namespace: str
    name: str
    uid: str
    task: str
    shape: bytes
    node: str
    freed: bool
    """Whether a victim frees that node. Only then the nomination is written to the pod."""


class Nomination(msgspec.Struct, frozen=True, kw_only=True):
    """The planned nodes of a job, and since when they are reserved."""

    since: float
    uid: str = ""
    """The uid of the pod group, so that a later group of the same name does not inherit it; empty
    while it is unknown."""
    after: int = 0
    """The number of nominations made before it at the same time."""
    nodes: tuple[tuple[str, bytes, tuple[str, ...]], ...] = ()
    """Task, shape, and one node for each pod of both."""
    incomplete: bool = False
    """Whether some victims were not evicted. Then only what the others freed is reserved."""
    incomplete_since: float | None = None
    """When it first became incomplete. Victims chosen later do not change that time."""

    @property
    def age(self) -> tuple[float, int]:
        """The sort key of nominations, oldest first."""
        return (self.since, self.after)

    @property
    def begun(self) -> float:
        """The start of the time for which the reservation lasts. For an incomplete nomination it is
        set only once, so that victims that are refused again and again do not extend the
        reservation forever."""
        if self.incomplete and self.incomplete_since is not None:
            return self.incomplete_since
        return self.since

    def shifted(self, seconds: float) -> "Nomination":
        """The same nomination, after the clock was changed by that many seconds."""
        incomplete = self.incomplete_since
        return msgspec.structs.replace(
            self,
            since=self.since + seconds,
            incomplete_since=None if incomplete is None else incomplete + seconds,
        )

    def nodes_of(self, task: str, shape: bytes) -> tuple[str, ...]:
        """The nodes for pods of a task and shape, one per pod."""
        for known_task, known_shape, nodes in self.nodes:
            if (known_task, known_shape) == (task, shape):
                return nodes
        return ()


def nomination(
    reserved: Iterable[ReservedNode], *, uid: str, since: float, after: int = 0
) -> Nomination:
    """The nomination for these planned nodes."""
    found = ((p.task, p.shape, p.node) for p in reserved)
    return gathered(found, uid=uid, since=since, after=after)


def nomination_on_pods(pods: Iterable[PodRow], *, uid: str, since: float) -> Nomination | None:
    """The nomination that is written on waiting pods; None if none of them has a nominated node."""
    written = [(pod.task, pod.shape.key, pod.nominated) for pod in pods if pod.nominated]
    if not written:
        return None
    # It is unknown whether all victims were evicted before the previous leader stopped, so only
    # free resources are reserved.
    found = gathered(written, uid=uid, since=since)
    return msgspec.structs.replace(found, incomplete=True, incomplete_since=since)


def nomination_of(group: GroupRow, known: Mapping[str, Nomination]) -> Nomination | None:
    """The nomination of a group, but not that of an earlier group with the same name."""
    found = known.get(group.key)
    # The uid is empty while the group of the nomination is unknown.
    return found if found is not None and found.uid in ("", group.uid) else None


def incomplete_nomination(group: GroupRow, known: Mapping[str, Nomination]) -> Nomination | None:
    """The nomination of a group, if only part of it may be free."""
    found = nomination_of(group, known)
    return found if found is not None and found.incomplete else None


def gathered(
    found: Iterable[tuple[str, bytes, str]], *, since: float, uid: str = "", after: int = 0
) -> Nomination:
    """Combine the task, shape and node of each pod."""
    nodes: dict[tuple[str, bytes], list[str]] = {}
    for task, shape, node in found:
        nodes.setdefault((task, shape), []).append(node)
    return Nomination(
        since=since,
        uid=uid,
        after=after,
        nodes=tuple((task, shape, tuple(listed)) for (task, shape), listed in nodes.items()),
    )
