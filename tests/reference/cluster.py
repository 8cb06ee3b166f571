"""Pods, nodes, jobs and queues of a session of the reference, made from API objects."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.reference.completed import done_and_gone
from vc.model.api.images import PAIR, image_id
from vc.model.api.meta import ApiObject
from vc.model.api.node import Node as ApiNode
from vc.model.api.node import Taint
from vc.model.api.pod import Pod as ApiPod
from vc.model.api.pod import Toleration
from vc.model.api.scheduling import PodGroup, PriorityClass
from vc.model.api.scheduling import Queue as ApiQueue
from vc.model.api.struct import ResourceList
from vc.model.values.quantity import parse_resources
from vc.model.values.times import parse_time

Amounts = dict[str, int]

GROUP = "scheduling.k8s.io/group-name"
ROLE = "volcano.sh/task-spec"
PREEMPTABLE = "volcano.sh/preemptable"


@dataclass(eq=False)
class Node:
    """A node and what is used of it."""

    name: str
    allocatable: Amounts
    labels: dict[str, str]
    taints: list[Taint]
    ready: bool
    schedulable: bool
    images: dict[str, int]
    """By the name's id, as facts carry it: how many bytes it takes here."""
    pods: list["Pod"] = field(default_factory=list)

    @property
    def used(self) -> Amounts:
        return total(pod.request for pod in self.pods)


@dataclass(frozen=True)
class Term:
    """Pods of some labels in the same namespace, and the node's label that says what is near."""

    weight: int
    """0 of what is required; negative where they are to be far."""
    labels: dict[str, str]
    key: str


@dataclass(eq=False)
class Pod:
    """A pod."""

    name: str
    uid: str
    job: str
    role: str
    request: Amounts
    selector: dict[str, str]
    required: list[dict[str, list[str]]] | None
    """Node affinity: one of these must hold, each a map of labels to allowed values."""
    tolerations: list[Toleration]
    ports: list[int]
    node: str
    status: str
    """Pending, Gated (by gates that others lift), Placed, Succeeded or Failed."""
    preemptable: bool
    images: list[str]
    """One per container."""
    labels: dict[str, str]
    near: list[Term]
    """Required pod affinity."""
    far: list[Term]
    """Required pod anti-affinity."""
    spread: list[Term]
    """Required spread; the weight is the skew that is allowed."""
    priority: int
    said_priority: int | None
    """None where its class is not resolved."""
    rather: list[Term]
    """Preferred pod affinity and anti-affinity."""
    started: float | None
    created: float | None

    @property
    def best_effort(self) -> bool:
        return set(self.request) == {"pods"}

    @property
    def kind(self) -> tuple[object, ...]:
        """Pods of one kind, next to one another, are placed together or not at all."""
        return (self.role, sorted(self.request.items()), sorted(self.selector.items()), self.tolerations, self.required, self.ports, self.images, self.near, self.rather, self.far, self.spread, self.priority)  # fmt: skip


@dataclass(eq=False)
class Job:
    """A pod group with its pods in order."""

    key: str
    uid: str
    queue: str
    priority: int
    """The lower of its class's and its unfinished pods'."""
    created: float
    minimum: int
    roles: dict[str, int]
    min_resources: Amounts | None
    phase: str
    waiting_time: str
    """Of the annotation for sla, in minutes; empty for none."""
    pods: list[Pod] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    """The role of each member that has succeeded and whose pod is gone."""

    def of(self, status: str) -> list[Pod]:
        return [pod for pod in self.pods if pod.status == status]

    @property
    def placed(self) -> list[Pod]:
        return self.of("Placed")

    @property
    def ready(self) -> int:
        return len(self.ready_roles)

    @property
    def ready_roles(self) -> list[str]:
        """The role of each member that counts."""
        return [*(pod.role for pod in [*self.placed, *self.of("Succeeded")]), *self.gone]

    @property
    def allocated(self) -> Amounts:
        return total(pod.request for pod in self.placed)

    @property
    def charged(self) -> Amounts:
        """minResources without what gated pods ask for."""
        gated = total(pod.request for pod in self.of("Gated"))
        return {n: max(0, a - gated.get(n, 0)) for n, a in (self.min_resources or {}).items()}


