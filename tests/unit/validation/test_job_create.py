"""A vcjob that is created: names, tasks, minimums and topology, and how problems are reported."""

from typing import Any

import pytest

from tests.unit.admission.objects import (
    Case,
    ask,
    assert_answers,
    case_id,
    job,
    queue,
    read_queue,
    task,
    world,
)
from vc.model.compat import Compat


def with_policies(*policies: Any) -> Any:
    return job(policies=list(policies))


EVENT = {"event": "PodFailed", "action": "RestartJob"}


CASES = (
    Case(says="a plain job is accepted", object=job()),
    Case(says="a job without tasks is refused", object=job(tasks=[], minAvailable=0),
         refused="No task specified in job spec"),
    Case(says="the two highest tiers exclude each other",
         object=job(networkTopology={"highestTierAllowed": 1, "highestTierName": "rack"}),
         refused="exclude each other"),
    Case(says="one highest tier is accepted", object=job(networkTopology={"highestTierAllowed": 1})),
    Case(says="an unknown topology mode is refused", object=job(networkTopology={"mode": "firm"}),
         refused="must be hard or soft"),
    Case(says="a task's minAvailable is at most its replicas",
         object=job(tasks=[task(minAvailable=3)]),
         refused="spec.tasks[0].minAvailable: 3: is more than replicas 2"),
    Case(says="negative replicas are refused", object=job(tasks=[task(replicas=-1)]),
         refused="spec.tasks[0].replicas: -1: must be 0 or more"),
    Case(says="task names are unique", object=job(tasks=[task("a"), task("a")]),
         refused='spec.tasks[1].name: "a": is also the name of tasks[0]'),
    Case(says="task names are DNS labels", object=job(tasks=[task("Worker_1")]),
         refused="must be a DNS-1123 label"),
    Case(says="a pod name over 63 characters is refused",
         object=job("n" * 50, tasks=[task("t" * 12)]), refused="the pod name made of job and task"),
    Case(says="a pod name of 63 characters is accepted",
         object=job("n" * 50, tasks=[task("t" * 10)])),
    Case(says="a job name is a qualified name", object=job("-bad-"), refused="the job's name must be"),
    Case(says="a generated name counts with its suffix",
         object={**job(), "metadata": {"generateName": "run-"}}),
    Case(says="minAvailable is at most all replicas", object=job(minAvailable=5),
         refused="spec.minAvailable: 5: is more than the 2 replicas"),
    Case(says="NUMA needs whole CPUs",
         object=job(tasks=[task(topologyPolicy="restricted", template={"spec": {"containers": [
             {"name": "c", "image": "i", "resources": {"limits": {"cpu": "1500m"}}}]}})]),
         refused="topologyPolicy restricted needs a whole number of CPUs"),
    Case(says="NUMA takes whole CPUs from limits",
         object=job(tasks=[task(topologyPolicy="restricted", template={"spec": {"containers": [
             {"name": "c", "image": "i", "resources": {"limits": {"cpu": 2}}}]}})])),
    Case(says="an unknown NUMA policy is refused", object=job(tasks=[task(topologyPolicy="near")]),
         refused="spec.tasks[0].topologyPolicy"),
    Case(says="a wrong type is refused with its place",
         object=job(tasks=[{**task(), "replicas": "two"}]),
         refused="spec.tasks[0].replicas: Expected int, got str"),
    Case(says="minSuccess is at least 1", object=job(minSuccess=0), refused="spec.minSuccess: 0"),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_rule(case: Case) -> None:
    assert_answers(ask("/jobs/validate", case.object), case.refused)


def test_all_problems_are_reported_at_once() -> None:
    broken = job(queue="nowhere", minAvailable=9, plugins={"magic": []}, policies=[{}])
    message = ask("/jobs/validate", broken).message
    for part in ("spec.queue", "spec.minAvailable", "spec.plugins[magic]", "spec.policies[0]"):
        assert part in message


def test_a_message_about_a_million_mistakes_is_bounded() -> None:
    raw = job(policies=[{"exitCode": 0}] * 5000)
    response = ask("/jobs/validate", raw)
    assert not response.allowed
    assert len(response.message) <= 16_000
    assert "more problems" in response.message


def test_too_many_tasks_are_refused_and_not_defaulted() -> None:
    raw = job(tasks=[task(f"t{i}") for i in range(1001)])
    assert_answers(ask("/jobs/validate", raw), "more than 1000 tasks")
    assert ask("/jobs/mutate", raw).patch == []


def test_upstream_mode_puts_volcanos_message_first() -> None:
    raw = job(tasks=[])
    refused = ask("/jobs/validate", raw, world(compat=Compat.UPSTREAM))
    assert refused.message.startswith("No task specified in job spec: spec.tasks: []: ")
    assert ask("/jobs/validate", raw).message.startswith("spec.tasks: []: ")
    kept = ask("/queues/validate", None, world(compat=Compat.UPSTREAM), operation="DELETE", name="default")  # fmt: skip
    assert kept.message.startswith("`default` queue can not be deleted: metadata.name: ")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (job(minAvailable=99), "job 'minAvailable' should not be greater than total replicas in tasks: spec.minAvailable: 99: "),
        (job(tasks=[task("a"), task("a")]), "duplicated task name a: spec.tasks[1].name: "),
        (job(tasks=[task("a", replicas=1, minAvailable=2)], minAvailable=1), "'minAvailable' is greater than 'replicas' in task: a: spec.tasks[0].minAvailable: 2: "),
        (job(plugins={"nope": []}), "unable to find job plugin: nope: spec.plugins[nope]: "),
        (job(queue="none"), 'unable to find job queue: queues.scheduling.volcano.sh "none" not found: spec.queue: '),
        (job(queue="shut"), "can only submit job to queue with state `Open`, queue `shut` status is `Closed`: spec.queue: "),
        (job(queue="root"), "can not submit job to root queue: spec.queue: "),
        (job(tasks=[task("a", dependsOn={"name": ["a"]})]), "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG): "),
        (with_policies({"event": "PodFailed", "exitCode": 1, "action": "AbortJob"}), "must not specify event and exitCode simultaneously: "),
        (with_policies({"action": "AbortJob"}), "either event and exitCode should be specified: "),
        (with_policies({"exitCode": 0, "action": "AbortJob"}), "0 is not a valid error code: "),
        (with_policies(EVENT, EVENT), "duplicate event PodFailed: "),
        (with_policies({"event": "*", "action": "AbortJob"}, EVENT), "if there's * here, no other policy should be here: "),
    ],
    ids=lambda value: value.split(":")[0] if isinstance(value, str) else "",
)  # fmt: skip
def test_upstream_mode_has_volcanos_message_for(raw: Any, words: str) -> None:
    known = world(read_queue(queue("shut"), state="Closed"), compat=Compat.UPSTREAM)
    assert words in ask("/jobs/validate", raw, known).message
    assert words.split(": ")[0] not in ask("/jobs/validate", raw).message
