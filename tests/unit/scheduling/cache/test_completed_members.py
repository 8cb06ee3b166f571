"""Members that succeeded count for their gang when their pods are gone (docs/adr/0044)."""

import pytest

from tests.unit.scheduling.objects import group, nodes, pod, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api.keys import TASK_INDEX
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Pod

TWO_DONE = '{"worker":"0-1"}'


def member(index: int, *, role: str = "worker", on: str = "", phase: str = "") -> Pod:
    return pod(
        f"j-{role}-{index}",
        group="j",
        role=role,
        requests={"cpu": 1},
        on=on,
        phase=phase,
        annotations={TASK_INDEX: str(index)},
    )


def gang_of_three(note: str, *pods: ApiObject, **of: object) -> World:
    head = group("j", minimum=3, completed=note, **of)  # type: ignore[arg-type]
    return World(nodes(2), queue(), head, pods)


def test_the_replacement_of_a_lost_member_is_bound_beside_members_that_are_done_and_gone() -> None:
    world = gang_of_three(TWO_DONE, member(2))
    world.session()
    assert world.bound("j") == 1
    status = world.group("j").status
    assert (status.phase, status.succeeded) == ("Running", 2)


def test_without_the_annotation_it_waits_for_pods_that_are_never_created() -> None:
    world = gang_of_three("", member(2))
    assert reason_of(world.session(), "j").stage is Stage.TASKS
    assert world.bound("j") == 0


def test_each_task_has_its_own_completed_members() -> None:
    roles = {"ps": 1, "worker": 2}
    world = gang_of_three('{"ps":"0"}', member(0), member(1), roles=roles)
    world.session()
    assert world.bound("j") == 2

    other = gang_of_three('{"worker":"7"}', member(0), member(1), roles=roles)
    assert reason_of(other.session(), "j").code == "NotEnoughPodsOfTask"
    assert other.bound("j") == 0


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(member(1, on="node-01", phase="Succeeded"), id="its pod is still seen"),
        pytest.param(member(1), id="another pod waits in its place"),
        pytest.param(member(1, on="node-01"), id="another pod runs in its place"),
    ],
)
def test_a_place_counts_once(seen: Pod) -> None:
    world = gang_of_three('{"worker":"1"}', seen, member(2))
    before = world.bound("j")
    assert reason_of(world.session(), "j").stage is Stage.TASKS
    assert world.bound("j") == before


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(member(1, on="node-01", phase="Failed"), id="failed"),
        pytest.param(
            pod("j-worker-1", group="j", role="worker", on="node-01", deleting=True),
            id="is being deleted",
        ),
    ],
)
def test_a_pod_that_does_not_count_leaves_its_place_to_the_note(seen: Pod) -> None:
    world = gang_of_three(TWO_DONE, seen, member(2))
    world.session()
    assert world.pod("j-worker-2").spec.node_name


def test_a_gang_whose_running_members_suffice_keeps_its_phase() -> None:
    world = gang_of_three(TWO_DONE, member(2, on="node-01"), phase="Running")
    world.session()
    assert world.group("j").status.phase == "Running"
    world.finish("j-worker-2")
    world.session()
    assert (world.group("j").status.phase, world.group("j").status.succeeded) == ("Completed", 3)


def test_a_gang_with_completed_members_was_whole_and_does_not_start_again() -> None:
    world = gang_of_three(TWO_DONE, member(2, on="node-01"), phase="Running")
    world.session()
    assert scheduled(world) == "True"
    world.delete_pod("j-worker-2")
    world.put(member(2), pod("hog-1", on="node-01", requests={"cpu": 64}))
    world.put(pod("hog-2", on="node-02", requests={"cpu": 64}))
    world.session()
    assert world.bound("j") == 0
    assert scheduled(world) == "True"


def test_after_a_restart_of_the_scheduler_they_still_count() -> None:
    world = gang_of_three(TWO_DONE, member(2, on="node-01"), phase="Running")
    world.session()
    world.restart()
    world.delete_pod("j-worker-2")
    world.session()
    world.put(member(2))
    world.session()
    world.session()
    assert world.bound("j") == 1


@pytest.mark.parametrize(
    "note",
    [
        "nonsense",
        "[]",
        '{"worker":3}',
        '{"worker":"-1"}',
        '{"worker":"1-0"}',
        '{"worker":"0-99999999999999999999"}',
        '{"worker":"' + "0" * 20_000 + '"}',
        "[" * 10_000,
    ],
    ids=lambda note: note[:24],
)
def test_a_note_that_is_none_counts_nothing(note: str) -> None:
    world = gang_of_three(note, member(2))
    assert reason_of(world.session(), "j").stage is Stage.TASKS


def scheduled(world: World) -> str:
    return next(c.status for c in world.group("j").status.conditions if c.type == "Scheduled")
