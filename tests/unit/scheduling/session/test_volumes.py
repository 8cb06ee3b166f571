"""Volumes: on which nodes a pod can use its claims, and what is written on claims before it is bound."""

from dataclasses import dataclass, field

import msgspec
import pytest

from tests.unit.scheduling.objects import gang, group, node, pod, queue
from tests.unit.scheduling.storage import DRIVER, claim, drivers, storage_class, volume
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api import kinds
from vc.model.api.meta import ApiObject
from vc.model.api.node import Node
from vc.model.api.pod import ClaimReference, EphemeralVolume, Pod, Volume
from vc.scheduling.cache.volumes import BIND_SECONDS_MAX, CHOICE_REST_SECONDS
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.effects import claim_effect
from vc.scheduling.model.decisions import Decisions

NODES = [
    node("a1", labels={"zone": "a", "host": "a1", "topology.kubernetes.io/zone": "a"}),
    node("a2", labels={"zone": "a", "host": "a2", "topology.kubernetes.io/zone": "a"}),
    node("b1", labels={"zone": "b", "host": "b1", "topology.kubernetes.io/zone": "b"}),
]


def using(name: str, *claims: str, job: str = "g", **how: object) -> Pod:
    """A pod with volumes."""
    made = pod(name, group=job, requests={"cpu": "1"}, **how)  # type: ignore[arg-type]  # a table of keyword arguments
    volumes = [
        Volume(name=f"v{n}", persistent_volume_claim=ClaimReference(claim_name=c))
        for n, c in enumerate(claims)
    ]
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, volumes=volumes))


@dataclass(frozen=True)
class Case:
    """Storage, the pods of a gang, and the nodes they may be found on."""

    id: str
    storage: list[ApiObject]
    pods: list[Pod]
    goes_to: set[str]
    """Empty when the gang is refused."""
    refused_by: str = ""
    nodes: list[Node] = field(default_factory=lambda: list(NODES))


