"""Each rule of a vcjob's creation: accepted where it holds, refused with its message where not."""

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
    template,
    world,
)
from vc.model.compat import Compat


def with_policies(*policies: Any) -> Any:
    return job(policies=list(policies))


def with_container(**fields: Any) -> Any:
    container = {"name": "main", "image": "busybox", **fields}
    return job(tasks=[task(template={"spec": {"containers": [container]}})])


EVENT = {"event": "PodFailed", "action": "RestartJob"}

CASES = (
    Case(says="a plain job is accepted", object=job()),
    Case(says="a job without tasks is refused", object=job(tasks=[], minAvailable=0),
         refused="No task specified in job spec"),
    Case(says="an mpi job needs its master task", object=job(plugins={"mpi": ["--master=boss"]}),
         refused='spec.plugins[mpi]: "boss": the master task is missing'),
    Case(says="an mpi job with its master is accepted",
         object=job(plugins={"mpi": ["--master=worker"]})),
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
    Case(says="an unknown plugin is refused", object=job(plugins={"magic": []}),
         refused='spec.plugins[magic]: "magic": there is no such plugin; known are env'),
    Case(says="a volume needs a mount path",
         object=job(volumes=[{"mountPath": "", "volumeClaimName": "data"}]),
         refused="spec.volumes[0].mountPath: is required"),
    Case(says="mount paths are unique",
         object=job(volumes=[{"mountPath": "/d", "volumeClaimName": "a"},
                             {"mountPath": "/d", "volumeClaimName": "b"}]),
         refused='spec.volumes[1].mountPath: "/d": is used twice'),
    Case(says="a volume names one claim only",
         object=job(volumes=[{"mountPath": "/d", "volumeClaimName": "a", "volumeClaim": {}}]),
         refused="has volumeClaim and volumeClaimName"),
    Case(says="a volume needs a claim", object=job(volumes=[{"mountPath": "/d"}]),
         refused="needs volumeClaim (to make one) or volumeClaimName"),
    Case(says="a claim's name is a subdomain",
         object=job(volumes=[{"mountPath": "/d", "volumeClaimName": "A B"}]),
         refused="must be a DNS-1123 subdomain"),
    Case(says="a volume with a claim is accepted",
         object=job(volumes=[{"mountPath": "/d", "volumeClaim": {"accessModes": []}}])),
    Case(says="an unknown queue is refused", object=job(queue="nowhere"),
         refused='spec.queue: "nowhere": there is no such queue; create it first'),
    Case(says="root takes no jobs", object=job(queue="root"), refused="root takes no jobs"),
    Case(says="a queue with children takes no jobs", object=job(queue="parent"),
         refused="only leaf queues take jobs; name one of: child"),
    Case(says="a leaf queue takes jobs", object=job(queue="child")),
    Case(says="a closed queue takes no jobs", object=job(queue="closed"),
         refused="the queue is Closed and takes no new jobs; open it with 'vcctl queue operate"),
    Case(says="a closing queue takes no jobs", object=job(queue="closing"), refused="is Closing"),
    Case(says="a queue without a state counts as open", object=job(queue="fresh")),
    Case(says="dependsOn names existing tasks",
         object=job(tasks=[task("a", dependsOn={"name": ["ghost"]})]),
         refused="task 'a' depends on a task that is not in this job, so it is not a DAG"),
    Case(says="dependsOn has no cycle",
         object=job(tasks=[task("a", dependsOn={"name": ["b"]}),
                           task("b", dependsOn={"name": ["a"]})]),
         refused="is not a DAG: a → b → a"),
    Case(says="dependsOn in order is accepted",
         object=job(tasks=[task("a"), task("b", dependsOn={"name": ["a"]})])),
    Case(says="partitions multiply to the replicas",
         object=job(tasks=[task(replicas=4, partitionPolicy={"totalPartitions": 3, "partitionSize": 2})]),
         refused="totalPartitions 3 x partitionSize 2 = 6 must equal replicas 4"),
    Case(says="minPartitions fit minAvailable",
         object=job(tasks=[task(replicas=4, minAvailable=3, partitionPolicy={
             "totalPartitions": 2, "partitionSize": 2, "minPartitions": 1})]),
         refused="must equal minPartitions 1 x partitionSize 2 = 2"),
    Case(says="fitting partitions are accepted",
         object=job(tasks=[task(replicas=4, minAvailable=2, partitionPolicy={
             "totalPartitions": 2, "partitionSize": 2, "minPartitions": 1})])),
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
    # policies
    Case(says="a policy of event and action is accepted", object=with_policies(EVENT)),
    Case(says="event and exit code exclude each other",
         object=with_policies({**EVENT, "exitCode": 1}), refused="has both an event and an exitCode"),
    Case(says="a policy needs an event or exit code", object=with_policies({"action": "RestartJob"}),
         refused="spec.policies[0]: needs an event, events or an exitCode"),
    Case(says="internal events are refused",
         object=with_policies({"event": "OutOfSync", "action": "RestartJob"}),
         refused='spec.policies[0].event: "OutOfSync": is internal'),
    Case(says="unknown events are refused",
         object=with_policies({"event": "PodSad", "action": "RestartJob"}), refused="is no event"),
    Case(says="internal actions are refused",
         object=with_policies({"event": "PodFailed", "action": "SyncJob"}), refused="is no action"),
    Case(says="an event may appear once",
         object=with_policies(EVENT, {"events": ["PodFailed"], "action": "AbortJob"}),
         refused="is already used by spec.policies[0]"),
    Case(says="any event must be alone",
         object=with_policies(EVENT, {"event": "*", "action": "AbortJob"}),
         refused="'*' covers every event, so it must be alone; remove PodFailed"),
    Case(says="any event may stand beside exit codes",
         object=with_policies({"event": "*", "action": "AbortJob"},
                              {"exitCode": 3, "action": "RestartJob"})),
    Case(says="exit code 0 is refused", object=with_policies({"exitCode": 0, "action": "AbortJob"}),
         refused="0 is success"),
    Case(says="a policy with an exit code needs a known action",
         object=with_policies({"exitCode": 3, "action": "SyncJob"}),
         refused='spec.policies[0].action: "SyncJob": is no action'),
    Case(says="a policy with an exit code needs an action", object=with_policies({"exitCode": 3}),
         refused='spec.policies[0].action: "": is no action'),
    Case(says="an exit code may appear once",
         object=with_policies({"exitCode": 3, "action": "AbortJob"},
                              {"exitCode": 3, "action": "RestartJob"}),
         refused="is already used by spec.policies[0]"),
    Case(says="task policies follow the same rules",
         object=job(tasks=[task(policies=[{"exitCode": 0}])]),
         refused="spec.tasks[0].policies[0].exitCode"),
    Case(says="JobUnknown is another name of Unknown",
         object=with_policies({"event": "JobUnknown", "action": "RestartJob"})),
    Case(says="JobUnknown and Unknown are one event",
         object=with_policies({"event": "JobUnknown", "action": "RestartJob"},
                              {"event": "Unknown", "action": "AbortJob"}),
         refused="is already used"),
    # templates
    Case(says="a pod needs a container", object=job(tasks=[task(template={"spec": {}})]),
         refused="spec.tasks[0].template.spec.containers: a pod needs a container"),
    Case(says="a container needs an image", object=with_container(image=""),
         refused='containers[0].image: "": is required'),
    Case(says="a container's name is a label", object=with_container(name="Main"),
         refused='containers[0].name: "Main": must be a DNS-1123 label'),
    Case(says="quantities can be read", object=with_container(resources={"requests": {"cpu": "two"}}),
         refused="is not a quantity; write one like 500m"),
    Case(says="quantities are not negative",
         object=with_container(resources={"requests": {"cpu": "-1"}}), refused="must not be negative"),
    Case(says="requests fit in limits",
         object=with_container(resources={"requests": {"cpu": 2}, "limits": {"cpu": 1}}),
         refused="is more than the limit 1"),
    Case(says="devices are whole",
         object=with_container(resources={"limits": {"nvidia.com/gpu": "500m"}}),
         refused="must be a whole number"),
    Case(says="a device's request equals its limit",
         object=with_container(resources={"requests": {"nvidia.com/gpu": 1},
                                          "limits": {"nvidia.com/gpu": 2}}),
         refused="must equal the limit 2"),
    Case(says="ports are in range", object=with_container(ports=[{"containerPort": 70000}]),
         refused="must be 1 to 65535"),
    Case(says="mounts name volumes",
         object=with_container(volumeMounts=[{"name": "data", "mountPath": "/d"}]),
         refused="names no volume of this pod"),
    Case(says="restart policies are known", object=job(tasks=[task(template=template(
         restartPolicy="Sometimes"))]), refused="must be one of Always, OnFailure, Never"),
    Case(says="label values are checked", object=job(tasks=[task(template={
         **template(), "metadata": {"labels": {"a": "not a value"}}})]),
         refused="a label value must be a qualified name"),
)  # fmt: skip

