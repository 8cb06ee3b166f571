"""Fair share of queues: deserved shares by weight and by `deserved`, borrowing and reclaim, down the queue tree."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.scheduling.objects import group, nodes, pod, queue
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.model.api.scheduling import Queue
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.plugins.queue_shares.tree import ShareClaim, fill

CAPACITY = Conf(
    tiers=(
        (PluginConf(name="priority"), PluginConf(name="gang"), PluginConf(name="conformance")),
        (PluginConf(name="overcommit"), PluginConf(name="predicates"), PluginConf(name="capacity"), PluginConf(name="nodeorder")),
    )
)  # fmt: skip


def jobs(name: str, count: int, *, in_queue: str, age: int = 0, **how: object) -> list[ApiObject]:
    """Jobs of one pod of one CPU each."""
    found: list[ApiObject] = []
    for n in range(count):
        member = pod(f"{name}{n}-0", group=f"{name}{n}", requests={"cpu": "1"}, **how)  # type: ignore[arg-type]  # a table of keyword arguments
        found += [group(f"{name}{n}", minimum=1, queue=in_queue, age=age + count - n), member]
    return found


def run_until_stable(world: World, *, sessions: int = 12) -> None:
    """Sessions until nothing is evicted any more; victims are gone at once and created again."""
    for _ in range(sessions):
        decisions = world.session()
        gone = [p for p in world.pods() if p.metadata.deletion_timestamp]
        world.leave()
        for victim in gone:
            job = victim.metadata.annotations["scheduling.k8s.io/group-name"]
            world.put(pod(victim.metadata.name, group=job, requests={"cpu": "1"}))
        world.now += 11
        if not decisions.evictions and not decisions.binds and not gone:
            return
    raise AssertionError("evictions do not end")


def has(world: World) -> dict[str, int]:
    """Running pods by queue."""
    total: dict[str, int] = {}
    for bound in world.pods():
        if bound.spec.node_name:
            job = world.group(bound.metadata.annotations["scheduling.k8s.io/group-name"])
            total[job.spec.queue] = total.get(job.spec.queue, 0) + 1
    return total


@dataclass(frozen=True)
class Case:
    """Queues with many small jobs each, on ten CPUs: who has how many in the end."""

    id: str
    queues: list[Queue]
    first: dict[str, int]
    """Jobs that come first, when no other jobs exist."""
    then: dict[str, int]
    ends: dict[str, int]
    conf: Conf = field(default_factory=Conf)


CASES = [
    Case("3:1:1 when all come at once", [queue("a", weight=3), queue("b"), queue("c")], {}, {"a": 9, "b": 9, "c": 9}, {"a": 6, "b": 2, "c": 2}),
    Case("3:1:1 with borrowing and reclaim", [queue("a", weight=3), queue("b"), queue("c")], {"b": 12}, {"a": 9, "c": 9}, {"a": 6, "b": 2, "c": 2}),
    Case("unrequested resources are borrowed", [queue("a", weight=3), queue("b")], {}, {"b": 12}, {"b": 10}),
    Case("no more is taken back than is asked for", [queue("a", weight=9), queue("b")], {"b": 12}, {"a": 3}, {"a": 3, "b": 7}),
    Case("a queue that is not reclaimable has no victims", [queue("a"), queue("b", reclaimable=False)], {"b": 12}, {"a": 5}, {"b": 10}),
    Case("a guarantee is kept free", [queue("a", guarantee={"cpu": "4"}), queue("b")], {}, {"b": 12}, {"b": 6}),
    Case("a guarantee is never reclaimed", [queue("a", weight=9), queue("b", guarantee={"cpu": "7"})], {"b": 12}, {"a": 9}, {"a": 3, "b": 7}),
    Case("an overuse that is tolerated stays", [queue("a"), queue("b", tolerance="0.6")], {"b": 12}, {"a": 9}, {"a": 2, "b": 8}),
    Case("a capability is the end of borrowing", [queue("a"), queue("b", capability={"cpu": "7"})], {}, {"b": 12}, {"b": 7}),
    Case("the tree by weight",
         [queue("root"), queue("dept-a", weight=3, parent="root"), queue("dept-b", weight=2, parent="root"), queue("team-a1", weight=2, parent="dept-a"), queue("team-a2", weight=1, parent="dept-a")],
         {}, {"dept-b": 15, "team-a1": 15, "team-a2": 15}, {"dept-b": 4, "team-a1": 4, "team-a2": 2}),
    Case("the tree by weight, with reclaim",
         [queue("dept-a", weight=3), queue("dept-b", weight=2), queue("team-a1", weight=2, parent="dept-a"), queue("team-a2", weight=1, parent="dept-a")],
         {"dept-b": 12}, {"team-a1": 15, "team-a2": 15}, {"dept-b": 4, "team-a1": 4, "team-a2": 2}),
    Case("reclaim among siblings",
         [queue("dept-a"), queue("dept-b"), queue("team-a1", parent="dept-a"), queue("team-a2", parent="dept-a")],
         {"team-a1": 5, "dept-b": 5}, {"team-a2": 9, "team-a1": 4, "dept-b": 4}, {"dept-b": 5, "team-a1": 3, "team-a2": 2}),
    Case("by deserved", [queue("a", deserved={"cpu": "7"}), queue("b", deserved={"cpu": "3"})], {"b": 12}, {"a": 9}, {"a": 7, "b": 3}, CAPACITY),
    Case("by deserved, borrowing", [queue("a", deserved={"cpu": "7"}), queue("b", deserved={"cpu": "3"})], {}, {"b": 12}, {"b": 10}, CAPACITY),
    Case("a queue that deserves nothing is reclaimed first", [queue("a", deserved={"cpu": "5"}), queue("b", deserved={"cpu": "5"}), queue("c")], {"b": 5, "c": 5}, {"a": 9}, {"a": 5, "b": 5}, CAPACITY),
    Case("by deserved, down the tree",
         [queue("dept-a", deserved={"cpu": "6"}), queue("dept-b", deserved={"cpu": "4"}), queue("team-a1", deserved={"cpu": "4"}, parent="dept-a"), queue("team-a2", deserved={"cpu": "2"}, parent="dept-a")],
         {"team-a2": 12}, {"team-a1": 9, "dept-b": 9}, {"dept-b": 4, "team-a1": 4, "team-a2": 2}, CAPACITY),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_queues_end_with_their_share(case: Case) -> None:
    world = World(case.queues, nodes(2, cpu=5), conf=case.conf)
    for name, count in case.first.items():
        world.put(*jobs(f"{name}-old", count, in_queue=name, age=100))
    if case.first:
        run_until_stable(world)
    for name, count in case.then.items():
        world.put(*jobs(f"{name}-new", count, in_queue=name))
    run_until_stable(world)
    assert has(world) == case.ends
    before = world.where()
    run_until_stable(world)
    assert world.where() == before, "it rests"


@given(
    st.integers(0, 10_000),
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 50), st.integers(0, 9_000)), max_size=6),
)
def test_all_of_a_resource_is_divided_fairly(
    total: int, given_claims: list[tuple[int, int, int]]
) -> None:
    claims = [
        ShareClaim(name=str(n), weight=w, least=least, most=most)
        for n, (w, least, most) in enumerate(given_claims)
    ]
    shares = fill(total, claims)
    for claim in claims:
        assert claim.least <= shares[claim.name] <= max(claim.least, claim.most)
    wanted = sum(max(claim.least, claim.most) for claim in claims)
    least = sum(claim.least for claim in claims)
    assert sum(shares.values()) == max(least, min(total, wanted))
    open_ended = [c for c in claims if c.least < shares[c.name] < c.most]
    for one in open_ended:
        for other in open_ended:
            assert abs(shares[one.name] / one.weight - shares[other.name] / other.weight) <= 1
