"""overcommit: which groups are enqueued, by what the cluster has and the factor."""

import pytest

from tests.unit.scheduling.objects import gang, group, nodes, queue
from tests.unit.scheduling.plugins.session_of import one_tier
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api.scheduling import PodGroup
from vc.scheduling.conf.model import PluginConf


def waiting(count: int, cpu: int) -> list[PodGroup]:
    return [
        group(f"g{n}", minimum=1, phase="Pending", min_resources={"cpu": str(cpu)}, age=9 - n)
        for n in range(count)
    ]


@pytest.mark.parametrize(
    ("factor", "enqueued"),
    [("", 3), ("1.0", 2), ("2", 5), ("1.25", 3), ("0.5", 3), ("many", 3)],
    ids=[
        "1.2 by default",
        "what the cluster has",
        "twice as much",
        "rounded down to whole groups",
        "a factor below 1 is not used",
        "an unreadable factor is not used",
    ],
)
def test_the_factor_limits_the_minimums_of_enqueued_groups(factor: str, enqueued: int) -> None:
    """A cluster of 10 CPUs, and groups with minResources of 4 CPUs."""
    arguments = {"overcommit-factor": factor} if factor else {}
    plugin = PluginConf(name="overcommit", arguments=arguments)
    world = World(queue(), nodes(2, cpu=5), waiting(6, 4), conf=one_tier("gang", plugin))
    decisions = world.decide()
    assert len(decisions.enqueued) == enqueued
    assert reason_of(decisions, f"g{enqueued}").stage is Stage.OVERCOMMIT


def test_used_resources_count() -> None:
    world = World(
        queue(), nodes(1, cpu=10), gang("there", 1, cpu=9), conf=one_tier("gang", "overcommit")
    )
    world.session()
    world.put(*waiting(1, 3))
    assert world.decide().enqueued == ("ns/g0",)
    world.put(group("large", minimum=1, phase="Pending", min_resources={"cpu": "4"}, age=99))
    assert world.decide().enqueued == ("ns/g0",)


def test_a_group_without_min_resources_is_always_enqueued() -> None:
    world = World(
        queue(), nodes(1, cpu=1), gang("there", 1, cpu=1), conf=one_tier("gang", "overcommit")
    )
    world.session()
    world.put(group("g", minimum=5, phase="Pending"))
    assert world.decide().enqueued == ("ns/g",)
