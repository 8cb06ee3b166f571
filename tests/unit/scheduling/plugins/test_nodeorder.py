"""nodeorder: the score of each preference, with its weight and without."""

from dataclasses import dataclass, field

import pytest

from tests.unit.scheduling.objects import group, node, pod, queue
from tests.unit.scheduling.world import World
from vc.model.api.node import Node, Taint
from vc.model.api.pod import Pod, Toleration, TopologySpreadConstraint
from vc.model.api.selectors import LabelSelector
from vc.model.api.struct import JsonObject
from vc.scheduling.conf.model import Conf, PluginConf

NODES = [
    node("a1", labels={"zone": "a", "host": "a1"}),
    node("a2", labels={"zone": "a", "host": "a2"}),
    node("b1", labels={"zone": "b", "host": "b1"}),
]
WEB = {"app": "web"}
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SOFT = Taint(key="k", value="v", effect="PreferNoSchedule")


def conf(**weights: str) -> Conf:
    """nodeorder with some weights, written with `_` for `.`."""
    arguments = {name.replace("_", "."): value for name, value in weights.items()}
    return Conf(
        tiers=(
            (
                PluginConf(name="gang"),
                PluginConf(name="predicates"),
                PluginConf(name="nodeorder", arguments=arguments),
            ),
        )
    )


def rather_node(key: str, value: str, weight: int = 10) -> JsonObject:
    needs = [{"key": key, "operator": "In", "values": [value]}]
    return {
        "nodeAffinity": {PREFERRED: [{"weight": weight, "preference": {"matchExpressions": needs}}]}
    }


def rather(kind: str, key: str, weight: int = 10) -> JsonObject:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": WEB}}
    return {kind: {PREFERRED: [{"weight": weight, "podAffinityTerm": term}]}}


def anyway(key: str) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(
        max_skew=1,
        topology_key=key,
        when_unsatisfiable="ScheduleAnyway",
        label_selector=LabelSelector(match_labels=WEB),
    )


