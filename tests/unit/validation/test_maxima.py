"""Maxima of an administrator: tasks and replicas of a job, objects of a namespace."""

from typing import Any

import msgspec
import pytest

from tests.unit.admission.objects import ask, assert_answers, job, queue, task, world
from tests.unit.admission.rig import Rig
from vc.cluster import ForbiddenError
from vc.model.api.kinds import JOBS, QUEUES
from vc.model.api.struct import JsonObject
from vc.validation.maxima import Maxima
from vc.validation.request import UPDATE

PATH = "/jobs/validate"


def sized(*replicas: int, plugin: str = "svc", **fields: Any) -> JsonObject:
    tasks = [task(f"t{n}", count, **fields) for n, count in enumerate(replicas)]
    return job(minAvailable=1, plugins={plugin: []}, tasks=tasks)


def scaled(before: JsonObject, replicas: int) -> JsonObject:
    after: JsonObject = msgspec.json.decode(msgspec.json.encode(before))
    after["spec"]["tasks"][0]["replicas"] = replicas
    return after


LIMITED = world(maxima=Maxima(tasks=2, replicas=10, jobs=5))


@pytest.mark.parametrize(
    ("raw", "refused"),
    [
        (sized(5, 5, plugin="env"), ""),
        (sized(1, 1, 1, plugin="env"), "spec.tasks: 3: a job may have 2 tasks"),
        (sized(5, 6, plugin="env"), "spec.tasks[*].replicas: 11: a job may have 10 replicas"),
    ],
)
def test_maxima_of_a_job(raw: JsonObject, refused: str) -> None:
    assert_answers(ask(PATH, raw, LIMITED), refused)
    assert_answers(ask(PATH, raw), "")


def test_a_job_that_is_larger_than_a_later_maximum_is_not_stuck() -> None:
    old = sized(20, plugin="env")
    assert_answers(ask(PATH, scaled(old, 19), LIMITED, old=old, operation=UPDATE), "")
    grown = ask(PATH, scaled(old, 21), LIMITED, old=old, operation=UPDATE)
    assert_answers(grown, "spec.tasks[*].replicas: 21")


async def test_jobs_of_a_namespace_are_counted_where_a_maximum_is_set() -> None:
    rig = Rig()
    try:
        await _count_jobs(rig)
    finally:
        await rig.webhooks.close()


async def _count_jobs(rig: Rig) -> None:
    limits = world(maxima=Maxima(jobs=2)).settings
    async with rig.watcher(), rig.admission(settings=limits):
        await rig.cluster.create(QUEUES, queue("default"))
        for name in ("a", "b"):
            await rig.cluster.create(JOBS, _plain(name), namespace="default")
        with pytest.raises(ForbiddenError, match=r"metadata.namespace: has 2 jobs or more and may"):
            await rig.cluster.create(JOBS, _plain("c"), namespace="default")
        await rig.cluster.delete(JOBS, name="a", namespace="default")
        await rig.cluster.create(JOBS, _plain("c"), namespace="default")


def _plain(name: str) -> JsonObject:
    made = job(name)
    made["metadata"] = {"name": name}
    return made
