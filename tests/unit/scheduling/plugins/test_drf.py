"""drf: jobs by dominant share. `test_hdrf.py` has the variant with hierarchy."""

from dataclasses import dataclass

import pytest

from tests.unit.scheduling.objects import gang, node, nodes, queue
from tests.unit.scheduling.plugins.session_of import group_row, one_tier, session_of
from tests.unit.scheduling.world import World
from vc.scheduling.conf.model import PluginConf
from vc.scheduling.model.amounts import Amounts
from vc.scheduling.plugins.drf.plugin import Drf, dominant_share


@pytest.mark.parametrize(
    ("amounts", "share"),
    [
        ({}, 0),
        ({"cpu": 2_000}, 200),
        ({"cpu": 2_000, "nvidia.com/gpu": 4_000}, 500),
        ({"example.com/fpga": 1}, 1000),
        ({"example.com/fpga": 0}, 0),
    ],
    ids=["nothing", "one resource", "the largest part counts", "what no node has", "none of it"],
)
def test_dominant_share_of_a_cluster(amounts: Amounts, share: int) -> None:
    """Ten CPUs and eight GPUs; the share in thousandths."""
    session = session_of(World(queue(), [node("a", cpu=10, gpu=8)]))
    assert dominant_share(session, amounts, points=1000) == share


@pytest.mark.parametrize(
    ("plugin", "first"),
    [("drf", "poor"), ("gang", "rich")],
    ids=["the smaller share", "without the plugin the older one"],
)
def test_the_job_with_the_smaller_share_is_placed_first(plugin: str, first: str) -> None:
    world = World(
        queue(), nodes(1, cpu=8),
        gang("rich", 2, minimum=1, cpu=2, age=9), gang("poor", 2, minimum=1, cpu=1),
    )  # fmt: skip
    world.session()
    session = session_of(world)
    keys = {n: Drf({}).job_order_key(session, group_row(session, n)) for n in ("rich", "poor")}
    assert keys["poor"] < keys["rich"]
    world = World(queue(), nodes(1, cpu=4), conf=one_tier(plugin))
    world.put(*gang("rich", 1, cpu=2, age=9), *gang("poor", 1, cpu=1))
    world.session()
    world.put(*gang("rich", 2, cpu=2, age=9), *gang("poor", 2, cpu=1))
    assert next(bind.group for bind in world.decide().binds) == f"ns/{first}"


@dataclass(frozen=True)
class Case:
    """CPUs of preemptor and victim job afterwards, in a cluster of ten."""

    id: str
    preemptor: int
    victim: int
    fair: bool


CASES = [
    Case("the preemptor has less", 2_000, 3_000, fair=True),
    Case("both have the same", 3_000, 3_000, fair=True),
    Case("the preemptor has more", 3_001, 3_000, fair=False),
]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_preemption_among_equal_priority_is_fair_afterwards(case: Case) -> None:
    session = session_of(World(queue(), nodes(1, cpu=10)))
    preemptor, victim = {"cpu": case.preemptor}, {"cpu": case.victim}
    fair = Drf({}).equal_priority_preemptable(session, preemptor=preemptor, victim=victim)
    assert fair is case.fair


@pytest.mark.parametrize(("switches", "victims"), [({}, 0), ({"preemptable": True}, 1)])
def test_equal_priority_is_preempted_only_if_the_switch_is_written(
    switches: dict[str, bool], victims: int
) -> None:
    conf = one_tier("gang", "predicates", PluginConf(name="drf", switches=switches))
    world = World(queue(), nodes(1, cpu=4), gang("rich", 4, minimum=1, cpu=1), conf=conf)
    world.session()
    world.put(*gang("poor", 1, cpu=1))
    assert len(world.decide().evictions) == victims


def test_jobs_with_much_cpu_and_jobs_with_much_memory_share_by_their_dominant_resource() -> None:
    """drf: 9 CPUs, 18 GiB; A asks 1 CPU and 4 GiB, B 3 CPUs and 1 GiB: three of A, two of B."""
    a = gang("a", 9, minimum=0, cpu=1, memory="4Gi", age=2)
    b = gang("b", 9, minimum=0, cpu=3, memory="1Gi", age=1)
    world = World(queue(), queue("other"), [node("n", cpu=9, memory="18Gi")])
    for job in (a, b):
        world.put(*job)
    world.session()
    assert world.bound("a") + world.bound("b") >= 5
