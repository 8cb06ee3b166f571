"""task-topology: affinity and anti-affinity between the tasks of a job (docs/behaviour.md 5.7).

Annotations of a job list groups of tasks: `ps,worker` for affinity between two tasks, a single name
for affinity of a task to itself. Pods are assigned to buckets that should share a node. A pod joins
the bucket with the best balance of affinity and anti-affinity; among equal ones, the bucket with
the smallest requests. A node scores higher for each pod of the same bucket that it has or can still
fit, and lower for each pod with anti-affinity. Pods of such a job are placed one by one, the tasks
that are hardest to place first.

Argument: `task-topology.weight` (1).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
import numpy as np

from vc.model.api.keys import (
    TASK_TOPOLOGY_AFFINITY,
    TASK_TOPOLOGY_ANTI_AFFINITY,
    TASK_TOPOLOGY_ORDER,
)
from vc.scheduling.conf.arguments import weight
from vc.scheduling.framework.order_points import OrderKey
from vc.scheduling.model.amounts import NOT_REQUESTED
from vc.scheduling.model.node_table import Ints, Mask
from vc.scheduling.model.rows import GroupRow, PodRow, Run
from vc.scheduling.plugins.nodeorder.pod_affinity import POINTS

if TYPE_CHECKING:
    from vc.scheduling.session.session import Session

TASKS_MAX: Final = 64
"""Maximum number of names in an annotation; further names are ignored."""
TOGETHER_MAX: Final = 1_000
"""Maximum number of pods of a bucket that are tried on a node together."""
_MEBI: Final = 1024 * 1024

_THERE: Final = 2
"""Weight of a bucket member that is placed on the node.

