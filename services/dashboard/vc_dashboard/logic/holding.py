"""Who holds what a job waits for, where the job could use it.

Everything that takes room counts, whoever placed it: pods of a group together, others by what controls
them (a ReplicaSet, a DaemonSet), a pod that nobody controls by itself. In a full queue only its own groups
count. Where nodes are the matter, only those that pass the job's checks do: room on others is no use to it.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from vc_dashboard.logic.amounts import Amounts, add, pod_amounts, shown
from vc_dashboard.logic.endings import End
from vc_dashboard.logic.future_answers import Holder
from vc_dashboard.logic.picture import Picture, group_of, is_placed
from vc_dashboard.logic.queues import parent_of
from vc_messages.sessions import Reason, Stage
from vc_model.kinds import PODS
from vc_model.meta import controller_of, object_key
from vc_model.pod import Pod
from vc_model.times import format_time

_CONTENTION: Final = (Stage.QUOTA, Stage.OVERCOMMIT, Stage.GANG, Stage.PREDICATE, Stage.ORDER)
"""Stages at which somebody else may hold what is missing."""
_OF_NODES: Final = (Stage.GANG, Stage.PREDICATE)
"""Stages at which it must lie on a node that the job could use."""


class _Held(msgspec.Struct):
    queue: str = ""
    pods: int = 0
    amounts: Amounts = {}


def holders_of(
    picture: Picture,
    reason: Reason,
    ends: Mapping[str, End],
    *,
    but: str,
    nodes: Mapping[str, None] | None,
) -> list[Holder]:
    """The most of what is missing first; `ends` by group, `nodes` that would do (None: all)."""
    if reason.stage not in _CONTENTION:
        return []
    full = reason.unblock.target if reason.stage is Stage.QUOTA and reason.unblock else ""
    somewhere = nodes if reason.stage in _OF_NODES else None
    missing = [amount.resource for amount in reason.amounts if amount.missing] or [
        amount.resource for amount in reason.amounts
    ]
    found: list[tuple[tuple[int, ...], Holder]] = []
    for name, held in _held(picture, somewhere).items():
        if name == but or (full and full not in line_above(picture, held.queue)):
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


def _held(picture: Picture, nodes: Mapping[str, None] | None) -> dict[str, _Held]:
    """By who holds it."""
    found: dict[str, _Held] = {}
    for pod in picture.pods.values():
        if is_placed(pod) and (nodes is None or pod.spec.node_name in nodes):
            group = picture.groups.get(group_of(pod))
            name = group.key if group is not None else _controller(pod)
            held = found.setdefault(name, _Held(group.spec.queue if group is not None else ""))
            held.pods += 1
            add(held.amounts, pod_amounts(pod.spec))
    return found


def _controller(pod: Pod) -> str:
    owner = controller_of(pod.metadata)
    if owner is None:
        return f"{PODS.kind} {pod.key}"
    return f"{owner.kind} {object_key(pod.metadata.namespace, owner.name)}"


def line_above(picture: Picture, queue: str) -> list[str]:
    """The queue and those above it, up to root; each once, whatever is written."""
    line: list[str] = []
    while queue in picture.queues and queue not in line:
        line.append(queue)
        queue = parent_of(picture.queues[queue])
    return line
