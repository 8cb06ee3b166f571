"""What may change on a vcjob."""

import copy
from typing import Any

import msgspec
import pytest

from tests.unit.admission.objects import ask, assert_answers, case_id, job, task
from vc_model.struct import JsonObject

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
