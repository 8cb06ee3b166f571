"""Takeover of reservations: by a job of higher priority in the same queue, so that every eviction is used."""

from tests.unit.scheduling.actions.test_preempt import CLASSES, asking, running
from tests.unit.scheduling.objects import gang, group, node, nodes, pod, priority_class, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage, TakenOver
from vc.model.api.meta import ApiObject
from vc.scheduling.cache.overlays.evictions import EVICTION_COOLDOWN_SECONDS
from vc.scheduling.model.decisions import Decisions
from vc.scheduling.record.reason_log import ReasonLog, Timing

TOP = priority_class("top", 1000)


def with_reservation(*more: ApiObject) -> World:
    """A node full of jobs of low priority, both of which leave for `p`, which has a middle one."""
    world = World(
        queue(), queue("other"), CLASSES, TOP, nodes(1, cpu=8), running("a", 2),
        asking(cpu=8, job_class="middle"), list(more),
    )  # fmt: skip
    assert [len(e.pods) for e in world.session().evictions] == [2]
    assert world.pod("p-0").status.nominated_node_name == "node-01"
    return world


def urgent(cpu: int = 8, *, job_class: str = "high", name: str = "h") -> list[ApiObject]:
    return gang(name, 1, priority_class=job_class, cpu=cpu)


def lost(decisions: Decisions) -> dict[str, tuple[str, ...]]:
    return {takeover.group: takeover.lost for takeover in decisions.takeovers}


def test_it_is_bound_at_once_where_the_victims_are_gone() -> None:
    world = with_reservation()
    world.put(*urgent())
    world.leave()
    decisions = world.session()
    assert (world.bound("h"), world.bound("p")) == (1, 0)
    assert lost(decisions) == {"ns/h": ("ns/p",)}
    record = ReasonLog().record(decisions, Timing(started_at=0, took_ms=0))
    assert record is not None
    assert record.taken_over == [TakenOver(group="ns/p", by="ns/h")]
    said = reason_of(decisions, "p").sentence
    assert said.endswith("its reservation was taken over by ns/h, which has a higher priority")
    assert world.pod("p-0").status.nominated_node_name == "", "an autoscaler sees it"
    assert world.cache.overlays.evictions.nominated() == {}


def test_the_reservation_becomes_its_own_while_the_victims_terminate() -> None:
    world = with_reservation()
    world.put(*urgent())
    decisions = world.session()
    assert (decisions.binds, decisions.evictions) == ((), ())
    assert lost(decisions) == {"ns/h": ("ns/p",)}
    assert reason_of(decisions, "h").stage is Stage.VICTIMS
    assert world.pod("h-worker-0").status.nominated_node_name == "node-01"
    assert world.pod("p-0").status.nominated_node_name == ""
    world.restart()  # a successor keeps it
    assert world.session().takeovers == ()
    world.leave()
    world.session()
    assert (world.bound("h"), world.bound("p")) == (1, 0)


def test_a_job_of_still_higher_priority_takes_the_reservation_over_again() -> None:
    world = with_reservation()
    world.put(*urgent())
    world.session()
    world.put(*urgent(name="t", job_class="top"))
    assert lost(world.session()) == {"ns/t": ("ns/h",)}
    world.leave()
    world.session()
    assert (world.bound("t"), world.bound("h"), world.bound("p")) == (1, 0, 0)


def test_equal_and_lower_priorities_take_nothing() -> None:
    for job_class in ("middle", "low"):
        world = with_reservation()
        world.put(*gang("thief", 1, priority_class=job_class, age=99, cpu=4))
        assert world.session().takeovers == ()
        world.leave()
        world.session()
        assert (world.bound("p"), world.bound("thief")) == (1, 0)


def test_a_job_of_another_queue_does_not_take_it_over() -> None:
    world = with_reservation()
    world.put(*gang("thief", 1, queue="other", priority_class="high", cpu=8))
    world.leave()
    assert world.session().takeovers == ()
    assert (world.bound("p"), world.bound("thief")) == (1, 0)


def test_no_reservation_is_taken_over_by_a_job_that_fits_elsewhere() -> None:
    world = with_reservation()
    world.put(node("node-02", cpu=4), *urgent(4))
    assert world.session().takeovers == ()
    assert world.where()["h-worker-0"] == "node-02"
    world.leave()
    world.session()
    assert world.bound("p") == 1


def test_a_job_that_does_not_fit_there_does_not_take_it_over() -> None:
    world = with_reservation()
    world.put(*urgent(9))
    assert world.session().takeovers == ()
    world.leave()
    assert world.session().takeovers == ()
    assert world.bound("p") == 1


