"""Code of third parties that raises: it is named and left out, and the session goes on."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest

from tests.unit.scheduler.shell import Shell
from tests.unit.scheduling.objects import gang, group, nodes, pod, queue
from tests.unit.scheduling.world import World
from vc.clock import run_virtual
from vc.messages.sessions import Reason
from vc.scheduler.config import Config
from vc.scheduling import actions, plugins
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.framework.node_points import NodeCandidates
from vc.scheduling.framework.order_points import OrderKey
from vc.scheduling.framework.registry import PluginFailedError
from vc.scheduling.model.decisions import LeftOut
from vc.scheduling.model.node_table import Mask, StaticTable
from vc.scheduling.model.rows import GroupRow, PodRow, QueueRow, Run
from vc.scheduling.model.shapes import Shape
from vc.scheduling.plugins.gang import Gang
from vc.scheduling.session.session import Session


class Broken:
    """What all have in common."""

    name: ClassVar[str] = "broken"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments


class BrokenConstructor(Broken):
    def __init__(self, arguments: Mapping[str, str]) -> None:
        super().__init__(arguments)
        raise KeyError("no such argument")


class BrokenScore(Broken):
    def batch_node_order_scores(self, candidates: NodeCandidates) -> Any:
        return [1 / 0 for _ in range(candidates.deep)]


class NoScore(Broken):
    def batch_node_order_scores(self, candidates: NodeCandidates) -> Any:
        """Raises nothing, but the answer is of no use."""


class BrokenFilter(Broken):
    def predicate_masks(self, shape: Shape, nodes: StaticTable) -> Iterable[tuple[str, Mask]]:
        yield "first", nodes.ready
        raise RuntimeError(shape.key)


class BrokenOrder(Broken):
    def job_order_key(self, session: Session, group: GroupRow) -> OrderKey:
        raise LookupError(group.key)


class BrokenQueueOrder(Broken):
    def queue_order_key(self, session: Session, queue: QueueRow) -> OrderKey:
        raise LookupError(queue.name)


class BrokenGate(Broken):
    @staticmethod
    def allocatable_refusal(
        session: Session, group: GroupRow, *, shape: Shape, count: int
    ) -> Reason:
        raise ZeroDivisionError(count)


class BrokenGuard(Broken):
    def reclaimable(self, session: Session, pod: PodRow) -> bool:
        raise TypeError(pod.key)


BROKEN = [
    BrokenConstructor, BrokenScore, NoScore, BrokenFilter, BrokenOrder, BrokenQueueOrder, BrokenGate,
]  # fmt: skip


@contextmanager
def registered(registry: dict[str, Any], name: str, part: Any) -> Iterator[None]:
    before = registry.get(name)
    registry[name] = part
    try:
        yield
    finally:
        if before is None:
            del registry[name]
        else:
            registry[name] = before


def with_plugin(name: str) -> Conf:
    return Conf(tiers=(*Conf().tiers, (PluginConf(name=name),)))


@pytest.mark.parametrize("plugin", BROKEN)
def test_a_plugin_that_raises_is_left_out_and_the_session_goes_on(plugin: type[Broken]) -> None:
    with registered(plugins.REGISTRY, "broken", plugin):
        world = World(queue(), nodes(2), gang("g", 3, cpu=30), conf=with_plugin("broken"))
        decisions = world.session()
        (left_out,) = decisions.left_out
        assert (left_out.plugin, left_out.action) == ("broken", "")
        assert "Error: " in left_out.why
        assert world.bound("g") == 3
        plain = World(queue(), nodes(2), gang("g", 3, cpu=30))
        plain.session()
        assert world.where() == plain.where(), "as if it had not been configured"


def test_one_that_raises_late_leaves_nothing_half_done() -> None:
    """Victims are looked for after others were bound: all of it is decided again."""
    with registered(plugins.REGISTRY, "broken", BrokenGuard):
        world = World(queue(), nodes(1, cpu=8), gang("there", 1, minimum=0, cpu=8))
        world.session()
        world.conf = with_plugin("broken")
        world.put(queue("other", weight=3), *gang("new", 1, queue="other", cpu=5))
        decisions = world.session()
        assert [left_out.plugin for left_out in decisions.left_out] == ["broken"]
        assert len(decisions.evictions) == 1


def test_an_action_that_raises_is_left_out() -> None:
    def broken(session: Session) -> None:
        session.decided.binds["ns/unknown"] = []
        raise OSError("no such file")

    with registered(actions.REGISTRY, "broken", broken):
        conf = Conf(actions=("broken", *Conf().actions))
        world = World(queue(), nodes(1), gang("g", 1, cpu=1), conf=conf)
        decisions = world.session()
        assert decisions.left_out == (LeftOut(action="broken", why="OSError: no such file"),)
        assert world.bound("g") == 1


class Nameless:
    """A plugin of a third party that forgot its name."""

    def __init__(self, arguments: Mapping[str, str]) -> None:
        del arguments

    def task_order_key(self, session: Session, group: GroupRow, run: Run) -> tuple[Any, ...]:
        raise LookupError(run.task)


def in_two_tasks() -> list[Any]:
    tasks = [pod(f"g-{r}-0", group="g", role=r, requests={"cpu": 1}) for r in ("ps", "worker")]
    return [group("g", minimum=2), *tasks]


@pytest.mark.parametrize(
    "plugin",
    [type("Other", (BrokenOrder,), {"name": "its-own-name"}), Nameless],
    ids=["its class has another name than its entry point", "its class has no name"],
)
def test_a_plugin_that_raises_is_left_out_by_the_name_it_is_configured_by(
    plugin: type[Any],
) -> None:
    with registered(plugins.REGISTRY, "configured", plugin):
        world = World(queue(), nodes(1), in_two_tasks(), conf=with_plugin("configured"))
        decisions = world.session()
        assert [out.plugin for out in decisions.left_out] == ["configured"]
        assert world.bound("g") == 2


def test_when_nothing_can_be_left_out_the_session_decides_nothing() -> None:
    """An action that makes plugins of its own, and one of them fails: no configured plugin has its name."""

    def broken(session: Session) -> None:
        del session
        raise PluginFailedError("unknown")

    with registered(actions.REGISTRY, "broken", broken):
        conf = Conf(actions=("broken", *Conf().actions))
        world = World(queue(), nodes(1), gang("g", 1, cpu=1), conf=conf)
        decisions = world.decide()
        assert (decisions.binds, len(decisions.left_out)) == ((), 1)


def test_two_that_raise_are_both_left_out() -> None:
    with (
        registered(plugins.REGISTRY, "broken", BrokenScore),
        registered(plugins.REGISTRY, "other", type("Other", (BrokenOrder,), {"name": "other"})),
    ):
        tiers = (*Conf().tiers, (PluginConf(name="broken"), PluginConf(name="other")))
        world = World(queue(), nodes(1), gang("g", 1, cpu=1), conf=Conf(tiers=tiers))
        assert sorted(out.plugin for out in world.session().left_out) == ["broken", "other"]
        assert world.bound("g") == 1


def test_without_a_plugin_that_keeps_gangs_whole_nothing_is_decided() -> None:
    class BrokenGang(Gang):
        def job_ready_missing(self, group: GroupRow) -> list[tuple[str | None, int]]:
            raise ValueError(group.key)

    with registered(plugins.REGISTRY, "gang", BrokenGang):
        world = World(queue(), nodes(1), gang("g", 2, cpu=40))
        decisions = world.decide()
        assert (decisions.binds, decisions.statuses) == ((), ())
        assert [left_out.plugin for left_out in decisions.left_out] == ["gang"]
        assert decisions.wake_at is not None


def test_the_service_goes_on_and_says_it_once(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with Shell(config=Config(conf=with_plugin("broken"))) as shell:
            await shell.nodes(2)
            await shell.gang("train", 2)
            await shell.until(lambda: shell.bound("train") == 2, "all bound")
            await shell.gang("again", 2)
            await shell.until(lambda: shell.bound("again") == 2, "the next one")
            assert not any(task.done() for task in shell.tasks.values())

    with registered(plugins.REGISTRY, "broken", BrokenScore):
        run_virtual(story())
    said = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
    assert (
        said[0] == "left out of the session plugin=broken error=ZeroDivisionError: division by zero"
    )