@dataclass(eq=False)
class Queue:
    """A queue."""

    name: str
    uid: str
    created: float
    open: bool
    parent: str
    weight: int
    priority: int
    capability: Amounts
    guarantee: Amounts
    deserved: Amounts
    reclaimable: bool
    fifo: bool


@dataclass(eq=False)
class Cluster:
    """Everything, by name or key, in the order of names."""

    nodes: dict[str, Node]
    jobs: dict[str, Job]
    queues: dict[str, Queue]

    def total(self, resource: str) -> int:
        return sum(n.allocatable.get(resource, 0) for n in self.nodes.values() if n.ready)

    def used(self, resource: str) -> int:
        return sum(n.used.get(resource, 0) for n in self.nodes.values() if n.ready)

    def unowned(self) -> Amounts:
        """What pods have whose queue does not exist."""
        return total(job.allocated for job in self.jobs.values() if job.queue not in self.queues)

    def line(self, queue: str) -> list[Queue]:
        """A queue and those above it; one that is above itself stands at the top."""
        line: list[Queue] = []
        while queue in self.queues:
            line.append(self.queues[queue])
            queue = "" if self.above_itself(queue) else self.queues[queue].parent
        return line

    def above_itself(self, queue: str) -> bool:
        above = self.queues[queue].parent
        for _ in self.queues:
            if above == queue or above not in self.queues:
                break
            above = self.queues[above].parent
        return above == queue

    def misplaced(self, queue: str) -> bool:
        parent = self.queues[queue].parent
        return self.above_itself(queue) or parent not in ("", "root", *self.queues)

    def children(self, parent: str) -> list[Queue]:
        lines = {name: [q.name for q in self.line(name)] for name in self.queues}
        return [q for q in self.queues.values() if (lines[q.name][1:] or [""])[0] == parent]


def read_cluster(objects: Iterable[ApiObject]) -> Cluster:
    """From the API's objects."""
    listed = sorted(objects, key=lambda obj: obj.key)
    classes = {c.metadata.name: c.value for c in listed if isinstance(c, PriorityClass)}
    cluster = Cluster(
        nodes={n.metadata.name: _node(n) for n in listed if isinstance(n, ApiNode)},
        jobs={g.key: _job(g, classes) for g in listed if isinstance(g, PodGroup)},
        queues={q.metadata.name: _queue(q) for q in listed if isinstance(q, ApiQueue)},
    )
    for obj in listed:
        if isinstance(obj, ApiPod):
            pod = _pod(obj)
            if pod.job in cluster.jobs:
                cluster.jobs[pod.job].pods.append(pod)
            if pod.status == "Placed" and pod.node in cluster.nodes:
                cluster.nodes[pod.node].pods.append(pod)
    pods = [obj for obj in listed if isinstance(obj, ApiPod)]
    for group in listed:
        if isinstance(group, PodGroup):
            cluster.jobs[group.key].gone = done_and_gone(group, pods)
    for job in cluster.jobs.values():
        job.pods.sort(key=_task_order)
        said = [p.said_priority for p in job.pods if p.status not in ("Succeeded", "Failed")]
        job.priority = min([job.priority, *(value for value in said if value is not None)])
    return cluster


def _task_order(pod: Pod) -> tuple[object, ...]:
    return (-pod.priority, pod.role, int(pod.name.rsplit("-", 1)[1]), pod.name)


def _node(node: ApiNode) -> Node:
    ready = any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)
    return Node(
        name=node.metadata.name,
        allocatable=amounts(node.status.allocatable),
        labels=node.metadata.labels,
        taints=[t for t in node.spec.taints if t.effect in ("NoSchedule", "NoExecute")],
        ready=ready,
        schedulable=not node.spec.unschedulable,
        images=_images(node.status.packed_images),
    )


def _images(packed: bytes) -> dict[str, int]:
    return {f"{number % 2**64:016x}": size for number, size in PAIR.iter_unpack(packed)}


