"""What would be: trials of manifests, who holds what, and estimates with what they rest on."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import pytest

from tests.unit.scheduler.objects import EPOCH, node, nodes, priority_class, queue
from vc_dashboard.logic.endings import Durations, stem_of
from vc_dashboard.logic.explaining import explain, waiting_list
from vc_dashboard.logic.future_answers import AddNodes, WhatIf, WhatIfJob, WhatIfQuestion
from vc_dashboard.logic.manifests import PODS_MAX, ManifestError, make
from vc_dashboard.logic.picture import Picture, make_picture
from vc_dashboard.logic.trying import Ground, queue_shares, what_if
from vc_messages.sessions import JobReason, Stage
from vc_model.job import Job, JobCondition, JobState, JobStatus
from vc_model.meta import ApiObject
from vc_model.pod import Pod
from vc_model.scheduling import PodGroup, Queue
from vc_model.struct import JsonObject
from vc_model.times import format_time
from vc_scheduler.logic.conf import Conf
from vc_scheduler.logic.what_if import Trial

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
        trial = Trial([*self.objects, *made.objects], Conf(), now=EPOCH)
        outcome = trial.settle()
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
        self.jobs.append(_with(job, status=status))

    def done(self, name: str, seconds: float) -> None:
        """A job of the past that took so long."""
        conditions = [
            JobCondition(status="Running", last_transition_time=format_time(EPOCH - 9000)),
            JobCondition(status="Completed", last_transition_time=format_time(EPOCH - 9000 + seconds)),
        ]  # fmt: skip
        made = make([manifest(name, 1)], queues={}, priorities={}, now=EPOCH)
        status = JobStatus(state=JobState(phase="Completed"), conditions=conditions)
        self.jobs.append(_with(made.jobs[0], status=status))

    def picture(self) -> Picture:
        return make_picture(
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
        return what_if(self.ground(), WhatIfQuestion(documents=list(documents), **changes))

    def estimate(self, name: str) -> tuple[float, str, list[str]]:
        found = explain(self.picture(), self.reasons, f"{NAMESPACE}/{name}", self.ground())
        assert found is not None
        assert found.estimate is not None
        return found.estimate.in_seconds, found.estimate.basis, found.estimate.waits_for


def _with(obj: T, **fields: Any) -> T:
    return msgspec.structs.replace(obj, **fields)


def _placed(obj: ApiObject, placed: dict[str, str]) -> ApiObject:
    if isinstance(obj, Pod) and obj.key in placed:
        spec = _with(obj.spec, node_name=placed[obj.key])
        return _with(obj, spec=spec, status=_with(obj.status, phase="Running"))
    if isinstance(obj, PodGroup):
        return _with(obj, status=_with(obj.status, phase="Running" if placed else "Inqueue"))
    return obj


def only(answer: WhatIf) -> WhatIfJob:
    assert answer.refused == []
    assert answer.stable
    return answer.jobs[0]


# -- what-if ------------------------------------------------------------------------------------


def test_a_job_that_fits_says_where_it_would_run() -> None:
    job = only(Cluster(queue(), nodes(2, cpu=4)).ask(manifest("a", 3, cpu="2")))
    assert (job.namespace, job.name, job.runs, job.placements_total) == (NAMESPACE, "a", True, 3)
    assert {pod.pod for pod in job.placements} == {f"ml/a-w-{n}" for n in range(3)}
    assert {pod.node for pod in job.placements} <= {"node-01", "node-02"}
    assert job.reason is None


def test_a_job_that_does_not_fit_says_why_and_more_nodes_help() -> None:
    cluster = Cluster(queue(), nodes(2, cpu=4))
    job = only(cluster.ask(manifest("a", 3, cpu="3")))
    assert not job.runs
    assert job.reason is not None
    assert (job.reason.stage, job.reason.needed_pods) == (Stage.GANG, 3)
    assert only(cluster.ask(manifest("a", 3, cpu="3"), add_nodes=AddNodes(count=1))).runs
    like = AddNodes(count=1, like="node-02")
    assert only(cluster.ask(manifest("a", 3, cpu="3"), add_nodes=like)).runs


def test_pods_that_are_not_made_yet_name_the_scheduler_that_we_are() -> None:
    made = make([manifest("a", 2)], queues={}, priorities={}, now=EPOCH)
    (job,) = made.jobs
    groups = [o for o in made.objects if isinstance(o, PodGroup)]
    cluster = Cluster(queue(), nodes(1, cpu=4), groups)
    cluster.jobs = [_with(job, spec=_with(job.spec, scheduler_name=""))]
    ground = _with(cluster.ground(), scheduler_names=("mine", "also"))
    assert len(ground.trial().settle().placements[job.key]) == 2


def test_whose_pods_are_tried_is_what_the_scheduler_is_told() -> None:
    ground = _with(Cluster(queue(), nodes(1, cpu=4)).ground(), scheduler_names=("mine", "also"))

    def ask(scheduler: str) -> WhatIf:
        document = manifest("a", 2)
        if scheduler:
            document["spec"]["schedulerName"] = scheduler
        return what_if(ground, WhatIfQuestion(documents=[document]))

    for scheduler in ("", "mine", "also"):
        assert only(ask(scheduler)).runs
        assert ask(scheduler).notes == []
    answer = ask("volcano")
    assert not only(answer).runs
    assert answer.notes == [
        "ml/a: schedulerName 'volcano' places its pods; only those of mine, also are tried"
    ]


def test_more_nodes_alone_say_who_would_start() -> None:
    cluster = Cluster(queue(), nodes(1, cpu=4))
    cluster.run(manifest("big", 2, cpu="3"))
    answer = cluster.ask(add_nodes=AddNodes(count=1))
    assert [(job.name, job.runs) for job in answer.jobs] == [("big", True)]


def test_a_job_that_is_dropped_makes_room() -> None:
    cluster = Cluster(queue(), nodes(1, cpu=4))
    cluster.run(manifest("old", 4))
    assert not only(cluster.ask(manifest("new", 2))).runs
    assert only(cluster.ask(manifest("new", 2), drop_jobs=["ml/old"])).runs


def test_victims_are_named() -> None:
    cluster = Cluster(queue(), priority_class("high", 9), nodes(1, cpu=4))
    cluster.run(manifest("low", 4, minimum=1))
    answer = cluster.ask(manifest("urgent", 2, priority="high"))
    job = only(answer)
    assert job.runs
    assert {victim.group for victim in job.victims} == {"ml/low"}
    assert answer.victims_total == len(job.victims) == 2
    assert answer.sessions >= 2, "the victims must be gone first"


def test_a_changed_queue_counts() -> None:
    cluster = Cluster(queue(), queue("team", capability={"cpu": "1"}), nodes(1, cpu=8))
    asked = manifest("a", 2, queue="team")
    refused = only(cluster.ask(asked)).reason
    assert refused is not None
    assert refused.stage is Stage.QUOTA
    assert only(cluster.ask(queue_manifest("team", capability={"cpu": "4"}), asked)).runs
    assert only(cluster.ask(queue_manifest("fresh"), manifest("b", 1, queue="fresh"))).runs


def test_what_admission_would_refuse_is_not_tried() -> None:
    bad = manifest("a", 2)
    bad["spec"]["minAvailable"] = 9
    answer = Cluster(queue(), nodes(1)).ask(bad)
    assert answer.jobs == []
    assert "minAvailable" in answer.refused[0]


@pytest.mark.parametrize(
    ("documents", "changes", "said"),
    [
        ([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}], {}, "write a Job"),
        ([], {"add_nodes": AddNodes(count=0)}, "addNodes.count 0"),
        ([], {"add_nodes": AddNodes(count=1, like="ghost")}, "there is no node 'ghost'"),
        ([], {"drop_jobs": ["ml/ghost"]}, "there is no pod group 'ml/ghost'"),
        ([manifest("huge", PODS_MAX + 1)], {}, f"more than {PODS_MAX} pods"),
    ],
)
def test_a_question_that_cannot_be_used_says_why(
    documents: list[JsonObject], changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ManifestError, match=said):
        Cluster(queue(), nodes(1)).ask(*documents, **changes)


def test_shares_are_those_of_the_plugins() -> None:
    cluster = Cluster(queue("a", weight=3), queue("b", weight=1), nodes(1, cpu=8))
    cluster.run(manifest("one", 8, queue="a"))
    cluster.run(manifest("two", 8, queue="b"))
    shares = {share.name: share for share in queue_shares(cluster.ground()).queues}
    assert shares["a"].deserved["cpu"] == "6"
    assert shares["b"].deserved["cpu"] == "2"
    assert shares["a"].overused


# -- explanations --------------------------------------------------------------------------------


def full() -> Cluster:
    """Two jobs on a full node."""
    return Cluster(queue(), node("node-1", cpu=4))


def test_an_estimate_rests_on_the_jobs_own_word() -> None:
    cluster = full()
    cluster.run(manifest("first", 2, estimate="10m"), since=60)
    cluster.run(manifest("second", 2, estimate="1h"), since=60)
    cluster.run(manifest("waits", 2, estimate="5m"))
    seconds, basis, waits_for = cluster.estimate("waits")
    assert seconds == 540
    assert waits_for == ["ml/first"]
    assert "when ml/first has ended (its runningEstimate of 10m)" in basis
    cluster.run(manifest("wide", 4))
    seconds, basis, waits_for = cluster.estimate("wide")
    assert seconds == 3540, "after both, and after the one that is before it"
    assert waits_for == ["ml/first", "ml/waits", "ml/second"]


def test_an_estimate_rests_on_deadlines() -> None:
    cluster = full()
    cluster.run(manifest("first", 4, deadline=300), since=100)
    cluster.run(manifest("waits", 2))
    seconds, basis, _ = cluster.estimate("waits")
    assert seconds == 200
    assert "activeDeadlineSeconds of 300" in basis


def test_an_estimate_rests_on_what_jobs_like_it_took() -> None:
    cluster = full()
    for number, took in enumerate((100, 400, 900)):
        cluster.done(f"train-{number}", took)
    cluster.run(manifest("train-7", 4), since=60)
    cluster.run(manifest("waits", 2))
    seconds, basis, _ = cluster.estimate("waits")
    assert seconds == 340
    assert "3 finished jobs train* took 6m40s" in basis


def test_without_a_basis_there_is_no_estimate() -> None:
    cluster = full()
    cluster.run(manifest("first", 4))
    cluster.run(manifest("waits", 2))
    seconds, basis, waits_for = cluster.estimate("waits")
    assert (seconds, waits_for) == (0.0, [])
    assert basis.startswith("no basis: nothing says when ml/first end")


def test_a_job_without_pods_gets_them_when_it_is_let_in() -> None:
    cluster = full()
    cluster.run(manifest("first", 4, estimate="10m"), since=60)
    cluster.run(manifest("waits", 2))
    cluster.objects = [
        _with(obj, status=_with(obj.status, phase="Pending")) if isinstance(obj, PodGroup) else obj
        for obj in cluster.objects
        if not (isinstance(obj, Pod) and obj.key.startswith("ml/waits"))
    ]
    assert cluster.estimate("waits")[0] == 540


def test_a_job_over_its_estimate_has_none() -> None:
    cluster = full()
    cluster.run(manifest("late", 4, estimate="10s"), since=60)
    assert Durations(cluster.picture()).ends(now=EPOCH) == []


def test_who_holds_what_is_missing_and_who_is_before_it() -> None:
    cluster = full()
    cluster.run(manifest("first", 3, estimate="10m"))
    cluster.run(manifest("small", 1))
    cluster.run(manifest("older", 3))
    cluster.run(manifest("younger", 3))
    found = explain(cluster.picture(), cluster.reasons, "ml/younger", cluster.ground())
    assert found is not None
    assert [(h.group, h.pods, h.amounts["cpu"]) for h in found.holders] == [
        ("ml/first", 3, "3"),
        ("ml/small", 1, "1"),
    ]
    assert found.holders[0].basis == "its runningEstimate of 10m"
    assert found.holders[1].ends_at == ""
    assert (found.position, found.ahead) == (2, ["ml/older"])
    waiting = waiting_list(cluster.reasons, "default", limit=10, stale="")
    assert [(row.position, row.group) for row in waiting.waiting] == [
        (1, "ml/older"),
        (2, "ml/younger"),
    ]
    assert waiting_list(cluster.reasons, "default", limit=1, stale="").total == 2


def test_a_job_that_runs_needs_no_explanation() -> None:
    cluster = full()
    cluster.run(manifest("runs", 1))
    found = explain(cluster.picture(), cluster.reasons, "ml/runs", cluster.ground())
    assert found is not None
    assert (found.explanation, found.estimate, found.holders) == (None, None, [])
    assert explain(cluster.picture(), {}, "ml/ghost", cluster.ground()) is None


@pytest.mark.parametrize(
    ("name", "stem"),
    [("train-7", "train"), ("train-x8k2p", "train"), ("nightly20", "nightly"), ("train", "train")],
)
def test_names_without_their_number(name: str, stem: str) -> None:
    assert stem_of(name) == stem
