"""Complexity: work grows with the number of objects, not with its square; counted in calls, not in time."""

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from tests.unit.scheduling.actions.test_preempt import CLASSES
from tests.unit.scheduling.eviction.test_preemption_attempts import halves
from tests.unit.scheduling.objects import gang, group, node, nodes, pod, queue
from tests.unit.scheduling.plugins.test_hdrf import at
from tests.unit.scheduling.plugins.test_resourcequota import quota
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.scheduling.cache.amount_columns import VECTORS_MAX
from vc.scheduling.cache.nodes import NodeTableBuilder
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.model.node_table import MASKS_MAX, Filtered
from vc.scheduling.model.shapes import Shapes

FEW, MANY = 60, 600
GROWTH_MAX = 2 * MANY // FEW
"""Ten times as much may cost twenty times the calls: sorting and noise, but no square."""


def calls(work: Callable[[], object]) -> int:
    """How many functions are called, those of the interpreter included."""
    count = 0

    def called(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def waiting(number: int, *, queue: str = "default") -> ApiObject:
    """A group that waits to be enqueued."""
    return group(
        f"g{number:04}", minimum=1, phase="Pending", queue=queue, min_resources={"cpu": "10m"}
    )


def many_queues(count: int) -> World:
    """Each with a job, half of them with a guarantee."""
    queues = [queue(f"q{n:04}", guarantee={"cpu": "1m"} if n % 2 else {}) for n in range(count)]
    jobs = [waiting(n, queue=f"q{n:04}") for n in range(count)]
    return World(nodes(20), queues, jobs)


def many_queues_below_root(count: int) -> World:
    """Each with a pod to place; half of them with a guarantee."""
    queues = [
        queue(f"q{n:04}", parent="root", guarantee={"cpu": "1m"} if n % 2 else {})
        for n in range(count)
    ]
    jobs = [gang(f"g{n:04}", 1, queue=f"q{n:04}", cpu="10m") for n in range(count)]
    return World(nodes(20), queue("root"), queues, [obj for job in jobs for obj in job])


def many_in_a_namespace(count: int) -> World:
    tiers = ((PluginConf(name="gang"), PluginConf(name="resourcequota")),)
    limit = quota({"requests.cpu": "1000", "pods": "100000"})
    jobs = [waiting(n) for n in range(count)]
    return World(nodes(2), queue(), limit, jobs, conf=Conf(tiers=tiers))


def many_jobs_along_paths(count: int) -> World:
    drf = PluginConf(name="drf", switches={"hierarchy": True})
    tiers = ((PluginConf(name="gang"), drf, PluginConf(name="predicates")),)
    jobs = [gang(f"j{n:04}", 1, queue="dev", cpu="10m") for n in range(count)]
    members = [obj for job in jobs for obj in job]
    return World(
        at("dev", "root/dev"), nodes(8), members, conf=Conf(actions=("allocate",), tiers=tiers)
    )


def many_that_leave(count: int) -> World:
    """And as many different gangs of two tasks that do not fit even then: each task by itself would."""
    terminating = [
        pod(f"old-{n}", requests={"cpu": "1m"}, on="node-01", deleting=True)
        for n in range(5 * count)
    ]
    jobs = [obj for n in range(count) for obj in halves(f"j{n:04}", 6_000 + n)]
    return World(nodes(1, cpu=10), queue(), CLASSES, terminating, jobs)


@pytest.mark.parametrize(
    "world",
    [many_queues, many_queues_below_root, many_in_a_namespace, many_jobs_along_paths, many_that_leave],
    ids=["queues with a job each", "queues below root", "jobs of a namespace with a quota", "jobs of a path of hdrf", "pods that leave"],
)  # fmt: skip
def test_a_session_costs_each_its_part(world: Callable[[int], World]) -> None:
    few, many = world(FEW), world(MANY)
    for warm in (few, many):
        warm.snapshot()
    assert calls(many.decide) < GROWTH_MAX * calls(few.decide)


def test_requests_that_were_seen_once_are_not_kept_for_ever() -> None:
    nodes, shapes = NodeTableBuilder(), Shapes()
    nodes.put(node("n"))
    for n in range(VECTORS_MAX + 10):
        shape = shapes.of(pod("p", requests={"cpu": f"{n + 1}m"}).spec)
        nodes.add_pod("n", shape)
        nodes.remove_pod("n", shape)
    assert len(nodes.amounts._vectors) <= VECTORS_MAX
    assert not nodes.table().used.any()


def test_masks_that_were_asked_for_once_are_not_kept_for_ever() -> None:
    nodes = NodeTableBuilder()
    nodes.put(node("n"))
    static = nodes.table().static
    for n in range(MASKS_MAX + 10):
        static.keep(("filters", n.to_bytes(4)), Filtered(mask=static.ready, left=()))
    assert 0 < len(static.masks) <= MASKS_MAX