A member that could still fit there has weight 1; with equal weights the two would tie.
"""

Pair = tuple[str, str]


class Topology(msgspec.Struct, frozen=True):
    """Affinity and anti-affinity between tasks; each pair is stored in both orders."""

    near: frozenset[Pair]
    far: frozenset[Pair]
    ranks: dict[str, tuple[int, int]]
    """Task to its rank: the order that the user wrote, then how hard the task is to place."""

    def liking(self, one: str, other: str) -> int:
        """Return 1 for affinity, -1 for anti-affinity, 0 for neither or both."""
        return ((one, other) in self.near) - ((one, other) in self.far)


class Buckets(msgspec.Struct, frozen=True):
    """Assignment of pods to buckets; the pods of a bucket should share a node."""

    of: dict[str, int]
    """Pod uid to the index of its bucket."""
    members: list[list[PodRow]]

    @property
    def largest(self) -> int:
        return max((len(bucket) for bucket in self.members), default=1)


class TaskTopology:
    """Orders and scores the pods of annotated jobs."""

    name: ClassVar[str] = "task-topology"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._weight = weight(arguments, "task-topology.weight", 1)
        self._topologies: dict[str, Topology | None] = {}
        self._buckets: dict[str, Buckets] = {}

    def place_one_by_one(self, group: GroupRow) -> bool:
        """Whether the pods of the job must be placed one by one."""
        return self._topology(group) is not None

    def task_order_key(self, session: "Session", group: GroupRow, run: Run) -> OrderKey:
        del session
        topology = self._topology(group)
        return topology.ranks.get(run.task, _LAST) if topology is not None else _LAST

    def node_order_scores(self, session: "Session", pod: PodRow, mask: Mask) -> Ints | None:
        """Score nodes for one pod of an annotated job; None for other jobs."""
        del mask
        group = session.snapshot.all_groups.get(pod.group)
        topology = self._topology(group) if group is not None else None
        if group is None or topology is None:
            return None
        lying = session.pod_affinity.follow(group)
        buckets = self._buckets.get(group.key)
        if buckets is None:
            buckets = self._buckets[group.key] = _fill_buckets(group, topology)
        score = np.zeros(session.snapshot.nodes.count, dtype=np.int64)
        mine = buckets.of.get(pod.uid)
        for uid, (task, row) in lying.items():
            score[row] += _THERE * (mine is not None and buckets.of.get(uid) == mine)
            score[row] -= (pod.task, task) in topology.far
        # The pod itself comes first, because a node that cannot fit it is of no use to its bucket.
        if mine is not None:
            waiting = [other for other in buckets.members[mine] if other.uid not in lying]
            score += _fitting_together(session, [pod, *(o for o in waiting if o is not pod)])
        # Divided by the largest bucket, so that the score has the range of other plugins' scores.
        return self._weight * (score * POINTS // buckets.largest)

    def _topology(self, group: GroupRow) -> Topology | None:
        if group.key not in self._topologies:
            self._topologies[group.key] = read_topology(group.annotations)
        return self._topologies[group.key]


_LAST: Final = (TASKS_MAX, 0)
"""The rank of tasks without annotations: after all annotated ones."""


def read_topology(annotations: Mapping[str, str]) -> Topology | None:
    """Parse the annotations of a job; None when they define no affinity.

    Names that are not tasks of the job have no effect.
    """
    together = _groups(annotations.get(TASK_TOPOLOGY_AFFINITY, ""))
    apart = _groups(annotations.get(TASK_TOPOLOGY_ANTI_AFFINITY, ""))
    if not together and not apart:
        return None
    near, far = _pairs(together), _pairs(apart)
    order = [name for names in _groups(annotations.get(TASK_TOPOLOGY_ORDER, "")) for name in names]
    ranks: dict[str, tuple[int, int]] = {}
    for task in sorted({task for pair in (*near, *far) for task in pair}):
        place = order.index(task) if task in order else TASKS_MAX - 1
        ranks[task] = (place, -_hardness(task, near, far))
    return Topology(near=frozenset(near), far=frozenset(far), ranks=ranks)


def _hardness(task: str, near: dict[Pair, None], far: dict[Pair, None]) -> int:
    """Return how hard a task is to place.

    4: anti-affinity to itself; 3: affinity to other tasks; 2: affinity to itself; 1: anti-affinity
    to other tasks.
    """
    if (task, task) in far:
        return 4
    if any(task == one != other for one, other in near):
        return 3
    return 2 if (task, task) in near else 1


def _groups(written: str) -> list[list[str]]:
    """Split an annotation into groups of names: `a,b;c` has two groups."""
    found = [
        [name.strip() for name in part.split(",") if name.strip()] for part in written.split(";")
    ]
    return [names for names in found if names][:TASKS_MAX]


def _pairs(groups: list[list[str]]) -> dict[Pair, None]:
    """Return the pairs of each group; a single name is paired with itself."""
    pairs: dict[Pair, None] = {}
    for names in groups:
        limited = list(dict.fromkeys(names))[:TASKS_MAX]
        if len(limited) == 1:
            pairs[limited[0], limited[0]] = None
        pairs.update({(one, other): None for one in limited for other in limited if one != other})
    return pairs


def _fill_buckets(group: GroupRow, topology: Topology) -> Buckets:
    """Assign pods to buckets: one bucket per node of placed pods, then waiting pods by rank."""
    buckets = Buckets({}, [])
    by_node: dict[str, int] = {}
    for pod in group.placed:
        if pod.task in topology.ranks:
            # Placed pods cannot move, so the pods of a node define a bucket that others may join.
            if pod.node not in by_node:
                by_node[pod.node] = len(buckets.members)
                buckets.members.append([])
            _join(buckets, by_node[pod.node], pod)
    waiting = [pod for run in group.runs for pod in run.pods if pod.task in topology.ranks]
    for pod in sorted(waiting, key=lambda pod: (topology.ranks[pod.task], pod.order)):
        liked = [
            (-sum(topology.liking(pod.task, other.task) for other in bucket), _asked(bucket), at)
            for at, bucket in enumerate(buckets.members)
        ]
        # Ties go to the bucket with the smallest requests, because a small bucket fits on more nodes,
        # then to the oldest bucket.
        best = min(liked, default=(1, 0, 0))
        if best[0] > 0:  # there is no bucket, or anti-affinity prevails in each of them
            buckets.members.append([])
            best = (0, 0, len(buckets.members) - 1)
        _join(buckets, best[2], pod)
    return buckets


def _asked(bucket: list[PodRow]) -> int:
    """Return the requests of a bucket as one number, to compare buckets.

    One unit is a thousandth of a CPU or device, or one MiB of memory.
    """
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
    """Return per node how many of these pods fit at once, in this order."""
    idle = session.node_capacity.nodes.allocatable - session.node_capacity.used
    # Row k is what the first k + 1 pods request together, so one search per node and resource finds
    # how many of them fit.
    needed = np.cumsum(
        [session.node_capacity.request(pod.shape) for pod in pods[:TOGETHER_MAX]], axis=0
    )
    fits = np.full(len(idle), len(needed), dtype=np.int64)
    for resource in range(idle.shape[1]):  # cumulative requests are sorted, so bisection works
        prefix = np.searchsorted(needed[:, resource], idle[:, resource], side="right")
        fits = np.minimum(fits, prefix)
    return fits
