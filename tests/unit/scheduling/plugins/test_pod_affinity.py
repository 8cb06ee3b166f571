"""Predicates between pods: affinity, anti-affinity, topology spread, host ports."""

from dataclasses import dataclass, field

import pytest

from tests.unit.scheduling.objects import group, node, pod, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api.kubernetes import Namespace
from vc.model.api.meta import ApiObject, ObjectMeta
from vc.model.api.node import Node
from vc.model.api.pod import Pod, TopologySpreadConstraint
from vc.model.api.selectors import LabelSelector
from vc.model.api.struct import JsonObject
from vc.scheduling.cache.cluster_cache import PODS_A_GROUP
from vc.scheduling.cache.pod_affinity_index import PodAffinityIndex
from vc.scheduling.cache.pods import PodReader
from vc.scheduling.model.rows import PodRow

NODES = [
    node("a1", labels={"zone": "a", "host": "a1"}),
    node("a2", labels={"zone": "a", "host": "a2"}),
    node("b1", labels={"zone": "b", "host": "b1"}),
    node("x1", labels={"host": "x1"}),
]
"""Two zones, and a node outside of all."""

APP: JsonObject = {"matchLabels": {"app": "web"}}
WEB = {"app": "web"}


def affinity(kind: str, key: str, selector: JsonObject | None = APP, **more: object) -> JsonObject:
    term = {"topologyKey": key, "labelSelector": selector, **more}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def near(key: str, selector: JsonObject | None = APP, **more: object) -> JsonObject:
    return affinity("podAffinity", key, selector, **more)


def far(key: str, selector: JsonObject | None = APP, **more: object) -> JsonObject:
    return affinity("podAntiAffinity", key, selector, **more)


def spread(key: str, *, skew: int = 1, **more: object) -> TopologySpreadConstraint:
    how = {"label_selector": LabelSelector(match_labels=WEB), **more}
    return TopologySpreadConstraint(max_skew=skew, topology_key=key, **how)  # type: ignore[arg-type]  # a table of keyword arguments


def waiting_pods(count: int, **how: object) -> list[Pod]:
    return [pod(f"p{n}", group="g", requests={"cpu": "1"}, **how) for n in range(count)]  # type: ignore[arg-type]  # a table of keyword arguments


def lying(name: str, on: str, **how: object) -> Pod:
    return pod(name, on=on, requests={"cpu": "1"}, scheduler="default-scheduler", **how)  # type: ignore[arg-type]  # a table of keyword arguments


@dataclass(frozen=True)
class Case:
    """Pods that lie already, pods that wait, and where they may be found afterwards."""

    id: str
    there: list[Pod]
    waiting_pods: list[Pod]
    goes_to: set[str]
    """The nodes used; empty when the gang is refused."""
    refused_by: str = ""
    nodes: list[Node] = field(default_factory=lambda: list(NODES))


