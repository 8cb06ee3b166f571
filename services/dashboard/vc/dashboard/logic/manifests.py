"""Objects that manifests would become, by the rules of admission and the job-controller.

A Job becomes its PodGroup and the pods of the tasks without dependencies, created by the same code
as in the cluster, but without decorations of job plugins (environment, names, volumes), which
sessions do not read. A Queue, a Node, a quota, a claim and the like are used as written, so that a
proposed remedy can be written down and simulated.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from vc.jobs.defaults import with_defaults
from vc.jobs.podgroup import min_member, podgroup_spec
from vc.jobs.pods.min_resources import min_resources
from vc.jobs.pods.pod_maker import PodMaker
from vc.messages.published import in_plain_form
from vc.model.api import kinds
from vc.model.api.job import Job
from vc.model.api.keys import SCHEDULER_NAME
from vc.model.api.kinds import JOBS, QUEUES, Kind
from vc.model.api.kubernetes import ResourceQuota
from vc.model.api.meta import ApiObject, ObjectMeta, OwnerReference, object_key
from vc.model.api.node import Node
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, PriorityClass, Queue
from vc.model.api.struct import JsonObject
from vc.model.values.quantity import QuantityError
from vc.model.values.times import format_time
from vc.validation.offline import validate_documents

PODS_MAX: Final = 10_000
NODES_MAX: Final = 10_000
HOSTNAME: Final = "kubernetes.io/hostname"
_FACTS: Final[dict[tuple[object, object], Kind]] = {
    (kind.api_version, kind.kind): kind
    for kind in (
        kinds.NODES,
        kinds.PRIORITYCLASSES,
        kinds.QUOTAS,
        kinds.CLAIMS,
        kinds.VOLUMES,
        kinds.STORAGECLASSES,
        kinds.NAMESPACES,
    )
}
"""Kinds that are used as written. Pods and PodGroups are created by
controllers: write a Job instead."""


_NO_QUOTAS: Final[Mapping[str, ResourceQuota]] = {}
_NEVER: Final[Mapping[str, str]] = {}


class WhatIfManifestError(ValueError):
    """A manifest that cannot be simulated. The message names the field and the fix."""


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """The objects of manifests."""

    objects: list[ApiObject] = []
    jobs: list[Job] = []
    notes: list[str] = []


def refusals(documents: list[JsonObject]) -> list[str]:
    """What admission would refuse, as far as it is known from the manifests alone."""
    return [
        f"{report.kind} {report.name}: {problem}"
        for report in validate_documents(documents)
        for problem in report.problems
    ]


def make(
    documents: list[JsonObject],
    *,
    queues: Mapping[str, Queue],
    priorities: Mapping[str, PriorityClass],
    quotas: Mapping[str, ResourceQuota] = _NO_QUOTAS,
    created: Mapping[str, str] = _NEVER,
    now: float,
    scheduler_names: tuple[str, ...] = (SCHEDULER_NAME,),
) -> Made:
    """Objects of all documents. WhatIfManifestError names the first that cannot be used.

    `created` are creation times of existing jobs: a job that is applied again keeps
    its position in the FIFO order.
    """
    made, classes = Made(), dict(priorities)
    for document in documents:
        named = (document.get("apiVersion"), document.get("kind"))
        if named == (JOBS.api_version, JOBS.kind):
            job = _job(document, created, now=now, scheduler_name=scheduler_names[0])
            # The simulation would never place these pods, which looks like a missing resource.
            if job.spec.scheduler_name not in scheduler_names:
                made.notes.append(
                    f"{job.key}: schedulerName {job.spec.scheduler_name!r} places its pods; "
                    f"only those of {', '.join(scheduler_names)} are tried"
                )
            _add_job(made, job, classes)
        elif named == (QUEUES.api_version, QUEUES.kind):
            made.objects.append(_queue(_convert(document, Queue), queues))
        elif named in _FACTS:
            fact = _fact(document, _FACTS[named], quotas)
            made.objects.append(fact)
            # A class that is defined in the same request applies to later jobs.
            if isinstance(fact, PriorityClass):
                classes[fact.key] = fact
        else:
            others = ", ".join(kind.kind for kind in _FACTS.values())
            raise WhatIfManifestError(
                f"{named[0]} {named[1]}: write a Job ({JOBS.api_version}), "
                f"a Queue ({QUEUES.api_version}) or one of {others}"
            )
    return made


def _fact(document: JsonObject, kind: Kind, quotas: Mapping[str, ResourceQuota]) -> ApiObject:
    """The object as its controllers would complete it."""
    fact = _convert(document, kind.type)
    if not fact.metadata.name:
        raise WhatIfManifestError(f"{kind.kind}: metadata.name is missing")
    namespace = (fact.metadata.namespace or "default") if kind.namespaced else ""
    metadata = msgspec.structs.replace(
        fact.metadata,
        namespace=namespace,
        # A fixed uid makes the result of a what-if reproducible.
        uid=fact.metadata.uid or f"what-if/{kind.short}/{namespace}/{fact.metadata.name}",
    )
    fact = msgspec.structs.replace(fact, metadata=metadata)
    # The quota controller fills the status, and sessions read only that.
    if isinstance(fact, ResourceQuota):
        known = quotas.get(fact.key)
        used = known.status.used if known is not None else fact.status.used
        status = msgspec.structs.replace(fact.status, hard=fact.spec.hard, used=used)
        return msgspec.structs.replace(fact, status=status)
    return fact


def _convert(document: JsonObject, wanted: type[ApiObject]) -> ApiObject:
    try:
        return msgspec.convert(document, wanted)
    except msgspec.ValidationError as error:
        raise WhatIfManifestError(f"{document.get('kind')}: {error}") from None


def _queue(queue: ApiObject, known: Mapping[str, Queue]) -> Queue:
    """The queue after an apply: a known one keeps its state, a new one is
    open, unless a state is written."""
    assert isinstance(queue, Queue)
    before, state = known.get(queue.metadata.name), queue.status.state
    metadata, status = queue.metadata, msgspec.structs.replace(queue.status, state=state or "Open")
    # The real queue keeps its identity, so its PodGroups still belong to it.
    if before is not None:
        metadata = msgspec.structs.replace(
            metadata,
            uid=before.metadata.uid,
            creation_timestamp=before.metadata.creation_timestamp,
        )
        status = msgspec.structs.replace(before.status, state=state or before.status.state)
    return msgspec.structs.replace(queue, metadata=metadata, status=status)


def _job(
    document: JsonObject, created: Mapping[str, str], *, now: float, scheduler_name: str
) -> Job:
    """The job after admission."""
    job = _convert(document, Job)
    assert isinstance(job, Job)
    written = job.metadata
    name = written.name or f"{written.generate_name}what-if"
    namespace = written.namespace or "default"
    metadata = msgspec.structs.replace(
        written,
        name=name,
        namespace=namespace,
        uid=f"what-if/{namespace}/{name}",
        creation_timestamp=created.get(object_key(namespace, name)) or format_time(now),
    )
    return with_defaults(msgspec.structs.replace(job, metadata=metadata), scheduler_name)


def _add_job(made: Made, job: Job, priorities: Mapping[str, PriorityClass]) -> None:
    made.jobs.append(job)
    made.objects.extend(_objects(job, priorities, made.notes))
    # Checked after each job, so that a huge request fails early.
    if sum(isinstance(obj, Pod) for obj in made.objects) > PODS_MAX:
        raise WhatIfManifestError(f"more than {PODS_MAX} pods; ask about fewer at a time")


def _objects(
    job: Job, priorities: Mapping[str, PriorityClass], notes: list[str]
) -> Iterable[ApiObject]:
    # Tasks with dependencies start later and would distort the first placement.
    tasks = [task for task in job.spec.tasks if task.depends_on is None]
    later = [task.name for task in job.spec.tasks if task.depends_on is not None]
    if later:
        notes.append(f"{job.key}: tasks {', '.join(later)} start after others and are not tried")
    if sum(task.replicas for task in tasks) > PODS_MAX:
        raise WhatIfManifestError(f"{job.key}: more than {PODS_MAX} pods")
    try:
        least = min_resources(
            job, tasks, member_count=min_member(job, tasks), priorities=priorities
        )
    except QuantityError as error:
        raise WhatIfManifestError(f"{job.key}: {error}") from None
    owner = OwnerReference(
        api_version=JOBS.api_version,
        kind=JOBS.kind,
        name=job.metadata.name,
        uid=job.metadata.uid,
        controller=True,
    )
    yield PodGroup(
        metadata=ObjectMeta(
            name=job.metadata.name,
            namespace=job.metadata.namespace,
            uid=f"{job.metadata.uid}/group",
            creation_timestamp=job.metadata.creation_timestamp,
            annotations=job.metadata.annotations,
            labels=job.metadata.labels,
            owner_references=[owner],
        ),
        spec=podgroup_spec(job, tasks, least),
    )
    yield from pods_of(job, priorities, scheduler_name=job.spec.scheduler_name)


def pods_of(
    job: Job, priorities: Mapping[str, PriorityClass], *, scheduler_name: str
) -> Iterable[Pod]:
    """Pods of the tasks without dependencies, at most `PODS_MAX`.

    An outline of a template has all fields that a session reads.
    """
    plain = msgspec.structs.replace(job, spec=in_plain_form(job.spec))
    job = with_defaults(plain, scheduler_name)
    left = PODS_MAX
    for task in job.spec.tasks:
        if task.depends_on is None:
            maker = PodMaker(job, task, (), group=job.metadata.name, forwarded=False)
            for index in range(min(task.replicas, left)):
                yield _pod(maker.make(index).body, priorities)
            left = max(0, left - task.replicas)


def _pod(body: JsonObject, priorities: Mapping[str, PriorityClass]) -> Pod:
    """The pod with the fields that the API server would fill in."""
    pod = _convert(body, Pod)
    assert isinstance(pod, Pod)
    known = priorities.get(pod.spec.priority_class_name)
    spec = pod.spec
    # The priority of a pod is set by the API server's admission from its class.
    if known is not None and spec.priority is None:
        policy = spec.preemption_policy or known.preemption_policy
        spec = msgspec.structs.replace(spec, priority=known.value, preemption_policy=policy)
    metadata = msgspec.structs.replace(
        pod.metadata, uid=f"what-if/{pod.metadata.namespace}/{pod.metadata.name}"
    )
    status = msgspec.structs.replace(pod.status, phase="Pending")
    return msgspec.structs.replace(pod, metadata=metadata, spec=spec, status=status)


def more_nodes(nodes: Mapping[str, Node], *, count: int, like: str) -> list[Node]:
    """Empty copies of a node. Raises WhatIfManifestError if there is none to copy."""
    if not 1 <= count <= NODES_MAX:
        raise WhatIfManifestError(f"addNodes.count {count}: write a number from 1 to {NODES_MAX}")
    if like and like not in nodes:
        raise WhatIfManifestError(f"addNodes.like: there is no node {like!r}")
    model = nodes[like] if like else _common(nodes)
    found: list[Node] = []
    for number in range(1, count + 1):
        name = f"what-if-{number}"
        labels = {**model.metadata.labels, HOSTNAME: name}
        metadata = ObjectMeta(name=name, uid=f"what-if/{name}", labels=labels)
        # A copy of a cordoned node would be useless.
        spec = msgspec.structs.replace(model.spec, unschedulable=False)
        found.append(msgspec.structs.replace(model, metadata=metadata, spec=spec))
    return found


def _common(nodes: Mapping[str, Node]) -> Node:
    """The first node of the most common size."""
    kinds_of: dict[str, list[Node]] = {}
    for _, node in sorted(nodes.items()):
        if node.ready and not node.spec.unschedulable:
            # Nodes of equal allocatable resources count as one kind.
            has = repr(sorted(node.status.allocatable.items()))
            kinds_of.setdefault(has, []).append(node)
    if not kinds_of:
        raise WhatIfManifestError(f"addNodes: no {kinds.NODES.kind} is ready; name one with `like`")
    return max(kinds_of.values(), key=len)[0]
