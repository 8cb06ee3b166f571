"""binpack: which node a pod goes to, by the use of nodes and the weights of resources."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, queue
from tests.unit.scheduling.plugins.session_of import one_tier
from tests.unit.scheduling.world import World
from vc.model.api.struct import ResourceList
from vc.scheduling.conf.model import PluginConf


@dataclass(frozen=True)
class Case:
    """Two nodes of 10 CPUs, 10 GiB and 10 GPUs, what they run, and where a new pod goes."""

    id: str
    on_a: ResourceList
    on_b: ResourceList
    goes_to: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    requests: ResourceList = field(default_factory=lambda: {"cpu": "1", "memory": "1Gi"})


CPU_B: tuple[ResourceList, ResourceList] = ({"memory": "3Gi"}, {"cpu": "5"})
"""Node a has more memory in use than node b, node b more CPUs; the sum is larger on node b."""

CASES = [
    Case("the node with more use", {"cpu": "2"}, {"cpu": "5"}, "b"),
    Case("the mean over resources counts", {"cpu": "4", "memory": "4Gi"}, {"cpu": "5"}, "a"),
    Case("cpu and memory weigh the same", *CPU_B, "b"),
    Case("weight of memory", *CPU_B, "a", {"binpack.memory": "3"}),
    Case("weight of cpu", *CPU_B, "b", {"binpack.cpu": "3", "binpack.memory": "1"}),
    Case("a resource of weight 0", *CPU_B, "a", {"binpack.cpu": "0"}),
    Case("only what the pod requests counts", *CPU_B, "a", requests={"memory": "1Gi"}),
    Case("without weight no node is preferred", {"cpu": "2"}, {"cpu": "5"}, "a", {"binpack.weight": "0"}),
    Case("devices count without being listed", {"cpu": "3"}, {"nvidia.com/gpu": "8"}, "b",
         requests={"cpu": "1", "nvidia.com/gpu": "1"}),
    Case("with a list other devices do not count", {"cpu": "3"}, {"nvidia.com/gpu": "8"}, "a",
         {"binpack.resources": "example.com/fpga"}, {"cpu": "1", "nvidia.com/gpu": "1"}),
    Case("weight of a listed device", {"cpu": "5"}, {"nvidia.com/gpu": "2"}, "b",
         {"binpack.resources": "nvidia.com/gpu", "binpack.resources.nvidia.com/gpu": "9"},
         {"cpu": "1", "nvidia.com/gpu": "1"}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_pod_goes_to_the_fuller_node(case: Case) -> None:
    world = World(
        queue(),
        [node(name, cpu=10, memory="10Gi", gpu=10) for name in ("a", "b")],
        [group("there", minimum=0, phase="Running")],
        [pod("there-a", group="there", requests=case.on_a, on="a")],
        [pod("there-b", group="there", requests=case.on_b, on="b")],
        [group("g", minimum=1), pod("g-0", group="g", requests=case.requests)],
        conf=one_tier("predicates", PluginConf(name="binpack", arguments=dict(case.arguments))),
    )
    world.session()
    assert world.where()["g-0"] == case.goes_to


def test_pods_of_a_gang_fill_one_node_before_the_next() -> None:
    """Without binpack the same pods are spread."""
    packed = World(queue(), nodes(4), gang("g", 4, cpu=10), conf=one_tier("gang", "binpack"))
    packed.session()
    assert set(packed.where().values()) == {"node-01"}
    spread = World(queue(), nodes(4), gang("g", 4, cpu=10), conf=one_tier("gang", "nodeorder"))
    spread.session()
    assert len(set(spread.where().values())) == 4


def test_binpack_fills_nodes_with_gpus_up_by_default() -> None:
    there = gang("there", 1, cpu=1, gpu=4)
    world = World(
        queue(),
        [node("a", gpu=8, cpu=8), node("b", gpu=8, cpu=8)],
        there,
        conf=one_tier("gang", "predicates", "binpack"),
    )
    world.session()
    world.put(*gang("more", 2, cpu=1, gpu=2))
    world.session()
    assert set(world.where().values()) == {"a"}
