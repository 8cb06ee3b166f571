"""Pods with scheduling gates: not charged, not candidates, and Volcano's own gate lifted by the queue."""

import msgspec
import pytest

from tests.unit.scheduler.shell import NAMESPACE, Shell, pod_body
from tests.unit.scheduling.closing.test_pod_conditions import EIGHT, fresh_gang, later, named
from tests.unit.scheduling.objects import EPOCH, gang, group, node, nodes, pod, queue
from tests.unit.scheduling.recording import Recording
from tests.unit.scheduling.world import World, reason_of
from vc.clock import run_virtual
from vc.messages.sessions import Stage
from vc.model.api.keys import QUEUE_ALLOCATED, QUEUE_ALLOCATION_GATE
from vc.model.api.kinds import PODGROUPS, PODS
from vc.model.api.meta import ApiObject
from vc.scheduling.actions.queue_gates import GATES_LIFTED_MAX
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.model.decisions import Decisions
from vc.scheduling.pod_status import POD_CONDITION_SECONDS

OTHER = "example.com/license"


def with_capacity() -> Conf:
    first, second = Conf().tiers
    by = tuple(PluginConf(name="capacity") if p.name == "proportion" else p for p in second)
    return Conf(tiers=(first, by))


def gated_job(name: str, count: int, *, cpu: int = 4) -> list[ApiObject]:
    """Let in, with minResources for all of its pods."""
    head = group(name, minimum=count, phase="Inqueue", min_resources={"cpu": str(cpu * count)})
    return [
        head,
        *(pod(f"{name}-{n}", group=name, requests={"cpu": cpu}, gates=[OTHER]) for n in range(count)),
    ]  # fmt: skip


def pending(name: str, *, cpu: str) -> ApiObject:
    return group(name, minimum=1, phase="", min_resources={"cpu": cpu})


@pytest.mark.parametrize("conf", [Conf(), with_capacity()], ids=["proportion", "capacity"])
def test_gated_pods_are_charged_neither_to_the_cluster_nor_to_their_queue(conf: Conf) -> None:
    """A queue of 8 CPUs, all of which an enqueued job waits for behind gates."""
    limited = queue(capability={"cpu": "8"})
    held = gated_job("gated", 2)
    world = World(nodes(1, cpu=8), limited, held, pending("new", cpu="8"), conf=conf)
    assert world.session().enqueued == ("ns/new",)


def test_of_a_job_that_waits_outside_only_the_pods_without_gates_must_fit() -> None:
    head = group("g", minimum=1, phase="", min_resources={"cpu": "12"})
    ready = pod("g-0", group="g", requests={"cpu": "4"})
    gated = [pod(f"g-{n}", group="g", requests={"cpu": "4"}, gates=[OTHER]) for n in (1, 2)]
    world = World(nodes(1, cpu=4), queue(capability={"cpu": "4"}), head, ready, gated)
    assert world.session().enqueued == ("ns/g",)


def test_a_gang_whose_pods_are_gated_waits_and_names_the_gates() -> None:
    world = World(nodes(1), queue(), gated_job("g", 2))
    reason = reason_of(world.session(), "g")
    assert reason.stage is Stage.TASKS
    assert f"2 pods have scheduling gates ('{OTHER}')" in reason.sentence
    assert world.session().binds == ()


def test_no_other_job_waits_for_gated_pods() -> None:
    world = World(nodes(1, cpu=8), queue(), gated_job("gated", 2), gang("small", 2, cpu=4))
    world.session()
    assert world.bound("small") == 2


# -- Volcano's own gate ------------------------------------------------------------------------------


def at_gate(
    name: str, count: int = 1, *, cpu: int = 4, minimum: int = 0, age: int = 9
) -> list[ApiObject]:
    """A job whose pods wait for quota of their queue."""
    members = [
        pod(f"{name}-{n}", group=name, requests={"cpu": cpu}, gates=[QUEUE_ALLOCATION_GATE])
        for n in range(count)
    ]
    return [group(name, minimum=minimum or count, age=age), *members]


def small_node_large_queue(*more: ApiObject) -> World:
    """The queue has quota for `g`, and no node has."""
    return World(nodes(1, cpu=2), queue(capability={"cpu": "5"}), *at_gate("g"), *more)


def lifted(world: World, name: str) -> bool:
    return not world.pod(name).spec.scheduling_gates


def test_the_gate_is_lifted_when_the_queue_has_quota_although_no_node_is_free() -> None:
    world = small_node_large_queue()
    decisions = world.session()
    assert [ref.name for lift in decisions.gates for ref in lift.pods] == ["g-0"]
    assert decisions.binds == ()
    assert lifted(world, "g-0")
    assert world.pod("g-0").metadata.annotations[QUEUE_ALLOCATED] == "true"
    assert reason_of(decisions, "g").stage in (Stage.GANG, Stage.PREDICATE)
    assert world.session().gates == (), "once"


