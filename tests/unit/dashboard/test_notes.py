"""What keeps a job waiting besides its reason: refused writes, queues that are not reclaimable, surplus pods."""

from collections.abc import Sequence

import msgspec
import pytest

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, queue
from tests.unit.scheduling.scenarios.scenario import plugins
from tests.unit.scheduling.world import World
from vc.dashboard.logic.notes import (
    QUEUES_NAMED_MAX,
    beyond_minimum,
    controller_refusal,
    not_reclaimable,
)
from vc.messages.sessions import Amount, Reason, Stage
from vc.model.api.job import Job, JobState, JobStatus
from vc.model.api.meta import ApiObject, ObjectMeta
from vc.model.api.scheduling import Queue
from vc.scheduling import plugins as plugin_registry
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.framework.framework import Framework
from vc.scheduling.session.session import Session

RECLAIM = ("enqueue", "allocate", "reclaim")


def looked(world: World) -> Session:
    return Session(world.snapshot(), Framework(world.conf, plugin_registry.REGISTRY), world.now)


# -- refused writes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "message", "told"),
    [
        pytest.param(
            "WriteRefused",
            "Pod 'a': exceeded quota",
            "the API server refuses what the job controller writes: Pod 'a': exceeded quota",
            id="a refused write is told as the API server said it",
        ),
        pytest.param("WriteRefused", "", "", id="a refusal without a message says nothing"),
        pytest.param("PodFailed", "exit code 1", "", id="another state is no refusal"),
    ],
)
def test_refusal_of_the_api_server(reason: str, message: str, told: str) -> None:
    state = JobState(phase="Pending", reason=reason, message=message)
    job = Job(metadata=ObjectMeta(name="a", namespace="ns"), status=JobStatus(state=state))
    assert controller_refusal(job) == told


# -- queues that are not reclaimable -------------------------------------------------------------


def holding(name: str, cpu: int, *, on: str = "node-01") -> list[ApiObject]:
    """A job that runs in the queue of its name, of pods of one CPU."""
    placed = [
        pod(f"{name}-{n}", group=name, requests={"cpu": "1"}, on=on, phase="Running")
        for n in range(cpu)
    ]
    return [group(name, minimum=1, queue=name, phase="Running"), *placed]


