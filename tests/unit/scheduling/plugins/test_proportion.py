"""proportion: fair share by weight, overused queues, and limits along the queue tree."""

from dataclasses import dataclass

import pytest

from tests.unit.scheduling.objects import gang, nodes, queue
from tests.unit.scheduling.plugins.session_of import one_tier, session_of
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api.scheduling import Queue
from vc.scheduling.conf.model import PluginConf
from vc.scheduling.plugins.proportion import Proportion


@dataclass(frozen=True)
class Case:
    """Queues with requests in a cluster of 12 CPUs, and the CPUs that they deserve."""

    id: str
    queues: list[Queue]
    requests: dict[str, int]
    deserved: dict[str, int]


CASES = [
    Case("by weight", [queue("a", weight=2), queue("b")], {"a": 12, "b": 12}, {"a": 8, "b": 4}),
    Case("no more than the request", [queue("a", weight=2), queue("b")], {"a": 3, "b": 12}, {"a": 3, "b": 9}),
    Case("no more than the capability", [queue("a", capability={"cpu": "2"}), queue("b")],
         {"a": 12, "b": 12}, {"a": 2, "b": 10}),
    Case("no less than the guarantee", [queue("a", guarantee={"cpu": "9"}), queue("b")],
         {"a": 1, "b": 12}, {"a": 9, "b": 3}),
    Case("the share of a parent is divided among its children",
         [queue("top", weight=2), queue("a", parent="top"), queue("b", parent="top", weight=3), queue("c")],
         {"a": 12, "b": 12, "c": 12}, {"top": 8, "a": 2, "b": 6, "c": 4}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_deserved_shares(case: Case) -> None:
    jobs = [gang(f"{q}-job", n, queue=q, cpu=1) for q, n in case.requests.items()]
    session = session_of(World(case.queues, nodes(2, cpu=6), *jobs))
    deserved = Proportion({}).deserved_shares(session)
    assert {name: deserved[name]["cpu"] // 1000 for name in case.deserved} == case.deserved


@pytest.mark.parametrize(
    ("switches", "bound"),
    [({}, 4), ({"overused": True}, 2), ({"overused": False}, 4)],
    ids=["off by default", "on", "off"],
)
def test_an_overused_queue_starts_no_further_pods(switches: dict[str, bool], bound: int) -> None:
    """Queue b deserves two of four CPUs, but its pod of three CPUs fits on no node."""
    world = World(
        queue("a"), queue("b"), nodes(2, cpu=2),
        gang("a", 4, minimum=1, cpu=1, queue="a"), gang("b", 1, cpu=3, queue="b"),
        conf=one_tier("gang", PluginConf(name="proportion", switches=switches)),
    )  # fmt: skip
    assert world.decide().bound_pods == bound


@pytest.mark.parametrize(
    ("switches", "bound"),
    [({}, 0), ({"hierarchy": False}, 2)],
    ids=["ancestors limit a queue", "without hierarchy they do not"],
)
def test_the_capability_of_a_parent(switches: dict[str, bool], bound: int) -> None:
    world = World(
        queue("top", capability={"cpu": "1"}), queue("leaf", parent="top"), nodes(1, cpu=9),
        gang("g", 2, cpu=1, queue="leaf"),
        conf=one_tier("gang", PluginConf(name="proportion", switches=switches)),
    )  # fmt: skip
    decisions = world.decide()
    assert decisions.bound_pods == bound
    if not bound:
        assert reason_of(decisions, "g").stage is Stage.QUOTA


def test_the_queue_with_the_smaller_share_comes_first() -> None:
    world = World(
        queue("a"), queue("b", weight=3), nodes(1, cpu=8),
        gang("a", 1, cpu=2, queue="a"), gang("b", 1, cpu=2, queue="b"),
    )  # fmt: skip
    world.session()
    world.put(*gang("a2", 1, cpu=4, queue="a", age=9), *gang("b2", 1, cpu=4, queue="b"))
    session = session_of(world)
    plugin = Proportion({})
    keys = {n: plugin.queue_order_key(session, session.snapshot.queues[n]) for n in ("a", "b")}
    assert keys["b"] < keys["a"]
    world.session()
    assert (world.bound("a2"), world.bound("b2")) == (0, 1)
