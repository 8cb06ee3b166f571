"""allocate: in which order queues and jobs are placed, and how far a queue may go."""

from tests.unit.scheduling.objects import gang, nodes, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage


def test_a_capability_holds_for_pods_too() -> None:
    world = World(nodes(2), queue(capability={"cpu": "5"}), gang("g", 2, cpu=3))
    assert reason_of(world.session(), "g").stage is Stage.QUOTA
    assert world.where() == {}


def test_elastic_pods_stop_at_the_capability() -> None:
    world = World(nodes(2), queue(capability={"cpu": "10"}), gang("g", 9, minimum=1, cpu=3))
    world.session()
    assert world.bound("g") == 3


def test_a_capability_holds_for_everything_below() -> None:
    world = World(
        nodes(2),
        queue("dept", capability={"cpu": "5"}),
        queue("team-a", parent="dept"),
        queue("team-b", parent="dept"),
        gang("a", 1, cpu=3, queue="team-a", age=2),
        gang("b", 1, cpu=3, queue="team-b", age=1),
    )
    reason = reason_of(world.session(), "b")
    assert (world.bound("a"), world.bound("b")) == (1, 0)
    assert reason.unblock is not None
    assert reason.unblock.target == "dept"


def test_queues_fill_side_by_side_by_weight() -> None:
    world = World(
        nodes(1),
        queue("a", weight=3),
        queue("b", weight=1),
        *[gang(f"a{n}", 1, cpu=8, queue="a") for n in range(8)],
        *[gang(f"b{n}", 1, cpu=8, queue="b") for n in range(8)],
    )
    world.session()
    assert sum(world.bound(f"a{n}") for n in range(8)) == 6
    assert sum(world.bound(f"b{n}") for n in range(8)) == 2


def test_a_queue_of_higher_priority_goes_first() -> None:
    world = World(
        nodes(1),
        queue("low"),
        queue("high", priority=10),
        gang("l", 1, cpu=40, queue="low", age=9),
        gang("h", 1, cpu=40, queue="high"),
    )
    world.session()
    assert (world.bound("l"), world.bound("h")) == (0, 1)
