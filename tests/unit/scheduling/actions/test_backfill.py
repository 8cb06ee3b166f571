"""backfill: best-effort pods use what no other pod needs, and gangs stay whole."""

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, queue
from tests.unit.scheduling.world import World, reason_of


def test_best_effort_pods_are_backfilled_where_nothing_else_fits() -> None:
    world = World(nodes(1), queue(), gang("full", 1, cpu=64), gang("be", 3))
    world.session()
    assert (world.bound("full"), world.bound("be")) == (1, 3)


def test_a_best_effort_gang_is_whole_or_waits() -> None:
    world = World(queue(), [node("a", pods=2)], gang("be", 3))
    reason = reason_of(world.session(), "be")
    assert world.where() == {}
    assert (reason.needed_pods, reason.placeable_pods) == (3, 2)


def test_a_mixed_gang_is_bound_whole() -> None:
    mixed = [pod("a-0", group="m", requests={"cpu": 1}), pod("b-0", group="m")]
    world = World(queue(), [node("a", pods=1)], [group("m", minimum=2)], mixed)
    world.session()
    assert world.where() == {}
    world.put(node("b", pods=1))
    world.session()
    assert world.bound("m") == 2
