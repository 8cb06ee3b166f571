"""release: bound members of a half-bound gang are evicted in time; a gang that was whole is never released."""

import msgspec
import pytest

from tests.unit.scheduling.objects import gang, group, nodes, pod, queue
from tests.unit.scheduling.world import World
from vc.model.api import kinds
from vc.model.api.pod import Pod
from vc.scheduling.actions.release import GANG_RELEASE_SECONDS
from vc.scheduling.model.decisions import Decisions


def test_a_half_bound_gang_that_cannot_complete_is_released_in_time() -> None:
    world = World(nodes(1), queue(), gang("half", 2, cpu=40))
    world.put(
        pod(
            "half-worker-0",
            group="half",
            role="worker",
            requests={"cpu": 40},
            on="node-01",
            phase="Pending",
        ),
    )
    first = world.decide()
    assert first.releases == ()
    assert first.wake_at == world.now + GANG_RELEASE_SECONDS
    world.now += GANG_RELEASE_SECONDS
    released = world.session().releases
    assert [ref.name for release in released for ref in release.pods] == ["half-worker-0"]
    assert world.where() == {}


def test_pods_without_a_controller_are_never_released() -> None:
    world = World(nodes(1), queue(), gang("half", 2, cpu=40))
    bare = pod(
        "half-worker-0", group="half", role="worker", requests={"cpu": 40}, on="node-01",
        phase="Pending", controlled=False,
    )  # fmt: skip
    world.put(bare)
    world.decide()
    world.now += 10 * GANG_RELEASE_SECONDS
    assert world.decide().releases == ()


def test_a_running_gang_that_lost_a_member_is_unknown_and_not_released() -> None:
    world = World(nodes(1), queue(), gang("j", 2, cpu=20))
    world.session()
    world.delete(kinds.PODS, "ns/j-worker-1")
    world.put(pod("j-worker-1b", group="j", role="worker", requests={"cpu": 60}))
    world.session()
    assert world.group("j").status.phase == "Unknown"
    world.now += 10 * GANG_RELEASE_SECONDS
    assert world.session().releases == ()


def runs(name: str, *, cpu: int, role: str = "worker", of: str = "half") -> Pod:
    """A member that was bound and has started since."""
    return pod(name, group=of, role=role, requests={"cpu": cpu}, on="node-01")


def released_pods(decisions: Decisions) -> list[str]:
    return [ref.name for release in decisions.releases for ref in release.pods]


def test_a_half_bound_gang_whose_bound_member_runs_is_released_in_time_too() -> None:
    world = World(nodes(1), queue(), gang("half", 2, cpu=40), runs("half-worker-0", cpu=40))
    world.session()
    assert world.group("half").status.phase == "Unknown"
    world.now += GANG_RELEASE_SECONDS
    assert released_pods(world.session()) == ["half-worker-0"]


def test_a_restart_does_not_make_a_half_bound_gang_one_that_was_whole() -> None:
    world = World(nodes(1), queue(), gang("half", 2, cpu=40), runs("half-worker-0", cpu=40))
    world.session()
    world.restart()
    world.session()
    world.now += GANG_RELEASE_SECONDS
    assert released_pods(world.session()) == ["half-worker-0"]


def test_a_gang_that_lacks_a_task_is_half_bound_however_many_others_it_has() -> None:
    members = [runs(f"w-{n}", cpu=20) for n in range(3)]
    missing = pod("ps-0", group="half", role="ps", requests={"cpu": 40})
    world = World(
        nodes(1), queue(), group("half", minimum=3, roles={"ps": 1, "worker": 2}), members, missing
    )
    world.session()
    world.now += GANG_RELEASE_SECONDS
    assert released_pods(world.session()) == ["w-0", "w-1", "w-2"]


@pytest.mark.parametrize("restarts", [False, True], ids=["same scheduler", "after a restart"])
def test_a_gang_that_was_whole_and_lost_a_member_is_never_released(restarts: bool) -> None:
    world = World(nodes(1), queue(), gang("j", 2, cpu=20))
    world.session()
    world.delete(kinds.PODS, "ns/j-worker-1")
    world.put(pod("j-worker-1b", group="j", role="worker", requests={"cpu": 60}))
    if restarts:
        world.restart()
    world.session()
    world.now += 10 * GANG_RELEASE_SECONDS
    assert released_pods(world.session()) == []


def test_a_gang_whose_nodes_were_lost_for_a_while_was_whole_all_the_same() -> None:
    world = World(nodes(1), queue(), gang("j", 2, cpu=20))
    world.session()
    for name in ("j-worker-0", "j-worker-1"):
        lost = world.pod(name)
        status = msgspec.structs.replace(lost.status, phase="Unknown")
        world.put(msgspec.structs.replace(lost, status=status))
    world.session()
    world.delete_pod("j-worker-1")
    world.put(pod("j-worker-1", group="j", role="worker", requests={"cpu": 60}))
    world.put(runs("j-worker-0", cpu=20, of="j"))
    world.session()
    world.now += 10 * GANG_RELEASE_SECONDS
    assert released_pods(world.session()) == []


def test_a_gang_that_lost_all_its_members_starts_again_and_may_be_released() -> None:
    """Of a job that was run again: that its first attempt was whole says nothing of the second."""
    world = World(nodes(1), queue(), gang("j", 2, cpu=20))
    world.session()
    for name in ("j-worker-0", "j-worker-1"):
        world.delete_pod(name)
    world.session()
    assert [c.status for c in world.group("j").status.conditions if c.type == "Scheduled"] == [
        "False"
    ]
    world.put(runs("j-worker-0", cpu=40, of="j"))
    world.put(pod("j-worker-1", group="j", role="worker", requests={"cpu": 40}))
    world.session()
    world.now += GANG_RELEASE_SECONDS
    assert released_pods(world.session()) == ["j-worker-0"]