def must(kind: str, key: str) -> JsonObject:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": WEB}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def lying(name: str, on: str, affinity: JsonObject | None = None) -> Pod:
    return pod(
        name, on=on, requests={"cpu": "1"}, scheduler="default-scheduler", labels=WEB,
        affinity=affinity,
    )  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One pod, where it goes, and where it would go with that weight at 0."""

    id: str
    asks: Pod
    weight: str
    goes_to: str
    otherwise: str
    there: list[Pod] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=lambda: list(NODES))


def waiting_pod(**how: object) -> Pod:
    return pod("p", group="g", requests={"cpu": "1"}, **how)  # type: ignore[arg-type]  # a table of keyword arguments


LIES = [lying("w", "b1")]
FAR = [lying("w", "a1"), lying("v", "a2")]
CASES = [
    Case("preferred node affinity", waiting_pod(affinity=rather_node("zone", "b")), "nodeaffinity_weight", "b1", "a1"),
    Case("preferred pod affinity", waiting_pod(affinity=rather("podAffinity", "host")), "podaffinity_weight", "b1", "a1", LIES),
    Case("preferred pod anti-affinity", waiting_pod(affinity=rather("podAntiAffinity", "zone")), "podaffinity_weight", "b1", "a1",
         [lying("w", "a1"), lying("v", "b1"), lying("u", "a2")], [NODES[0], NODES[1], node("b1", cpu=40, labels={"zone": "b", "host": "b1"})]),
    Case("a placed pod would rather have it near", waiting_pod(labels=WEB), "podaffinity_weight", "b1", "a1", [lying("w", "b1", rather("podAffinity", "host"))]),
    Case("a placed pod would rather have it far", waiting_pod(labels=WEB), "podaffinity_weight", "b1", "a1", [lying("w", "a2", rather("podAntiAffinity", "zone")), lying("v", "b1")]),
    Case("a placed pod must have its kind near", waiting_pod(labels=WEB), "podaffinity_weight", "b1", "a1", [lying("w", "b1", must("podAffinity", "zone"))]),
    Case("a placed pod speaks of others", waiting_pod(labels={"app": "db"}), "podaffinity_weight", "a1", "a1", [lying("w", "b1", rather("podAffinity", "host"))]),
    Case("what placed pods prefer outweighs what they require", waiting_pod(labels=WEB), "podaffinity_weight", "b1", "a2",
         [lying("w", "a1", must("podAffinity", "host")), lying("v", "b1", rather("podAffinity", "host", 2))]),
    Case("both sides are added up", waiting_pod(labels=WEB, affinity=rather("podAffinity", "host", 5)), "podaffinity_weight", "b1", "a1",
         [lying("w", "a2"), lying("v", "b1", rather("podAffinity", "host", 1))]),
    Case("a required anti-affinity is no preference", waiting_pod(labels={"app": "db"}), "podaffinity_weight", "a1", "a1", [lying("w", "b1", must("podAntiAffinity", "zone"))]),
    Case("soft spread over zones", waiting_pod(spread=[anyway("zone")], labels=WEB), "podtopologyspread_weight", "b1", "a1",
         FAR, [NODES[0], NODES[1], node("b1", cpu=20, labels={"zone": "b"})]),
    Case("taints that only advise", waiting_pod(), "tainttoleration_weight", "a2", "a1", [], [node("a1", taints=[SOFT]), NODES[1]]),
    Case("advice that is tolerated", waiting_pod(tolerations=[Toleration(key="k", operator="Exists")]), "tainttoleration_weight", "a1", "a1", [], [node("a1", taints=[SOFT]), NODES[1]]),
    Case("least requested", waiting_pod(), "leastrequested_weight", "a1", "b1", [pod("x", on="b1", requests={"cpu": "10", "memory": "80Gi"}, scheduler="s")],
         [node("a1", cpu=30, memory="512Gi"), node("b1", cpu=64, memory="512Gi")]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_preference_decides_and_its_weight_can_be_taken_away(case: Case) -> None:
    def where(given: Conf) -> str:
        world = World(
            queue(), case.nodes, case.there, [group("g", minimum=1), case.asks], conf=given
        )
        world.session()
        return world.where()["p"]

    assert where(conf()) == case.goes_to
    assert where(conf(**{case.weight: "0"})) == case.otherwise


def test_what_a_placed_pod_prefers_goes_with_it() -> None:
    """While it lies there, and for those that its own session places after it."""
    friend = pod("w-0", group="w", requests={"cpu": "1"}, affinity=rather("podAffinity", "host"))
    pods = [pod(f"p-{n}", group="g", requests={"cpu": "1"}, labels=WEB) for n in range(3)]
    jobs = [group("w", minimum=1, age=9), friend, group("g", minimum=3), *pods]
    world = World(queue(), NODES, jobs, conf=conf())
    world.session()
    assert {world.where()[f"p-{n}"] for n in range(3)} == {world.where()["w-0"]}
    world.delete_pod("w-0")
    world.put(group("late", minimum=1), pod("l", group="late", requests={"cpu": "1"}, labels=WEB))
    world.session()
    assert world.where()["l"] not in (world.where()["p-0"], "")


def test_most_requested_fills_up() -> None:
    there = [lying("w", "b1")]
    world = World(
        queue(), NODES, there, [group("g", minimum=1), waiting_pod()],
        conf=conf(mostrequested_weight="5"),
    )  # fmt: skip
    world.session()
    assert world.where()["p"] == "b1"


def test_the_heavier_preference_wins() -> None:
    preferences = rather_node("host", "a2", 10)["nodeAffinity"][PREFERRED]
    preferences += rather_node("host", "b1", 90)["nodeAffinity"][PREFERRED]
    job = [group("g", minimum=1), waiting_pod(affinity={"nodeAffinity": {PREFERRED: preferences}})]
    world = World(queue(), NODES, job)
    world.session()
    assert world.where()["p"] == "b1"


def test_a_preference_is_no_requirement() -> None:
    """Siblings that shun one another share nodes when there are too few."""
    pods = [
        pod(
            f"p{n}",
            group="g",
            requests={"cpu": "1"},
            labels=WEB,
            affinity=rather("podAntiAffinity", "host"),
        )
        for n in range(5)
    ]
    world = World(queue(), NODES, [group("g", minimum=5), *pods])
    world.session()
    used = list(world.where().values())
    assert sorted(used.count(n) for n in set(used)) == [1, 2, 2]


def test_balance_looks_at_gpus_when_the_pod_wants_some() -> None:
    """Both nodes are equally full of CPU and memory; one has all its GPUs free."""
    nodes = [node("a1", gpu=8), node("a2", gpu=8)]
    busy = pod("x", on="a1", requests={"nvidia.com/gpu": "7"}, scheduler="s")
    asks = pod("p", group="g", requests={"cpu": "1", "nvidia.com/gpu": "1"})
    world = World(queue(), nodes, [busy], [group("g", minimum=1), asks], conf=conf())
    world.session()
    assert world.where()["p"] == "a2"


@pytest.mark.parametrize("preference", [{"weight": "x"}, {"weight": 5, "podAffinityTerm": {}}, 7])
def test_a_preference_that_cannot_be_read_is_reported_or_left_out(preference: object) -> None:
    affinity: JsonObject = {"podAffinity": {PREFERRED: [preference]}}
    world = World(queue(), NODES, [group("g", minimum=1), waiting_pod(affinity=affinity)])
    decisions = world.session()
    sentences = [job.reason.sentence for job in decisions.reasons]
    assert world.bound("g") == 1 or "pod affinity" in sentences[0]


@pytest.mark.parametrize(
    ("written", "checked"),
    [("false", False), ("False", False), ("0", False), ("f", False), ("true", True), ("?", True)],
)
def test_a_predicate_is_off_however_no_is_written(written: str, checked: bool) -> None:
    arguments = {"predicate.TaintTolerationEnable": written}
    plugins = (PluginConf(name="gang"), PluginConf(name="predicates", arguments=arguments))
    tainted = node("a1", taints=[Taint(key="k", effect="NoSchedule")])
    job = [group("g", minimum=1), waiting_pod()]
    world = World(queue(), tainted, job, conf=Conf(tiers=(plugins,)))
    world.session()
    assert (world.bound("g") == 0) == checked
