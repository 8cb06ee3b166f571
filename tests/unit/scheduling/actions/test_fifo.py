"""FIFO queues: no job is enqueued or placed before an older job of its queue."""

from dataclasses import dataclass

import pytest

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, priority_class, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Pod
from vc.model.api.struct import ResourceList


@dataclass(frozen=True)
class Ahead:
    """The first job of a queue cannot be tried; may the second pass it?"""

    id: str
    first: list[ApiObject]
    passes: bool = False
    not_bound: str = ""


def first(*members: ApiObject, minimum: int = 1, in_queue: str = "default") -> list[ApiObject]:
    return [group("first", minimum=minimum, age=99, queue=in_queue), *members]


def own(number: int = 0, **how: object) -> Pod:
    return pod(f"first-{number}", group="first", requests={"cpu": "1"}, **how)  # type: ignore[arg-type]  # keyword arguments


AHEAD = [
    Ahead("its pod is gated", first(own(gates=["wait"]))),
    Ahead("its bind failed and it rests", first(own()), not_bound="first-0"),
    Ahead("not all of its pods are made", first(own(), minimum=2)),
    Ahead("none of its pods is made", first(), passes=True),
    Ahead("its pod cannot be used", first(pod("first-0", group="first", requests={"cpu": "no"})), passes=True),
    Ahead("it waits in another queue", first(own(gates=["wait"]), in_queue="other"), passes=True),
    Ahead("it is younger", [group("first", minimum=1), own(gates=["wait"])], passes=True),
]  # fmt: skip


@pytest.mark.parametrize("requests", [{"cpu": "1"}, {}], ids=["asking", "best effort"])
@pytest.mark.parametrize("case", AHEAD, ids=[case.id for case in AHEAD])
def test_in_a_fifo_queue_no_job_passes_one_that_cannot_be_placed_yet(
    case: Ahead, requests: ResourceList
) -> None:
    world = World(
        queue(fifo=True), queue("other", fifo=True), nodes(1), case.first,
        group("second", minimum=1, age=50), pod("second-0", group="second", requests=requests),
    )  # fmt: skip
    if case.not_bound:
        failed = world.pod(case.not_bound)
        world.cache.unassume(failed.key, failed.metadata.uid, now=world.now)
    decisions = world.session()
    assert world.bound("second") == case.passes
    if not case.passes:
        reason = reason_of(decisions, "second")
        assert reason.stage is Stage.ORDER
        assert reason.sentence == "its queue is fifo and ns/first waits before it"


def test_a_reservation_is_redeemed_whatever_comes_first_in_job_order() -> None:
    classes = [priority_class("top", 99), priority_class("high", 9), priority_class("low", 1)]
    world = World(
        queue(fifo=True), classes, nodes(1, cpu=4), group("low", minimum=1, priority_class="low", phase="Running"),
        pod("low-0", group="low", requests={"cpu": "4"}, on="node-01"), gang("p", 1, cpu=4, priority_class="high"),
    )  # fmt: skip
    assert len(world.session().evictions) == 1
    world.put(group("first", minimum=1, priority_class="top"), own(gates=["wait"]))
    world.put(*gang("other", 1, cpu=4, priority_class="top"))
    world.leave()
    world.session()
    assert (world.bound("p"), world.bound("other")) == (1, 0)


@pytest.mark.parametrize("fifo", [True, False])
def test_no_job_passes_another_in_a_fifo_queue(fifo: bool) -> None:
    world = World(
        queue(fifo=fifo),
        nodes(1, cpu=8),
        gang("large", 1, age=9, cpu=9),
        gang("small", 1, age=1, cpu=1),
    )
    decisions = world.session()
    assert world.bound("small") == (0 if fifo else 1)
    if fifo:
        reason = reason_of(decisions, "small")
        assert reason.stage is Stage.ORDER
        assert reason.sentence == "its queue is fifo and ns/large waits before it"
        world.put(node("larger", cpu=9))
        world.session()
        assert (world.bound("large"), world.bound("small")) == (1, 1)


@pytest.mark.parametrize("fifo", [True, False])
def test_a_fifo_queue_enqueues_one_job_after_the_other(fifo: bool) -> None:
    world = World(
        queue(fifo=fifo),
        nodes(1, cpu=8),
        gang("large", 1, age=9, phase="Pending", cpu=99, min_resources={"cpu": "99"}),
        gang("small", 1, age=1, phase="Pending", cpu=1, min_resources={"cpu": "1"}),
    )
    decisions = world.session()
    assert decisions.enqueued == (() if fifo else ("ns/small",))


def test_other_queues_go_on_beside_a_fifo_queue() -> None:
    world = World(
        queue(fifo=True), queue("b"), nodes(1, cpu=8),
        gang("large", 1, age=9, cpu=9), gang("small", 1, queue="b", cpu=1),
    )  # fmt: skip
    world.session()
    assert world.bound("small") == 1