def test_a_new_leader_reserves_no_quota_for_an_annotation() -> None:
    """It cannot distinguish an annotation of its predecessor from one of a tenant; the pod waits for a node like any other."""
    world = small_node_large_queue()
    world.session()
    world.restart()
    world.put(*gang("other", 2, cpu=1))
    world.session()
    assert world.bound("other") == 2


def test_quota_is_reserved_in_the_queue_until_the_pod_is_gone() -> None:
    world = small_node_large_queue()
    world.session()
    world.put(*gang("other", 2, cpu=1))
    decisions = world.session()
    assert decisions.binds == (), "2 CPUs on the node, but only 1 of 5 left in the queue"
    assert reason_of(decisions, "other").stage is Stage.QUOTA
    world.delete_pod("g-0")
    world.session()
    assert world.bound("other") == 2


def test_a_pod_is_bound_within_the_quota_reserved_in_its_queue() -> None:
    world = small_node_large_queue()
    world.session()
    world.put(queue(capability={"cpu": "4"}), node("large", cpu=8))
    world.session()
    assert world.where() == {"g-0": "large"}
    world.put(*gang("other", 1, cpu=1))
    assert world.session().binds == (), "its quota counts once, and still does"


def test_the_status_of_the_queue_does_not_count_what_is_only_held() -> None:
    world = small_node_large_queue()
    world.session()
    assert [queue_status.allocated for queue_status in world.decide().queues] == []


def test_quota_is_reserved_during_the_write_and_released_when_it_fails() -> None:
    world = small_node_large_queue()
    (lift,) = world.decide().gates
    (ref,) = lift.pods
    world.cache.remove_gate("ns/g-0", ref.uid)
    assert world.decide().gates == ()
    world.put(*gang("other", 2, cpu=1))
    assert world.decide().binds == ()
    world.cache.remove_gate("ns/g-0", ref.uid, failed_at=world.now)
    again = world.decide()
    assert again.bound_pods == 2
    assert again.wake_at is not None, "the pod rests before its gate is tried again"


def test_a_gang_that_the_queue_cannot_take_whole_keeps_its_gates() -> None:
    world = World(nodes(1, cpu=2), queue(capability={"cpu": "7"}), at_gate("g", 2))
    assert world.session().gates == ()
    world.put(queue(capability={"cpu": "8"}))
    assert len(world.session().gates[0].pods) == 2


def test_quota_of_a_gang_that_keeps_its_gates_is_for_others() -> None:
    """`g` asks for 8 of 7 CPUs; what was tried for its first pod is not held, and `small` fits."""
    world = World(
        nodes(1, cpu=2), queue(capability={"cpu": "7"}), at_gate("g", 2), at_gate("small", 1, cpu=5)
    )
    assert lifted_in(world.session()) == ["small-0"]


def lifted_in(decisions: Decisions) -> list[str]:
    return [ref.name for lift in decisions.gates for ref in lift.pods]


def test_pods_without_a_gate_are_asked_for_and_hold_nothing() -> None:
    """`g` needs 8 of 12 CPUs, 4 of them for a pod that has no gate. Held are those of the gated pod alone, so
    that `small` has its 8."""
    half_open = [
        group("g", minimum=2, age=9),
        pod("g-0", group="g", requests={"cpu": "4"}),
        pod("g-1", group="g", requests={"cpu": "4"}, gates=[QUEUE_ALLOCATION_GATE]),
    ]
    world = World(
        nodes(1, cpu=2), queue(capability={"cpu": "12"}), half_open, at_gate("small", 2, cpu=4)
    )
    assert sorted(lifted_in(world.session())) == ["g-1", "small-0", "small-1"]


def test_the_gates_of_a_job_that_is_not_let_in_stay() -> None:
    """Its queue has quota, and overcommit allows no more enqueued resources."""
    head, *members = at_gate("g")
    outside = group("g", minimum=1, phase="Pending", min_resources={"cpu": "400"})
    assert head.key == outside.key
    assert World(nodes(1, cpu=2), queue(), outside, members).session().gates == ()


def test_the_gates_of_a_job_in_a_closed_queue_stay() -> None:
    world = World(nodes(1, cpu=2), queue(state="Closed"), at_gate("g"))
    assert world.session().gates == ()
    world.put(queue())
    assert lifted_in(world.session()) == ["g-0"]


def test_what_a_pod_behind_the_gate_of_its_queue_asks_for_is_not_charged_either() -> None:
    """A queue of 8 CPUs, all of which an enqueued job waits for behind Volcano's own gate without success: one of
    its pods does not exist."""
    held = group("gated", minimum=3, phase="Inqueue", min_resources={"cpu": "8"})
    members = at_gate("gated", 2)[1:]
    limited = queue(capability={"cpu": "8"})
    world = World(nodes(1, cpu=8), limited, held, members, pending("new", cpu="8"))
    assert world.session().enqueued == ("ns/new",)


