"""A cluster with jobs that run or wait, to ask about what would be."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from tests.unit.scheduling.objects import EPOCH, node, queue
from vc.dashboard.logic.answers.future_answers import WaitingList, WhatIf, WhatIfJob, WhatIfRequest
from vc.dashboard.logic.cluster_index import ClusterIndex, build_cluster_index
from vc.dashboard.logic.explaining import Starts, explain, waiting_list
from vc.dashboard.logic.manifests import make
from vc.dashboard.logic.shares import SharesAndOrder, shares_of
from vc.dashboard.logic.what_if import Ground, what_if
from vc.messages.sessions import JobReason
from vc.model.api.job import Job, JobCondition, JobState, JobStatus
from vc.model.api.keys import GROUP_NAME
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, Queue
from vc.model.api.struct import JsonObject
from vc.model.values.times import format_time
from vc.scheduling.conf.model import Conf
from vc.scheduling.what_if import Simulation

NAMESPACE = "ml"
T = TypeVar("T", bound=msgspec.Struct)


def manifest(
    name: str,
    count: int,
    *,
    cpu: str = "1",
    queue: str = "default",
    priority: str = "",
    estimate: str = "",
    deadline: int = 0,
    minimum: int = 0,
) -> JsonObject:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    pod: JsonObject = {"containers": [container], "restartPolicy": "Never"}
    if deadline:
        pod["activeDeadlineSeconds"] = deadline
    spec: JsonObject = {
        "queue": queue,
        "minAvailable": minimum or count,
        "tasks": [{"name": "w", "replicas": count, "template": {"spec": pod}}],
    }
    if priority:
        spec["priorityClassName"] = priority
    if estimate:
        spec["runningEstimate"] = estimate
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def queue_manifest(name: str, **spec: Any) -> JsonObject:
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


class Cluster:
    """Jobs on nodes: those that fit run since some time, the others wait."""

    def __init__(self, *objects: ApiObject | Sequence[ApiObject]) -> None:
        flat = [
            o for given in objects for o in ([given] if isinstance(given, ApiObject) else given)
        ]
        self.objects: list[ApiObject] = flat
        self.jobs: list[Job] = []
        self.reasons: dict[str, JobReason] = {}

    def run(self, document: JsonObject, *, since: float = 60, phase: str = "Running") -> None:
        """Submit; it runs since so many seconds if it fits."""
        queues = {o.key: o for o in self.objects if isinstance(o, Queue)}
        made = make([document], queues=queues, priorities={}, now=EPOCH - since - 60)
        trial = Simulation([*self.objects, *made.objects], Conf(), now=EPOCH)
        outcome = trial.run_sessions()
        self.reasons = outcome.reasons
        job = made.jobs[0]
        placed = outcome.placements.get(job.key, {})
        for obj in made.objects:
            self.objects.append(_placed(obj, placed))
        phase = phase if placed else "Pending"
        began = JobCondition(status="Running", last_transition_time=format_time(EPOCH - since))
        status = JobStatus(
            state=JobState(phase=phase),
            running=len(placed),
            conditions=[began] if placed else [],
        )
        self.jobs.append(changed(job, status=status))

    def done(self, name: str, seconds: float, *, ended: float = EPOCH - 8000) -> None:
        """A job of the past that took so long."""
        conditions = [
            JobCondition(status="Running", last_transition_time=format_time(ended - seconds)),
            JobCondition(status="Completed", last_transition_time=format_time(ended)),
        ]
        made = make([manifest(name, 1)], queues={}, priorities={}, now=EPOCH)
        status = JobStatus(state=JobState(phase="Completed"), conditions=conditions)
        self.jobs.append(changed(made.jobs[0], status=status))

    def cluster_index(self) -> ClusterIndex:
        return build_cluster_index(
            jobs=self.jobs,
            groups=[o for o in self.objects if isinstance(o, PodGroup)],
            pods=[o for o in self.objects if isinstance(o, Pod)],
            queues=[o for o in self.objects if isinstance(o, Queue)],
            nodes=[o for o in self.objects if o.key.startswith("node")],
        )

    def ground(self) -> Ground:
        jobs = {job.key: job for job in self.jobs}
        return Ground(
            objects=self.objects, jobs=jobs, conf=Conf(), basis="a test", now=EPOCH, stale=""
        )

    def ask(self, *documents: JsonObject, **changes: Any) -> WhatIf:
        return what_if(self.ground(), WhatIfRequest(documents=list(documents), **changes))

    def shares(self) -> SharesAndOrder:
        return shares_of(self.ground().simulation(), Conf(), basis="a test")

    def waiting(self, queue: str, *, limit: int = 10, starts: Starts | None = None) -> WaitingList:
        return waiting_list(
            self.cluster_index(), self.reasons, queue, shares=self.shares(), limit=limit, stale="",
            starts=starts,
        )  # fmt: skip

    def estimate(self, name: str) -> tuple[float, str, list[str]]:
        found = explain(self.cluster_index(), self.reasons, f"{NAMESPACE}/{name}", self.ground())
        assert found is not None
        assert found.estimate is not None
        return found.estimate.in_seconds, found.estimate.basis, found.estimate.waits_for


def changed(obj: T, **fields: Any) -> T:
    return msgspec.structs.replace(obj, **fields)


def _placed(obj: ApiObject, placed: dict[str, str]) -> ApiObject:
    if isinstance(obj, Pod) and obj.key in placed:
        spec = changed(obj.spec, node_name=placed[obj.key])
        return changed(obj, spec=spec, status=changed(obj.status, phase="Running"))
    if isinstance(obj, PodGroup):
        return changed(obj, status=changed(obj.status, phase="Running" if placed else "Inqueue"))
    return obj


def only(answer: WhatIf) -> WhatIfJob:
    assert answer.refused == []
    assert answer.stable
    return answer.jobs[0]


def full() -> Cluster:
    """Two jobs on a full node."""
    return Cluster(queue(), node("node-1", cpu=4))


def volcanos(cluster: Cluster) -> Cluster:
    """The same, with groups named `<job>-<uid>`."""

    def renamed(obj: ApiObject) -> ApiObject:
        if isinstance(obj, PodGroup):
            return changed(obj, metadata=changed(obj.metadata, name=f"{obj.metadata.name}-u1"))
        if isinstance(obj, Pod) and GROUP_NAME in obj.metadata.annotations:
            name = obj.metadata.annotations[GROUP_NAME]
            annotations = {**obj.metadata.annotations, GROUP_NAME: f"{name}-u1"}
            return changed(obj, metadata=changed(obj.metadata, annotations=annotations))
        return obj

    cluster.objects = [renamed(obj) for obj in cluster.objects]
    words = [changed(word, group=f"{word.group}-u1") for word in cluster.reasons.values()]
    cluster.reasons = {word.group: word for word in words}
    return cluster
