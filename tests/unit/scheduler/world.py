"""A cluster as one literal, and sessions over it.

`World` feeds facts to real columns, runs the real cycle, and makes the decisions come true as facts,
as the API server and the watcher would. After every session it checks the invariants.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
import numpy as np

from vc_messages.effects import BindPod
from vc_messages.sessions import Reason
from vc_messages.view import Change
from vc_model import kinds
from vc_model.kinds import Kind
from vc_model.meta import ApiObject, ObjectMeta, OwnerReference, object_key
from vc_model.node import Node, NodeCondition, NodeSpec, NodeStatus, Taint
from vc_model.pod import (
    Container,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    SchedulingGate,
    Toleration,
)
from vc_model.quantity import parse_resources
from vc_model.scheduling import (
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    PriorityClass,
    Queue,
    QueueSpec,
    QueueStatus,
)
from vc_model.struct import JsonObject, ResourceList
from vc_model.times import format_time
from vc_scheduler.logic.columns import Columns
from vc_scheduler.logic.conf import Conf
from vc_scheduler.logic.cycle import run_cycle
from vc_scheduler.logic.decisions import Decisions
from vc_scheduler.logic.snapshot import Snapshot

EPOCH: Final = 1_800_000_000.0
"""The wall time at which worlds begin."""

GROUP: Final = "scheduling.k8s.io/group-name"
TASK: Final = "volcano.sh/task-spec"


def node(
    name: str,
    *,
    cpu: str | int = 64,
    memory: str = "512Gi",
    pods: int = 110,
    gpu: int = 0,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Taint] = (),
    ready: bool = True,
    unschedulable: bool = False,
) -> Node:
    """A node; by default as the embedded cluster makes them."""
    allocatable: ResourceList = {"cpu": str(cpu), "memory": memory, "pods": str(pods)}
    if gpu:
        allocatable["nvidia.com/gpu"] = str(gpu)
    return Node(
        metadata=ObjectMeta(name=name, uid=f"node-{name}", labels=dict(labels or {})),
        spec=NodeSpec(unschedulable=unschedulable, taints=list(taints)),
        status=NodeStatus(
            allocatable=allocatable,
            capacity=allocatable,
            conditions=[NodeCondition(type="Ready", status="True" if ready else "False")],
        ),
    )


def nodes(count: int, *, prefix: str = "node", cpu: str | int = 64, gpu: int = 0) -> list[Node]:
    """Equal nodes."""
    return [node(f"{prefix}-{n:02}", cpu=cpu, gpu=gpu) for n in range(1, count + 1)]


def queue(
    name: str = "default",
    *,
    capability: ResourceList | None = None,
    state: str = "Open",
    weight: int = 1,
    priority: int = 0,
    parent: str = "",
) -> Queue:
    """A queue."""
    return Queue(
        metadata=ObjectMeta(name=name, uid=f"queue-{name}"),
        spec=QueueSpec(
            capability=capability or {}, weight=weight, priority=priority, parent=parent
        ),
        status=QueueStatus(state=state),
    )


def priority_class(name: str, value: int, *, default: bool = False) -> PriorityClass:
    """A priority class."""
    return PriorityClass(metadata=ObjectMeta(name=name), value=value, global_default=default)


def group(
    name: str,
    *,
    minimum: int,
    queue: str = "default",
    phase: str = "Inqueue",
    priority_class: str = "",
    roles: Mapping[str, int] | None = None,
    min_resources: ResourceList | None = None,
    age: int = 0,
) -> PodGroup:
    """A pod group; `age` in seconds before the world begins, older goes first."""
    return PodGroup(
        metadata=ObjectMeta(
            name=name,
            namespace="ns",
            uid=f"group-{name}",
            creation_timestamp=format_time(EPOCH - 3600 - age),
        ),
        spec=PodGroupSpec(
            min_member=minimum,
            min_task_member=dict(roles or {}),
            queue=queue,
            priority_class_name=priority_class,
            min_resources=min_resources,
        ),
        status=PodGroupStatus(phase=phase),
    )


def pod(
    name: str,
    *,
    group: str = "",
    role: str = "",
    requests: ResourceList | None = None,
    limits: ResourceList | None = None,
    on: str = "",
    phase: str = "",
    selector: Mapping[str, str] | None = None,
    affinity: JsonObject | None = None,
    tolerations: Iterable[Toleration] = (),
    gates: Iterable[str] = (),
    scheduler: str = "volcano",
    priority: int | None = None,
    deleting: bool = False,
    controlled: bool = True,
) -> Pod:
    """A pod; bound when `on` names a node."""
    owner = OwnerReference(
        api_version=kinds.JOBS.api_version, kind="Job", name="j", uid="u", controller=True
    )
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace="ns",
            uid=f"pod-{name}",
            annotations={GROUP: group} if group else {},
            labels={TASK: role} if role else {},
            deletion_timestamp=format_time(EPOCH) if deleting else None,
            owner_references=[owner] if controlled else [],
        ),
        spec=PodSpec(
            containers=[
                Container(
                    resources=ResourceRequirements(requests=requests or {}, limits=limits or {})
                )
            ],
            node_name=on,
            scheduler_name=scheduler,
            priority=priority,
            node_selector=dict(selector or {}),
            affinity=affinity,
            tolerations=list(tolerations),
            scheduling_gates=[SchedulingGate(name=gate) for gate in gates],
        ),
        status=PodStatus(phase=phase or ("Running" if on else "Pending")),
    )


def gang(
    name: str,
    count: int,
    *,
    minimum: int | None = None,
    queue: str = "default",
    priority_class: str = "",
    phase: str = "Inqueue",
    age: int = 0,
    role: str = "worker",
    min_resources: ResourceList | None = None,
    **requests: str | int,
) -> list[ApiObject]:
    """A pod group and its equal pods: `gang("a", 9, cpu=40)`."""
    asked: ResourceList = {k.replace("gpu", "nvidia.com/gpu"): str(v) for k, v in requests.items()}
    least = count if minimum is None else minimum
    members = [
        pod(f"{name}-{role}-{n}", group=name, role=role, requests=asked) for n in range(count)
    ]
    return [
        group(
            name,
            minimum=least,
            queue=queue,
            priority_class=priority_class,
            phase=phase,
            age=age,
            min_resources=min_resources,
        ),
        *members,
    ]


_KIND_OF: Final[dict[type, Kind]] = {
    Pod: kinds.PODS,
    Node: kinds.NODES,
    PodGroup: kinds.PODGROUPS,
    Queue: kinds.QUEUES,
    PriorityClass: kinds.PRIORITYCLASSES,
}


class World:
    """Objects, the columns made of them, and sessions."""

    def __init__(self, *objects: ApiObject | Iterable[ApiObject], conf: Conf | None = None) -> None:
        self.conf = conf or Conf()
        self.columns = Columns(("volcano",))
        self.now = EPOCH
        self._objects: dict[tuple[str, str], ApiObject] = {}
        self._sessions = 0
        self._version = 0
        self.matters = False
        for given in objects:
            self.put(*([given] if isinstance(given, ApiObject) else given))

    # -- facts -----------------------------------------------------------------------------------

    def put(self, *objects: ApiObject) -> None:
        """Create or change objects."""
        for obj in objects:
            kind = _KIND_OF[type(obj)]
            self._version += 1
            metadata = msgspec.structs.replace(obj.metadata, resource_version=str(self._version))
            obj = msgspec.structs.replace(obj, metadata=metadata)
            before = self._objects.get((kind.short, obj.key))
            self._objects[kind.short, obj.key] = obj
            self._tell(kind, obj.key, before, obj)

    def delete(self, kind: Kind, key: str) -> None:
        """Remove an object."""
        self._tell(kind, key, self._objects.pop((kind.short, key)), None)

    def delete_pod(self, name: str) -> None:
        self.delete(kinds.PODS, f"ns/{name}")

    def _tell(
        self, kind: Kind, key: str, before: ApiObject | None, after: ApiObject | None
    ) -> None:
        change = Change(kind=kind, key=key, partition=0, before=before, after=after)
        self.matters = self.columns.apply(change)

    def pod(self, name: str) -> Pod:
        found = self._objects["pods", f"ns/{name}"]
        assert isinstance(found, Pod)
        return found

    def group(self, name: str) -> PodGroup:
        found = self._objects["podgroups", f"ns/{name}"]
        assert isinstance(found, PodGroup)
        return found

    def pods(self) -> list[Pod]:
        return [obj for obj in self._objects.values() if isinstance(obj, Pod)]

    # -- sessions --------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        self._sessions += 1
        return self.columns.snapshot(f"session-{self._sessions}", now=self.now)

    def decide(self) -> Decisions:
        """A session that changes nothing."""
        return run_cycle(self.snapshot(), self.conf, self.now)

    def session(self) -> Decisions:
        """A session whose decisions come true at once."""
        decisions = self.decide()
        for gang_bind in decisions.binds:
            for bind in gang_bind.binds:
                self._bind(bind)
        for status in decisions.statuses:
            key = object_key(status.namespace, status.name)
            known = self._objects["podgroups", key]
            assert isinstance(known, PodGroup)
            self.put(msgspec.structs.replace(known, status=status.status))
        for release in decisions.releases:
            for ref in release.pods:
                self.delete(kinds.PODS, object_key(ref.namespace, ref.name))
        self.check()
        return decisions

    def _bind(self, bind: BindPod) -> None:
        waiting = self.pod(bind.name)
        assert not waiting.spec.node_name, f"{bind.name} was bound twice"
        assert waiting.metadata.uid == bind.uid
        self.put(
            msgspec.structs.replace(
                waiting,
                spec=msgspec.structs.replace(waiting.spec, node_name=bind.node),
                status=msgspec.structs.replace(waiting.status, phase="Running"),
            )
        )

    def finish(self, *names: str) -> None:
        """Pods run to their end."""
        for name in names:
            done = self.pod(name)
            status = msgspec.structs.replace(done.status, phase="Succeeded")
            self.put(msgspec.structs.replace(done, status=status))

    def finish_group(self, name: str) -> None:
        self.finish(
            *[p.metadata.name for p in self.pods() if p.metadata.annotations.get(GROUP) == name]
        )

    # -- looking ---------------------------------------------------------------------------------

    def where(self) -> dict[str, str]:
        """Bound pods and their nodes."""
        return {p.metadata.name: p.spec.node_name for p in self.pods() if p.spec.node_name}

    def bound(self, name: str) -> int:
        """Bound pods of a group."""
        return sum(
            1 for p in self.pods() if p.spec.node_name and p.metadata.annotations.get(GROUP) == name
        )

    # -- invariants ------------------------------------------------------------------------------

    def check(self) -> None:
        """No node over its allocatable, no queue over its capability, no partial gang."""
        table = self.columns.nodes.table()
        over = table.used > np.maximum(table.allocatable, 0)
        assert not over.any(), f"over-committed: {table.static.names} {table.used}"
        snapshot = self.columns.snapshot("check", now=self.now)
        for name, row in snapshot.queues.items():
            taken = _rolled_up(snapshot, name)
            for resource, most in row.capability:
                assert taken.get(resource, 0) <= most, f"queue {name} over {resource}"
        for job in snapshot.groups:
            begun = job.running or job.succeeded or job.failed
            whole = job.ready + job.failed >= job.min_member
            assert whole or begun or not job.placed, f"{job.key} is partial"
        self._check_sums()

    def _check_sums(self) -> None:
        """Columns kept one fact at a time equal the sums over all pods."""
        used: dict[str, dict[str, int]] = {}
        for bound in self.pods():
            if bound.spec.node_name and bound.status.phase not in ("Succeeded", "Failed"):
                total = used.setdefault(bound.spec.node_name, {"pods": 0})
                total["pods"] += 1000
                for container in bound.spec.containers:
                    written = {**container.resources.limits, **container.resources.requests}
                    for resource, amount in parse_resources(written).items():
                        total[resource] = total.get(resource, 0) + amount
        table = self.columns.nodes.table()
        for row, name in enumerate(table.static.names):
            for resource, column in table.resources.items():
                expected = used.get(name, {}).get(resource, 0)
                assert table.used[row, column] == expected, f"{name} {resource}"


def _rolled_up(snapshot: Snapshot, name: str) -> dict[str, int]:
    total: dict[str, int] = {}
    for other in snapshot.use:
        at, depth = other, 0
        while at and at != name and depth < 40:
            row = snapshot.queues.get(at)
            at, depth = (row.parent if row else ""), depth + 1
        if at == name:
            for resource, amount in snapshot.use[other].allocated.items():
                total[resource] = total.get(resource, 0) + amount
    return total


def reason_of(decisions: Decisions, name: str) -> Reason:
    """Why a group waits."""
    found = [job.reason for job in decisions.reasons if job.group == f"ns/{name}"]
    assert found, f"{name} has no reason; others: {[job.group for job in decisions.reasons]}"
    return found[0]