CASES = [
    Case("near a placed pod, by host", [lying("w", "b1", labels=WEB)], waiting_pods(2, affinity=near("host")), {"b1"}),
    Case("near a placed pod, by zone", [lying("w", "a2", labels=WEB)], waiting_pods(4, affinity=near("zone")), {"a1", "a2"}),
    Case("near no pod", [], waiting_pods(1, affinity=near("zone")), set(), "pod affinity"),
    Case("near one of another namespace", [lying("w", "b1", labels=WEB, namespace="other")], waiting_pods(1, affinity=near("zone")), set(), "pod affinity"),
    Case("near one of a named namespace", [lying("w", "b1", labels=WEB, namespace="other")], waiting_pods(1, affinity=near("zone", namespaces=["other"])), {"b1"}),
    Case("near one of any namespace", [lying("w", "b1", labels=WEB, namespace="other")], waiting_pods(1, affinity=near("zone", namespaceSelector={})), {"b1"}),
    Case("a term without a selector matches no pod", [lying("w", "b1", labels=WEB)], waiting_pods(1, affinity=near("zone", None)), set(), "pod affinity"),
    Case("siblings near one another: the first chooses", [], waiting_pods(3, affinity=near("host"), labels=WEB), {"a1"}),
    Case("siblings near one another need the topology", [], waiting_pods(1, affinity=near("rack"), labels=WEB), set(), "pod affinity"),
    Case("siblings near one another join the one that is there", [lying("w", "b1", labels=WEB)], waiting_pods(3, affinity=near("host"), labels=WEB), {"b1"}),
    Case("far from a placed pod, by zone", [lying("w", "a2", labels=WEB)], waiting_pods(3, affinity=far("zone")), {"b1", "x1"}),
    Case("far from one another, by host", [], waiting_pods(4, affinity=far("host"), labels=WEB), {"a1", "a2", "b1", "x1"}),
    Case("far from one another, one node too few", [], waiting_pods(5, affinity=far("host"), labels=WEB), set(), "pod anti-affinity"),
    Case("far from one another, by zone", [], waiting_pods(3, affinity=far("zone", {"matchExpressions": [{"key": "app", "operator": "Exists"}]}), labels=WEB), set(), "",
         [node("a", labels={"zone": "a"}), node("b", labels={"zone": "b"})]),
    Case("a placed pod keeps others away", [lying("w", "a2", affinity=far("zone"))], waiting_pods(3, labels=WEB), {"b1", "x1"}),
    Case("a placed pod keeps away only whom it names", [lying("w", "a1", affinity=far("host"))], waiting_pods(4), {"a1", "a2", "b1", "x1"}),
    Case("placed pods keep all pods away", [lying(f"w{n.metadata.name}", n.metadata.name, affinity=far("host")) for n in NODES], waiting_pods(1, labels=WEB), set(), "anti-affinity of placed pods"),
    Case("spread over hosts", [], waiting_pods(4, spread=[spread("host")], labels=WEB), {"a1", "a2", "b1", "x1"}),
    Case("spread over zones after what lies there", [lying("w", "a1", labels=WEB)], waiting_pods(1, spread=[spread("zone")], labels=WEB), {"b1"}),
    Case("spread with a larger skew", [lying("w", "a1", labels=WEB)], waiting_pods(1, spread=[spread("zone", skew=2)], labels=WEB), {"a2"}),
    Case("spread leaves nodes without the key out", [lying("w", "b1", labels=WEB), lying("v", "a1", labels=WEB)], waiting_pods(2, spread=[spread("zone")], labels=WEB), {"a2", "b1"}),
    Case("spread that nodes cannot give", [lying("w", "a1", labels=WEB)], waiting_pods(1, spread=[spread("zone")], labels=WEB), set(), "",
         [node("a1", labels={"zone": "a"}), node("b1", cpu=0, labels={"zone": "b"})]),
    Case("spread wants more domains than there are", [lying("w", "a1", labels=WEB), lying("v", "b1", labels=WEB)], waiting_pods(1, spread=[spread("zone", min_domains=3)], labels=WEB), set(), "topology spread"),
    Case("spread with ScheduleAnyway is no check", [lying("w", "a1", labels=WEB)], waiting_pods(9, spread=[spread("zone", when_unsatisfiable="ScheduleAnyway")], labels=WEB), {"a1", "a2", "b1"}),
    Case("spread counts only nodes its selector lets through", [lying("w", "a1", labels=WEB)], waiting_pods(1, spread=[spread("zone")], labels=WEB, selector={"zone": "a"}), {"a2"}),
    Case("host ports are taken once a node", [], waiting_pods(4, host_ports=[80]), {"a1", "a2", "b1", "x1"}),
    Case("host ports, one node too few", [], waiting_pods(5, host_ports=[80]), set(), "host ports"),
    Case("host ports that others took", [lying("w", "a1", host_ports=[80])], waiting_pods(3, host_ports=[80]), {"a2", "b1", "x1"}),
    Case("other host ports", [lying(f"w{n.metadata.name}", n.metadata.name, host_ports=[81]) for n in NODES], waiting_pods(1, host_ports=[80]), {"a1"}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_pods_go_where_others_let_them(case: Case) -> None:
    job: list[ApiObject] = [group("g", minimum=len(case.waiting_pods)), *case.waiting_pods]
    world = World(queue(), case.nodes, case.there, job)
    decisions = world.session()
    found = {node for name, node in world.where().items() if name.startswith("p")}
    assert found == case.goes_to
    if not case.goes_to:
        assert world.bound("g") == 0
        reason = reason_of(decisions, "g")
        assert reason.stage in (Stage.PREDICATE, Stage.GANG)
        if case.refused_by:
            zeroed = [check.name for check in reason.checks if check.nodes_left == 0]
            assert zeroed[0] == case.refused_by


def test_a_job_sees_what_the_job_before_it_placed() -> None:
    """In one session: the second job's pods may not join the first's, and the other way round."""
    first = [
        group("first", minimum=1, age=2),
        pod("f", group="first", requests={"cpu": "1"}, affinity=far("zone")),
    ]
    second = [
        group("second", minimum=1, age=1),
        pod("s", group="second", requests={"cpu": "1"}, labels=WEB),
    ]
    world = World(queue(), NODES[1:3], first, second)
    world.session()
    assert world.where() == {"f": "a2", "s": "b1"}
    third = [
        group("third", minimum=1),
        pod("t", group="third", requests={"cpu": "1"}, affinity=far("zone")),
    ]
    world.put(*third)
    world.session()
    assert world.where()["t"] == "a2"


def test_a_refused_gang_leaves_no_trace_beside_others() -> None:
    """A discarded statement removes its pods from the counts too."""
    large = [group("g", minimum=5, age=1), *waiting_pods(5, affinity=far("host"), labels=WEB)]
    small = [
        group("s", minimum=4),
        *[
            pod(f"s{n}", group="s", requests={"cpu": "1"}, host_ports=[80], affinity=far("host"))
            for n in range(4)
        ],
    ]
    world = World(queue(), NODES, large, small)
    world.session()
    assert world.bound("g") == 0
    assert world.bound("s") == 4


def test_what_would_unblock_it_does() -> None:
    world = World(
        queue(), NODES, [group("g", minimum=5), *waiting_pods(5, affinity=far("host"), labels=WEB)]
    )
    reason = reason_of(world.session(), "g")
    assert reason.unblock is not None
    assert reason.unblock.pods == 1
    assert "4 of the 5 pods" in reason.sentence
    assert "4 are near a pod that its anti-affinity excludes" in reason.sentence
    world.put(node("late", labels={"host": "late"}))
    world.session()
    assert world.bound("g") == 5


def test_counts_follow_pods_that_come_and_go() -> None:
    world = World(
        queue(), NODES[:1], [group("g", minimum=1), *waiting_pods(1, affinity=far("host"))]
    )
    world.put(lying("w", "a1", labels=WEB))
    world.session()
    assert world.bound("g") == 0
    world.delete_pod("w")
    world.session()
    assert world.bound("g") == 1


def test_an_elastic_job_grows_one_pod_per_node() -> None:
    world = World(queue(), NODES, [group("g", minimum=1), *waiting_pods(6, host_ports=[80])])
    world.session()
    assert sorted(world.where().values()) == ["a1", "a2", "b1", "x1"]


def namespace(name: str, **labels: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, labels=labels))


def test_a_term_selects_namespaces_by_their_labels_as_they_are_now() -> None:
    """A namespace that gets the label later counts from then on, and one that loses it no more."""
    team: JsonObject = {"matchLabels": {"team": "a"}}
    world = World(
        queue(),
        NODES,
        [namespace("ns"), namespace("other"), lying("w", "b1", labels=WEB, namespace="other")],
        [group("g", minimum=1), *waiting_pods(1, affinity=near("zone", namespaceSelector=team))],
    )
    assert reason_of(world.session(), "g").checks[-1].name == "pod affinity"
    world.put(namespace("other", team="a"))
    assert world.matters
    world.session()
    assert world.where()["p0"] == "b1"
    later = pod(
        "q", group="h", requests={"cpu": "1"}, affinity=near("zone", namespaceSelector=team)
    )
    world.put(namespace("other"), group("h", minimum=1), later)
    world.session()
    assert "q" not in world.where()


def test_named_namespaces_count_beside_selected_ones() -> None:
    team: JsonObject = {"matchLabels": {"team": "a"}}
    wants = near("zone", namespaceSelector=team, namespaces=["named"])
    world = World(
        queue(),
        NODES,
        [namespace("named"), lying("w", "b1", labels=WEB, namespace="named")],
        [group("g", minimum=1), *waiting_pods(1, affinity=wants)],
    )
    world.session()
    assert world.where()["p0"] == "b1"


def test_a_placed_pods_term_follows_the_labels_of_namespaces_too() -> None:
    team: JsonObject = {"matchLabels": {"team": "a"}}
    keeper = lying("w", "a1", affinity=far("host", namespaceSelector=team))
    job = [group("g", minimum=1), *waiting_pods(1, labels=WEB)]
    world = World(queue(), NODES[:1], [namespace("ns", team="a"), keeper], job)
    assert reason_of(world.session(), "g").checks[-1].name == "anti-affinity of placed pods"
    world.put(namespace("ns"))
    world.session()
    assert world.where()["p0"] == "a1"


@pytest.mark.parametrize(
    "written",
    [
        {"labelSelector": {}},
        {"topologyKey": "zone", "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "Gt"}]}},
        {"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}},
        {"topologyKey": 7},
        "nonsense",
    ],
)  # fmt: skip
def test_a_term_that_cannot_be_read_is_reported(written: object) -> None:
    broken: JsonObject = {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [written]}
    }
    world = World(queue(), NODES, [group("g", minimum=1), *waiting_pods(1, affinity=broken)])
    reason = reason_of(world.session(), "g")
    assert reason.stage is Stage.INVALID
    assert "pod affinity" in reason.sentence


class Followed:
    """Pods as the columns keep them, with an index that follows."""

    def __init__(self) -> None:
        self._reader = PodReader(("volcano",))
        self.pods: dict[str, PodRow] = {}
        self.index = PodAffinityIndex()

    def put(self, *pods: Pod) -> None:
        for each in pods:
            row = self._reader.row(each)
            self.index.replace(self.pods.get(row.key), row)
            self.pods[row.key] = row

    def delete(self, name: str) -> None:
        self.index.replace(self.pods.pop(f"ns/{name}"), None)

    def counts(self) -> dict[bytes, dict[str, int]]:
        return {key: there for key, (_, there) in self.index.table(self.pods).selections.items()}

    def at_once(self) -> dict[bytes, dict[str, int]]:
        """Of an index that sees the pods as they are now, and counts them in one go."""
        again = PodAffinityIndex()
        for row in self.pods.values():
            again.replace(None, row)
        return {key: there for key, (_, there) in again.table(self.pods).selections.items()}


def test_selections_that_are_new_are_counted_a_few_pods_at_a_time_while_pods_change() -> None:
    followed = Followed()
    followed.put(*[lying(f"w{n}", "a1", labels=WEB) for n in range(8)])
    followed.put(*waiting_pods(1, affinity=near("zone"), labels=WEB))
    assert followed.index.count_some(followed.pods, pods_max=3), "five are left"
    followed.delete("w0")  # was counted
    followed.delete("w7")  # was not
    followed.put(lying("w1", "b1", labels=WEB))  # counted, is elsewhere now
    followed.put(lying("w6", "b1", labels=WEB))  # not counted, is elsewhere now
    followed.put(lying("w5", "a1"))  # not counted, is no longer meant
    followed.put(lying("new", "x1", labels=WEB))
    followed.put(*waiting_pods(1, affinity=near("zone", {"matchLabels": {"app": "db"}})))
    assert followed.index.count_some(followed.pods, pods_max=3)
    counted = followed.counts()
    assert {"a1": 3, "b1": 2, "x1": 1} in counted.values()
    assert len(counted) == 2, "who came during the walk has one of its own"
    assert {key: counted[key] for key in followed.at_once()} == followed.at_once()


def test_the_columns_report_that_terms_are_still_to_be_counted() -> None:
    """A session that would have to walk over all pods at once is put off, and the loop breathes."""
    many = [lying(f"w{n}", "a1", labels=WEB) for n in range(3 * PODS_A_GROUP - 1)]
    world = World(queue(), node("a1", pods=900, cpu=900, labels={"zone": "a"}), many)
    world.put(group("g", minimum=1), *waiting_pods(1, affinity=near("zone")))
    breaths = 0
    while world.cache.refresh(now=world.now, groups_max=1):
        breaths += 1
    assert breaths == 2, "a third of the pods is left after two"
    world.session()
    assert world.bound("g") == 1
