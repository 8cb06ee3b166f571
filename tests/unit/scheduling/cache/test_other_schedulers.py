"""Pod groups of other schedulers: charged, enqueued by us where that is needed, and without our status."""

import asyncio

import msgspec
import pytest

from tests.unit.scheduler.shell import NAMESPACE, Shell, pod_body
from tests.unit.scheduling.objects import EPOCH, gang, group, node, pod, queue
from tests.unit.scheduling.world import World
from vc.clock import run_virtual
from vc.model.api import kinds
from vc.model.api.keys import JOB_VERSION
from vc.model.api.kinds import PODGROUPS, PODS
from vc.model.api.meta import OwnerReference
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, PodGroupCondition, PodGroupStatus
from vc.scheduling.actions.inqueue_timeout import INQUEUE_SECONDS
from vc.scheduling.effects import status_effect

OTHER = "default-scheduler"


def of_vcjob(made: PodGroup, *, job: str = "") -> PodGroup:
    """As our job-controller makes it: of the job's name, which controls it."""
    owner = OwnerReference(
        api_version=kinds.JOBS.api_version,
        kind=kinds.JOBS.kind,
        name=job or made.metadata.name,
        uid="job-uid",
        controller=True,
    )
    metadata = msgspec.structs.replace(made.metadata, owner_references=[owner])
    return msgspec.structs.replace(made, metadata=metadata)


def member(number: int, *, name: str = "theirs", on: str = "", scheduler: str = OTHER) -> Pod:
    return pod(
        f"{name}-{number}", group=name, role="worker", on=on, scheduler=scheduler,
        requests={"cpu": "4"},
    )  # fmt: skip


def said(world: World, name: str = "theirs") -> PodGroupStatus:
    return world.group(name).status


# -- a vcjob of ours with another scheduler's name ---------------------------------------------------


def test_a_job_of_another_scheduler_is_let_in_followed_and_not_spoken_of() -> None:
    theirs = of_vcjob(group("theirs", minimum=2, phase="Pending", min_resources={"cpu": "8"}))
    world = World(node("n"), queue(), theirs)
    world.session()
    assert said(world).phase == "Inqueue"

    world.put(member(0), member(1))
    world.now += 60
    decisions = world.session()
    assert (decisions.binds, decisions.reasons, decisions.statuses) == ((), (), ())
    assert world.snapshot().use["default"].enqueued == {"cpu": 8000}

    world.put(member(0, on="n"))
    world.session()
    assert (said(world).phase, said(world).running) == ("Inqueue", 1)
    world.put(member(1, on="n"))
    world.session()
    assert (said(world).phase, said(world).running) == ("Running", 2)
    assert world.snapshot().use["default"].allocated["cpu"] == 8000
    world.finish_group("theirs")
    world.session()
    assert (said(world).phase, said(world).succeeded) == ("Completed", 2)
    assert said(world).conditions == []


def test_a_group_of_ours_under_volcanos_name_is_no_stranger() -> None:
    """`PYROCLAST_COMPAT=upstream`: `<job>-<uid>`, with our job-controller's note of the version."""
    made = of_vcjob(group("theirs-job-uid", minimum=1, phase="Pending"), job="theirs")
    metadata = msgspec.structs.replace(
        made.metadata, annotations={**made.metadata.annotations, JOB_VERSION: "0"}
    )
    pods = [member(number, name="theirs-job-uid", on="n") for number in range(2)]
    ours = World(node("n"), queue(), msgspec.structs.replace(made, metadata=metadata), *[[p] for p in pods])  # fmt: skip
    ours.session()
    assert said(ours, "theirs-job-uid").phase == "Running"
    volcanos = World(node("n"), queue(), made, *[[p] for p in pods])
    volcanos.session()
    assert said(volcanos, "theirs-job-uid").phase == "Pending"


