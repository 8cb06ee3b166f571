"""One object or record that cannot be processed is told of, and everything else goes on.

Each case was a crash loop for everybody, or a hang. A service that raises shows in `Stack.problems`.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
import pytest

from tests.simulation.stack import CORE, Stack, gang_job
from vc.clock import run_virtual
from vc.messages.codec import decode
from vc.messages.dead_letters import DeadLetter
from vc.messages.facts import Stamp, fact_message
from vc.messages.progress import progress_of
from vc.messages.record import Record, TopicPartition
from vc.messages.topics import DEAD_LETTERS, PROGRESS
from vc.model.api import keys
from vc.model.api.kinds import CONFIGMAPS, EVENTS, JOBS, PODS, QUEUES, REPLICASETS, Kind
from vc.model.api.meta import ObjectMeta
from vc.model.api.pod import Pod
from vc.model.api.scheduling import Queue
from vc.model.api.struct import JsonObject
from vc.runtime.containment.problems import REASON

ALL: Final = (*CORE, "podgroup-controller")
DIGITS: Final = "9" * 5_000

Trouble = Callable[[Stack], Awaitable[object]]


def plain_pod(name: str, **spec: object) -> JsonObject:
    """Of no vcjob, for our scheduler."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"schedulerName": "volcano", "containers": [container], **spec},
    }


async def digits_on_a_replica_set(stack: Stack) -> None:
    body: JsonObject = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "odd", "annotations": {keys.GROUP_MIN_MEMBER: DIGITS}},
        "spec": {"replicas": 1, "selector": {}, "template": {}},
    }
    made = await stack.cluster.create(REPLICASETS, body, namespace="default")
    pod = plain_pod("odd-0")
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "odd", "controller": True}
    pod["metadata"]["ownerReferences"] = [{**owner, "uid": made["metadata"]["uid"]}]
    await stack.cluster.create(PODS, pod, namespace="default")


async def digits_on_a_pod(stack: Stack) -> None:
    pod = plain_pod("odd")
    pod["metadata"]["annotations"] = {
        keys.NETWORK_TOPOLOGY_HIGHEST_TIER: DIGITS,
        keys.TASK_INDEX: DIGITS,
        keys.TASK_PRIORITY: DIGITS,
        keys.JOB_VERSION: DIGITS,
        keys.JOB_RETRY_COUNT: DIGITS,
        keys.TASK_SPEC: "worker",
    }
    await stack.cluster.create(PODS, pod, namespace="default")


async def odd_affinity(stack: Stack) -> None:
    """In all the places where an object belongs, and deleted again."""
    for number, affinity in enumerate((
        {"nodeAffinity": "everywhere"},
        {"podAffinity": ["x"]},
        {"podAntiAffinity": 7},
        {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": "x"}},
        {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [1]}},
        "everywhere",
    )):  # fmt: skip
        publish = fact_of(stack, f"odd-{number}", affinity)
        await stack.bus.publish([await publish])


async def fact_of(stack: Stack, name: str, affinity: object):  # type: ignore[no-untyped-def]
    """As the watcher would write it: an API server that checks less lets it pass."""
    pod = Pod(
        api_version="v1",
        kind="Pod",
        metadata=ObjectMeta(
            name=name, namespace="default", uid=f"uid-{name}", resource_version="1"
        ),
    )
    message = fact_message(PODS, pod, stamp=await stamp(stack))
    body = msgspec.to_builtins(pod) | {"spec": plain_pod(name)["spec"] | {"affinity": affinity}}
    return msgspec.structs.replace(message, value=msgspec.msgpack.encode(body))


async def stamp(stack: Stack) -> Stamp:
    """The one that everybody believes now."""
    (end,) = await stack.bus.end_offsets(PROGRESS.name)
    reader = await stack.bus.reader({TopicPartition(PROGRESS.name, 0): max(0, end - 1)})
    (record,) = await reader.poll(max_records=1, wait_seconds=5)
    await reader.close()
    return progress_of(record).stamp


async def no_utf8_in_a_record(stack: Stack) -> None:
    """In the value of a fact with the watcher's own headers."""
    pod = Pod(metadata=ObjectMeta(name="odd", namespace="default", uid="u", resource_version="1"))
    message = fact_message(PODS, pod, stamp=await stamp(stack))
    value = (message.value or b"").replace(b"odd", b"o\xffd")
    await stack.bus.publish([msgspec.structs.replace(message, value=value)])


async def brackets_in_the_configuration(stack: Stack) -> None:
    body: JsonObject = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "volcano-scheduler-configmap"},
        "data": {"volcano-scheduler.conf": "[" * 20_000},
    }
    await stack.cluster.create(CONFIGMAPS, body, namespace="volcano-system")


async def a_thousand_queue_levels(stack: Stack) -> None:
    for level in range(1_000):
        parent = f"q{level - 1}" if level else "root"
        body: JsonObject = {
            "apiVersion": QUEUES.api_version,
            "kind": "Queue",
            "metadata": {"name": f"q{level}"},
            "spec": {"parent": parent, "guarantee": {"resource": {"cpu": "1m"}}},
        }
        await stack.cluster.create(QUEUES, body)


