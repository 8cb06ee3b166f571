"""Surplus delay: surplus pods come after all minimums of a session, and wait `surplusDelay` after their own."""

from dataclasses import dataclass

import pytest

from tests.unit.scheduler.shell import Shell
from tests.unit.scheduling.objects import gang, group, node, nodes, pod, priority_class, queue
from tests.unit.scheduling.world import World
from vc.clock import run_virtual
from vc.model.api.meta import ApiObject
from vc.scheduling import actions, plugins
from vc.scheduling.conf.model import ActionConf, Conf, PluginConf
from vc.scheduling.conf.volcano_file import ConfError, read_conf
from vc.scheduling.cycle import check_conf

CLASSES = [priority_class("high", 100), priority_class("low", 1)]
FILE = """
actions: "enqueue, allocate"
tiers: [{{plugins: [{{name: gang}}, {{name: predicates}}]}}]
configurations: [{{name: allocate, arguments: {{{arguments}}}}}]
"""


def elastic(name: str, count: int = 8, minimum: int = 2, **how: object) -> list[ApiObject]:
    return gang(name, count, minimum=minimum, cpu=1, **how)  # type: ignore[arg-type]  # a table of keyword arguments


def bound(world: World, *names: str) -> list[int]:
    return [world.bound(name) for name in names]


@dataclass(frozen=True)
class Together:
    """Jobs of eight pods and a minimum of two on eight CPUs, in one session."""

    id: str
    jobs: list[list[ApiObject]]
    runs: list[int]


TOGETHER = [
    Together("a high priority takes no minimum", [elastic("a", priority_class="high"), elastic("b", priority_class="low"), elastic("c", 4, 4)], [2, 2, 4]),
    Together("what is left goes round", [elastic("a"), elastic("b")], [4, 4]),
    Together("by priority", [elastic("a", priority_class="high"), elastic("b", priority_class="low")], [6, 2]),
    Together("another queue's first job takes none either", [elastic("a", queue="first"), elastic("b"), elastic("c", 4, 4)], [2, 2, 4]),
]  # fmt: skip


@pytest.mark.parametrize("case", TOGETHER, ids=[case.id for case in TOGETHER])
def test_all_minimums_come_before_any_surplus(case: Together) -> None:
    queues = [queue(), queue("first", priority=9)]
    world = World(queues, CLASSES, nodes(1, cpu=8), *case.jobs)
    world.session()
    assert bound(world, "a", "b", "c")[: len(case.jobs)] == case.runs


def test_in_a_fifo_queue_no_job_behind_a_waiting_job_grows() -> None:
    world = World(queue(fifo=True), CLASSES, nodes(1, cpu=8))
    world.put(*elastic("first", 8, 1, priority_class="high", age=9))
    world.put(*elastic("second", 4, 1, priority_class="low", age=5))
    world.put(*gang("large", 1, cpu=9, age=3, priority_class="low"))
    world.put(*elastic("last", 2, 1, priority_class="low", age=1))
    world.session()
    assert bound(world, "first", "second", "large", "last") == [7, 1, 0, 0]


class Arriving:
    """A world in which jobs arrive one after the other, half a second being the delay."""

    def __init__(self, *objects: ApiObject | list[ApiObject], cpu: int = 8) -> None:
        self.world = World(queue(), CLASSES, nodes(1, cpu=cpu), *objects, surplus_delay="500ms")

    def after(self, seconds: float) -> float | None:
        """A session so much later; when it wants the next."""
        self.world.now += seconds
        return self.world.session().wake_at


def test_surplus_waits_for_jobs_that_arrive_within_a_moment() -> None:
    arriving = Arriving(elastic("a"))
    world = arriving.world
    began = world.now
    assert arriving.after(0) == began + 0.5
    assert bound(world, "a") == [2], "its minimum never waits"
    world.put(*elastic("b"))
    assert arriving.after(0.2) == began + 0.5, "the delay is not counted again"
    assert bound(world, "a", "b") == [2, 2]
    world.put(*elastic("c", 2, 2))
    arriving.after(0.2)
    assert bound(world, "a", "b", "c") == [2, 2, 2]
    assert arriving.after(0.1) == began + 0.7, "the time of b has not come"
    assert bound(world, "a", "b", "c") == [4, 2, 2]


def test_a_delay_that_is_over_needs_no_session() -> None:
    arriving = Arriving(elastic("a"), cpu=4)
    arriving.after(0)
    arriving.after(0.5)
    wake_at = arriving.after(0)
    assert bound(arriving.world, "a") == [4]
    assert wake_at is None or wake_at > arriving.world.now + 1