def two_reservations() -> World:
    """`p` reserved node-01 first, then `q`, of a lower priority, node-02."""
    classes = [*CLASSES, priority_class("mean", 20), TOP]
    world = World(
        queue(), classes, nodes(2, cpu=8), running("a", 2), running("b", 2, on="node-02"),
        asking(cpu=8, job_class="middle"),
    )  # fmt: skip
    world.session()
    world.put(*gang("q", 1, priority_class="mean", cpu=8))
    world.session()
    assert sorted(world.cache.overlays.evictions.nominated()) == ["ns/p", "ns/q"]
    return world


def test_the_reservation_of_lowest_priority_ends_and_no_more_than_needed() -> None:
    world = two_reservations()
    world.put(*urgent())
    world.leave()
    assert lost(world.session()) == {"ns/h": ("ns/q",)}
    assert (world.bound("h"), world.bound("p"), world.bound("q")) == (1, 1, 0)


def test_a_gang_takes_over_as_many_reservations_as_it_needs() -> None:
    world = two_reservations()
    world.put(*gang("h", 2, priority_class="high", cpu=8))
    world.leave()
    assert lost(world.session()) == {"ns/h": ("ns/q", "ns/p")}
    assert world.bound("h") == 2


def test_a_holder_whose_nodes_are_still_free_keeps_its_reservation() -> None:
    """Both reservations end in the simulation; `h` may only lie on node-01, so `q` goes on."""
    world = two_reservations()
    here = world.cache.overlays.evictions.nominated()["ns/p"].nodes[0][2][0]
    names = [node(n, cpu=8, labels={"host": n}) for n in ("node-01", "node-02")]
    world.put(*names)
    world.put(
        group("h", minimum=1, priority_class="high"),
        pod("h-0", group="h", requests={"cpu": "8"}, selector={"host": here}),
    )
    world.leave()
    assert lost(world.session()) == {"ns/h": ("ns/p",)}
    assert (world.bound("h"), world.bound("q"), world.bound("p")) == (1, 1, 0)


def test_the_job_that_lost_its_reservation_is_planned_again() -> None:
    """It has others evicted, when there are any it may evict."""
    world = two_reservations()
    world.put(node("node-03", cpu=8), *running("c", 2, on="node-03"))
    world.put(*urgent())
    world.leave()
    first = world.session()
    assert lost(first) == {"ns/h": ("ns/q",)}
    assert first.evictions == ()
    assert first.wake_at is not None
    assert first.wake_at <= world.now + EVICTION_COOLDOWN_SECONDS
    world.now = first.wake_at
    assert [e.group for e in world.session().evictions] == ["ns/q"]
    world.leave()
    world.session()
    assert world.bound("q") == 1


def test_in_a_fifo_queue_no_job_passes_the_first_by_a_takeover() -> None:
    world = World(
        queue(fifo=True), CLASSES, TOP, nodes(1, cpu=8), running("a", 2),
        asking(cpu=8, job_class="middle"),
    )  # fmt: skip
    world.session()
    world.put(*gang("first", 1, priority_class="top", cpu=99), *urgent())
    world.leave()
    assert world.session().takeovers == ()
    assert world.bound("h") == 0


def test_a_job_that_requests_more_than_the_reservation_does_not_take_it_over() -> None:
    """The nodes of both victims are free, but only one of them was evicted for `p`."""
    world = World(
        queue(), CLASSES, nodes(1, cpu=8), running("a", 2), asking(4, cpu=1, job_class="middle")
    )
    world.session()
    world.put(*urgent())
    world.finish("a-0", "a-1")
    world.leave()
    assert world.session().takeovers == ()
    assert (world.bound("p"), world.bound("h")) == (4, 0)


def test_a_reclaimed_reservation_is_not_taken_over_from_another_queue() -> None:
    """`h` waits before `p` comes: its queue does not deserve so much, and `p` asks for less."""
    world = World(
        queue("a", weight=2), queue("b"), CLASSES, nodes(1, cpu=3),
        running("x", 1, cpu=3, in_queue="a"), gang("h", 1, queue="b", priority_class="high", cpu=3),
    )  # fmt: skip
    assert world.session().evictions == ()
    world.put(*gang("p", 1, queue="b", cpu=1))
    assert [e.group for e in world.session().evictions] == ["ns/p"]
    world.leave()
    assert world.session().takeovers == ()
    assert world.bound("p") == 1
