"""What may change on a vcjob."""

import copy
from typing import Any

import msgspec
import pytest

from tests.unit.admission.objects import ask, assert_answers, case_id, job, task, template, world
from vc.model.api.kinds import JOBS
from vc.model.api.struct import JsonObject
from vc.validation.request import ReviewRequest
from vc.validation.rules import defaulted

OLD = job(
    minAvailable=2,
    volumes=[{"mountPath": "/d", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}],
    tasks=[
        task(replicas=4, minAvailable=2),
        task("split", replicas=4, partitionPolicy={"totalPartitions": 2, "partitionSize": 2}),
    ],
)


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A path, its new value, and what the answer must say."""

    says: str
    path: tuple[str | int, ...]
    value: Any
    refused: str = ""


CHANGES = (
    Change(says="the gang may change", path=("minAvailable",), value=3),
    Change(says="replicas may change", path=("tasks", 0, "replicas"), value=6),
    Change(says="a task's gang may change", path=("tasks", 0, "minAvailable"), value=4),
    Change(says="the priority class may change", path=("priorityClassName",), value="high"),
    Change(says="the name of a made claim may change", path=("volumes", 0, "volumeClaimName"),
           value="train-volume-x"),
    Change(says="the gang is not negative", path=("minAvailable",), value=-1, refused="0 or more"),
    Change(says="the gang is at most all replicas", path=("minAvailable",), value=9,
           refused="is more than the 8 replicas"),
    Change(says="replicas stay above the task's gang", path=("tasks", 0, "replicas"), value=1,
           refused="spec.tasks[0].minAvailable: 2: is more than replicas 1"),
    Change(says="replicas are not negative", path=("tasks", 0, "replicas"), value=-1,
           refused="must be 0 or more"),
    Change(says="a partitioned task cannot be scaled", path=("tasks", 1, "replicas"), value=6,
           refused="must equal replicas 6"),
    Change(says="the queue is fixed", path=("queue",), value="other",
           refused='spec.queue: "other": may not be changed on a job'),
    Change(says="the scheduler is fixed", path=("schedulerName",), value="other",
           refused="spec.schedulerName"),
    Change(says="policies are fixed", path=("policies",),
           value=[{"event": "*", "action": "AbortJob"}], refused="spec.policies"),
    Change(says="templates are fixed", path=("tasks", 0, "template", "spec", "restartPolicy"),
           value="Never", refused="spec.tasks[0].template.spec.restartPolicy"),
    Change(says="a task's name is fixed", path=("tasks", 0, "name"), value="other",
           refused="spec.tasks[0].name"),
    Change(says="mount paths are fixed", path=("volumes", 0, "mountPath"), value="/e",
           refused="spec.volumes[0].mountPath"),
    Change(says="the number of tasks is fixed", path=("tasks",), value=[task()],
           refused="had 2 tasks and now 1"),
    Change(says="a wrong type is refused", path=("tasks", 0, "replicas"), value="six",
           refused="spec.tasks[0].replicas"),
)  # fmt: skip


def changed(path: tuple[str | int, ...], value: Any) -> JsonObject:
    raw = copy.deepcopy(OLD)
    inner: Any = raw["spec"]
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    return raw


@pytest.mark.parametrize("change", CHANGES, ids=case_id)
def test_change(change: Change) -> None:
    new = changed(change.path, change.value)
    response = ask("/jobs/validate", new, old=OLD, operation="UPDATE")
    assert_answers(response, change.refused)


def test_nothing_changed_is_fine_even_in_a_queue_that_is_gone() -> None:
    gone = changed(("queue",), "gone")
    assert ask("/jobs/validate", gone, old=gone, operation="UPDATE").allowed


def test_a_job_that_is_being_deleted_may_lose_its_finalizers() -> None:
    new = changed(("queue",), "other")
    new["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert ask("/jobs/validate", new, old=OLD, operation="UPDATE").allowed


def manifest(**spec: Any) -> JsonObject:
    """A file as people write it: the least, and a device whose limit is filled in."""
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"nvidia.com/gpu": "1"}}}]
    raw = job(plugins={"pytorch": []}, tasks=[{"replicas": 2, "template": template()}])
    raw["spec"]["tasks"][0]["template"]["spec"]["containers"] = containers
    raw["spec"]["tasks"][0]["template"]["spec"]["hostNetwork"] = True
    for name in ("schedulerName", "queue", "minAvailable", "maxRetry"):
        del raw["spec"][name]
    raw["spec"].update(spec)
    return raw


def let_in(raw: JsonObject) -> JsonObject:
    """The job as it is stored: with its defaults."""
    request = ReviewRequest(uid="1", operation="CREATE", object=raw)
    return defaulted(request, world(), kind=JOBS)


def applied(stored: JsonObject, file: JsonObject) -> JsonObject:
    """What client-side apply makes of it: members stay, lists are the file's."""
    return {**stored, "spec": {**stored["spec"], **file["spec"]}}


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was applied, what is changed in its task or its spec, and the answer."""

    says: str
    task: JsonObject = {}
    spec: JsonObject = {}
    was: JsonObject = {}
    """What the task had in the file that made the job."""
    refused: str = ""


FILES = (
    Applied(says="the same file again changes nothing"),
    Applied(says="replicas grow", task={"replicas": 5}),
    Applied(says="replicas shrink with the gang", task={"replicas": 1}, spec={"minAvailable": 1}),
    Applied(says="a gang that stays is not forgotten", task={"replicas": 1},
            refused="spec.minAvailable: 2: is more than the 1 replicas"),
    Applied(says="a default that is written out is no change", task={"maxRetry": 3, "name": "default0"}),
    Applied(says="another number of retries is one", task={"maxRetry": 7},
            refused="spec.tasks[0].maxRetry: 7: may not be changed"),
    Applied(says="so is to leave out what was not the default", was={"maxRetry": 7},
            refused="spec.tasks[0].maxRetry: 3: may not be changed"),
    Applied(says="another name is one", task={"name": "worker"}, refused="spec.tasks[0].name"),
    Applied(says="a task's gang that is left out is all its pods", was={"minAvailable": 1},
            task={"replicas": 4}),
)  # fmt: skip


@pytest.mark.parametrize("case", FILES, ids=case_id)
@pytest.mark.parametrize("defaulted_before", [True, False], ids=["mutated", "validated-alone"])
def test_a_file_that_is_applied_again(case: Applied, defaulted_before: bool) -> None:
    first, second = manifest(), manifest(**case.spec)
    first["spec"]["tasks"][0].update(case.was)
    second["spec"]["tasks"][0].update(case.task)
    stored = let_in(first)
    new = applied(stored, second)
    if defaulted_before:
        new = let_in(new)
    response = ask("/jobs/validate", new, old=stored, operation="UPDATE")
    assert_answers(response, case.refused)


def test_a_whole_file_may_be_put_in_place_of_the_job() -> None:
    """`kubectl replace` sends what the file has, without queue, scheduler and the like."""
    response = ask("/jobs/validate", manifest(), old=let_in(manifest()), operation="UPDATE")
    assert_answers(response, "")
    elsewhere = let_in(manifest(queue="other"))
    response = ask("/jobs/validate", manifest(), old=elsewhere, operation="UPDATE")
    assert_answers(response, 'spec.queue: "default": may not be changed')


def test_a_job_that_is_older_than_us_may_get_its_defaults() -> None:
    assert_answers(
        ask("/jobs/validate", let_in(manifest()), old=manifest(), operation="UPDATE"), ""
    )
