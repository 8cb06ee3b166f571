"""Holders of the resources that a job waits for, where the job could use them.

Everything that uses resources counts, whichever scheduler placed it: pods of a PodGroup together,
other pods by their controller (a ReplicaSet, a DaemonSet), a pod without a controller by itself.
For a full queue only its own PodGroups count. If nodes are the bottleneck, only nodes that pass
the predicates of the job count.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc.dashboard.logic.amounts import Resources, pod_amounts, shown
from vc.dashboard.logic.answers.future_answers import Holder
from vc.dashboard.logic.cluster_index import ClusterIndex, group_of, is_placed
from vc.dashboard.logic.durations import End
from vc.dashboard.logic.queues import parent_of
from vc.messages.sessions import Reason, Stage
from vc.model.api.kinds import PODS
from vc.model.api.meta import controller_of, object_key
from vc.model.api.pod import Pod
from vc.model.values.times import format_time

_CONTENTION: Final = (Stage.QUOTA, Stage.OVERCOMMIT, Stage.GANG, Stage.PREDICATE, Stage.ORDER)
"""Stages at which another job may hold what is missing."""
_OF_NODES: Final = (Stage.GANG, Stage.PREDICATE)
"""Stages at which the resources must be on a node that the job could use."""


class _Held(msgspec.Struct):
    queue: str = ""
    pods: int = 0
    amounts: Resources = msgspec.field(default_factory=Resources)


def holders_of(
    cluster_index: ClusterIndex,
    reason: Reason,
    ends: Mapping[str, End],
    *,
    but: str,
    nodes: Mapping[str, None] | None,
) -> list[Holder]:
    """Holders, largest amount of the missing resources first.

    `ends` are by PodGroup; `nodes` are the usable ones, None for all.
    """
    # At the other stages no other job can free what is missing.
    if reason.stage not in _CONTENTION:
        return []
    # Of a full queue only its own PodGroups use up the quota.
    full = reason.unblock.target if reason.stage is Stage.QUOTA and reason.unblock else ""
    somewhere = nodes if reason.stage in _OF_NODES else None
    # If no amount is missing in total, all requested resources count.
    missing = [amount.resource for amount in reason.amounts if amount.missing] or [
        amount.resource for amount in reason.amounts
    ]
    found: list[tuple[tuple[int, ...], Holder]] = []
    for name, held in _held(cluster_index, somewhere).items():
        if name == but or (full and full not in ancestors_of(cluster_index, held.queue)):
            continue
        wanted = {n: units for n, units in held.amounts.items() if n in missing and units}
        if wanted:
            end = ends.get(name)
            holder = Holder(
                group=name,
                queue=held.queue,
                pods=held.pods,
                amounts=shown(wanted),
                ends_at=format_time(end.at) if end is not None else "",
                basis=end.basis if end is not None else "",
            )
            found.append((tuple(-wanted.get(n, 0) for n in missing), holder))
    return [holder for _, holder in sorted(found, key=lambda item: (item[0], item[1].group))]


def _held(cluster_index: ClusterIndex, nodes: Mapping[str, None] | None) -> dict[str, _Held]:
    """Held resources by holder."""
    found: dict[str, _Held] = {}
    for pod in cluster_index.pods.values():
        if is_placed(pod) and (nodes is None or pod.spec.node_name in nodes):
            # A pod of an unknown PodGroup still uses the node, so its controller is the holder.
            group = cluster_index.groups.get(group_of(pod))
            name = group.key if group is not None else _controller(pod)
            held = found.setdefault(name, _Held(group.spec.queue if group is not None else ""))
            held.pods += 1
            held.amounts.add(pod_amounts(pod.spec))
    return found


def _controller(pod: Pod) -> str:
    owner = controller_of(pod.metadata)
    if owner is None:
        return f"{PODS.kind} {pod.key}"
    return f"{owner.kind} {object_key(pod.metadata.namespace, owner.name)}"


def ancestors_of(cluster_index: ClusterIndex, queue: str) -> list[str]:
    """The queue and its ancestors up to root. Each appears once,
    even if the parents form a cycle."""
    ancestors: list[str] = []
    while queue in cluster_index.queues and queue not in ancestors:
        ancestors.append(queue)
        queue = parent_of(cluster_index.queues[queue])
    return ancestors