def test_a_group_that_waited_long_is_not_blamed_for_its_pods_in_the_moment_it_is_let_in() -> None:
    """Of ours, too: its pods are made only then."""
    world = World(node("n"), queue(), group("ours", minimum=2, phase="Pending"))
    world.now += 3600
    decisions = world.decide()
    assert decisions.statuses[0].status.conditions == []
    assert decisions.statuses[0].refusal == ""


def test_it_is_not_sent_back_when_the_other_scheduler_takes_its_time() -> None:
    """It was called unschedulable while it had no pods, which is what its time is counted from."""
    theirs = of_vcjob(group("theirs", minimum=1, min_resources={"cpu": "4"}))
    world = World(node("n"), queue(), theirs)
    world.session()
    assert [c.type for c in said(world).conditions] == ["Unschedulable"]
    world.put(member(0))
    world.now += INQUEUE_SECONDS + 1
    assert world.session().statuses == ()
    assert said(world).phase == "Inqueue"


def test_what_was_said_before_there_were_pods_is_taken_back() -> None:
    world = World(node("n"), queue(), of_vcjob(group("theirs", minimum=1)))
    world.session()
    world.put(member(0, on="n"))
    world.session()
    assert [(c.type, c.status) for c in said(world).conditions] == [("Unschedulable", "False")]


def test_a_gang_that_loses_a_pod_stays_let_in() -> None:
    """A release would make its pod start again; placing it is for the other scheduler."""
    theirs = of_vcjob(group("theirs", minimum=2, phase="Running"))
    world = World(node("n"), queue(), theirs, member(0, on="n"), member(1, on="n"))
    world.session()
    world.delete_pod("theirs-1")
    world.session()
    assert said(world).phase == "Unknown"
    world.put(member(1))
    assert world.session().reasons == ()
    world.delete_pod("theirs-0")
    world.session()
    assert said(world).phase == "Inqueue"


def test_a_full_queue_keeps_it_out_and_says_so() -> None:
    """The queue is ours, whichever scheduler places the pods."""
    theirs = of_vcjob(group("theirs", minimum=2, phase="Pending", min_resources={"cpu": "8"}))
    world = World(node("n"), queue(capability={"cpu": "4"}), theirs)
    decisions = world.session()
    assert [job.group for job in decisions.reasons] == ["ns/theirs"]
    assert said(world).phase == "Pending"


def test_a_gang_is_done_when_the_pods_of_others_are() -> None:
    theirs = of_vcjob(group("theirs", minimum=1, phase="Running"))
    world = World(node("n"), queue(), theirs, member(0, on="n"), member(1))
    world.finish("theirs-0")
    world.session()
    assert said(world).phase == "Running"
    world.finish("theirs-1")
    world.session()
    assert said(world).phase == "Completed"


def test_a_half_bound_gang_of_another_scheduler_is_not_released() -> None:
    theirs = of_vcjob(group("theirs", minimum=2))
    world = World(node("n"), queue(), theirs, member(0, on="n"), member(1))
    assert world.snapshot().partial_since == {}
    world.now += 600
    assert world.session().releases == ()
    assert world.bound("theirs") == 1


# -- groups that are not managed by us ----------------------------------------------------------------


@pytest.mark.parametrize("phase", ["", "Pending", "Inqueue", "Running", "Unknown", "Completed"])
@pytest.mark.parametrize("job", ["", "their"], ids=["unowned", "another controller's"])
def test_a_group_of_strangers_is_left_alone(phase: str, job: str) -> None:
    theirs = group("theirs", minimum=2, phase=phase, min_resources={"cpu": "60"})
    if job:
        theirs = of_vcjob(theirs, job=job)
    world = World(node("n"), queue(), theirs, member(0, on="n"), member(1))
    world.put(*gang("ours", 1, cpu=8))
    for _ in range(3):
        world.now += 60
        decisions = world.session()
        assert not [s for s in decisions.statuses if s.name == "theirs"]
        assert decisions.reasons == ()
        assert "ns/theirs" not in decisions.enqueued
    assert world.group("theirs") == theirs_as_put(world, theirs)
    assert world.bound("ours") == 1
    use = world.snapshot().use["default"]
    assert (use.allocated["cpu"], use.enqueued) == (12_000, {})


