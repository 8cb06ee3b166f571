"""conformance: critical pods of the system are never evicted, by preempt or by reclaim."""

import msgspec
import pytest

from tests.unit.scheduling.actions.test_preempt import CLASSES, asking, running
from tests.unit.scheduling.objects import gang, group, nodes, pod, queue
from tests.unit.scheduling.plugins.session_of import one_tier, pod_row, session_of
from tests.unit.scheduling.world import World
from vc.scheduling.plugins.conformance import Conformance


@pytest.mark.parametrize(
    ("pod_class", "namespace", "may_go"),
    [
        ("", "ns", True),
        ("high", "ns", True),
        ("system-cluster-critical", "ns", False),
        ("system-node-critical", "ns", False),
        ("", "kube-system", False),
    ],
)
def test_which_pods_are_exempt(pod_class: str, namespace: str, may_go: bool) -> None:
    head = group("g", minimum=1, phase="Running")
    member = pod("g-0", group="g", on="node-01", pod_priority_class=pod_class, namespace=namespace)
    head = msgspec.structs.replace(
        head, metadata=msgspec.structs.replace(head.metadata, namespace=namespace)
    )
    session = session_of(World(queue(), CLASSES, nodes(1), [head, member]))
    row = pod_row(session, "g-0")
    assert Conformance({}).preemptable(session, row) is may_go
    assert Conformance({}).reclaimable(session, row) is may_go


@pytest.mark.parametrize(
    ("plugin", "victims"),
    [("conformance", 0), ("priority", 1)],
    ids=["with the plugin", "without it"],
)
def test_a_critical_pod_is_not_preempted(plugin: str, victims: int) -> None:
    critical = running("low", 1, cpu=4, pod_priority_class="system-node-critical")
    world = World(
        queue(), CLASSES, nodes(1, cpu=4), critical, asking(),
        conf=one_tier("priority", "gang", "predicates", plugin),
    )  # fmt: skip
    assert len(world.decide().evictions) == victims


@pytest.mark.parametrize(
    ("plugin", "victims"),
    [("conformance", 0), ("priority", 1)],
    ids=["with the plugin", "without it"],
)
def test_a_critical_pod_is_not_reclaimed(plugin: str, victims: int) -> None:
    critical = running("low", 2, cpu=2, in_queue="other", pod_priority_class="system-node-critical")
    world = World(
        queue(), queue("other"), nodes(1, cpu=4), critical, gang("g", 1, cpu=2),
        conf=one_tier("gang", "predicates", "proportion", plugin),
    )  # fmt: skip
    assert len(world.decide().evictions) == victims
