"""Queue-allocation gates: which are lifted in a session, in which order, and the quota reserved for them."""

import msgspec
import pytest

from tests.unit.scheduling.actions.test_scheduling_gates import at_gate, lifted_in
from tests.unit.scheduling.objects import EPOCH, gang, group, nodes, pod, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api.keys import QUEUE_ALLOCATION_GATE
from vc.model.api.scheduling import PodGroup
from vc.scheduling.actions.queue_gates import GATES_LIFTED_MAX
from vc.scheduling.model.decisions import Decisions
from vc.scheduling.pod_status import POD_CONDITION_SECONDS


def test_a_gang_larger_than_the_bound_of_a_session_is_lifted_alone_and_whole() -> None:
    count = GATES_LIFTED_MAX + 1
    world = World(nodes(1, cpu=2), queue(), at_gate("big", count, age=20), at_gate("next"))
    assert lifted_in(world.session()) == [f"big-{n}" for n in range(count)]
    assert lifted_in(world.session()) == ["next-0"]


def test_jobs_that_come_to_the_bound_together_are_lifted_together() -> None:
    jobs = [at_gate("a", 60), at_gate("b", GATES_LIFTED_MAX - 60)]
    world = World(nodes(1, cpu=2), queue(), *jobs)
    assert len(lifted_in(world.session())) == GATES_LIFTED_MAX


def test_the_job_that_is_first_in_job_order_gets_the_quota_of_its_queue() -> None:
    jobs = [at_gate("a", age=1), at_gate("b", age=30), at_gate("c", age=2)]
    world = World(nodes(1, cpu=2), queue(capability={"cpu": "4"}), *jobs)
    assert lifted_in(world.session()) == ["b-0"]


def test_no_quota_is_reserved_for_a_job_beyond_the_bound() -> None:
    """Gates of `a` are lifted and 240 CPUs held, `b` comes in the next session. Of 484 CPUs the pod beyond the
    minimum of `c` could have 4: it lacks a node."""
    grows = [
        group("c", minimum=1, phase="Running", age=1),
        pod("c-0", group="c", requests={"cpu": "1"}, on="node-01", phase="Running"),
        pod("c-1", group="c", requests={"cpu": "4"}, created=EPOCH),
    ]
    jobs = [at_gate("a", 60, age=30), at_gate("b", 60, age=20)]
    world = World(nodes(1, cpu=2), queue(capability={"cpu": "484"}), *jobs, grows)
    world.now += POD_CONDITION_SECONDS
    decisions = world.session()
    assert len(lifted_in(decisions)) == 60
    (said,) = [waiting.message for waiting in decisions.waiting if waiting.group == "ns/c"]
    assert said.startswith("1 pod beyond the minimum of 1 waits: 0/1 nodes fit another")


@pytest.mark.parametrize(("cpu", "found"), [(8, ["g-1", "other-0"]), (9, ["g-1"])])
def test_exactly_the_requests_of_the_gated_pods_of_a_gang_are_reserved(
    cpu: int, found: list[str]
) -> None:
    """Of 12 CPUs the gang asks for 7 and holds 4."""
    half_open = [
        group("g", minimum=2, age=30),
        pod("g-0", group="g", requests={"cpu": "3"}),
        pod("g-1", group="g", requests={"cpu": "4"}, gates=[QUEUE_ALLOCATION_GATE]),
    ]
    limited = queue(capability={"cpu": "12"})
    world = World(nodes(1, cpu=2), limited, half_open, at_gate("other", cpu=cpu))
    assert lifted_in(world.session()) == found


def grown(capability: str) -> Decisions:
    """A gang of two whose gates were lifted gets a third pod; another job waits, too."""
    world = World(nodes(1, cpu=2), queue(capability={"cpu": capability}), at_gate("g", 2, age=30))
    assert lifted_in(world.session()) == ["g-0", "g-1"]
    world.put(pod("g-2", group="g", requests={"cpu": 4}, gates=[QUEUE_ALLOCATION_GATE]))
    world.put(*at_gate("other"))
    return world.session()


@pytest.mark.parametrize(
    ("capability", "found"),
    [("8", []), ("12", ["g-2"]), ("16", ["g-2", "other-0"])],
    ids=[
        "the quota of the lifted pods is all there is",
        "the next pod takes what is left",
        "the other job takes the rest",
    ],
)
def test_reserved_quota_of_a_gang_counts_once(capability: str, found: list[str]) -> None:
    assert lifted_in(grown(capability)) == found


def test_the_gate_of_a_pod_beyond_the_minimum_is_lifted_in_the_session_that_binds_the_gang() -> (
    None
):
    world = World(nodes(1, cpu=8), queue(), at_gate("g", 3, minimum=2))
    decisions = world.session()
    assert decisions.bound_pods == 2
    assert lifted_in(decisions) == ["g-2"]


@pytest.mark.parametrize(
    ("minimum", "tasks", "made", "found"),
    [
        pytest.param(2, {"ps": 1, "w": 1}, ["w", "w"], 0, id="one task has no pod"),
        pytest.param(2, {"ps": 1, "w": 1}, ["ps", "w"], 2, id="each task has its pod"),
        pytest.param(3, {"ps": 1, "w": 1}, ["ps", "w"], 0, id="one pod of any task is missing"),
    ],
)
def test_gates_of_a_gang_of_several_tasks_are_lifted_when_each_has_its_pods(
    minimum: int, tasks: dict[str, int], made: list[str], found: int
) -> None:
    members = [
        pod(f"g-{n}", group="g", role=role, requests={"cpu": 4}, gates=[QUEUE_ALLOCATION_GATE])
        for n, role in enumerate(made)
    ]
    world = World(nodes(1, cpu=2), queue(), group("g", minimum=minimum, roles=tasks), members)
    assert len(lifted_in(world.session())) == found


def test_the_gates_of_a_job_that_asks_for_what_is_not_supported_stay() -> None:
    """It never runs, and its queue would reserve quota for it for ever."""
    head, *members = at_gate("g")
    raw = msgspec.to_builtins(head)
    raw["spec"]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
    limited = queue(capability={"cpu": "5"})
    world = World(nodes(1, cpu=2), limited, msgspec.convert(raw, PodGroup), members)
    decisions = world.session()
    assert reason_of(decisions, "g").stage is Stage.UNSUPPORTED
    assert decisions.gates == ()
    world.put(*gang("other", 2, cpu=1))
    world.session()
    assert world.bound("other") == 2


def test_the_gates_of_a_job_behind_another_in_a_fifo_queue_stay() -> None:
    """Room that were held for it would keep the first job waiting when `runs` has ended."""
    runs = pod("runs-0", group="runs", requests={"cpu": "4"}, on="node-01", phase="Running")
    world = World(
        nodes(1, cpu=8),
        queue(capability={"cpu": "8"}, fifo=True),
        [group("runs", minimum=1, phase="Running", age=60), runs],
        gang("first", 2, cpu=4, age=30),
        at_gate("behind", age=1),
    )
    decisions = world.session()
    assert reason_of(decisions, "behind").stage is Stage.ORDER
    assert decisions.gates == ()
    world.delete_pod("runs-0")
    world.session()
    assert world.bound("first") == 2