def test_pods_beyond_the_minimum_are_lifted_in_bounded_numbers_too() -> None:
    world = World(nodes(1, cpu=2), queue(), at_gate("g", GATES_LIFTED_MAX + 20, minimum=1))
    assert len(lifted_in(world.session())) == GATES_LIFTED_MAX
    assert world.matters
    assert len(lifted_in(world.session())) == 20


def test_a_gate_that_is_being_lifted_is_not_lifted_again_with_others() -> None:
    """The first writes are under way when another pod of the job comes."""
    world = World(nodes(1, cpu=2), queue(), at_gate("g", 2, minimum=1))
    for ref in world.decide().gates[0].pods:
        world.cache.remove_gate(f"ns/{ref.name}", ref.uid)
    world.put(pod("g-2", group="g", requests={"cpu": 4}, gates=[QUEUE_ALLOCATION_GATE]))
    assert lifted_in(world.decide()) == ["g-2"]


def test_a_lift_that_failed_is_tried_again_and_the_note_of_it_is_gone() -> None:
    """After the rest the pod is behind its gate as before, so its gate is lifted again."""
    world = small_node_large_queue()
    (lift,) = world.decide().gates
    world.cache.remove_gate("ns/g-0", lift.pods[0].uid)
    world.cache.remove_gate("ns/g-0", lift.pods[0].uid, failed_at=world.now)
    world.put(world.pod("g-0"))
    world.now += 60
    assert lifted_in(world.decide()) == ["g-0"]


def test_a_gate_that_another_controller_lifts_opens_a_session() -> None:
    world = World(nodes(1, cpu=2), queue(capability={"cpu": "1"}), at_gate("g", 1))
    assert world.session().gates == ()
    gated = world.pod("g-0")
    spec = msgspec.structs.replace(gated.spec, scheduling_gates=[])
    world.put(msgspec.structs.replace(gated, spec=spec))
    assert world.matters


def test_so_does_one_of_which_pods_are_missing() -> None:
    world = World(nodes(1, cpu=2), queue(), at_gate("g", 2, minimum=3))
    assert world.session().gates == ()


def test_gates_of_surplus_pods_are_lifted_as_far_as_the_quota_allows() -> None:
    world = World(nodes(1, cpu=2), queue(capability={"cpu": "12"}), at_gate("g", 5, minimum=2))
    assert len(world.session().gates[0].pods) == 3


def test_a_session_lifts_a_bounded_number_of_gates_and_goes_on_later() -> None:
    jobs = [at_gate(f"j{n}", 30) for n in range(5)]
    world = World(nodes(1, cpu=2), queue(), *jobs)
    first = world.session()
    assert sum(len(lift.pods) for lift in first.gates) == 90
    assert world.matters, "a gate that is lifted opens the next session"
    assert sum(len(lift.pods) for lift in world.session().gates) == 60


def test_a_session_that_lifts_gates_replays_to_the_same_bytes() -> None:
    world = small_node_large_queue(*gang("other", 1, cpu=1))
    recording = Recording(world)
    for _ in range(3):
        recording.session()
        world.put(node("large", cpu=8))
    recording.check()
    assert world.bound("g") == 1


def test_the_shell_writes_the_gate_once_and_binds_when_a_node_comes() -> None:
    async def story() -> None:
        async with Shell() as shell:
            await shell.nodes(1, cpu="1")
            spec = {"minMember": 1, "queue": "default"}
            body = {"metadata": {"name": "g"}, "spec": spec}
            await shell.create(PODGROUPS, body, namespace=NAMESPACE)
            made = pod_body("g-0", group="g", cpu="4")
            made["spec"]["schedulingGates"] = [{"name": QUEUE_ALLOCATION_GATE}]
            await shell.create(PODS, made, namespace=NAMESPACE)
            await shell.until(
                lambda: not shell.pods()[0].spec.scheduling_gates, "the gate is lifted"
            )
            assert shell.bound("g") == 0
            await shell.nodes(1, cpu="8", prefix="large")
            await shell.until(lambda: shell.bound("g") == 1, "bound")
            annotations = shell.pods()[0].metadata.annotations
            assert annotations[QUEUE_ALLOCATED] == "true"

    run_virtual(story())


@pytest.mark.parametrize(
    ("left", "written"), [("320", EIGHT), ("360", [*EIGHT, "g-9"])], ids=["closed", "lifted"]
)
def test_a_pod_behind_a_gate_keeps_what_the_api_server_wrote(left: str, written: list[str]) -> None:
    """Until its queue has quota for it: then its gate is lifted, and it waits for a node like the others."""
    world = World(nodes(1), queue(capability={"cpu": left}), fresh_gang())
    gated = pod("g-8", group="g", role="w", requests={"cpu": "40"}, gates=["else"], created=EPOCH)
    waits = pod(
        "g-9",
        group="g",
        role="w",
        requests={"cpu": "40"},
        gates=[QUEUE_ALLOCATION_GATE],
        created=EPOCH,
    )
    world.put(gated, waits)
    world.session()
    assert named(later(world, POD_CONDITION_SECONDS)) == written