BOUND = claim("c", volume="v")
CASES = [
    Case("a volume that is anywhere", [BOUND, volume("v")], [using("p", "c")], {"a1"}),
    Case("a volume of one node", [BOUND, volume("v", host="b1")], [using("p", "c")], {"b1"}),
    Case("a volume of a node that is not there", [BOUND, volume("v", host="x")], [using("p", "c")], set(), "volume affinity"),
    Case("volumes of two nodes", [BOUND, volume("v", host="b1"), claim("d", volume="w"), volume("w", host="a1")], [using("p", "c", "d")], set(), "volume affinity"),
    Case("a volume of a zone", [BOUND, volume("v", labels={"topology.kubernetes.io/zone": "b"})], [using("p", "c")], {"b1"}),
    Case("a volume of two zones", [BOUND, volume("v", labels={"topology.kubernetes.io/zone": "b__c"})], [using("p", "c")], {"b1"}),
    Case("a volume of a zone without nodes", [BOUND, volume("v", labels={"topology.kubernetes.io/zone": "c"})], [using("p", "c")], set(), "volume zone"),
    Case("nodes outside of all zones are not affected", [BOUND, volume("v", labels={"topology.kubernetes.io/zone": "c"})], [using("p", "c")], {"plain"}, "", [node("plain")]),
    Case("siblings share a claim", [BOUND, volume("v", host="a2")], [using("p", "c"), using("q", "c")], {"a2"}),
    Case("as many volumes as the node attaches", [*[claim(f"c{n}", volume=f"v{n}") for n in range(3)], *[volume(f"v{n}") for n in range(3)], *[drivers(n.metadata.name, count=1) for n in NODES]],
         [using(f"p{n}", f"c{n}") for n in range(3)], {"a1", "a2", "b1"}),
    Case("more volumes than the nodes attach", [*[claim(f"c{n}", volume=f"v{n}") for n in range(4)], *[volume(f"v{n}") for n in range(4)], *[drivers(n.metadata.name, count=1) for n in NODES]],
         [using(f"p{n}", f"c{n}") for n in range(4)], set(), "volume limits"),
    Case("one volume of many pods is attached once", [BOUND, volume("v"), drivers("a1", count=1)], [using(f"p{n}", "c") for n in range(3)], {"a1"}, "", NODES[:1]),
    Case("a volume that others attached already", [BOUND, volume("v"), drivers("a1", count=1), using("w", "c", on="a1", job="")], [using("p", "c")], {"a1"}, "", NODES[:1]),
    Case("a node that says so itself", [BOUND, volume("v"), claim("d", volume="w"), volume("w"), using("w", "d", on="n", job="")], [using("p", "c")], set(), "volume limits",
         [msgspec.structs.replace(NODES[0], metadata=msgspec.structs.replace(NODES[0].metadata, name="n"),
                                  status=msgspec.structs.replace(NODES[0].status, allocatable={**NODES[0].status.allocatable, f"attachable-volumes-csi-{DRIVER}": "1"}))]),
    Case("no class makes a volume there", [claim("c"), storage_class(waits=True, zones=("z",))], [using("p", "c")], set(), "volume binding"),
    Case("no volumes are provisioned and none is free", [claim("c"), storage_class(waits=True, provisioner="kubernetes.io/no-provisioner")], [using("p", "c")], set(), "volume binding"),
    Case("two claims and one free volume", [claim("c"), claim("d"), storage_class(waits=True, provisioner="kubernetes.io/no-provisioner"), volume("v", host="a1")], [using("p", "c", "d")], set(), "volume binding"),
    Case("a free volume that is too small", [claim("c"), storage_class(waits=True, provisioner="kubernetes.io/no-provisioner"), volume("v", size="1Gi")], [using("p", "c")], set(), "volume binding"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_pods_go_where_their_volumes_are(case: Case) -> None:
    world = World(
        queue(), case.nodes, case.storage, [group("g", minimum=len(case.pods)), *case.pods]
    )
    decisions = world.session()
    names = {p.metadata.name for p in case.pods}
    found = {on for name, on in world.where().items() if name in names}
    assert found == case.goes_to
    if case.refused_by:
        reason = reason_of(decisions, "g")
        zeroed = [check.name for check in reason.checks if check.nodes_left == 0]
        assert zeroed[0] == case.refused_by
        assert reason.stage in (Stage.PREDICATE, Stage.GANG)


@pytest.mark.parametrize(
    ("storage", "code", "action", "cure"),
    [
        ([], "ClaimNotFound", "create-claim", [claim("c", volume="v"), volume("v")]),
        ([claim("c"), storage_class()], "ClaimNotBound", "bind-claim", [claim("c", volume="v"), volume("v")]),
        ([claim("c", storage="none")], "ClaimNotBound", "bind-claim", [claim("c", volume="v"), volume("v")]),
        ([claim("c", volume="v")], "VolumeNotFound", "create-volume", [volume("v")]),
        ([claim("c", volume="v", phase="Lost")], "VolumeNotFound", "create-volume", [claim("c", volume="v"), volume("v")]),
    ],
    ids=["missing", "unbound", "unbound without a class", "volume missing", "lost"],
)  # fmt: skip
def test_a_claim_that_no_node_can_help_is_named_with_what_would(
    storage: list[ApiObject], code: str, action: str, cure: list[ApiObject]
) -> None:
    world = World(queue(), NODES, storage, [group("g", minimum=1), using("p", "c")])
    world.put(*gang("other", 1, cpu=1))
    reason = reason_of(world.session(), "g")
    assert (reason.stage, reason.code) == (Stage.VOLUMES, code)
    assert "'ns/c'" in reason.sentence
    assert reason.unblock is not None
    assert (reason.unblock.action, reason.unblock.target) == (
        action,
        "v" if action == "create-volume" else "ns/c",
    )
    assert world.bound("other") == 1
    world.put(*cure)
    assert world.matters
    world.session()
    assert world.bound("g") == 1


def test_one_pod_alone_uses_a_claim_that_says_so() -> None:
    alone = claim("c", volume="v", modes=("ReadWriteOncePod",))
    world = World(queue(), NODES, [alone, volume("v")], [group("g", minimum=1), using("p", "c")])
    world.put(using("first", "c", on="a1", job=""))
    reason = reason_of(world.session(), "g")
    assert reason.code == "ClaimInUse"
    assert reason.unblock is not None
    assert reason.unblock.action == "free-claim"
    world.delete_pod("first")
    world.session()
    assert world.bound("g") == 1


def bind_claims(world: World, decisions: Decisions) -> None:
    """What a provisioner and the volume controller make of our choices."""
    for choice in decisions.claims:
        name = choice.claim.split("/")[1]
        made = choice.volume or f"made-for-{name}"
        world.put(volume(made, claimed=name, host=choice.node), claim(name, volume=made))


def test_the_selected_node_is_written_on_a_claim_and_the_gang_waits_for_it() -> None:
    world = World(
        queue(),
        NODES,
        [claim("c"), storage_class(waits=True, zones=("b",))],
        [group("g", minimum=2), using("p", "c"), using("q")],
    )
    decisions = world.session()
    assert world.bound("g") == 0
    assert [(c.claim, c.node, c.volume) for c in decisions.claims] == [("ns/c", "b1", "")]
    reason = reason_of(decisions, "g")
    assert reason.stage is Stage.VOLUMES
    assert reason.sentence == "its nodes are reserved until its claims are bound: 'ns/c'"
    effect = claim_effect(decisions.claims[0])
    assert (effect.kind, effect.name, effect.uid) == (kinds.CLAIMS, "c", "claim-c")
    assert effect.patch == {
        "metadata": {"annotations": {"volume.kubernetes.io/selected-node": "b1"}}
    }
    bind_claims(world, decisions)
    assert world.matters
    world.session()
    assert world.where() == {"p": "b1", "q": "a1"}


def test_a_choice_under_way_is_not_made_twice_and_its_node_capacity_is_reserved() -> None:
    world = World(
        queue(),
        [node("a1", cpu=2, labels={"host": "a1"})],
        [claim("c"), storage_class(waits=True)],
        [group("g", minimum=1), using("p", "c")],
    )
    first = world.session()
    for choice in first.claims:
        world.cache.facts.volumes.choose(choice)
    world.put(*gang("thief", 1, cpu=2))
    second = world.session()
    assert second.claims == ()
    assert world.bound("thief") == 0, "the reservation is kept"
    world.put(claim("c", node="a1"))
    third = world.session()
    assert third.claims == (), "the fact says it now"
    bind_claims(world, first)
    world.session()
    assert world.where() == {"p": "a1"}


def test_a_choice_that_was_refused_is_made_again_after_a_backoff() -> None:
    world = World(
        queue(), NODES, [claim("c"), storage_class(waits=True)], [group("g", minimum=1), using("p", "c")]
    )  # fmt: skip
    (choice,) = world.session().claims
    world.cache.facts.volumes.choose(choice)
    world.cache.facts.volumes.refused(choice, now=world.now)
    decisions = world.session()
    assert decisions.claims == ()
    assert decisions.wake_at is not None
    assert decisions.wake_at <= world.now + CHOICE_REST_SECONDS
    world.now += CHOICE_REST_SECONDS
    assert world.session().claims == (choice,)


def test_node_capacity_is_not_reserved_forever_for_an_unbound_claim() -> None:
    world = World(
        queue(),
        [node("a1", cpu=2, labels={"host": "a1"})],
        [claim("c", node="a1"), storage_class(waits=True)],
        [group("g", minimum=1), using("p", "c")],
        gang("other", 1, cpu=2),
    )
    world.session()
    assert world.bound("other") == 0
    world.now += BIND_SECONDS_MAX
    reason = reason_of(world.session(), "g")
    assert reason.code == "ClaimNotBound"
    assert world.bound("other") == 1


def test_the_smallest_free_volume_that_will_do_is_given_away_once() -> None:
    free = [
        volume("large", size="100Gi", host="b1"),
        volume("middle", size="20Gi", host="b1"),
        volume("small", size="1Gi", host="b1"),
    ]
    local = storage_class(waits=True, provisioner="kubernetes.io/no-provisioner")
    world = World(
        queue(),
        NODES,
        [*free, local, claim("c"), claim("d")],
        [group("g", minimum=2), using("p", "c"), using("q", "d")],
    )
    decisions = world.session()
    assert [(c.claim, c.volume) for c in decisions.claims] == [
        ("ns/c", "middle"),
        ("ns/d", "large"),
    ]
    effect = claim_effect(decisions.claims[0])
    assert (effect.kind, effect.name, effect.resource_version) == (kinds.VOLUMES, "middle", "6")
    assert effect.patch["spec"]["claimRef"]["uid"] == "claim-c"
    bind_claims(world, decisions)
    world.session()
    assert set(world.where().values()) == {"b1"}


def test_a_volume_that_is_made_with_the_pod_has_the_pods_name() -> None:
    made = pod("p", group="g", requests={"cpu": "1"})
    volumes = [Volume(name="scratch", ephemeral=EphemeralVolume())]
    made = msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, volumes=volumes))
    world = World(queue(), NODES, [group("g", minimum=1), made])
    assert "'ns/p-scratch'" in reason_of(world.session(), "g").sentence
    world.put(claim("p-scratch", volume="v"), volume("v", host="a2"))
    world.session()
    assert world.where() == {"p": "a2"}


