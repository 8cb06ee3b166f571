"""Scenarios of predicates: for each, a job that passes it, or that waits with the reason."""

from tests.unit.scheduling.objects import gang, group, node, pod, queue
from tests.unit.scheduling.plugins.test_pod_affinity import WEB, far, lying, near, spread
from tests.unit.scheduling.scenarios.scenario import Scenario, Wait
from tests.unit.scheduling.session.test_volumes import using
from tests.unit.scheduling.storage import claim, drivers, storage_class, volume
from vc.model.api.meta import ApiObject
from vc.model.api.node import Taint
from vc.model.api.pod import Toleration
from vc.model.api.struct import JsonObject

ML = Taint(key="dedicated", value="ml", effect="NoSchedule")
TOLERATES = Toleration(key="dedicated", value="ml", effect="NoSchedule")
ZONE = "topology.kubernetes.io/zone"
ZONES = [
    node("a1", labels={"zone": "a", "host": "a1"}), node("a2", labels={"zone": "a", "host": "a2"}),
    node("b1", labels={"zone": "b", "host": "b1"}),
]  # fmt: skip
NONE = Wait(stage="predicate", unblock="add-room")


def job(count: int = 1, **how: object) -> list[ApiObject]:
    """A gang of pods of one CPU."""
    pods = [pod(f"p{n}", group="g", requests={"cpu": "1"}, **how) for n in range(count)]  # type: ignore[arg-type]  # a table of keyword arguments
    return [group("g", minimum=count), *pods]


def stored(*names: str) -> list[ApiObject]:
    """A pod with claims."""
    return [group("g", minimum=1), using("p", *names)]


def affine(*terms: JsonObject) -> JsonObject:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def need(key: str, operator: str, *values: str) -> JsonObject:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def waits(check: str, says: str, left: int = 0, **how: object) -> dict[str, Wait]:
    """No node is left after a check that looks at more than the node."""
    return {"g": Wait(stage="predicate", unblock="add-room", left={check: left}, says=says, **how)}  # type: ignore[arg-type]  # a table of keyword arguments


