"""preempt: starving jobs evict pods of lower priority in their queue; reservations and nominated nodes."""

from dataclasses import dataclass, field

import msgspec
import pytest

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, priority_class, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PriorityClass
from vc.model.api.struct import ResourceList
from vc.scheduling.cache.overlays.evictions import EVICTION_COOLDOWN_SECONDS, NOMINATION_SECONDS
from vc.scheduling.conf.model import Conf

CLASSES = [priority_class("high", 100), priority_class("middle", 50), priority_class("low", 1)]


def running(
    name: str,
    count: int,
    *,
    on: str = "node-01",
    minimum: int = 1,
    cpu: int = 4,
    job_class: str = "low",
    age: int = 0,
    in_queue: str = "default",
    **how: object,
) -> list[ApiObject]:
    """A job whose pods run on one node."""
    members = [
        pod(f"{name}-{n}", group=name, requests={"cpu": str(cpu)}, on=on, **how)  # type: ignore[arg-type]  # a table of keyword arguments
        for n in range(count)
    ]
    head = group(
        name, minimum=minimum, priority_class=job_class, phase="Running", age=age, queue=in_queue
    )
    return [head, *members]  # fmt: skip


def asking(
    count: int = 1, *, cpu: int = 4, job_class: str = "high", **how: object
) -> list[ApiObject]:
    members = [pod(f"p-{n}", group="p", requests={"cpu": str(cpu)}, **how) for n in range(count)]  # type: ignore[arg-type]  # a table of keyword arguments
    return [group("p", minimum=count, priority_class=job_class), *members]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A full cluster, a job that asks, and who must go."""

    id: str
    there: list[list[ApiObject]]
    asking: list[ApiObject]
    victims: list[str]
    nodes: list[int] = field(default_factory=lambda: [8])
    """CPUs of node-01, node-02 …"""
    classes: list[PriorityClass] = field(default_factory=lambda: list(CLASSES))


CASES = [
    Case("a lower priority is evicted", [running("a", 2)], asking(), ["a-1"]),
    Case("an equal priority does not", [running("a", 2)], asking(job_class="low"), []),
    Case("a higher priority does not", [running("a", 2, job_class="high")], asking(job_class="middle"), []),
    Case("the lowest priority goes first", [running("a", 1, job_class="middle"), running("b", 1)], asking(), ["b-0"]),
    Case("only as many as needed", [running("a", 8, cpu=1)], asking(cpu=3), ["a-5", "a-6", "a-7"]),
    Case("one large victim before many small ones", [running("a", 4, cpu=1), running("b", 1, cpu=4, on="node-02")], asking(), ["b-0"], [4, 4]),
    Case("the younger job goes first", [running("a", 1, age=9), running("b", 1, age=1)], asking(), ["b-0"]),
    Case("pods beyond a minimum before a whole gang", [running("a", 1, minimum=1), running("b", 3, minimum=2, cpu=4, job_class="middle")], asking(), ["b-2"], [16]),
    Case("a gang goes whole or not at all", [running("a", 2, minimum=2)], asking(), ["a-0", "a-1"]),
    Case("no gang is broken when another victim is enough", [running("a", 2, minimum=2, cpu=2), running("b", 2, minimum=1, cpu=2)], asking(cpu=2), ["b-1"]),
    Case("no pod is evicted when it would not be enough", [running("a", 2)], asking(cpu=9), []),
    Case("no pod is evicted for half a gang", [running("a", 2)], asking(3), []),
    Case("pods are evicted for a whole gang", [running("a", 2), running("b", 2, on="node-02")], asking(3), ["a-0", "a-1", "b-1"], [8, 8]),
    Case("free nodes are used first", [running("a", 2)], asking(2), ["a-1"], [12]),
    Case("other queues are left alone", [running("a", 2, in_queue="team")], asking(), []),
    Case("system pods are left alone", [running("a", 2, pod_priority_class="system-node-critical")], asking(), []),
    Case("pods that say no are left alone", [running("a", 2, annotations={"volcano.sh/preemptable": "false"})], asking(), []),
    Case("the label says no too", [running("a", 2, labels={"volcano.sh/preemptable": "false"})], asking(), []),
    Case("preemptionPolicy Never of the pod", [running("a", 2)], asking(preemption_policy="Never"), []),
    Case("preemptionPolicy Never of the class", [running("a", 2)], asking(job_class="patient"), [], [8],
         [*CLASSES, PriorityClass(metadata=CLASSES[0].metadata.__class__(name="patient"), value=100, preemption_policy="Never")]),
    Case("victims are only looked for where the job may go", [running("a", 1, on="node-01"), running("b", 1, on="node-02")], asking(selector={"kubernetes.io/hostname": "node-02"}), ["b-0"], [4, 4]),
    Case("host ports are freed", [running("a", 1, cpu=1, host_ports=[80]), running("b", 1, cpu=1)], asking(cpu=1, host_ports=[80]), ["a-0"]),
    Case("pods of other schedulers are left alone", [running("a", 2, scheduler="default-scheduler")], asking(), []),
]  # fmt: skip


def world_of(case: Case) -> World:
    cluster = [
        node(name, cpu=cpu, labels={"kubernetes.io/hostname": name})
        for name, cpu in [(f"node-{n:02}", cpu) for n, cpu in enumerate(case.nodes, start=1)]
    ]
    return World(
        queue(), queue("team", reclaimable=False), case.classes, cluster, *case.there, case.asking
    )


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_the_fewest_and_cheapest_pods_are_victims(case: Case) -> None:
    world = world_of(case)
    decisions = world.session()
    assert sorted(p.name for e in decisions.evictions for p in e.pods) == case.victims
    reason = reason_of(decisions, "p")
    if not case.victims:
        assert reason.stage in (Stage.GANG, Stage.PREDICATE)
        return
    assert reason.stage is Stage.VICTIMS
    assert f"{len(case.victims)} of them evicted for it" in reason.sentence
    again = world.session()
    assert again.evictions == (), "no pod is evicted twice"
    assert reason_of(again, "p").stage is Stage.VICTIMS
    world.leave()
    world.session()
    wanted = [p for p in case.asking if isinstance(p, Pod)]
    assert world.bound("p") == len(wanted), "every victim was needed"


def test_a_reservation_is_kept_from_jobs_that_arrive_meanwhile() -> None:
    world = World(queue(), CLASSES, nodes(1, cpu=8), running("a", 2), asking(cpu=8))
    world.session()
    world.delete_pod("a-1")  # one is gone, the other still ends
    world.put(*gang("thief", 1, priority_class="low", cpu=4))
    world.session()
    assert world.bound("thief") == 0
    world.leave()
    world.session()
    assert (world.bound("p"), world.bound("thief")) == (1, 0)


def test_a_reservation_is_kept_from_jobs_of_a_queue_that_comes_first() -> None:
    world = World(
        queue(), queue("aaa", priority=9), CLASSES, nodes(1, cpu=8), running("a", 2), asking(cpu=8)
    )
    world.session()
    world.put(*gang("thief", 1, queue="aaa", cpu=4))
    world.delete_pod("a-1")
    world.session()
    world.leave()
    world.session()
    assert (world.bound("p"), world.bound("thief")) == (1, 0)


def test_a_preemptor_gets_no_second_victims_for_a_while() -> None:
    world = World(
        queue(), CLASSES, nodes(2, cpu=4), running("a", 1), running("b", 1, on="node-02"), asking()
    )
    first = world.session()
    assert len(first.evictions) == 1
    world.put(node("node-01", cpu=4, ready=False), node("node-02", cpu=4))
    gone = first.evictions[0].pods[0]
    world.put(node("node-01" if gone.name == "a-0" else "node-02", cpu=4, unschedulable=True))
    soon = world.session()
    assert soon.evictions == ()
    assert soon.wake_at is not None
    assert soon.wake_at <= world.now + EVICTION_COOLDOWN_SECONDS


def test_a_task_of_higher_priority_preempts_within_its_own_job() -> None:
    workers = [
        pod(f"w-{n}", group="j", role="worker", requests={"cpu": "4"}, on="node-01", priority=1)
        for n in range(2)
    ]
    master = pod("m-0", group="j", role="master", requests={"cpu": "4"}, priority=10)
    world = World(
        queue(), nodes(1, cpu=8), [group("j", minimum=1, phase="Running"), *workers, master]
    )
    decisions = world.session()
    assert [p.name for e in decisions.evictions for p in e.pods] == ["w-1"]
    world.leave()
    world.session()
    assert sorted(world.where()) == ["m-0", "w-0"]


def test_a_queue_at_its_capability_preempts_by_priority() -> None:
    world = World(
        queue(capability={"cpu": "8"}), CLASSES, nodes(1, cpu=64), running("a", 2), asking()
    )
    assert reason_of(world.decide(), "p").stage is Stage.VICTIMS
    decisions = world.session()
    assert [p.name for e in decisions.evictions for p in e.pods] == ["a-1"]
    world.leave()
    world.session()
    assert world.bound("p") == 1


def test_a_pod_that_could_not_be_evicted_is_spared_and_another_found() -> None:
    world = World(
        queue(), CLASSES, nodes(1, cpu=8), running("a", 1, age=1), running("b", 1), asking()
    )
    decisions = world.decide()
    (victim,) = decisions.evictions[0].pods
    world.cache.evict(f"ns/{victim.name}", victim.uid)
    world.cache.unevict(f"ns/{victim.name}", victim.uid, now=world.now)
    (other,) = world.decide().evictions[0].pods
    assert (victim.name, other.name) == ("b-0", "a-0")


def test_victims_count_as_terminating_before_their_facts_say_so() -> None:
    world = World(queue(), CLASSES, nodes(1, cpu=8), running("a", 2), asking())
    (victim,) = world.decide().evictions[0].pods
    world.cache.evict(f"ns/{victim.name}", victim.uid)
    again = world.decide()
    assert again.evictions == ()
    assert reason_of(again, "p").stage is Stage.VICTIMS


def full_and_reserved() -> World:
    """Two jobs of `a` end for `p`, which needs the whole node."""
    world = World(queue(), CLASSES, nodes(1, cpu=8), running("a", 2), asking(cpu=8))
    assert len(world.session().evictions) == 1
    assert world.pod("p-0").status.nominated_node_name == "node-01"
    return world


def test_a_new_leader_keeps_the_nominations_of_pods() -> None:
    world = full_and_reserved()
    world.restart()
    world.delete_pod("a-1")
    world.put(*gang("thief", 1, priority_class="high", age=99, cpu=4))
    decisions = world.session()
    assert (decisions.binds, decisions.evictions) == ((), ())
    world.leave()
    world.session()
    assert (world.bound("p"), world.bound("thief")) == (1, 0)


def test_a_reservation_that_is_not_redeemed_in_time_is_withdrawn() -> None:
    world = full_and_reserved()
    world.delete_pod("a-1")  # the other one never ends
    world.put(*gang("waiting", 1, priority_class="high", age=99, cpu=4))
    held = world.session()
    assert world.bound("waiting") == 0
    assert held.wake_at is not None
    world.now += NOMINATION_SECONDS
    decisions = world.session()
    assert [ref.name for w in decisions.withdrawals for ref in w.pods] == ["p-0"]
    assert world.pod("p-0").status.nominated_node_name == ""
    assert world.bound("waiting") == 1


def test_a_job_with_a_reservation_is_bound_elsewhere_when_that_is_sooner() -> None:
    world = full_and_reserved()
    world.put(node("node-02", cpu=8))
    world.session()
    assert world.where()["p-0"] == "node-02"


def test_a_reservation_is_valid_for_a_pod_that_is_created_again() -> None:
    world = full_and_reserved()
    world.delete_pod("p-0")
    world.put(pod("p-0b", group="p", requests={"cpu": "8"}))
    world.put(*gang("thief", 1, priority_class="high", age=99, cpu=4))
    world.leave()
    world.session()
    assert world.where() == {"p-0b": "node-01"}


def test_several_reservations_do_not_overlap() -> None:
    """`p` may only lie on node-01; `q` goes before it, and may lie on either."""
    here = {"kubernetes.io/hostname": "node-01"}
    world = World(
        queue(),
        CLASSES,
        [node(n, cpu=4, labels={"kubernetes.io/hostname": n}) for n in ("node-01", "node-02")],
        running("a", 1),
        running("b", 1, on="node-02"),
        asking(selector=here),
    )
    assert len(world.session().evictions) == 1
    world.put(*gang("q", 1, priority_class="high", age=9, cpu=4))
    assert len(world.session().evictions) == 1
    world.leave()
    world.session()
    assert (world.bound("p"), world.bound("q")) == (1, 1)


def test_a_free_reserved_node_is_bound_while_a_younger_reservation_waits() -> None:
    """On n1 the third pod of `a` has reserved what `b` frees; the reservation of `p` there is free before."""
    world = World(
        [queue("other", weight=2), queue("kept", reclaimable=False)],
        CLASSES,
        [node("n0", cpu=7), node("n1", cpu=7)],
        gang("one", 1, queue="other", cpu=1),
        gang("a", 3, minimum=1, queue="kept", cpu=3),
        gang("b", 2, queue="kept", cpu=3),
    )
    world.session()
    world.put(*gang("p", 2, queue="kept", priority_class="high", cpu=3))
    assert [p.name for e in world.session().evictions for p in e.pods] == [
        "a-worker-1",
        "a-worker-0",
    ]
    world.put(*gang("two", 1, queue="other", cpu=1))
    world.put(*gang("q", 1, queue="kept", priority_class="high", cpu=3))
    assert [e.group for e in world.session().evictions] == ["ns/a", "ns/q"]
    world.delete_pod("a-worker-0")
    world.delete_pod("a-worker-1")
    world.session()
    assert (world.bound("p"), world.bound("q")) == (2, 0)
    world.leave()
    world.session()
    assert world.bound("q") == 1


def test_a_task_of_a_running_job_keeps_the_place_its_sibling_left() -> None:
    worker = pod("w-0", group="j", role="worker", requests={"cpu": "8"}, on="node-01", priority=1)
    other = pod("w-1", group="j", role="worker", requests={"cpu": "1"}, on="node-02", priority=1)
    master = pod("m-0", group="j", role="master", requests={"cpu": "8"}, priority=10)
    head = group("j", minimum=1, phase="Running")
    world = World(
        queue(), CLASSES, [node("node-01", cpu=8), node("node-02", cpu=1)],
        [head, worker, other, master],
    )  # fmt: skip
    assert [p.name for e in world.session().evictions for p in e.pods] == ["w-0"]
    world.put(*gang("thief", 1, priority_class="high", age=99, cpu=8))
    world.leave()
    world.session()
    assert (world.where().get("m-0"), world.bound("thief")) == ("node-01", 0)


@pytest.mark.parametrize("first", ["backfill", "preempt"])
@pytest.mark.parametrize(("there", "gone"), [({"cpu": "1"}, 0), ({}, 1)])
def test_a_job_that_asks_for_nothing_takes_no_place_of_those_that_ask_for_something(
    there: ResourceList, gone: int, first: str
) -> None:
    second = "preempt" if first == "backfill" else "backfill"
    conf = msgspec.structs.replace(Conf(), actions=("enqueue", "allocate", first, second))
    full = [pod(f"a-{n}", group="a", requests=there, on="node-01") for n in range(2)]
    head = group("a", minimum=1, priority_class="low", phase="Running")
    world = World(queue(), CLASSES, node("node-01", pods=2), [head, *full], conf=conf)
    world.put(group("p", minimum=1, priority_class="high"), pod("p-0", group="p"))
    decisions = world.session()
    assert sum(len(eviction.pods) for eviction in decisions.evictions) == gone
    world.leave()
    world.session()
    assert world.bound("p") == gone


def test_a_best_effort_job_evicts_no_pod_where_backfill_has_a_node_for_it() -> None:
    full = [pod(f"a-{n}", group="a", on="node-01") for n in range(2)]
    head = group("a", minimum=1, priority_class="low", phase="Running")
    world = World(queue(), CLASSES, node("node-01", pods=2), node("node-02"), [head, *full])
    world.put(group("p", minimum=1, priority_class="high"), pod("p-0", group="p"))
    decisions = world.session()
    assert (decisions.evictions, world.where()["p-0"]) == ((), "node-02")


def test_a_job_that_allocate_refuses_is_considered_by_later_actions() -> None:
    """Also where an action that evicts ran before, when no job had been refused yet."""
    conf = msgspec.structs.replace(Conf(), actions=("enqueue", "reclaim", "allocate", "preempt"))
    world = World(queue(), CLASSES, nodes(1, cpu=8), running("a", 2), asking(), conf=conf)
    assert [p.name for e in world.session().evictions for p in e.pods] == ["a-1"]
