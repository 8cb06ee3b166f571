"""task-topology: tasks of a job together or apart, with the plugin and without."""

from dataclasses import dataclass, field

import msgspec
import pytest

from tests.unit.scheduling.objects import group, node, pod, queue
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.model.api.node import Node
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.plugins.task_topology import read_topology

PREFIX = "volcano.sh/task-topology-"
BASE = ("gang", "predicates", "nodeorder")


def conf(*, on: bool = True, weight: str = "10") -> Conf:
    topology = PluginConf(name="task-topology", arguments={"task-topology.weight": weight})
    plugins = tuple(PluginConf(name=name) for name in BASE)
    return Conf(tiers=((*plugins, topology) if on else plugins,))


def job(annotations: dict[str, str], **roles: int) -> list[ApiObject]:
    """A gang of one-CPU pods of some roles."""
    made = group("g", minimum=sum(roles.values()), roles=roles)
    noted = {PREFIX + key.replace("_", "-"): text for key, text in annotations.items()}
    metadata = msgspec.structs.replace(made.metadata, annotations=noted)
    pods = [
        pod(f"{role}-{n}", group="g", role=role, requests={"cpu": "1"})
        for role, count in roles.items()
        for n in range(count)
    ]
    return [msgspec.structs.replace(made, metadata=metadata), *pods]


def tasks_bound(world: World) -> list[str]:
    """The roles on each node that has any, sorted."""
    by_node: dict[str, list[str]] = {}
    for name, on in world.where().items():
        by_node.setdefault(on, []).append(name.split("-")[0])
    return sorted(" ".join(sorted(roles)) for roles in by_node.values())


@dataclass(frozen=True)
class Case:
    """A job, and the roles that share nodes with the plugin and without."""

    id: str
    annotations: dict[str, str]
    roles: dict[str, int]
    together: list[str]
    otherwise: list[str]
    nodes: list[Node] = field(default_factory=lambda: [node(f"n{n}", cpu=4) for n in range(4)])


SPREAD = ["ps", "ps worker", "worker", "worker worker"]
CASES = [
    Case("ps apart, workers with their ps", {"affinity": "ps,worker", "anti_affinity": "ps"}, {"ps": 2, "worker": 4},
         ["ps worker worker", "ps worker worker"], ["ps worker", "ps worker", "worker", "worker"]),
    Case("a kind that wants to be with its own", {"affinity": "worker"}, {"worker": 4}, ["worker worker worker worker"], ["worker"] * 4),
    Case("a kind that shuns its own", {"anti_affinity": "worker"}, {"worker": 2}, ["worker", "worker"], ["worker worker"],
         [node("n0", cpu=40), node("n1", cpu=2)]),
    Case("two kinds that shun each other", {"anti_affinity": "ps,worker"}, {"ps": 1, "worker": 1}, ["ps", "worker"], ["ps worker"],
         [node("n0", cpu=40), node("n1", cpu=2)]),
    Case("as many together as fit", {"affinity": "ps,worker"}, {"ps": 1, "worker": 5}, ["ps worker worker worker", "worker worker"], ["ps worker", "worker", "worker worker", "worker"]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_tasks_lie_as_the_job_wants(case: Case) -> None:
    def end(given: Conf) -> list[str]:
        world = World(queue(), case.nodes, job(case.annotations, **case.roles), conf=given)
        world.session()
        assert world.bound("g") == sum(case.roles.values())
        return tasks_bound(world)

    assert end(conf()) == case.together
    assert end(conf(on=False)) != case.together


def test_a_preference_never_keeps_a_gang_from_running() -> None:
    """Three that shun one another, on two nodes."""
    nodes = [node(f"n{n}", cpu=4) for n in range(2)]
    world = World(queue(), nodes, job({"anti_affinity": "worker"}, worker=3), conf=conf())
    world.session()
    assert world.bound("g") == 3


def test_the_whole_bucket_chooses_the_node() -> None:
    """The best node for one pod alone cannot fit its companions."""
    nodes = [node("small", cpu=2), node("wide", cpu=40), node("zfull", cpu=40)]
    there = pod("x", on="wide", requests={"cpu": "34"}, scheduler="s")
    full = pod("y", on="zfull", requests={"cpu": "39"}, scheduler="s")
    work = job({"affinity": "ps,worker"}, ps=1, worker=4)
    world = World(queue(), nodes, [there, full], work, conf=conf())
    world.session()
    ours = {name: on for name, on in world.where().items() if name not in ("x", "y")}
    assert set(ours.values()) == {"wide"}


def test_a_large_bucket_counts_whole() -> None:
    """Twenty fit on the emptier node, and all forty on the other."""
    full = pod("y", on="wide", requests={"cpu": "40"}, scheduler="s")
    work = job({"affinity": "worker"}, worker=40)
    world = World(queue(), [node("empty", cpu=20), node("wide", cpu=80)], full, work, conf=conf())
    world.session()
    assert set(world.where().values()) == {"wide"}


def test_of_equal_buckets_the_one_that_asks_for_least_is_joined() -> None:
    """A bucket of several small pods before one of a single large one."""
    nodes = [node(f"n{n}", cpu=8) for n in range(2)]
    work = job({"affinity": "ps,worker", "anti_affinity": "ps"}, ps=2, worker=2)
    world = World(queue(), nodes, work, conf=conf())
    world.put(pod("ps-1", group="g", role="ps", requests={"cpu": "4"}))
    world.session()
    where = world.where()
    assert where["worker-0"] == where["worker-1"] == where["ps-0"] != where["ps-1"]


def test_shunning_counts_in_full_against_other_scores() -> None:
    """With the weight of 1 a pod that is shunned costs more than a node that is full then."""
    nodes = [node("n0", cpu=40), node("n1", cpu=1)]
    work = job({"anti_affinity": "ps,worker"}, ps=1, worker=1)
    world = World(queue(), nodes, work, conf=conf(weight="1"))
    world.session()
    assert tasks_bound(world) == ["ps", "worker"]


def test_pods_join_those_that_lie_there_already() -> None:
    nodes = [node(f"n{n}", cpu=8) for n in range(3)]
    first = job({"affinity": "ps,worker"}, ps=1, worker=3)
    world = World(queue(), nodes, first, conf=conf())
    world.put(pod("ps-0", group="g", role="ps", requests={"cpu": "1"}, on="n2"))
    world.session()
    assert set(world.where().values()) == {"n2"}


def test_the_users_order_comes_first() -> None:
    read = read_topology(
        {PREFIX + "affinity": "a,b", PREFIX + "anti-affinity": "a", PREFIX + "task-order": "b,a"}
    )
    assert read is not None
    assert read.ranks["b"] < read.ranks["a"]
    plain = read_topology({PREFIX + "affinity": "a,b", PREFIX + "anti-affinity": "a"})
    assert plain is not None
    assert plain.ranks["a"] < plain.ranks["b"], "who shuns its own kind is harder to place"


@pytest.mark.parametrize(
    "text", [";;", ",", "unknown", "unknown,worker", "a," * 10_000, "ps;;worker,"]
)
def test_nonsense_changes_nothing_for_others(text: str) -> None:
    world = World(
        queue(), [node("n0", cpu=8)], job({"affinity": text, "anti_affinity": text}, ps=1, worker=2),
        conf=conf(),
    )  # fmt: skip
    world.session()
    assert world.bound("g") == 3
