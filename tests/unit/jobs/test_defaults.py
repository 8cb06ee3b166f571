"""Defaults of a vcjob: admission writes what the job-controller and the dashboard compute."""

from typing import Any

import msgspec
import pytest

from tests.unit.admission.objects import job, task, template, without, world
from vc.jobs.defaults import MAX_RETRY, with_defaults
from vc.model.api.job import Job
from vc.model.api.struct import JsonObject
from vc.model.compat import Compat
from vc.validation.job.defaults import default_job

PARTITIONS = {"totalPartitions": 4, "partitionSize": 2, "minPartitions": 3}
ON_HOST_NETWORK = task(template=template(hostNetwork=True))

JOBS: dict[str, JsonObject] = {
    "all values are written": job(),
    "only tasks": {**job(), "spec": {"tasks": [task()]}},
    "no tasks": {**job(), "spec": {}},
    "no scheduler": without(job(), "spec", "schedulerName"),
    "zeros": job(minAvailable=0, maxRetry=0),
    "a task without a name": job(tasks=[without(task(), "name"), task("b")]),
    "the minimum of a task": job(minAvailable=0, tasks=[task(minAvailable=1), task("b", 3)]),
    "partitions": job(minAvailable=0, tasks=[task(replicas=8, partitionPolicy=PARTITIONS)]),
    "the network of the host": job(tasks=[ON_HOST_NETWORK]),
}


@pytest.mark.parametrize("name", JOBS)
def test_admission_writes_the_defaults_that_controllers_compute(name: str) -> None:
    raw = JOBS[name]
    decoded = msgspec.convert(raw, Job)
    known = world(compat=Compat.UPSTREAM, scheduler_names=("mine", "volcano"))
    written = msgspec.convert(default_job(raw, decoded, world=known), Job)
    assert written.spec == with_defaults(decoded, "mine").spec


@pytest.mark.parametrize("name", JOBS)
def test_defaults_applied_twice_change_nothing(name: str) -> None:
    once = with_defaults(msgspec.convert(JOBS[name], Job), "mine")
    assert with_defaults(once, "another") == once


@pytest.mark.parametrize(
    ("fields", "least"),
    [({}, 2), ({"minAvailable": 0}, 0), ({"replicas": 8, "partitionPolicy": PARTITIONS}, 6)],
    ids=["all pods", "as written", "whole partitions"],
)
def test_the_minimum_of_a_task(fields: dict[str, Any], least: int) -> None:
    raw = job(tasks=[task(**fields)])
    (found,) = with_defaults(msgspec.convert(raw, Job), "mine").spec.tasks
    assert found.min_available == least
    assert found.max_retry == MAX_RETRY