def _pod(pod: ApiPod) -> Pod:
    request: Amounts = {"pods": 1000}
    for container in pod.spec.containers:
        add(request, amounts({**container.resources.limits, **container.resources.requests}))
    status = {"Succeeded": "Succeeded", "Failed": "Failed"}.get(pod.status.phase)
    return Pod(
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        job=f"{pod.metadata.namespace}/{pod.metadata.annotations.get(GROUP, '')}",
        role=pod.metadata.labels.get(ROLE, ""),
        request={name: amount for name, amount in request.items() if amount},
        selector=pod.spec.node_selector,
        required=_required(pod),
        tolerations=pod.spec.tolerations,
        ports=[p.host_port for c in pod.spec.containers for p in c.ports if p.host_port],
        node=pod.spec.node_name,
        status=status
        or (
            "Placed" if pod.spec.node_name else "Gated" if pod.spec.scheduling_gates else "Pending"
        ),
        preemptable=pod.metadata.annotations.get(PREEMPTABLE) != "false",
        images=[image_id(container.image) for container in pod.spec.containers],
        labels=pod.metadata.labels,
        near=_must(pod, "podAffinity"),
        far=_must(pod, "podAntiAffinity"),
        spread=_spread(pod),
        priority=1 if pod.spec.priority is None else pod.spec.priority,
        said_priority=pod.spec.priority,
        rather=[*_rather(pod, "podAffinity", 1), *_rather(pod, "podAntiAffinity", -1)],
        started=parse_time(pod.status.start_time),
        created=parse_time(pod.metadata.creation_timestamp),
    )


def _spread(pod: ApiPod) -> list[Term]:
    """Only selectors of labels."""
    return [
        Term(s.max_skew, s.label_selector.match_labels if s.label_selector else {}, s.topology_key)
        for s in pod.spec.topology_spread_constraints
    ]


def _must(pod: ApiPod, kind: str) -> list[Term]:
    affinity = (pod.spec.affinity or {}).get(kind, {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", [])
    return [Term(0, t["labelSelector"]["matchLabels"], t["topologyKey"]) for t in terms]


def _rather(pod: ApiPod, kind: str, sign: int) -> list[Term]:
    affinity = (pod.spec.affinity or {}).get(kind, {})
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution", [])
    terms = [(sign * term["weight"], term["podAffinityTerm"]) for term in preferred]
    return [Term(w, t["labelSelector"]["matchLabels"], t["topologyKey"]) for w, t in terms]


def _required(pod: ApiPod) -> list[dict[str, list[str]]] | None:
    """Only terms of labels that must be among values."""
    affinity = (pod.spec.affinity or {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if terms is None:
        return None
    return [
        {need["key"]: need["values"] for need in term["matchExpressions"]}
        for term in terms["nodeSelectorTerms"]
    ]


def _job(group: PodGroup, classes: dict[str, int]) -> Job:
    spec = group.spec
    roles = {role: n for role, n in sorted(spec.min_task_member.items()) if n > 0}
    return Job(
        key=group.key,
        uid=group.metadata.uid,
        queue=spec.queue,
        priority=classes.get(spec.priority_class_name, 0),
        created=parse_time(group.metadata.creation_timestamp) or 0.0,
        minimum=spec.min_member,
        roles=roles if sum(roles.values()) <= spec.min_member else {},
        min_resources=None if spec.min_resources is None else amounts(spec.min_resources),
        phase=group.status.phase or "Pending",
        waiting_time=group.metadata.annotations.get("volcano.sh/sla-waiting-time", ""),
    )


def _queue(queue: ApiQueue) -> Queue:
    spec = queue.spec
    return Queue(
        name=queue.metadata.name,
        uid=queue.metadata.uid,
        created=parse_time(queue.metadata.creation_timestamp) or 0.0,
        open=queue.status.state in ("", "Open"),
        parent=spec.parent,
        weight=spec.weight,
        priority=spec.priority,
        capability=amounts(spec.capability),
        guarantee=amounts(spec.guarantee.resource),
        deserved=amounts(spec.deserved),
        reclaimable=spec.reclaimable is not False,
        fifo=spec.dequeue_strategy == "fifo",
    )


def amounts(written: ResourceList) -> Amounts:
    return dict(parse_resources(written))


def add(to: Amounts, more: Amounts, times: int = 1) -> None:
    for name, amount in more.items():
        to[name] = to.get(name, 0) + times * amount


def total(parts: Iterable[Amounts]) -> Amounts:
    summed: Amounts = {}
    for part in parts:
        add(summed, part)
    return summed
