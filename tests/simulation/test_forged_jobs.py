"""Somebody writes facts of jobs to the bus: no pod is made of what the API server does not say."""

import msgspec

from tests.simulation.stack import CORE, WALL_AT_ZERO, Stack, gang_job
from tests.unit.job_controller.builders import written_status
from vc.clock import run_virtual
from vc.job_controller.logic import ObservedJob, decide
from vc.jobs.defaults import with_defaults
from vc.jobs.podgroup import podgroup_spec
from vc.jobs.pods.min_resources import min_resources
from vc.messages.effects import CreateObject
from vc.messages.facts import Stamp, fact_message, identity_of
from vc.messages.published import published
from vc.messages.record import TopicPartition
from vc.messages.topics import fact_partitions
from vc.model.api import keys
from vc.model.api.job import Job
from vc.model.api.kinds import JOBS, PODGROUPS, PODS
from vc.model.api.meta import ObjectMeta, OwnerReference
from vc.model.api.scheduling import PodGroup, PodGroupStatus, Queue

EVIL = "example.com/evil:1"


async def stamp_of(stack: Stack) -> Stamp:
    """Of the watcher that leads, read from its own records as anybody can."""
    logs = {TopicPartition(JOBS.topic, p): 0 for p in range(fact_partitions(JOBS))}
    reader = await stack.bus.reader(logs)
    records = await reader.poll(max_records=10_000, wait_seconds=0)
    await reader.close()
    return max((identity_of(record).stamp for record in records), key=lambda stamp: stamp.epoch)


def forged(job: Job, *, replicas: int) -> Job:
    """The same job with more pods, of another image, privileged."""
    container = {"name": "main", "image": EVIL, "securityContext": {"privileged": True}}
    template = {"spec": {"containers": [container]}}
    task = msgspec.structs.replace(job.spec.tasks[0], replicas=replicas, template=template)
    metadata = msgspec.structs.replace(
        job.metadata, resource_version=str(int(job.metadata.resource_version) + 1)
    )
    spec = msgspec.structs.replace(job.spec, tasks=[task])
    return msgspec.structs.replace(job, metadata=metadata, spec=spec)


async def publish(stack: Stack, job: Job, *, whole: bool) -> None:
    """With the template as it is, as an older release would, or with an outline."""
    told = job if whole else published(job)
    await stack.bus.publish([fact_message(JOBS, told, stamp=await stamp_of(stack))])


def images(stack: Stack) -> set[str]:
    resource = stack.api.registry.for_kind(PODS)
    raw = [msgspec.json.decode(each) for each in stack.api.list(resource).items]
    return {container["image"] for pod in raw for container in pod["spec"]["containers"]}


def test_a_forged_job_makes_no_pods_and_the_true_one_goes_on_after_a_list() -> None:
    async def main() -> None:
        async with Stack(services=CORE) as stack:
            await stack.submit(gang_job("true", replicas=2, run_seconds=20))
            await stack.until(
                lambda: stack.job("true").status.running == 2, seconds=60, what="it runs"
            )
            seen: set[str] = set()
            for whole in (True, False):
                for replicas in (2, 5):
                    await publish(stack, forged(stack.job("true"), replicas=replicas), whole=whole)
                    for _ in range(20):
                        await stack.clock.sleep(0.1)
                        seen |= images(stack)
            assert seen == {"example.com/work:1"}
            assert len(stack.created) == 2
            stack.kill("watcher")  # the next one lists, and writes the truth over what it finds
            await stack.until(
                lambda: stack.job("true").status.state.phase == "Completed",
                seconds=120,
                what="the job completes",
            )
            assert stack.problems == []

    run_virtual(main())


def settled_ghost() -> tuple[Job, PodGroup]:
    """A job that nobody made, and its pod group, let in: as facts that want nothing but pods."""
    made = msgspec.convert(gang_job("ghost", replicas=3, plugins={}), Job)
    metadata = ObjectMeta(
        name="ghost", namespace="kube-system", uid="no-such", resource_version="999999"
    )
    job = forged(msgspec.structs.replace(made, metadata=metadata), replicas=3)
    full = with_defaults(job, "volcano")
    least = min_resources(full, full.spec.tasks, member_count=3, priorities={})
    owner = OwnerReference(
        api_version=JOBS.api_version, kind=JOBS.kind, name="ghost", uid="no-such", controller=True
    )
    group = PodGroup(
        metadata=msgspec.structs.replace(
            metadata,
            uid="no-such-group",
            annotations={keys.JOB_VERSION: "0"},
            owner_references=[owner],
        ),
        spec=podgroup_spec(full, full.spec.tasks, least),
        status=PodGroupStatus(phase="Inqueue"),
    )
    queue = Queue(metadata=ObjectMeta(name="default"))
    for _ in range(3):
        seen = ObservedJob(job=job, manifest=job, podgroup=group, queue=queue)
        decision = decide(seen, now=WALL_AT_ZERO)
        job = msgspec.structs.replace(job, status=written_status(job, decision))
    assert {type(effect) for effect in decision.effects} == {CreateObject}
    return job, group


def test_a_job_that_only_the_bus_knows_gets_no_pods() -> None:
    async def main() -> None:
        async with Stack(services=CORE) as stack:
            await stack.submit(gang_job("true", replicas=2, run_seconds=5))
            await stack.until(
                lambda: stack.job("true").status.running == 2, seconds=60, what="it runs"
            )
            stamp = await stamp_of(stack)
            job, group = settled_ghost()
            facts = [
                fact_message(PODGROUPS, group, stamp=stamp),
                fact_message(JOBS, job, stamp=stamp),
            ]
            await stack.bus.publish(facts)
            for _ in range(30):
                await stack.clock.sleep(1)
                assert EVIL not in images(stack)
            assert all("ghost" not in key for key in stack.created)
            await stack.until(
                lambda: stack.job("true").status.state.phase == "Completed",
                seconds=60,
                what="others go on",
            )

    run_virtual(main())
