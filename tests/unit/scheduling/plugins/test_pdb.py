"""pdb: how many pods may be evicted together, by their disruption budgets."""

import pytest

from tests.unit.scheduling.actions.test_preempt import CLASSES, asking, running
from tests.unit.scheduling.objects import nodes, queue
from tests.unit.scheduling.plugins.session_of import one_tier, pod_row, session_of
from tests.unit.scheduling.scenarios.gangs import budget
from tests.unit.scheduling.world import World
from vc.scheduling.plugins.pdb import DisruptionBudgets


def cluster(allowed: int, *, plugin: str = "pdb") -> World:
    """Four pods, of which a budget covers those of `db`; a job asks for the resources of one."""
    return World(
        queue(), CLASSES, nodes(1, cpu=16), budget(allowed, app="db"),
        running("db", 3, labels={"app": "db"}), running("web", 1, labels={"app": "web"}),
        conf=one_tier("priority", "gang", "predicates", plugin),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("allowed", "pods", "allows"),
    [
        (0, ["web-0"], True),
        (0, ["db-0"], False),
        (1, ["db-0"], True),
        (1, ["db-0", "db-1"], False),
        (2, ["db-0", "db-1", "web-0"], True),
    ],
)
def test_a_counter_allows_as_many_pods_as_the_budget(
    allowed: int, pods: list[str], allows: bool
) -> None:
    session = session_of(cluster(allowed))
    counter = DisruptionBudgets({}).victim_limit_counter(session)
    assert counter.allows([pod_row(session, name) for name in pods]) is allows


def test_counted_pods_use_up_the_budget() -> None:
    session = session_of(cluster(2))
    counter = DisruptionBudgets({}).victim_limit_counter(session)
    counter.count([pod_row(session, "db-0")])
    assert counter.allows([pod_row(session, "db-1")])
    assert not counter.allows([pod_row(session, "db-1"), pod_row(session, "db-2")])


@pytest.mark.parametrize(
    ("allowed", "plugin", "asked", "victims"),
    [
        (0, "pdb", 1, ["web-0"]),
        (0, "pdb", 2, []),
        (1, "pdb", 2, ["db-2", "web-0"]),
        (0, "conformance", 2, ["db-1", "db-2"]),
    ],
    ids=["none of db may go", "too few may go", "one of db may go", "without the plugin"],
)
def test_victims_keep_to_the_budget(
    allowed: int, plugin: str, asked: int, victims: list[str]
) -> None:
    world = cluster(allowed, plugin=plugin)
    world.put(*asking(asked))
    found = [ref.name for eviction in world.decide().evictions for ref in eviction.pods]
    assert sorted(found) == victims