KNOWN = world(
    read_queue(queue("parent")),
    read_queue(queue("child", parent="parent")),
    read_queue(queue("closed"), state="Closed"),
    read_queue(queue("closing"), state="Closing"),
    read_queue(queue("fresh")),
)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_rule(case: Case) -> None:
    assert_answers(ask("/jobs/validate", case.object, KNOWN), case.refused)


def test_all_problems_are_told_at_once() -> None:
    broken = job(queue="nowhere", minAvailable=9, plugins={"magic": []}, policies=[{}])
    message = ask("/jobs/validate", broken).message
    for part in ("spec.queue", "spec.minAvailable", "spec.plugins[magic]", "spec.policies[0]"):
        assert part in message


def test_upstream_mode_knows_no_other_name_of_unknown() -> None:
    known = world(compat=Compat.UPSTREAM)
    raw = with_policies({"event": "JobUnknown", "action": "RestartJob"})
    assert_answers(ask("/jobs/validate", raw, known), "is no event")


def test_upstream_mode_warns_of_an_unknown_action_of_an_exit_code() -> None:
    """Volcano accepts such a policy and ignores it."""
    raw = with_policies({"exitCode": 3, "action": "SyncJob"})
    response = ask("/jobs/validate", raw, world(compat=Compat.UPSTREAM))
    assert_answers(response, "")
    assert any("spec.policies[0].action: is no action" in text for text in response.warnings)


def test_upstream_mode_wants_a_limit_for_devices() -> None:
    raw = with_container(resources={"requests": {"nvidia.com/gpu": 1}})
    assert_answers(ask("/jobs/validate", raw, world(compat=Compat.UPSTREAM)), "must be set")
    assert_answers(ask("/jobs/validate", raw), "")


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


def test_upstream_mode_says_volcanos_words_first() -> None:
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
def test_upstream_mode_has_volcanos_words_for(raw: Any, words: str) -> None:
    known = world(read_queue(queue("shut"), state="Closed"), compat=Compat.UPSTREAM)
    assert words in ask("/jobs/validate", raw, known).message
    assert words.split(": ")[0] not in ask("/jobs/validate", raw).message
