"""What-if: simulations of manifests, more nodes and deleted jobs."""

from typing import Any

import pytest

from tests.unit.dashboard.cluster import (
    NAMESPACE,
    Cluster,
    changed,
    full,
    manifest,
    only,
    queue_manifest,
    volcanos,
)
from tests.unit.scheduling.objects import EPOCH, nodes, priority_class, queue
from vc.dashboard.logic.answers.future_answers import AddNodes, WhatIf, WhatIfRequest
from vc.dashboard.logic.manifests import PODS_MAX, WhatIfManifestError, make
from vc.dashboard.logic.what_if import queue_shares, what_if
from vc.messages.sessions import Stage
from vc.model.api.scheduling import PodGroup
from vc.model.api.struct import JsonObject

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
    cluster.jobs = [changed(job, spec=changed(job.spec, scheduler_name=""))]
    ground = changed(cluster.ground(), scheduler_names=("mine", "also"))
    assert len(ground.simulation().run_sessions().placements[job.key]) == 2


def test_whose_pods_are_tried_is_what_the_scheduler_is_told() -> None:
    ground = changed(Cluster(queue(), nodes(1, cpu=4)).ground(), scheduler_names=("mine", "also"))

    def ask(scheduler: str) -> WhatIf:
        document = manifest("a", 2)
        if scheduler:
            document["spec"]["schedulerName"] = scheduler
        return what_if(ground, WhatIfRequest(documents=[document]))

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


def test_a_closed_queue_can_be_tried_open() -> None:
    cluster = Cluster(queue("shut", state="Closed"), nodes(1, cpu=8))
    asked = manifest("a", 1, queue="shut")
    assert not only(cluster.ask(queue_manifest("shut", weight=2), asked)).runs, "it keeps its state"
    opened = {**queue_manifest("shut"), "status": {"state": "Open"}}
    assert only(cluster.ask(opened, asked)).runs


def fact(api_version: str, kind: str, name: str, **fields: Any) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def test_a_node_of_another_kind_can_be_tried() -> None:
    cluster = Cluster(queue(), nodes(1, cpu=4))
    room = {"cpu": "9", "pods": "10"}
    large = fact("v1", "Node", "large", status={"allocatable": room})
    assert not only(cluster.ask(manifest("a", 1, cpu="8"))).runs
    answer = only(cluster.ask(manifest("a", 1, cpu="8"), large))
    assert [pod.node for pod in answer.placements] == ["large"]
    grown = fact("v1", "Node", "node-01", status={"allocatable": room})
    assert only(cluster.ask(manifest("a", 1, cpu="8"), grown)).runs


def test_a_priority_class_can_be_tried_with_the_job_that_names_it() -> None:
    cluster = Cluster(queue(), nodes(1, cpu=4))
    cluster.run(manifest("low", 4, minimum=1))
    high = fact("scheduling.k8s.io/v1", "PriorityClass", "high", value=9)
    assert only(cluster.ask(high, manifest("urgent", 2, priority="high"))).runs


def test_a_fact_without_a_name_is_none() -> None:
    with pytest.raises(WhatIfManifestError, match=r"Node: metadata.name is missing"):
        Cluster(queue(), nodes(1)).ask({"apiVersion": "v1", "kind": "Node", "metadata": {}})


def test_a_job_that_is_applied_again_keeps_its_place() -> None:
    cluster = Cluster(queue(), nodes(1, cpu=1))
    cluster.run(manifest("first", 2), since=90)
    cluster.run(manifest("second", 1, cpu="2"), since=30)
    again = manifest("first", 3)
    assert only(cluster.ask(again)).position == 1
    assert only(cluster.ask(manifest("third", 3))).position == 3


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
    with pytest.raises(WhatIfManifestError, match=said):
        Cluster(queue(), nodes(1)).ask(*documents, **changes)


def test_shares_are_those_of_the_plugins() -> None:
    cluster = Cluster(queue("a", weight=3), queue("b", weight=1), nodes(1, cpu=8))
    cluster.run(manifest("one", 8, queue="a"))
    cluster.run(manifest("two", 8, queue="b"))
    shares = {share.name: share for share in queue_shares(cluster.ground()).queues}
    assert shares["a"].deserved["cpu"] == "6"
    assert shares["b"].deserved["cpu"] == "2"
    assert shares["a"].overused


# -- groups that Volcano's controllers named ------------------------------------------------------


def test_a_job_whose_group_has_another_name_can_be_dropped_and_applied_again() -> None:
    cluster = full()
    cluster.run(manifest("old", 4))
    volcanos(cluster)
    assert not only(cluster.ask(manifest("new", 2))).runs
    assert only(cluster.ask(manifest("new", 2), drop_jobs=["ml/old"])).runs
    assert only(cluster.ask(manifest("new", 2), drop_jobs=["ml/old-u1"])).runs
    smaller = cluster.ask(manifest("old", 2), manifest("new", 2))
    assert [job.runs for job in smaller.jobs] == [True, True], "it takes its own place"


def test_a_job_whose_group_has_another_name_starts_under_its_own() -> None:
    cluster = Cluster(queue(), nodes(1, cpu=4))
    cluster.run(manifest("big", 2, cpu="3"))
    answer = volcanos(cluster).ask(add_nodes=AddNodes(count=1))
    assert [(job.name, job.runs) for job in answer.jobs] == [("big", True)]