async def an_unnamed_queue(stack: Stack) -> None:
    queue = Queue(metadata=ObjectMeta(name="", uid="u", resource_version="1"))
    await stack.bus.publish([fact_message(QUEUES, queue, stamp=await stamp(stack))])


CASES: Final[dict[str, Trouble]] = {
    "5,000 digits on a replica set": digits_on_a_replica_set,
    "5,000 digits on a pod": digits_on_a_pod,
    "an affinity that is no object": odd_affinity,
    "a byte in a record that is no UTF-8": no_utf8_in_a_record,
    "a configuration of 20,000 brackets": brackets_in_the_configuration,
    "1,000 levels of queues": a_thousand_queue_levels,
    "a queue without a name": an_unnamed_queue,
}


@pytest.mark.parametrize("name", CASES)
def test_the_jobs_of_others_go_on(name: str) -> None:
    async def main() -> None:
        async with Stack(services=ALL) as stack:
            await stack.submit(gang_job("before"))
            await completes(stack, "before")
            await CASES[name](stack)
            await stack.clock.sleep(2)
            await stack.submit(gang_job("after"))
            await stack.cluster.create(PODS, plain_pod("plain"), namespace="default")
            await completes(stack, "after")
            await stack.until(lambda: grouped(stack, "plain"), seconds=60, what="a group")
            for service in ("scheduler", "podgroup-controller", "job-controller"):
                stack.kill(service)  # whoever starts with the bad object there goes on as well
            await stack.submit(gang_job("again"))
            await completes(stack, "again")
            assert stack.problems == []

    run_virtual(main())


async def completes(stack: Stack, job: str) -> None:
    await stack.until(
        lambda: stack.job(job).status.state.phase == "Completed", seconds=120, what=f"{job} done"
    )


def grouped(stack: Stack, pod: str) -> bool:
    return any(
        keys.GROUP_NAME in p.metadata.annotations for p in stack.pods() if p.key == f"default/{pod}"
    )


def test_a_record_that_cannot_be_read_is_a_dead_letter_of_each_reader() -> None:
    async def main() -> list[DeadLetter]:
        async with Stack(services=ALL) as stack:
            await stack.submit(gang_job("before"))
            await completes(stack, "before")
            await no_utf8_in_a_record(stack)
            await stack.clock.sleep(5)
            return await letters(stack)

    found = run_virtual(main())
    readers = {
        "scheduler",
        "job-controller",
        "podgroup-controller",
        "usage-ledger",
    }
    assert {letter.service for letter in found if letter.topic == PODS.topic} == readers
    assert all("not a Pod" in letter.error for letter in found)


async def letters(stack: Stack) -> list[DeadLetter]:
    starts = await stack.bus.start_offsets(DEAD_LETTERS.name)
    reader = await stack.bus.reader(
        {TopicPartition(DEAD_LETTERS.name, p): start for p, start in enumerate(starts)}
    )
    records: list[Record] = await reader.poll(max_records=1000, wait_seconds=1)
    await reader.close()
    return [decode(r.value or b"", into=DeadLetter, headers=r.headers) for r in records]


def events(stack: Stack, kind: Kind, name: str) -> list[str]:
    """Reasons of the events on an object."""
    found: list[JsonObject] = [
        msgspec.json.decode(raw)
        for raw in stack.api.list(stack.api.registry.for_kind(EVENTS)).items
    ]
    about = [e for e in found if e["involvedObject"]["kind"] == kind.kind]
    return [e["reason"] for e in about if e["involvedObject"]["name"] == name]


def test_a_job_that_cannot_be_read_is_told_so() -> None:
    """SECURITY.md says it; the API server took it, because its schema leaves templates free."""

    async def main() -> None:
        async with Stack(services=CORE) as stack:
            job = gang_job("odd")
            await raw_job(stack, job)
            await stack.submit(gang_job("good"))
            await completes(stack, "good")
            await stack.until(lambda: bool(events(stack, JOBS, "odd")), seconds=30, what="an event")
            assert events(stack, JOBS, "odd") == [REASON]
            assert stack.problems == []

    run_virtual(main())


async def raw_job(stack: Stack, job: JsonObject) -> None:
    """Past the schema, as an older definition would have let it pass."""
    job["spec"]["tasks"][0]["replicas"] = "many"
    resource = stack.api.registry.for_kind(JOBS)
    checks = resource.schema
    msgspec.structs.force_setattr(resource, "schema", None)
    try:
        await stack.cluster.create(JOBS, job, namespace="default")
    finally:
        msgspec.structs.force_setattr(resource, "schema", checks)


def test_what_is_left_out_shows_in_health_and_meters() -> None:
    async def main() -> None:
        async with Stack(services=CORE) as stack:
            await raw_job(stack, gang_job("odd"))
            await stack.clock.sleep(5)
            problems = stack.running["watcher"]._context.problems  # type: ignore[attr-defined]
            (line,) = problems.lines()
            assert line.startswith("project of jobs 'default/odd': ")
            await stack.delete_job("odd")
            await stack.clock.sleep(5)
            assert problems.lines() == []

    run_virtual(main())
