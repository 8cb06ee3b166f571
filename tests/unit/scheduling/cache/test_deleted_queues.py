"""Pods whose queue was deleted: they still use nodes, and `root` is charged for them."""

import pytest

from tests.unit.scheduling.objects import gang, node, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api import kinds
from vc.scheduling.closing.share_report import Figures, figures
from vc.scheduling.conf.model import Conf, PluginConf

CPUS = 16
HIERARCHY = Conf(
    tiers=(
        (PluginConf(name="priority"), PluginConf(name="gang")),
        (PluginConf(name="drf", switches={"hierarchy": True}), PluginConf(name="predicates")),
    )
)


def deserted(*, conf: Conf | None = None, root: bool = True) -> World:
    """12 of 16 CPUs run in a queue that is then deleted; two other queues want all there is."""
    above = {"parent": "root"} if root else {}
    world = World(
        [queue("root", reclaimable=False)] if root else [],
        [queue("gone", **above), queue("a", **above), queue("b", **above)],  # type: ignore[arg-type]  # a table of keyword arguments
        node("n", cpu=CPUS),
        gang("held", 12, cpu=1, queue="gone"),
        conf=conf,
    )
    world.session()
    assert world.bound("held") == 12
    world.delete(kinds.QUEUES, "gone")
    for name in ("a", "b"):
        for number in range(8):
            world.put(*gang(f"{name}{number}", 1, cpu=1, queue=name))
    return world


def report(world: World) -> Figures:
    return figures(world.snapshot(), world.conf, world.now)


@pytest.mark.parametrize("conf", [None, HIERARCHY], ids=["proportion", "hdrf"])
@pytest.mark.parametrize("root", [True, False], ids=["with root", "without root"])
def test_queues_share_what_pods_without_a_queue_leave(*, conf: Conf | None, root: bool) -> None:
    shown = report(deserted(conf=conf, root=root))
    assert {name: shown.queues[name].deserved["cpu"] for name in ("a", "b")} == {
        "a": 2000,
        "b": 2000,
    }


def test_root_has_what_pods_without_a_queue_have() -> None:
    world = deserted()
    shown = report(world)
    assert shown.queues["root"].allocated["cpu"] == 12_000
    assert shown.queues["root"].deserved["cpu"] == CPUS * 1000
    decisions = world.session()
    (root,) = [queue for queue in decisions.queues if queue.queue == "root"]
    assert root.allocated["cpu"] == str(CPUS)
    assert root.allocated["pods"] == str(CPUS)


def test_the_figures_name_queues_that_do_not_exist() -> None:
    assert report(deserted()).unowned == {"gone": {"cpu": 12_000, "pods": 12_000}}


def test_pods_without_a_queue_are_not_reclaimed_and_its_jobs_wait() -> None:
    world = deserted()
    world.put(*gang("late", 1, cpu=1, queue="gone"))
    decisions = world.session()
    assert decisions.evictions == ()
    assert world.bound("held") == 12
    reason = reason_of(decisions, "late")
    assert reason.stage is Stage.QUEUE_MISSING
    assert "queue 'gone' does not exist" in reason.sentence


def test_a_guarantee_does_not_count_what_has_no_queue_twice() -> None:
    """12 of 16 are taken without a queue, 2 are guaranteed to a: b may have the other two."""
    world = deserted()
    world.put(queue("a", parent="root", guarantee={"cpu": "2"}, capability={"cpu": "2"}))
    world.session()
    assert [world.bound(f"b{number}") for number in range(8)].count(1) == 2


def test_a_queue_that_comes_back_has_its_pods_again() -> None:
    world = deserted()
    world.put(queue("gone", parent="root"))
    shown = report(world)
    assert shown.unowned == {}
    assert shown.queues["gone"].allocated["cpu"] == 12_000
    assert shown.queues["root"].allocated["cpu"] == 12_000