def theirs_as_put(world: World, theirs: PodGroup) -> PodGroup:
    metadata = msgspec.structs.replace(
        theirs.metadata, resource_version=world.group("theirs").metadata.resource_version
    )
    return msgspec.structs.replace(theirs, metadata=metadata)


def test_one_pod_that_names_us_makes_it_ours() -> None:
    theirs = group("theirs", minimum=2, phase="Pending")
    world = World(node("n"), queue(), theirs, member(0, on="n"))
    assert world.session().statuses == ()
    world.put(member(1, scheduler="volcano"))
    world.session()
    world.session()
    assert world.where() == {"theirs-0": "n", "theirs-1": "n"}
    assert said(world).phase == "Running"


def test_a_group_without_pods_is_let_in_whosever_it_is() -> None:
    """Its creator may wait for that before it creates pods."""
    world = World(node("n"), queue(), group("theirs", minimum=2, phase="Pending"))
    world.session()
    assert said(world).phase == "Inqueue"


# -- conditions of others ----------------------------------------------------------------------------


def test_conditions_of_others_stay_and_a_count_writes_none() -> None:
    kept = PodGroupCondition(type="Quota", status="True", message="by another writer")
    objects = gang("ours", 2, cpu=1)
    assert isinstance(objects[0], PodGroup)
    status = msgspec.structs.replace(objects[0].status, conditions=[kept])
    objects[0] = msgspec.structs.replace(objects[0], status=status)
    world = World(node("n"), queue(), objects)
    (change,) = world.session().statuses
    effect = status_effect(change)
    listed = effect.patch["status"]["conditions"]
    assert [c["type"] for c in listed] == ["Quota", "Scheduled"]
    assert effect.resource_version == "3"  # node, queue, group: as it was seen

    world.finish("ours-worker-0")
    world.now = EPOCH + 60
    (change,) = world.session().statuses
    effect = status_effect(change)
    assert effect.patch == {
        "status": {"phase": "Running", "running": 1, "succeeded": 1, "failed": 0}
    }
    assert effect.resource_version == ""


def test_a_condition_that_comes_while_we_write_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    theirs = {"type": "Quota", "status": "True", "message": "by another writer"}

    async def main() -> None:
        async with Shell() as shell:
            write, raced = shell.cluster.patch, asyncio.Event()

            async def patch(kind, body, **given):  # type: ignore[no-untyped-def]  # as it is called
                ours = kind is PODGROUPS and "conditions" in body["status"]
                if ours and not raced.is_set():
                    raced.set()
                    other = {"status": {"conditions": [theirs]}}
                    await write(PODGROUPS, other, name="train", namespace=NAMESPACE)
                return await write(kind, body, **given)

            monkeypatch.setattr(shell.cluster, "patch", patch)
            await shell.nodes(1)
            await shell.gang("train", 2)
            await shell.until(lambda: shell.phase("train") == "Running", "phase Running")
            assert raced.is_set()
            listed = [c.type for c in shell.group("train").status.conditions]
            assert listed == ["Quota", "Scheduled"]
            assert shell.cluster.writes["patch podgroups"] <= 6

    run_virtual(main())


def test_a_stranger_on_the_cluster_is_not_written() -> None:
    async def main() -> None:
        async with Shell() as shell:
            await shell.nodes(1)
            body = pod_body("their-0", group="their", cpu="1")
            body["spec"]["schedulerName"] = OTHER
            await shell.create(PODS, body, namespace=NAMESPACE)
            spec = {"minMember": 2, "queue": "default"}
            made = await shell.create(
                PODGROUPS, {"metadata": {"name": "their"}, "spec": spec}, namespace=NAMESPACE
            )
            await shell.gang("train", 1)
            await shell.until(lambda: shell.phase("train") == "Running", "phase Running")
            await shell.clock.sleep(30)
            version = made["metadata"]["resourceVersion"]
            assert shell.group("their").metadata.resource_version == version

    run_virtual(main())
