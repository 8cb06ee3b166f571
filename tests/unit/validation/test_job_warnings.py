"""Warnings of a vcjob that is accepted but will not do what its author expects."""

from typing import Any

import msgspec
import pytest

from tests.unit.admission.objects import ask, case_id, job, queue, read_queue, task, template, world
from vc.model.api.struct import JsonObject

MASTER = [{"event": "TaskCompleted", "action": "CompleteJob"}]


def pytorch(*arguments: str, master: str = "master", **fields: Any) -> JsonObject:
    return job(
        plugins={"pytorch": list(arguments)},
        tasks=[task(master, 1, **fields), task("worker", 2)],
    )


class Trap(msgspec.Struct, frozen=True, kw_only=True):
    """A job and the warning it gets; none when nothing is to be said."""

    says: str
    object: JsonObject
    warning: str = ""


TRAPS = (
    Trap(says="a plain job gets no warning", object=job()),
    Trap(says="a template of another scheduler",
         object=job(tasks=[task(template=template(schedulerName="default-scheduler"))]),
         warning="spec.tasks[0].template.spec.schedulerName: 'default-scheduler': another scheduler"),
    Trap(says="a missing scheduler where the job's is another",
         object=job(schedulerName="default-scheduler"),
         warning="is missing and the job's is 'default-scheduler'"),
    Trap(says="a template of our scheduler is fine",
         object=job(tasks=[task(template=template(schedulerName="volcano"))])),
    Trap(says="a gang larger than the queue may ever have", object=job(queue="small"),
         warning="2 pods need cpu 2, more than the capability 1.5 of queue 'small'"),
    Trap(says="a gang larger than a queue above may ever have", object=job(queue="below"),
         warning="of queue 'above'"),
    Trap(says="a smaller gang in the same queue is fine", object=job(queue="small", minAvailable=1)),
    Trap(says="a gang with dependsOn",
         object=job(minAvailable=4, tasks=[task("a"), task("b", dependsOn={"name": ["a"]})]),
         warning="b wait for other tasks (dependsOn) and only 2 pods start at first"),
    Trap(says="dependsOn outside of the gang is fine",
         object=job(minAvailable=2, tasks=[task("a"), task("b", dependsOn={"name": ["a"]})])),
    Trap(says="an argument that names no task", object=pytorch("--worker=helper", policies=MASTER),
         warning="spec.plugins[pytorch]: --worker=helper: no task of this job has that name"),
    Trap(says="a pytorch master that is its own worker",
         object=pytorch("--worker=master", policies=MASTER),
         warning="spec.plugins[pytorch]: --worker=master is also the task of --master"),
    Trap(says="a ray head that is its own worker",
         object=job(plugins={"ray": ["--head=worker", "--worker=worker"]}),
         warning="spec.plugins[ray]: --worker=worker is also the task of --head"),
    Trap(says="a default that names no task", object=pytorch(master="boss", policies=MASTER),
         warning="no task is named 'master', so MASTER_ADDR"),
    Trap(says="an argument the plugin does not take",
         object=pytorch("--prot=1", policies=MASTER),
         warning="--prot is ignored: this plugin takes --master"),
    Trap(says="a pytorch master without end", object=pytorch(),
         warning="spec.tasks[0].policies: the pytorch master has no TaskCompleted policy"),
    Trap(says="a pytorch master with its end is fine", object=pytorch(policies=MASTER)),
    Trap(says="an end on the job is fine",
         object={**pytorch(), "spec": {**pytorch()["spec"], "policies": MASTER}}),
    Trap(says="an mpi master without end",
         object=job(plugins={"mpi": ["--master=boss"]}, tasks=[task("boss", 1), task("worker")]),
         warning="the mpi master has no TaskCompleted policy"),
    Trap(says="a last pod whose name is too long for a host",
         object=job("n" * 50, tasks=[task("t" * 10, 1000)]), warning="more than the 63 of a host"),
)  # fmt: skip

KNOWN = world(
    read_queue(queue("small", capability={"cpu": "1500m"})),
    read_queue(queue("above", capability={"cpu": 1})),
    read_queue(queue("below", parent="above")),
)


@pytest.mark.parametrize("trap", TRAPS, ids=case_id)
def test_trap(trap: Trap) -> None:
    response = ask("/jobs/validate", trap.object, KNOWN)
    assert response.allowed, response.message
    if trap.warning:
        assert any(trap.warning in warning for warning in response.warnings), response.warnings
    else:
        assert response.warnings == []


def test_warnings_are_short_and_few() -> None:
    raw = job(plugins={"env": [f"--{'x' * 500}{i}" for i in range(100)]})
    warnings = ask("/jobs/validate", raw).warnings
    assert len(warnings) <= 16
    assert all(len(warning) <= 256 for warning in warnings)
