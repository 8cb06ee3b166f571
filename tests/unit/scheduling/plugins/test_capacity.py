"""capacity: deserved shares as they are written, borrowing, and queues with children."""

from dataclasses import dataclass

import pytest

from tests.unit.scheduling.objects import gang, nodes, queue
from tests.unit.scheduling.plugins.session_of import one_tier, session_of
from tests.unit.scheduling.world import World, reason_of
from vc.model.api.scheduling import Queue
from vc.model.api.struct import ResourceList
from vc.scheduling.conf.model import PluginConf
from vc.scheduling.plugins.capacity import Capacity


@dataclass(frozen=True)
class Case:
    """Queues of a cluster of 12 CPUs, and the CPUs that queue `a` deserves; None if not listed."""

    id: str
    queues: list[Queue]
    deserved: int | None


CASES = [
    Case("as written", [queue("a", deserved={"cpu": "5"})], 5),
    Case("a resource that is not listed", [queue("a", deserved={"memory": "1Gi"})], None),
    Case("no more than the cluster", [queue("a", deserved={"cpu": "50"})], 12),
    Case("no more than the capability", [queue("a", deserved={"cpu": "5"}, capability={"cpu": "3"})], 3),
    Case("no less than the guarantee", [queue("a", deserved={"cpu": "5"}, guarantee={"cpu": "7"})], 7),
    Case("a guarantee alone", [queue("a", guarantee={"cpu": "7"})], 7),
    Case("the sum of the children",
         [queue("a"), queue("b", parent="a", deserved={"cpu": "2"}), queue("c", parent="a", deserved={"cpu": "3"})], 5),
    Case("its own share, not that of the children",
         [queue("a", deserved={"cpu": "4"}), queue("b", parent="a", deserved={"cpu": "9"})], 4),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_deserved_shares(case: Case) -> None:
    session = session_of(World(case.queues, nodes(2, cpu=6)))
    cpu = Capacity({}).deserved_shares(session)["a"].get("cpu")
    assert (None if cpu is None else cpu // 1000) == case.deserved


@pytest.mark.parametrize(
    ("switches", "bound"),
    [({}, 1), ({"hierarchy": True}, 0)],
    ids=["jobs of a parent queue run", "with hierarchy only leaf queues run jobs"],
)
def test_jobs_of_a_queue_with_children(switches: dict[str, bool], bound: int) -> None:
    world = World(
        queue("top"), queue("leaf", parent="top"), nodes(1), gang("g", 1, cpu=1, queue="top"),
        conf=one_tier("gang", PluginConf(name="capacity", switches=switches)),
    )  # fmt: skip
    decisions = world.decide()
    assert decisions.bound_pods == bound
    if not bound:
        assert "'leaf'" in reason_of(decisions, "g").sentence


@pytest.mark.parametrize(
    ("mine", "theirs", "reclaims"),
    [
        ({"cpu": "4"}, {"cpu": "4"}, True),
        ({"cpu": "1"}, {"cpu": "4"}, False),
        ({}, {"cpu": "4"}, False),
        ({"cpu": "4"}, {"cpu": "8"}, False),
        ({"cpu": "4"}, {}, True),
    ],
    ids=[
        "the claimant is below its share and the victim above",
        "the claimant would exceed its share",
        "the claimant deserves nothing",
        "the victim queue has no more than its share",
        "the victim queue deserves nothing",
    ],
)
def test_reclaim_by_deserved(mine: ResourceList, theirs: ResourceList, reclaims: bool) -> None:
    world = World(
        queue("a", deserved=mine), queue("b", deserved=theirs), nodes(1, cpu=8),
        *[gang(f"b{n}", 1, cpu=2, queue="b") for n in range(4)],
        conf=one_tier("gang", "predicates", "capacity"),
    )  # fmt: skip
    world.session()
    world.put(*gang("a", 1, cpu=2, queue="a"))
    assert bool(world.decide().evictions) is reclaims
