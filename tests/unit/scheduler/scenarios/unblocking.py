"""What a reason proposes, done to a cluster: one function, that knows nothing but the proposal.

New nodes have exactly the room that was asked for, and no labels but those that were named.
"""

import copy
import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeVar

import msgspec

from tests.unit.scheduler.objects import TASK, node, pod, queue
from tests.unit.scheduler.scenarios.scenario import Wait, job_of
from tests.unit.scheduler.storage import claim, volume
from vc_messages.sessions import JobReason, Unblock, Where
from vc_model import kinds
from vc_model.kinds import Kind
from vc_model.kubernetes import PersistentVolumeClaim, ResourceQuota
from vc_model.meta import ApiObject
from vc_model.node import Node
from vc_model.pod import Pod
from vc_model.quantity import format_resources, parse_resources
from vc_model.scheduling import PodGroup, Queue
from vc_model.struct import ResourceList

_Object = TypeVar("_Object", bound=ApiObject)

PODS: Final = "pods"
WAIT_SECONDS: Final = 31.0
"""Longer than the longest rest after a failed bind."""


class Ground(Protocol):
    """A cluster that one can change: a `World`, or a trial of `vcctl simulate`."""

    now: float

    def objects(self) -> list[ApiObject]: ...
    def put(self, *objects: ApiObject) -> None: ...
    def delete(self, kind: Kind, key: str) -> None: ...


def unblock(ground: Ground, job: JobReason, wait: Wait, others: Mapping[str, JobReason]) -> None:
    """Do what the reason proposes, all of it."""
    proposed = job.reason.unblock
    assert proposed is not None, f"{job.group} is told no way out"
    for part in (proposed, *proposed.also):
        _do(ground, part, job, wait, others)


def _do(
    ground: Ground, proposed: Unblock, job: JobReason, wait: Wait, others: Mapping[str, JobReason]
) -> None:
    if proposed.action == "fix":
        assert wait.fix, "a scenario with `fix` says what it is"
        ground.put(*wait.fix)
    elif proposed.action == "wait" and proposed.target:
        unblock(ground, others[proposed.target], wait, others)
    else:
        _ACTIONS[proposed.action](ground, proposed, job)


# -- queues and quotas -------------------------------------------------------------------------------


