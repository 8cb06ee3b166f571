"""A tenant overwrites the status that the scheduler wrote: neither claims nor timeouts start again."""

import msgspec
import pytest

from tests.unit.scheduling.objects import gang, group, nodes, pod, priority_class, queue
from tests.unit.scheduling.world import World
from vc.model.api.scheduling import PodGroup, PodGroupStatus
from vc.scheduling.actions.inqueue_timeout import INQUEUE_SECONDS
from vc.scheduling.cache.overlays.enqueued import CLAIM_SECONDS, REST_SECONDS
from vc.scheduling.plugins.queue_shares.recoverable import UNBACKED_SECONDS

WRITTEN = ["", "Pending", "Inqueue", "Running", "Unknown", "Completed", "Nonsense"]
STEP_SECONDS = 10.0


def claiming(*, minimum: int = 1) -> PodGroup:
    """Of the highest class; it claims the whole cluster."""
    return group(
        "evil", minimum=minimum, phase="Pending", priority_class="top", min_resources={"cpu": "8"}
    )


def cluster(*, minimum: int = 1) -> World:
    """`evil` is enqueued."""
    world = World(
        queue(), nodes(1, cpu=8), priority_class("top", 1000), claiming(minimum=minimum)
    )  # fmt: skip
    assert world.session().enqueued == ("ns/evil",)
    return world


def overwrite(world: World, phase: str) -> None:
    known = world.group("evil")
    world.put(msgspec.structs.replace(known, status=PodGroupStatus(phase=phase)))


def others_job(cpu: str = "8") -> PodGroup:
    made = group("good", minimum=1, phase="Pending", min_resources={"cpu": cpu})
    metadata = msgspec.structs.replace(made.metadata, namespace="good")
    return msgspec.structs.replace(made, metadata=metadata)


@pytest.mark.parametrize("minimum", [0, 1])
@pytest.mark.parametrize("phase", WRITTEN)
def test_a_group_without_pods_gets_no_second_minute(phase: str, minimum: int) -> None:
    world = cluster(minimum=minimum)
    world.put(others_job())
    begun = world.now
    enqueued = world.session().enqueued
    while "good/good" not in enqueued:
        assert world.now < begun + UNBACKED_SECONDS + STEP_SECONDS
        world.now += STEP_SECONDS
        overwrite(world, phase)
        enqueued = (*world.session().enqueued, *world.session().enqueued)


@pytest.mark.parametrize("phase", WRITTEN)
def test_a_group_whose_pods_fit_nowhere_claims_no_longer_than_others(phase: str) -> None:
    world = cluster()
    world.put(pod("evil-0", group="evil", requests={"cpu": "9"}))
    world.put(others_job())
    begun = world.now
    while "good/good" not in world.session().enqueued:
        assert world.now <= begun + CLAIM_SECONDS
        world.now += STEP_SECONDS
        overwrite(world, phase)


@pytest.mark.parametrize("phase", WRITTEN)
def test_a_group_that_timed_out_rests_whatever_its_status_says(phase: str) -> None:
    world = cluster()
    world.put(pod("evil-0", group="evil", requests={"cpu": "9"}))
    while world.group("evil").status.phase != "Pending":
        world.now += STEP_SECONDS
        world.session()
    back_at = world.now
    while world.now < back_at + REST_SECONDS:
        assert world.cache.snapshot("s", now=world.now).all_groups["ns/evil"].enqueued_at is None
        overwrite(world, phase)
        assert world.session().enqueued == ()
        world.now += STEP_SECONDS


def test_a_group_that_timed_out_is_enqueued_when_its_rest_is_over() -> None:
    """And then it claims again for as long as any."""
    world = cluster()
    while world.group("evil").status.phase != "Pending":
        world.now = world.session().wake_at or world.now
    resting = world.session()
    assert resting.enqueued == ()
    assert resting.wake_at is not None
    assert resting.wake_at <= world.now + REST_SECONDS
    world.now += REST_SECONDS
    assert world.session().enqueued == ("ns/evil",)
    row = world.cache.snapshot("s", now=world.now).all_groups["ns/evil"]
    assert (row.enqueued_at, row.claimed) == (world.now, {"cpu": 8000})


def test_a_gang_that_fits_does_not_rest() -> None:
    world = cluster()
    while world.group("evil").status.phase != "Pending":
        world.now = world.session().wake_at or world.now
    world.put(pod("evil-0", group="evil", requests={"cpu": "8"}))
    world.session()
    assert world.bound("evil") == 1


def test_a_job_that_ran_and_begins_again_has_a_new_claim() -> None:
    """Its pods are gone: it waits, and is enqueued as if it were new."""
    world = World(
        queue(), nodes(1, cpu=8),
        gang("job", 1, phase="Pending", min_resources={"cpu": "8"}, cpu=4),
    )  # fmt: skip
    world.session()
    assert world.bound("job") == 1
    world.now += CLAIM_SECONDS + INQUEUE_SECONDS
    world.session()
    world.delete_pod("job-worker-0")
    while world.group("job").status.phase != "Inqueue":
        world.session()
    row = world.cache.snapshot("s", now=world.now).all_groups["ns/job"]
    assert (row.enqueued_at, row.claimed) == (world.now, {"cpu": 8000})
