"""Running pods whose pod group was deleted stay in their queue: it is charged, and they can be evicted."""

import msgspec
import pytest

from tests.unit.scheduling.objects import gang, group, node, priority_class, queue
from tests.unit.scheduling.world import World
from vc.model.api import kinds
from vc.scheduling.closing.share_report import figures
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.model.decisions import Decisions

CLASSES = (priority_class("low", 1), priority_class("high", 9))
CAPACITY = Conf(
    tiers=(
        Conf().tiers[0],
        tuple(
            PluginConf(name="capacity") if plugin.name == "proportion" else plugin
            for plugin in Conf().tiers[1]
        ),
    )
)


def full(*, conf: Conf | None = None) -> World:
    """A node of 4 CPUs, taken by a job of queue a whose pod group is deleted."""
    world = World(
        CLASSES,
        queue("a"),
        queue("b", deserved={"cpu": "4"}),
        node("n", cpu=4),
        gang("left", 4, queue="a", priority_class="low", cpu=1),
        conf=conf,
    )
    world.session()
    assert world.bound("left") == 4
    world.delete(kinds.PODGROUPS, "ns/left")
    world.now += 1
    return world


def victims(decisions: Decisions) -> list[str]:
    return sorted(ref.name for eviction in decisions.evictions for ref in eviction.pods)


def test_they_are_preempted_by_jobs_of_their_queue() -> None:
    world = full()
    world.put(*gang("asks", 2, queue="a", priority_class="high", cpu=1))
    assert len(victims(world.session())) == 2
    world.leave()
    world.session()
    assert world.bound("asks") == 2


def test_other_queues_reclaim_from_them() -> None:
    world = full(conf=CAPACITY)
    world.put(*gang("asks", 2, queue="b", cpu=1))
    assert len(victims(world.session())) == 2


def test_their_queue_is_charged_until_they_are_gone() -> None:
    world = full()
    assert figures(world.snapshot(), world.conf, world.now).queues["a"].allocated["cpu"] == 4000
    for n in range(4):
        world.delete_pod(f"left-worker-{n}")
    shown = figures(world.snapshot(), world.conf, world.now)
    assert not shown.queues["a"].allocated.get("cpu")


def test_no_session_decides_on_the_missing_group() -> None:
    decisions = full().session()
    assert decisions.reasons == ()
    assert decisions.statuses == ()


def test_after_a_restart_they_are_in_the_default_queue() -> None:
    """What the deleted group said is not known to the next scheduler, and labels of pods are the tenant's."""
    world = full()
    world.put(queue())
    world.restart()
    shown = figures(world.snapshot(), world.conf, world.now)
    assert shown.queues["default"].allocated["cpu"] == 4000
    world.put(*gang("asks", 2, priority_class="high", cpu=1))
    assert len(victims(world.session())) == 2


def test_a_group_that_is_created_again_takes_its_pods_back() -> None:
    world = full()
    world.snapshot()
    world.put(group("left", minimum=4, queue="a", priority_class="low", phase="Running"))
    row = world.snapshot().all_groups["ns/left"]
    assert (row.min_member, row.uid, len(row.placed)) == (4, "group-left", 4)


@pytest.mark.parametrize("scheduler", ["default-scheduler", "volcano"])
def test_pods_of_other_schedulers_are_left_alone(scheduler: str) -> None:
    world = full()
    for pod in world.pods():
        spec = msgspec.structs.replace(pod.spec, scheduler_name=scheduler)
        world.put(msgspec.structs.replace(pod, spec=spec))
    assert ("ns/left" in world.snapshot().all_groups) == (scheduler == "volcano")
