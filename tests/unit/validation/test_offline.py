"""The users' own manifests are accepted, on the server and offline."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.admission.objects import ask, job, queue, world
from vc.validation.offline import validate_documents

EXAMPLES = Path(__file__).parents[3] / "examples"


def gpu_task(name: str, replicas: int, kind: str, **fields: Any) -> Any:
    container = {
        "name": "c",
        "image": "pytorch-training:latest",
        "resources": {kind: {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}},
    }
    return {
        "name": name,
        "replicas": replicas,
        "template": {"spec": {"containers": [container]}},
        **fields,
    }


SEEDS = {
    "a queue with capability": queue("training-queue", capability={"nvidia.com/gpu": "32", "cpu": "128"}),
    "a queue with a guarantee and no deserved": queue(
        "ml-training",
        capability={"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "8"},
        guarantee={"resource": {"cpu": "16", "memory": "64Gi"}},
        priority=100,
    ),
    "a department": queue("dept-a", parent="root", weight=3),
    "a team below it": queue("team-a1", parent="dept-a", weight=2),
    "requests of GPUs without limits": job(
        "pytorch-ddp",
        minAvailable=4,
        plugins={"env": [], "svc": []},
        tasks=[gpu_task("worker", 4, "requests")],
    ),
    "limits of GPUs without requests": job(
        "urgent", minAvailable=2, tasks=[gpu_task("worker", 2, "limits")]
    ),
    "a gang smaller than the job": job(
        "tf-training",
        minAvailable=3,
        maxRetry=5,
        policies=[{"event": "PodEvicted", "action": "RestartJob"}],
        plugins={"ssh": [], "env": [], "svc": []},
        tasks=[
            gpu_task("ps", 1, "requests"),
            gpu_task(
                "worker", 4, "requests", policies=[{"event": "TaskCompleted", "action": "CompleteJob"}]
            ),
        ],
    ),
    "the job may be unknown": job(policies=[{"event": "JobUnknown", "action": "RestartJob"}]),
}  # fmt: skip


def test_the_documents_of_users_are_accepted_in_their_order() -> None:
    reports = validate_documents(SEEDS.values())
    assert [report.problems for report in reports] == [[]] * len(SEEDS)
    assert [report.name for report in reports][:2] == ["training-queue", "ml-training"]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_the_examples_are_accepted(path: Path) -> None:
    for report in validate_documents(yaml.safe_load_all(path.read_text())):
        assert report.problems == [], report.name


def test_an_unknown_queue_is_only_a_warning_offline() -> None:
    raw = job(queue="elsewhere")
    (report,) = validate_documents([raw])
    assert report.problems == []
    assert "'elsewhere' is not in the files" in report.warnings[0]
    assert not ask("/jobs/validate", raw, world()).allowed


def test_a_queue_in_the_file_is_known_to_the_job_after_it() -> None:
    closed = {**queue("q"), "status": {"state": "Closed"}}
    reports = validate_documents([closed, job(queue="q")])
    assert "is Closed" in str(reports[1].problems[0])


def test_lists_are_opened_and_other_kinds_are_passed_over() -> None:
    listed = {"kind": "List", "apiVersion": "v1", "items": [queue("q", weight=-1), {"kind": "X"}]}
    first, second = validate_documents([None, listed])
    assert (first.kind, first.name) == ("Queue", "q")
    assert "spec.weight" in str(first.problems[0])
    assert second.problems == []


def test_a_document_that_is_no_object_is_reported() -> None:
    (report,) = validate_documents(["text"])
    assert "is not an object" in str(report.problems[0])


def test_a_job_template_is_checked_offline() -> None:
    template = {
        "apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobTemplate",
        "metadata": {"name": "t"}, "spec": {"tasks": []},
    }  # fmt: skip
    (report,) = validate_documents([template])
    assert "No task specified" in str(report.problems[0])