def lacks(resource: str, missing: int) -> Amount:
    return Amount(resource=resource, needed=2000, available=2000 - missing, missing=missing)


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A job of two pods of 1 CPU waits in the queue `mine` of a node of 4 CPUs."""

    id: str
    queues: Sequence[Queue] = (queue("keeps", reclaimable=False),)
    held: int = 4
    """CPUs that run in the queue `keeps`."""
    waits_in: str = "mine"
    stage: Stage = Stage.GANG
    amounts: Sequence[Amount] = (lacks("cpu", 2000),)
    conf: Conf = Conf(actions=RECLAIM)
    group: str = "ns/waits"
    told: Sequence[str] = ()
    """What `keeps` is said to hold above its share."""


HELD = [
    Held(id="a queue above its share that is not reclaimable is named", told=("cpu 2",)),
    Held(id="a reclaimable queue is not named", queues=(queue("keeps", reclaimable=True),)),
    Held(id="a queue that holds its share is not named", held=2),
    Held(id="the own queue of the job is not named", waits_in="keeps"),
    Held(id="overcommit is about nodes, too", stage=Stage.OVERCOMMIT, told=("cpu 2",)),
    Held(id="a job that its queue refuses does not wait for others", stage=Stage.QUOTA),
    Held(
        id="without the action reclaim nothing would be reclaimed",
        conf=Conf(actions=("enqueue", "allocate")),
    ),
    Held(
        id="without shares no queue is above its share",
        conf=msgspec.structs.replace(plugins("gang", "predicates"), actions=RECLAIM),
    ),
    Held(
        id="only what is missing counts", amounts=(lacks("cpu", 0), lacks("memory", 2000)), told=()
    ),
    Held(
        id="where nothing is missing in all, every resource counts, and pods do not",
        amounts=(lacks("cpu", 0), lacks("pods", 0)),
        told=("cpu 2",),
    ),
    Held(id="a job that is gone waits for nothing", group="ns/gone"),
]


@pytest.mark.parametrize("case", HELD, ids=lambda case: case.id)
def test_queues_that_hold_what_is_missing(case: Held) -> None:
    world = World(
        queue("mine"),
        case.queues,
        nodes(1, cpu=4),
        holding("keeps", case.held),
        gang("waits", 2, queue=case.waits_in, cpu=1),
        gang("wants", 2, queue="mine", cpu=1),
        conf=case.conf,
    )
    reason = Reason(
        stage=case.stage, code="NotEnoughResources", sentence="", amounts=list(case.amounts)
    )
    assert not_reclaimable(looked(world), case.group, reason) == [
        f"queue 'keeps' holds {over} more than its share, which is missing here, but it is not "
        "reclaimable"
        for over in case.told
    ]


def test_few_queues_are_named() -> None:
    names = [f"keeps-{n}" for n in range(QUEUES_NAMED_MAX + 1)]
    world = World(
        queue("mine"),
        [queue(name, reclaimable=False) for name in names],
        nodes(1, cpu=8),
        *(holding(name, 2) for name in names),
        gang("waits", 4, queue="mine", cpu=1),
        conf=Conf(actions=RECLAIM),
    )
    reason = Reason(stage=Stage.GANG, code="", sentence="", amounts=[lacks("cpu", 2000)])
    told = not_reclaimable(looked(world), "ns/waits", reason)
    assert [sentence.split("'")[1] for sentence in told] == names[:QUEUES_NAMED_MAX]


# -- pods beyond the minimum ---------------------------------------------------------------------


def grows(
    *waiting: tuple[str, int], minimum: int = 1, scheduler: str = "volcano"
) -> list[ApiObject]:
    """A job with one running pod of 1 CPU, and more pods by task and CPUs."""
    placed = pod(
        "g-0", group="g", role="w", requests={"cpu": "1"}, on="node-01", phase="Running",
        scheduler=scheduler,
    )  # fmt: skip
    more = [
        pod(f"g-{n}", group="g", role=role, requests={"cpu": str(cpu)}, scheduler=scheduler)
        for n, (role, cpu) in enumerate(waiting, start=1)
    ]
    return [group("g", minimum=minimum, phase="Running"), placed, *more]


def beyond(world: World, key: str = "ns/g") -> Reason | None:
    return beyond_minimum(looked(world), key)


def test_one_pod_and_several_pods_beyond_the_minimum_say_what_they_lack() -> None:
    one = beyond(World(queue(), nodes(1, cpu=2), grows(("w", 2))))
    assert one is not None
    assert one.needed_pods == 1
    assert one.sentence.startswith("1 pod beyond the minimum of 1 waits: 0 of the 1 pods")
    two = beyond(World(queue(), nodes(1, cpu=2), grows(("w", 2), ("w", 2))))
    assert two is not None
    assert two.needed_pods == 2
    assert two.sentence.startswith("2 pods beyond the minimum of 1 wait: 0 of the 1 pods")


def test_pods_of_which_one_has_room_need_no_reason() -> None:
    assert beyond(World(queue(), nodes(1, cpu=2), grows(("w", 1), ("w", 1)))) is None


def test_the_first_task_without_room_is_the_reason() -> None:
    found = beyond(World(queue(), nodes(1, cpu=4), grows(("a", 1), ("b", 4))))
    assert found is not None
    assert "pods of cpu 4 " in found.sentence


def test_a_queue_above_its_share_is_the_reason_although_a_node_has_room() -> None:
    other = gang("other", 2, queue="other", cpu=1)
    conf = plugins("gang", PluginConf(name="proportion", switches={"overused": True}), "predicates")
    world = World(queue(), queue("other"), nodes(1, cpu=4), grows(("w", 1)), other, conf=conf)
    assert beyond(world) is None
    busy = [
        pod(f"g-x{n}", group="g", role="w", requests={"cpu": "1"}, on="node-01", phase="Running")
        for n in range(2)
    ]
    world.put(*busy)
    found = beyond(world)
    assert found is not None
    assert "queue 'default'" in found.sentence


@pytest.mark.parametrize(
    ("objects", "key"),
    [
        pytest.param(grows(("w", 2)), "ns/gone", id="a group that is gone"),
        pytest.param(grows(), "ns/g", id="a group without waiting pods"),
        pytest.param(grows(("w", 2), minimum=2), "ns/g", id="a group that lacks its minimum"),
        pytest.param(
            grows(("w", 2), scheduler="other"), "ns/g", id="pods that another scheduler places"
        ),
    ],
)
def test_no_pods_wait_beyond_the_minimum(objects: list[ApiObject], key: str) -> None:
    assert beyond(World(queue(), node("node-01", cpu=2), objects), key) is None


def test_pods_of_a_queue_that_is_gone_are_judged_by_the_nodes() -> None:
    found = beyond(World(nodes(1, cpu=2), grows(("w", 2))))
    assert found is not None
    assert "insufficient cpu" in found.sentence
