"""priority: jobs and tasks of a higher priority class come first."""

import pytest

from tests.unit.scheduling.objects import gang, group, nodes, pod, priority_class, queue
from tests.unit.scheduling.plugins.session_of import group_row, one_tier, session_of
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.scheduling.plugins.priority import PriorityPlugin

CLASSES = [priority_class("high", 100), priority_class("low", 1)]


@pytest.mark.parametrize(
    ("plugin", "first"),
    [("priority", "young"), ("gang", "old")],
    ids=["by class", "without the plugin the older one"],
)
def test_the_job_of_the_higher_class_is_placed_first(plugin: str, first: str) -> None:
    world = World(
        queue(), CLASSES, nodes(1, cpu=1),
        gang("old", 1, cpu=1, age=9, priority_class="low"),
        gang("young", 1, cpu=1, priority_class="high"),
        conf=one_tier(plugin),
    )  # fmt: skip
    assert [bind.group for bind in world.decide().binds] == [f"ns/{first}"]


@pytest.mark.parametrize(
    ("plugin", "first"),
    [("priority", "worker"), ("nodeorder", "ps")],
    ids=["by priority of pods", "without the plugin by name of the task"],
)
def test_the_task_of_the_higher_priority_is_placed_first(plugin: str, first: str) -> None:
    tasks = {"ps": 1, "worker": 100}
    members = [
        pod(f"g-{task}", group="g", role=task, requests={"cpu": "1"}, priority=value)
        for task, value in tasks.items()
    ]
    head = group("g", minimum=1, priority_class="high")
    world = World(queue(), CLASSES, nodes(1, cpu=1), [head], members, conf=one_tier(plugin, "gang"))
    world.session()
    assert list(world.where()) == [f"g-{first}"]


@pytest.mark.parametrize(
    ("members", "starving"),
    [
        ([pod("g-0", group="g", requests={"cpu": "1"}, on="node-01")], False),
        (
            [
                pod("g-0", group="g", requests={"cpu": "1"}, on="node-01"),
                pod("g-1", group="g", requests={"cpu": "1"}),
            ],
            True,
        ),
    ],
    ids=["all pods are placed", "one pod waits"],
)
def test_a_job_starves_while_one_of_its_pods_waits(
    members: list[ApiObject], starving: bool
) -> None:
    """The minimum is of no interest here, unlike in the plugin gang."""
    session = session_of(World(queue(), nodes(1), [group("g", minimum=1)], members))
    assert PriorityPlugin({}).job_starving(session, group_row(session, "g")) is starving