def _create_queue(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    del job
    ground.put(queue(proposed.target))


def _open_queue(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    del job
    known = _find(ground, Queue, proposed.target)
    ground.put(
        msgspec.structs.replace(known, status=msgspec.structs.replace(known.status, state="Open"))
    )


def _move_job(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    known = _find(ground, PodGroup, job.group)
    for name in proposed.target.split(","):
        _find(ground, Queue, name)  # each of them will do
    spec = msgspec.structs.replace(known.spec, queue=proposed.target.split(",")[0])
    ground.put(msgspec.structs.replace(known, spec=spec))


def _raise_capability(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    del job
    known = _find(ground, Queue, proposed.target)
    assert proposed.amounts, "by how much"
    more = _sum(known.spec.capability, proposed.amounts)
    spec = msgspec.structs.replace(known.spec, capability=more)
    ground.put(msgspec.structs.replace(known, spec=spec))


def _raise_weight(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    del job
    known = _find(ground, Queue, proposed.target)
    assert proposed.weight > known.spec.weight
    spec = msgspec.structs.replace(known.spec, weight=proposed.weight)
    ground.put(msgspec.structs.replace(known, spec=spec))


def _raise_quota(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    del job
    known = _find(ground, ResourceQuota, proposed.target)
    hard = _sum(known.status.hard, proposed.amounts)
    ground.put(
        msgspec.structs.replace(
            known,
            spec=msgspec.structs.replace(known.spec, hard=hard),
            status=msgspec.structs.replace(known.status, hard=hard),
        )
    )


# -- room --------------------------------------------------------------------------------------------


def _add_room(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    del job
    assert proposed.amounts, "room for what"
    where = proposed.where or Where()
    nodes = [obj for obj in ground.objects() if isinstance(obj, Node)]
    known = next((n for n in nodes if n.metadata.name == where.node), None)
    if known is not None:
        ground.put(_enlarged(known, proposed))
        return
    values = [_values(nodes, key) for key in where.across]
    for at, domain in enumerate(itertools.product(*values)):
        for n in range(max(1, proposed.pods)):
            labels = dict(where.labels)
            labels |= dict.fromkeys(where.apart, f"own-{at}-{n}")
            labels |= dict(zip(where.across, domain, strict=True))
            name = where.node or f"more-{len(nodes)}-{at}-{n}"
            ground.put(_with_room(node(name, labels=labels), proposed.amounts))


def _values(nodes: list[Node], key: str) -> list[str]:
    return sorted({n.metadata.labels[key] for n in nodes if key in n.metadata.labels})


def _with_room(made: Node, amounts: Mapping[str, int]) -> Node:
    room = format_resources({PODS: 110_000, **amounts})
    status = msgspec.structs.replace(made.status, allocatable=room, capacity=room)
    return msgspec.structs.replace(made, status=status)


def _enlarged(known: Node, proposed: Unblock) -> Node:
    times = {name: amount * max(1, proposed.pods) for name, amount in proposed.amounts.items()}
    room = _sum(known.status.allocatable, times)
    status = msgspec.structs.replace(known.status, allocatable=room, capacity=room)
    return msgspec.structs.replace(known, status=status)


# -- pods --------------------------------------------------------------------------------------------


def _create_pods(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    """More of the kind that is there; of a task that has none, like the others."""
    members = _members(ground, job)
    of_task = [p for p in members if p.metadata.labels.get(TASK) == proposed.target]
    pattern = (of_task or members or [pod("first", group=_name(job), requests={"cpu": "1"})])[0]
    role = proposed.target if proposed.target != _name(job) else ""
    for n in range(proposed.pods):
        name = f"{_name(job)}-{role}-more-{n}"
        labels = {**pattern.metadata.labels, **({TASK: role} if role else {})}
        metadata = msgspec.structs.replace(
            pattern.metadata, name=name, uid=f"pod-{name}", labels=labels
        )
        ground.put(msgspec.structs.replace(pattern, metadata=metadata))


def _lift_gates(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    gated = [p for p in _members(ground, job) if p.spec.scheduling_gates]
    for waiting in gated[: proposed.pods]:
        spec = msgspec.structs.replace(waiting.spec, scheduling_gates=[])
        ground.put(msgspec.structs.replace(waiting, spec=spec))


def _create_peer(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    del job
    labels = dict(pair.split("=") for pair in proposed.target.split(", "))
    nodes = [obj for obj in ground.objects() if isinstance(obj, Node)]
    place = max(nodes, key=lambda n: (len(n.metadata.labels), n.metadata.name)).metadata.name
    ground.put(pod("peer", on=place, labels=labels, scheduler="default-scheduler"))


def _wait(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    """Time passes, and those that leave are gone."""
    del job
    leaving = [p for p in _pods(ground) if p.metadata.deletion_timestamp]
    assert len(leaving) == proposed.pods or not leaving
    for gone in leaving:
        ground.delete(kinds.PODS, gone.key)
    ground.now += WAIT_SECONDS


def _remove_field(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    """Of the group, of its queue, or of every pod that has it."""
    kind, name, path = proposed.target.split(" ")
    of_kind: dict[str, list[ApiObject]] = {
        "podgroup": [_find(ground, PodGroup, job.group)],
        "queue": [_find(ground, Queue, name)] if kind == "queue" else [],
        "pod": list(_members(ground, job)),
    }
    for known in of_kind[kind]:
        ground.put(msgspec.convert(without_field(msgspec.to_builtins(known), path), type(known)))


def without_field(written: Any, path: str) -> Any:
    """A copy of an object without the value at a path such as `spec.list[0].field`."""
    steps = [step for step in re.split(r"[.](?![^\[]*\])|\[|\]", path) if step]
    copied = inner = copy.deepcopy(written)
    for step in steps[:-1]:
        inner = inner[int(step)] if isinstance(inner, list) else inner.get(step, {})
    if isinstance(inner, list):
        del inner[int(steps[-1])]
    else:
        inner.pop(steps[-1], None)
    return copied


# -- storage -----------------------------------------------------------------------------------------


def _create_claim(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    del job
    ground.put(claim(proposed.target.partition("/")[2]))


def _create_volume(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    del job
    ground.put(volume(proposed.target))
    for known in _claims(ground):
        if known.spec.volume_name == proposed.target:
            status = msgspec.structs.replace(known.status, phase="Bound")
            ground.put(msgspec.structs.replace(known, status=status))


def _bind_claim(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    del job
    for key in proposed.target.split(","):
        name = key.partition("/")[2] or key
        ground.put(volume(f"for-{name}", claimed=name), claim(name, volume=f"for-{name}"))


def _free_claim(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    del job
    for user in _pods(ground):
        claims = [v.persistent_volume_claim for v in user.spec.volumes]
        keys = [f"{user.metadata.namespace}/{c.claim_name}" for c in claims if c is not None]
        if user.spec.node_name and proposed.target in keys:
            ground.delete(kinds.PODS, user.key)


def _add_volume(ground: Ground, proposed: Unblock, job: JobReason) -> None:
    for name in proposed.target.split(","):
        known = _find(ground, PersistentVolumeClaim, f"{job.group.partition('/')[0]}/{name}")
        ground.put(volume(f"free-{name}", storage=known.spec.storage_class_name or ""))


_ACTIONS: Final[dict[str, Callable[[Ground, Unblock, JobReason], None]]] = {
    "create-queue": _create_queue,
    "open-queue": _open_queue,
    "move-job": _move_job,
    "raise-capability": _raise_capability,
    "raise-weight": _raise_weight,
    "raise-quota": _raise_quota,
    "add-room": _add_room,
    "reach-volume": _add_room,
    "create-pods": _create_pods,
    "lift-gates": _lift_gates,
    "create-peer": _create_peer,
    "wait": _wait,
    "remove-field": _remove_field,
    "create-claim": _create_claim,
    "create-volume": _create_volume,
    "bind-claim": _bind_claim,
    "free-claim": _free_claim,
    "add-volume": _add_volume,
}
ACTIONS: Final = {*_ACTIONS, "fix"}


# -- looking -----------------------------------------------------------------------------------------


def _find(ground: Ground, kind: type[_Object], key: str) -> _Object:
    return next(obj for obj in ground.objects() if isinstance(obj, kind) and obj.key == key)


def _pods(ground: Ground) -> list[Pod]:
    return [obj for obj in ground.objects() if isinstance(obj, Pod)]


def _claims(ground: Ground) -> list[PersistentVolumeClaim]:
    return [obj for obj in ground.objects() if isinstance(obj, PersistentVolumeClaim)]


def _members(ground: Ground, job: JobReason) -> list[Pod]:
    return [p for p in _pods(ground) if job_of(p) == _name(job)]


def _name(job: JobReason) -> str:
    return job.group.partition("/")[2]


def _sum(written: ResourceList, amounts: Mapping[str, int]) -> ResourceList:
    """Resources that are not written stay so, unless something is added to them."""
    total = dict(parse_resources(written))
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount
    return dict(format_resources(total))