TABLE = [
    Scenario(id="a node selector finds its node", cluster=[queue(), ZONES, job(selector={"zone": "b"})], runs={"g": 1}, on={"g": "b1"}),
    Scenario(
        id="a node selector that no node matches",
        cluster=[queue(), ZONES, job(2, selector={"zone": "c", "disk": "ssd"})],
        waits={"g": Wait(stage="predicate", unblock="add-room", says="2 more pods fit on nodes with disk=ssd, zone=c")},
    ),
    Scenario(
        id="a node selector whose nodes are full",
        cluster=[queue(), [node("a", cpu=1, labels={"zone": "a"}), node("b")], job(2, selector={"zone": "a"})],
        waits={"g": Wait(stage="gang", unblock="add-room", says="1 do not match the node selector, 1 insufficient cpu")},
    ),
    Scenario(
        id="a node selector for a label without a value",
        cluster=[queue(), ZONES, job(selector={"node-role.kubernetes.io/gpu": ""})],
        waits={"g": Wait(stage="predicate", unblock="add-room", says="on nodes with node-role.kubernetes.io/gpu")},
    ),
    Scenario(id="a node affinity finds its node", cluster=[queue(), ZONES, job(affinity=affine(need("zone", "NotIn", "a")))], runs={"g": 1}, on={"g": "b1"}),
    Scenario(
        id="a node affinity that no node matches",
        cluster=[queue(), ZONES, job(affinity=affine(need("zone", "In", "c", "d")))],
        waits={"g": Wait(stage="predicate", unblock="add-room", says="fits on nodes with zone=c")},
    ),
    Scenario(
        id="a node affinity of numbers and of labels of any value",
        cluster=[queue(), ZONES, job(affinity=affine({"matchExpressions": [*need("cores", "Gt", "64")["matchExpressions"], *need("ssd", "Exists")["matchExpressions"], *need("spot", "DoesNotExist")["matchExpressions"]]}))],
        waits={"g": Wait(stage="predicate", unblock="add-room", says="on nodes with cores=65, ssd")},
    ),
    Scenario(
        id="a node affinity for a node by its name",
        cluster=[queue(), ZONES, job(affinity=affine({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["c1"]}]}))],
        waits={"g": Wait(stage="predicate", unblock="add-room", says="fits on node c1")},
    ),
    Scenario(
        id="a node affinity for a full node by its name",
        cluster=[queue(), [node("small", cpu=1), node("b")], job(3, affinity=affine({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["small"]}]}))],
        waits={"g": Wait(stage="gang", unblock="add-room", says="2 more pods fit on node small")},
    ),
    Scenario(
        id="a selector and an affinity that exclude one another",
        cluster=[queue(), ZONES, job(selector={"zone": "a"}, affinity=affine(need("zone", "In", "b")))],
        waits={"g": Wait(stage="predicate", unblock="fix", says="no node can have all", fix=job()[1:])},
    ),
    Scenario(id="a toleration opens tainted nodes", cluster=[queue(), node("t", taints=[ML]), job(tolerations=[TOLERATES])], runs={"g": 1}, on={"g": "t"}),
    Scenario(
        id="taints that are not tolerated",
        cluster=[queue(), [node("t", taints=[ML]), node("u", taints=[ML])], job()],
        waits={"g": Wait(stage="predicate", unblock="add-room", says="fits on nodes without dedicated=ml:NoSchedule (or tolerates it)")},
    ),
    Scenario(
        id="a selector whose nodes are tainted",
        cluster=[queue(), [node("t", taints=[ML], labels={"gpu": "a100"}), node("u")], job(selector={"gpu": "a100"})],
        waits={"g": Wait(stage="predicate", unblock="add-room", says="on nodes with gpu=a100 on nodes without dedicated=ml:NoSchedule")},
    ),
    Scenario(id="nodes that are not ready", cluster=[queue(), [node("a", ready=False), node("b", ready=False)], job()], waits={"g": Wait(stage="predicate", unblock="add-room", says="2 not ready")}),
    Scenario(id="nodes that are cordoned", cluster=[queue(), [node("a", unschedulable=True)], job()], waits={"g": Wait(stage="predicate", unblock="add-room", says="1 cordoned")}),
    Scenario(id="no nodes at all", cluster=[queue(), job(2)], waits={"g": Wait(stage="predicate", unblock="add-room", says="there are no nodes")}),
    Scenario(
        id="as many pods as nodes take",
        cluster=[queue(), [node("a", pods=2), node("b", pods=1)], job(4)],
        waits={"g": Wait(stage="gang", unblock="add-room", says="3 of the 4 pods")},
    ),
    Scenario(id="a resource that no node has", cluster=[queue(), ZONES, gang("g", 1, gpu=1)], waits={"g": Wait(stage="gang", unblock="add-room", says="3 insufficient nvidia.com/gpu")}),
    Scenario(id="memory that no node has", cluster=[queue(), ZONES, gang("g", 1, memory="1Ti")], waits={"g": Wait(stage="gang", unblock="add-room", says="insufficient memory (at most memory 512Gi free on a node)")}),
    Scenario(id="host ports, one pod a node", cluster=[queue(), ZONES, job(3, host_ports=[80])], runs={"g": 3}, on={"g": "a1 a2 b1"}),
    Scenario(
        id="host ports, two nodes too few",
        cluster=[queue(), ZONES, job(5, host_ports=[80])],
        waits={"g": Wait(stage="gang", unblock="add-room", left={"host ports": 0}, says="2 more pods fit on nodes each with its own kubernetes.io/hostname")},
    ),
    Scenario(id="near a pod", cluster=[queue(), ZONES, lying("w", "b1", labels=WEB), job(2, affinity=near("zone"))], runs={"g": 2}, on={"g": "b1 b1"}),
    Scenario(
        id="near a pod whose zone is full",
        cluster=[queue(), [node("a1", labels={"zone": "a"}), node("b1", cpu=2, labels={"zone": "b"})], lying("w", "b1", labels=WEB), job(2, affinity=near("zone"))],
        waits={"g": Wait(stage="gang", unblock="add-room", left={"pod affinity": 1}, says="1 more pod fits on nodes with zone=b")},
    ),
    Scenario(
        id="near a pod that is nowhere",
        cluster=[queue(), ZONES, job(2, affinity=near("zone"))],
        waits={"g": Wait(stage="predicate", unblock="create-peer", left={"pod affinity": 0}, says="it starts near a pod with app=web")},
    ),
    Scenario(
        id="affinity to no pod that can be",
        cluster=[queue(), ZONES, job(affinity=near("zone", None))],
        waits={"g": Wait(stage="predicate", unblock="fix", left={"pod affinity": 0}, fix=job()[1:])},
    ),
    Scenario(
        id="siblings near one another on a node that is too small",
        cluster=[queue(), [node("a1", cpu=2, labels={"host": "a1"}), node("a2", cpu=2, labels={"host": "a2"})], job(3, affinity=near("host"), labels=WEB)],
        waits={"g": Wait(stage="gang", unblock="add-room", left={"pod affinity": 1}, says="1 more pod fits on nodes with host=a1")},
    ),
    Scenario(
        id="siblings near one another where no node has the topology",
        cluster=[queue(), ZONES, job(2, affinity=near("rack"), labels=WEB)],
        waits=waits("pod affinity", "2 more pods fit on nodes with rack"),
    ),
    Scenario(id="far from one another", cluster=[queue(), ZONES, job(3, affinity=far("host"), labels=WEB)], runs={"g": 3}, on={"g": "a1 a2 b1"}),
    Scenario(
        id="far from one another, zones too few",
        cluster=[queue(), ZONES, job(4, affinity=far("zone"), labels=WEB)],
        waits={"g": Wait(stage="gang", unblock="add-room", left={"pod anti-affinity": 0}, says="2 more pods fit on nodes each with its own zone")},
    ),
    Scenario(
        id="kept away by pods that lie there",
        cluster=[queue(), ZONES, [lying(f"w{n}", n, affinity=far("host")) for n in ("a1", "a2", "b1")], job(2, labels=WEB)],
        waits=waits("anti-affinity of placed pods", "3 are near a pod whose anti-affinity excludes it; it starts when 2 more pods fit on nodes each with its own host"),
    ),
    Scenario(id="spread over zones", cluster=[queue(), ZONES, job(2, spread=[spread("zone")], labels=WEB)], runs={"g": 2}, on={"g": "a1 b1"}),
    Scenario(
        id="spread over zones of which one is full",
        cluster=[queue(), [node("a1", labels={"zone": "a"}), node("b1", cpu=1, labels={"zone": "b"})], job(4, spread=[spread("zone")], labels=WEB)],
        waits={"g": Wait(stage="gang", unblock="add-room", left={"topology spread": 1}, says="1 more pod fits at every zone")},
    ),
    Scenario(
        id="spread over more zones than there are",
        cluster=[queue(), ZONES, [lying("w", "a1", labels=WEB), lying("v", "b1", labels=WEB)], job(2, spread=[spread("zone", min_domains=3)], labels=WEB)],
        waits=waits("topology spread", "would be skewed more than its topology spread allows; it starts when 2 more pods fit on nodes each with its own zone"),
    ),
    Scenario(id="a volume of one node", cluster=[queue(), ZONES, claim("c", volume="v"), volume("v", host="b1"), stored("c")], runs={"g": 1}, on={"g": "b1"}),
    Scenario(
        id="a volume of a node that is not there",
        cluster=[queue(), ZONES, claim("c", volume="v"), volume("v", host="x9"), stored("c")],
        waits={"g": Wait(stage="predicate", unblock="reach-volume", left={"volume affinity": 0}, says="fits on nodes with host=x9")},
    ),
    Scenario(
        id="a volume of a zone without nodes",
        cluster=[queue(), node("a", labels={ZONE: "a"}), claim("c", volume="v"), volume("v", labels={ZONE: "z"}), stored("c")],
        waits={"g": Wait(stage="predicate", unblock="reach-volume", left={"volume zone": 0}, says=f"fits on nodes with {ZONE}=z")},
    ),
    Scenario(
        id="volumes of two nodes",
        cluster=[queue(), ZONES, claim("c", volume="v"), volume("v", host="a1"), claim("d", volume="w"), volume("w", host="b1"), stored("c", "d")],
        waits={"g": Wait(stage="predicate", unblock="fix", left={"volume affinity": 0}, says="no node can have all", fix=[volume("w", host="a1")])},
    ),
    Scenario(
        id="more volumes than the nodes attach",
        cluster=[queue(), ZONES[:2], [claim(f"c{n}", volume=f"v{n}") for n in range(3)], [volume(f"v{n}") for n in range(3)], [drivers("a1", count=1), drivers("a2", count=1)],
                 [group("g", minimum=3), *(using(f"p{n}", f"c{n}") for n in range(3))]],
        waits={"g": Wait(stage="predicate", unblock="add-room", left={"volume limits": 0}, says="have as many volumes as they can attach")},
    ),
    Scenario(
        id="a claim that finds no free volume",
        cluster=[queue(), ZONES, claim("c"), storage_class(waits=True, provisioner="kubernetes.io/no-provisioner"), stored("c")],
        waits={"g": Wait(stage="predicate", unblock="add-volume", left={"volume binding": 0}, says="have no volume for its claims", then=["volumes"])},
    ),
]  # fmt: skip