def test_a_gang_without_surplus_names_no_time() -> None:
    arriving = Arriving(gang("a", 4, cpu=1))
    arriving.after(0)
    assert bound(arriving.world, "a") == [4]
    assert arriving.after(0) is None


def test_a_job_that_runs_for_long_grows_and_is_completed_at_once() -> None:
    arriving = Arriving(elastic("a", 3))
    world = arriving.world
    arriving.after(0)
    arriving.after(1)
    assert bound(world, "a") == [3]
    world.put(*[pod(f"a-worker-{n}", group="a", requests={"cpu": "1"}) for n in (3, 4)])
    arriving.after(1)
    assert bound(world, "a") == [5], "it was scaled up"
    world.delete_pod("a-worker-0")
    world.put(pod("a-worker-0", group="a", requests={"cpu": "1"}))
    arriving.after(1)
    assert bound(world, "a") == [5], "a pod was replaced"
    for n in range(4):
        world.delete_pod(f"a-worker-{n}")
        world.put(pod(f"a-worker-{n}", group="a", requests={"cpu": "1"}))
    arriving.after(1)
    assert bound(world, "a") == [5], "it fell below its minimum, which it had before"


def test_a_scheduler_that_takes_over_does_not_count_the_delay_again() -> None:
    arriving = Arriving(elastic("a"))
    world = arriving.world
    arriving.after(0)
    world.restart()
    arriving.after(0.5)
    assert bound(world, "a") == [8]


def test_it_goes_by_the_condition_where_nothing_was_noted() -> None:
    arriving = Arriving(elastic("a"))
    world = arriving.world
    arriving.after(0)
    world.restart()
    arriving.after(0.2)
    assert bound(world, "a") == [2]


def test_best_effort_pods_do_not_wait() -> None:
    members = [pod(f"a-{n}", group="a") for n in range(4)]
    arriving = Arriving([group("a", minimum=1), *members])
    arriving.after(0)
    assert bound(arriving.world, "a") == [4]


def test_no_pod_is_evicted_for_pods_within_the_surplus_delay() -> None:
    first, second = Conf().tiers
    growing = (first[0], PluginConf(name="gang", switches={"jobstarving": False}), *first[2:])
    delay = ActionConf(name="allocate", arguments={"surplusDelay": "500ms"})
    world = World(
        queue(), CLASSES, node("n", cpu=4), elastic("low", 3, 0, priority_class="low"),
        conf=Conf(tiers=(growing, second), configurations=(delay,)),
    )  # fmt: skip
    world.session()
    world.put(*elastic("a", 3, 1, priority_class="high"))
    assert world.session().evictions == ()
    assert world.bound("a") == 1
    world.now += 0.5
    assert len(world.session().evictions) == 1


def test_the_service_comes_back_for_the_surplus_by_itself() -> None:
    async def story() -> None:
        async with Shell() as shell:
            await shell.nodes(1, cpu="8")
            await shell.gang("first", 8, minimum=2)
            await shell.until(lambda: shell.bound("first") > 0, "its minimum")
            assert shell.bound("first") == 2
            await shell.gang("second", 8, minimum=2)
            await shell.until(lambda: shell.bound("second") >= 2, "the other's minimum")
            await shell.until(lambda: shell.bound("first") + shell.bound("second") == 8, "the rest")
            assert shell.cluster.writes["evict"] == 0
            assert shell.bound("first") < 8

    run_virtual(story())


@pytest.mark.parametrize("written", ["0", "500ms", "2s", "10m"])
def test_the_delay_is_read_from_the_file(written: str) -> None:
    text = FILE.format(arguments=f"surplusDelay: {written}")
    conf, warnings = read_conf(
        text, actions=tuple(actions.REGISTRY), plugins=tuple(plugins.REGISTRY)
    )
    assert conf.configurations[0].arguments == {"surplusDelay": written}
    assert not any("surplusDelay" in warning for warning in warnings)
    check_conf(conf)


@pytest.mark.parametrize("written", ["soon", "-1s", "11m", "500", "''"])
def test_a_delay_that_is_none_is_refused(written: str) -> None:
    with pytest.raises(ConfError, match=r"configurations\[0\].arguments: surplusDelay .* 500ms"):
        read_conf(
            FILE.format(arguments=f"surplusDelay: {written}"),
            actions=tuple(actions.REGISTRY),
            plugins=tuple(plugins.REGISTRY),
        )


def test_other_arguments_of_allocate_have_a_warning() -> None:
    _, warnings = read_conf(
        FILE.format(arguments="surplusDealy: 1s"),
        actions=tuple(actions.REGISTRY),
        plugins=tuple(plugins.REGISTRY),
    )
    assert any("'surplusDealy' has no effect" in w and "surplusDelay" in w for w in warnings)