def test_volumes_can_be_switched_off() -> None:
    arguments = {"predicate.VolumeBindingEnable": "false"}
    tiers = ((PluginConf(name="gang"), PluginConf(name="predicates", arguments=arguments)),)
    world = World(queue(), NODES, [group("g", minimum=1), using("p", "c")], conf=Conf(tiers=tiers))
    world.session()
    assert world.bound("g") == 1


def test_a_gang_that_is_refused_gives_its_volumes_back() -> None:
    local = storage_class(waits=True, provisioner="kubernetes.io/no-provisioner")
    large = [group("g", minimum=2, age=9), using("p", "c"), using("q", "missing")]
    small = [group("s", minimum=1), using("r", "d", job="s")]
    world = World(queue(), NODES, [local, volume("v"), claim("c"), claim("d")], large, small)
    assert [c.claim for c in world.session().claims] == ["ns/d"]


def test_pods_without_volumes_carry_no_storage_into_a_session() -> None:
    world = World(queue(), NODES, [claim("c", volume="v"), volume("v")], gang("g", 1, cpu=1))
    assert world.snapshot().volumes.claims == {}
    assert not world.cache.facts.volumes.put_claim(claim("c", volume="w"), gone=False)


@pytest.mark.parametrize(
    ("storage", "action", "cure"),
    [
        ([BOUND, volume("v", host="x")], "reach-volume", [node("x", labels={"host": "x"})]),
        ([BOUND, volume("v", labels={"topology.kubernetes.io/zone": "z"})], "reach-volume", [node("z", labels={"topology.kubernetes.io/zone": "z"})]),
        ([claim("c"), storage_class(waits=True, provisioner="kubernetes.io/no-provisioner")], "add-volume", [volume("free")]),
        ([BOUND, volume("v"), *[drivers(n.metadata.name, count=0) for n in NODES]], "add-room", [node("more")]),
    ],
    ids=["affinity", "zone", "binding", "limits"],
)  # fmt: skip
def test_what_would_unblock_a_pod_that_no_node_can_give_its_volumes_does(
    storage: list[ApiObject], action: str, cure: list[ApiObject]
) -> None:
    world = World(queue(), NODES, storage, [group("g", minimum=1), using("p", "c")])
    reason = reason_of(world.session(), "g")
    assert reason.unblock is not None
    assert (reason.unblock.action, reason.unblock.pods) == (action, 1)
    assert reason.unblock.target == ("" if action == "add-room" else "c")
    world.put(*cure)
    bind_claims(world, world.session())
    world.session()
    assert world.bound("g") == 1


@pytest.mark.parametrize("storage", [[], [claim("c"), storage_class()]], ids=["missing", "unbound"])
def test_an_elastic_job_does_not_grow_by_a_pod_without_its_claim(storage: list[ApiObject]) -> None:
    job = [group("g", minimum=1), using("a"), using("b", "c")]
    world = World(queue(), NODES, storage, job)
    world.session()
    world.session()
    assert list(world.where()) == ["a"]
    world.put(claim("c", volume="v"), volume("v"))
    world.session()
    assert sorted(world.where()) == ["a", "b"]


def test_an_elastic_job_grows_when_the_claim_of_its_pod_is_bound() -> None:
    job = [group("g", minimum=1), using("a"), using("b", "c")]
    world = World(queue(), NODES, [claim("c"), storage_class(waits=True)], job)
    decisions = world.session()
    assert list(world.where()) == ["a"]
    assert [choice.claim for choice in decisions.claims] == ["ns/c"]
    bind_claims(world, decisions)
    world.session()
    assert sorted(world.where()) == ["a", "b"]
