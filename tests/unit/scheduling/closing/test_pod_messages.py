"""Messages of waiting pods: one for each cause, and which pods get it when."""

import msgspec
import pytest

from tests.unit.scheduling.closing.test_pod_conditions import fresh_gang, later, named, said
from tests.unit.scheduling.objects import EPOCH, group, node, nodes, pod, queue
from tests.unit.scheduling.scenarios.scenario import plugins
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.model.api.struct import JsonObject
from vc.scheduling.closing.unscheduled_pods import REWRITE_SECONDS, TASKS_GRACE_SECONDS
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.pod_status import POD_CONDITION_SECONDS


def elastic(*waiting: int, running: int = 1, affinity: JsonObject | None = None) -> list[ApiObject]:
    """A job with its minimum of 1, whose pods of 1 CPU run, and more pods of so many CPUs."""
    placed = [
        pod(f"g-r{n}", group="g", requests={"cpu": "1"}, on="node-01", phase="Running")
        for n in range(running)
    ]
    more = [
        pod(
            f"g-{n}",
            group="g",
            role=f"t{n}",
            requests={"cpu": str(cpu)},
            affinity=affinity,
            created=EPOCH,
        )
        for n, cpu in enumerate(waiting)
    ]
    return [group("g", minimum=1, phase="Running"), *placed, *more]


OVERUSED = plugins("gang", PluginConf(name="proportion", switches={"overused": True}), "predicates")
APART: JsonObject = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}


class Surplus(msgspec.Struct, frozen=True, kw_only=True):
    """A pod beyond the minimum on a node of 4 CPUs."""

    id: str
    cluster: list[ApiObject]
    queues: tuple[ApiObject, ...] = (queue(),)
    conf: Conf = Conf()
    says: str
    """Of the pod `g-0`, after `N pods beyond the minimum of 1 wait: `."""


SURPLUS = [
    Surplus(
        id="a queue with quota for one more pod is not the reason",
        cluster=elastic(5),
        queues=(queue(capability={"cpu": "6"}),),
        says="0/1 nodes fit another: 1 insufficient cpu (at most cpu 3 free on a node)",
    ),
    Surplus(
        id="a closed queue is the reason",
        cluster=elastic(1),
        queues=(queue(state="Closed"),),
        says="queue 'default' is Closed; open it to enqueue jobs",
    ),
    Surplus(
        id="a queue above its share is the reason",
        cluster=[
            *elastic(1, running=3),
            group("other", minimum=2, queue="other"),
            pod("other-0", group="other", requests={"cpu": "2"}),
        ],
        queues=(queue(), queue("other")),
        conf=OVERUSED,
        says="queue 'default' is overused",
    ),
    Surplus(
        id="pods with scheduling gates are not counted",
        cluster=[
            *elastic(5),
            pod("g-9", group="g", requests={"cpu": "1"}, gates=["else"], created=EPOCH),
        ],
        says="0/1 nodes fit another: 1 insufficient cpu",
    ),
    Surplus(
        id="where no action places pods, a free node is not refused",
        cluster=elastic(1),
        conf=Conf(actions=("enqueue",)),
        says="a node has enough free resources; they are placed in a later session",
    ),
    Surplus(
        id="pods that keep others away are looked at one by one",
        cluster=elastic(1, affinity=APART),
        says="0/1 nodes fit another: 1 ",
    ),
    Surplus(
        id="a pod whose request cannot be read is named",
        cluster=[
            *elastic(),
            pod("g-0", group="g", requests={"cpu": "much"}, created=EPOCH),
        ],
        says="pod g-0: cpu: ",
    ),
]


@pytest.mark.parametrize("case", SURPLUS, ids=lambda case: case.id)
def test_a_pod_beyond_the_minimum_says_what_refuses_it(case: Surplus) -> None:
    there = node("node-01", cpu=4, labels={"kubernetes.io/hostname": "node-01"})
    world = World(case.queues, there, case.cluster, conf=case.conf)
    later(world, POD_CONDITION_SECONDS)
    message = said(world, "g-0")
    assert message.startswith(f"1 pod beyond the minimum of 1 waits: {case.says}")


def test_the_first_task_that_still_waits_is_the_reason() -> None:
    """The pod of the first task is bound in this session."""
    world = World(queue(), nodes(1, cpu=4), elastic(2, 3))
    later(world, POD_CONDITION_SECONDS)
    assert said(world, "g-1").startswith(
        "1 pod beyond the minimum of 1 waits: 0/1 nodes fit another: 1 insufficient cpu"
    )


def test_a_pod_beyond_the_minimum_that_rests_after_a_failed_bind_says_so() -> None:
    world = World(queue(), nodes(1, cpu=4), elastic(1))
    world.cache.unassume("ns/g-0", "pod-g-0", now=EPOCH + POD_CONDITION_SECONDS - 0.5)
    later(world, POD_CONDITION_SECONDS)
    assert said(world, "g-0").endswith("the last attempt to bind them failed; they are tried again")


def test_the_only_pod_of_a_gang_that_rests_after_a_failed_bind_says_why() -> None:
    world = World(queue(), nodes(1), fresh_gang(1))
    world.cache.unassume("ns/g-0", "pod-g-0", now=EPOCH + POD_CONDITION_SECONDS - 0.5)
    assert named(later(world, POD_CONDITION_SECONDS)) == ["g-0"]


def test_a_gang_that_no_action_looked_at_says_nothing() -> None:
    world = World(queue(), nodes(1), fresh_gang(), conf=Conf(actions=("enqueue",)))
    assert later(world, POD_CONDITION_SECONDS).waiting == ()


def test_pods_of_an_incomplete_gang_wait_for_the_longer_of_both_times() -> None:
    head, *members = fresh_gang(3)
    world = World(queue(), nodes(8), group("g", minimum=5), members)
    assert head.key == "ns/g"
    world.cache.pod_condition_seconds = 30.0
    assert later(world, TASKS_GRACE_SECONDS + 1).waiting == ()
    assert named(later(world, 30)) == ["g-0", "g-1", "g-2"]


def test_a_rewrite_is_marked_and_a_first_message_is_not() -> None:
    world = World(nodes(1), queue(), fresh_gang())
    world.session()
    first = later(world, POD_CONDITION_SECONDS)
    assert [waiting.rewrites for waiting in first.waiting] == [False]
    world.put(node("node-01", unschedulable=True))
    again = later(world, REWRITE_SECONDS)
    assert [waiting.rewrites for waiting in again.waiting] == [True]
