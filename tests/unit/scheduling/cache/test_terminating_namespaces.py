"""A namespace that is being deleted: its pods are not candidates, and binds there are not tried again and
again."""

from tests.unit.scheduler.shell import NAMESPACE, Shell
from tests.unit.scheduling.actions.test_preempt import CLASSES, asking, running
from tests.unit.scheduling.objects import gang, node, nodes, pod, queue
from tests.unit.scheduling.world import World, reason_of
from vc.clock import run_virtual
from vc.cluster import ClusterError, ConflictError, ForbiddenError
from vc.messages.sessions import Stage
from vc.model.api import kinds
from vc.model.api.kubernetes import Namespace, NamespaceStatus
from vc.model.api.meta import ObjectMeta

MESSAGE = "unable to create new content in namespace default because it is being terminated"
BY_CAUSE = ForbiddenError(
    "forbidden", details={"causes": [{"reason": "NamespaceTerminating", "message": MESSAGE}]}
)
BY_MESSAGE = ConflictError(MESSAGE)
PODS_IN_GANG = 8


def ending(uid: str = "first") -> Namespace:
    metadata = ObjectMeta(name="ns", uid=uid, deletion_timestamp="2027-01-15T08:00:00Z")
    return Namespace(metadata=metadata, status=NamespaceStatus(phase="Terminating"))


def living(uid: str = "first") -> Namespace:
    return Namespace(metadata=ObjectMeta(name="ns", uid=uid))


def test_nothing_is_enqueued_or_bound_in_it_and_the_reason_says_so() -> None:
    world = World(queue(), nodes(1), living(), gang("g", 2), gang("new", 1, phase=""))
    world.put(ending())
    assert world.matters
    decisions = world.session()
    assert decisions.binds == ()
    assert decisions.enqueued == ()
    for name in ("g", "new"):
        reason = reason_of(decisions, name)
        assert (reason.stage, reason.code) == (Stage.INVALID, "NamespaceTerminating")
        assert "namespace 'ns' is being deleted" in reason.sentence


def test_no_pod_is_evicted_for_a_job_in_it() -> None:
    world = World(queue(), CLASSES, nodes(1, cpu=8), running("a", 2), asking(), ending())
    assert world.session().evictions == ()


def test_pods_beyond_the_minimum_are_not_bound_either() -> None:
    world = World(queue(), nodes(1), gang("g", 2, minimum=1))
    world.session()
    world.put(ending(), pod("g-late", group="g", requests={"cpu": 1}), node("more", cpu=4))
    assert world.session().binds == ()


def test_a_namespace_that_is_made_again_under_the_name_is_another_one() -> None:
    world = World(queue(), nodes(1), ending(), gang("g", 2))
    world.session()
    world.put(living("second"))
    assert world.matters
    assert world.session().bound_pods == 2


def test_one_that_is_gone_is_forgotten() -> None:
    world = World(queue(), nodes(1), ending())
    world.delete(kinds.NAMESPACES, "ns")
    assert world.snapshot().terminating_namespaces == frozenset()


def count_binds(*answers: ClusterError) -> int:
    """Bind requests within 60 s, of a gang that the API server refuses; the fact never comes."""
    counted: list[int] = []

    async def story() -> None:
        async with Shell() as shell:
            await shell.nodes(1)
            for number in range(PODS_IN_GANG):
                shell.cluster.refusals[f"g-{number}"] = list(answers)
            await shell.gang("g", PODS_IN_GANG, cpu="1")
            await shell.until(lambda: shell.cluster.writes["bind"] > 0, "a bind")
            await shell.clock.sleep(60)
            counted.append(shell.cluster.writes["bind"])
            found = shell.group("g").status.conditions
            assert any("being deleted" in c.message for c in found), "users see it"

    run_virtual(story())
    return counted[0]


def test_refused_binds_are_not_repeated_whichever_way_the_server_says_it() -> None:
    assert NAMESPACE == "default"
    assert count_binds(*[BY_CAUSE] * 99) <= PODS_IN_GANG
    assert count_binds(*[BY_MESSAGE] * 99) <= PODS_IN_GANG
