"""task-topology: tasks of a job that want to lie together, or apart (behaviour.md 5.7).

A job's annotations name groups of tasks: `ps,worker` for affinity between the two, a single name for
affinity to its own kind. Pods are put into buckets that should share a node: one goes to the bucket
with the most it wants to be near and the least it shuns, of equal ones to that which asks for least. A node is the better, the more of the pod's
bucket it has or can still take, and the less of what the pod shuns. Pods of such a job are placed one
by one, those that shun their own kind first.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
import numpy as np

from vc_model.keys import TASK_TOPOLOGY_AFFINITY, TASK_TOPOLOGY_ANTI_AFFINITY, TASK_TOPOLOGY_ORDER
from vc_scheduler.logic.amounts import NOT_REQUESTED
from vc_scheduler.logic.framework import OrderKey
from vc_scheduler.logic.plugins.arguments import weight
from vc_scheduler.logic.plugins.peer_scores import POINTS
from vc_scheduler.logic.rows import GroupRow, PodRow, Run
from vc_scheduler.logic.table import Ints, Mask

if TYPE_CHECKING:
    from vc_scheduler.logic.session import Session

ROLES_MAX: Final = 64
"""Names in an annotation; what comes after them is left out."""
TOGETHER_MAX: Final = 1_000
"""Pods of a bucket that are tried on a node together."""
_MEBI: Final = 1024 * 1024

_THERE: Final = 2
"""A companion that lies on a node counts for more than one that could: else the two tie."""

Pair = tuple[str, str]


class Topology(msgspec.Struct, frozen=True):
    """Which roles want to be near which, and far from which; pairs stand in both orders."""

    near: frozenset[Pair]
    far: frozenset[Pair]
    ranks: dict[str, tuple[int, int]]
    """Role to its place: as the user orders, then by how hard it is to place."""

    def liking(self, one: str, other: str) -> int:
        return ((one, other) in self.near) - ((one, other) in self.far)


class Buckets(msgspec.Struct, frozen=True):
    """Which pods should share a node."""

    of: dict[str, int]
    """Pod uid to bucket."""
    members: list[list[PodRow]]

    @property
    def largest(self) -> int:
        return max((len(bucket) for bucket in self.members), default=1)


class TaskTopology:
    """Order and scores of the pods of annotated jobs."""

    name: ClassVar[str] = "task-topology"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._weight = weight(arguments, "task-topology.weight", 1)
        self._topologies: dict[str, Topology | None] = {}
        self._buckets: dict[str, Buckets] = {}

    def wants_each(self, group: GroupRow) -> bool:
        """Its pods are placed one by one."""
        return self._topology(group) is not None

    def task_key(self, session: "Session", group: GroupRow, run: Run) -> OrderKey:
        del session
        topology = self._topology(group)
        return topology.ranks.get(run.role, _LAST) if topology is not None else _LAST

    def peer_score(self, session: "Session", pod: PodRow, mask: Mask) -> Ints | None:
        del mask
        group = session.snapshot.everybody.get(pod.group)
        topology = self._topology(group) if group is not None else None
        if group is None or topology is None:
            return None
        lying = session.peers.follow(group)
        buckets = self._buckets.get(group.key)
        if buckets is None:
            buckets = self._buckets[group.key] = _fill_buckets(group, topology)
        score = np.zeros(session.snapshot.nodes.count, dtype=np.int64)
        mine = buckets.of.get(pod.uid)
        for uid, (role, row) in lying.items():
            score[row] += _THERE * (mine is not None and buckets.of.get(uid) == mine)
            score[row] -= (pod.role, role) in topology.far
        if mine is not None:
            waiting = [other for other in buckets.members[mine] if other.uid not in lying]
            score += _fitting_together(session, [pod, *(o for o in waiting if o is not pod)])
        return self._weight * (score * POINTS // buckets.largest)

    def _topology(self, group: GroupRow) -> Topology | None:
        if group.key not in self._topologies:
            self._topologies[group.key] = read_topology(group.annotations)
        return self._topologies[group.key]


_LAST: Final = (ROLES_MAX, 0)


def read_topology(annotations: Mapping[str, str]) -> Topology | None:
    """None when nothing is said; names that are no tasks of the job change nothing."""
    together = _groups(annotations.get(TASK_TOPOLOGY_AFFINITY, ""))
    apart = _groups(annotations.get(TASK_TOPOLOGY_ANTI_AFFINITY, ""))
    if not together and not apart:
        return None
    near, far = _pairs(together), _pairs(apart)
    order = [name for names in _groups(annotations.get(TASK_TOPOLOGY_ORDER, "")) for name in names]
    ranks: dict[str, tuple[int, int]] = {}
    for role in sorted({role for pair in (*near, *far) for role in pair}):
        place = order.index(role) if role in order else ROLES_MAX - 1
        ranks[role] = (place, -_hardness(role, near, far))
    return Topology(near=frozenset(near), far=frozenset(far), ranks=ranks)


def _hardness(role: str, near: dict[Pair, None], far: dict[Pair, None]) -> int:
    """Shuns its own kind 4, wants others 3, wants its own kind 2, shuns others 1."""
    if (role, role) in far:
        return 4
    if any(role == one != other for one, other in near):
        return 3
    return 2 if (role, role) in near else 1


def _groups(written: str) -> list[list[str]]:
    found = [
        [name.strip() for name in part.split(",") if name.strip()] for part in written.split(";")
    ]
    return [names for names in found if names][:ROLES_MAX]


def _pairs(groups: list[list[str]]) -> dict[Pair, None]:
    """A single name means its own kind, several mean each with every other."""
    pairs: dict[Pair, None] = {}
    for names in groups:
        limited = list(dict.fromkeys(names))[:ROLES_MAX]
        if len(limited) == 1:
            pairs[limited[0], limited[0]] = None
        pairs.update({(one, other): None for one in limited for other in limited if one != other})
    return pairs


def _fill_buckets(group: GroupRow, topology: Topology) -> Buckets:
    """Pods that lie somewhere begin a bucket per node; the others choose in their order."""
    buckets = Buckets({}, [])
    by_node: dict[str, int] = {}
    for pod in group.placed:
        if pod.role in topology.ranks:
            if pod.node not in by_node:
                by_node[pod.node] = len(buckets.members)
                buckets.members.append([])
            _join(buckets, by_node[pod.node], pod)
    waiting = [pod for run in group.runs for pod in run.pods if pod.role in topology.ranks]
    for pod in sorted(waiting, key=lambda pod: (topology.ranks[pod.role], pod.order)):
        liked = [
            (-sum(topology.liking(pod.role, other.role) for other in bucket), _asked(bucket), at)
            for at, bucket in enumerate(buckets.members)
        ]
        best = min(liked, default=(1, 0, 0))
        if best[0] > 0:  # none, or it shuns all of them
            buckets.members.append([])
            best = (0, 0, len(buckets.members) - 1)
        _join(buckets, best[2], pod)
    return buckets


def _asked(bucket: list[PodRow]) -> int:
    """What its pods ask for, as one number: a thousandth of a CPU or a device, or a MiB, is one."""
    return sum(
        amount // _MEBI if name == "memory" else amount
        for pod in bucket
        for name, amount in pod.shape.request
        if name not in NOT_REQUESTED
    )


def _join(buckets: Buckets, at: int, pod: PodRow) -> None:
    buckets.members[at].append(pod)
    buckets.of[pod.uid] = at


def _fitting_together(session: "Session", pods: list[PodRow]) -> Ints:
    """Per node: how many of these pods, in this order, it has room for at once."""
    idle = session.rooms.nodes.allocatable - session.rooms.used
    needed = np.cumsum([session.rooms.request(pod.shape) for pod in pods[:TOGETHER_MAX]], axis=0)
    fits = np.full(len(idle), len(needed), dtype=np.int64)
    for resource in range(idle.shape[1]):  # what they ask for together only grows
        room = np.searchsorted(needed[:, resource], idle[:, resource], side="right")
        fits = np.minimum(fits, room)
    return fits
