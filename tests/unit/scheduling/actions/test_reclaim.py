"""reclaim: which pods of other queues are evicted for a job of a queue below its share."""

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, queue
from tests.unit.scheduling.plugins.test_queue_shares import jobs, run_until_stable
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api.meta import ApiObject


def test_a_full_cluster_enqueues_a_job_that_may_reclaim() -> None:
    """Demand 6: enqueue does not switch reclaim off."""
    world = World(queue("a"), queue("b"), nodes(1, cpu=10), jobs("old", 12, in_queue="b", age=9))
    run_until_stable(world)
    world.put(*gang("new", 4, queue="a", phase="Pending", cpu=1, min_resources={"cpu": "4"}))
    decisions = world.session()
    assert decisions.enqueued == ("ns/new",)
    run_until_stable(world)
    assert world.bound("new") == 4


def test_a_job_that_would_pass_its_share_reclaims_nothing() -> None:
    world = World(queue("a"), queue("b"), nodes(1, cpu=10), jobs("old", 12, in_queue="b", age=9))
    run_until_stable(world)
    world.put(*gang("new", 6, queue="a", cpu=1))
    decisions = world.session()
    assert decisions.evictions == ()
    assert reason_of(decisions, "new").stage is Stage.GANG


def test_a_gang_is_reclaimed_whole_or_not_at_all() -> None:
    world = World(queue("a"), queue("b"), nodes(1, cpu=10), gang("old", 10, queue="b", cpu=1))
    world.session()
    world.put(*gang("new", 2, queue="a", cpu=1))
    (eviction,) = world.session().evictions
    assert len(eviction.pods) == 10
    world.leave()
    world.session()
    assert world.bound("new") == 2


def test_victims_are_found_where_they_are_of_use() -> None:
    """The cheapest victims lie scattered; four on one node free enough."""
    world = World(queue("a"), queue("b"), nodes(4, cpu=4), jobs("old", 16, in_queue="b", age=9))
    run_until_stable(world)
    world.put(*gang("new", 1, queue="a", cpu=4))
    (eviction,) = world.session().evictions
    assert len({world.where()[victim.name] for victim in eviction.pods}) == 1
    world.leave()
    world.session()
    assert world.bound("new") == 1


def test_queues_without_victims_do_not_hide_those_with_victims() -> None:
    """On n1 lie pods of `large`, which has far too much memory but not too many CPUs, and one of `rich`, which
    has too many: that one goes, though those with the larger share are asked first."""
    world = World(
        queue("large"), queue("rich"), queue("poor", weight=10),
        node("n1", cpu=6, memory="110Gi", labels={"at": "n1"}), node("n2", cpu=6, memory="110Gi"),
        _alone("l0", on="n1", in_queue="large", cpu="2", memory="50Gi"), _alone("l1", on="n1", in_queue="large", cpu="2", memory="50Gi"),
        _alone("r0", on="n1", in_queue="rich", age=9, cpu="2"),
        *[_alone(f"r{n}", on="n2", in_queue="rich", cpu="2") for n in (1, 2, 3)],
        group("p", minimum=1, queue="poor"),
        pod("p-0", group="p", requests={"cpu": "2"}, selector={"at": "n1"}),
        group("m", minimum=1, queue="poor"),
        pod("m-0", group="m", requests={"memory": "200Gi"}, selector={"at": "nowhere"}),
    )  # fmt: skip
    (eviction,) = world.session().evictions
    assert [victim.name for victim in eviction.pods] == ["r0-0"]


def _alone(name: str, *, on: str, in_queue: str, age: int = 0, **requests: str) -> list[ApiObject]:
    """A job of one pod that runs."""
    head = group(name, minimum=1, queue=in_queue, phase="Running", age=age)
    return [head, pod(f"{name}-0", group=name, requests={**requests}, on=on)]
