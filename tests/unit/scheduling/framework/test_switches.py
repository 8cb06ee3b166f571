"""Switches of plugins: each that has an effect changes the outcome of the same cluster."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, priority_class, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api.kubernetes import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from vc.model.api.meta import ApiObject, ObjectMeta
from vc.model.api.selectors import LabelSelector
from vc.model.support.configuration import EFFECTIVE_SWITCHES, IDLE_SWITCHES
from vc.scheduling import actions, plugins
from vc.scheduling.conf.model import Conf
from vc.scheduling.conf.volcano_file import ConfError, read_conf

FILE = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""


def conf_with(plugin: str, *lines: str, text: str = FILE) -> Conf:
    """The file with switches below one plugin."""
    more = "".join(f"\n    {line}" for line in lines)
    conf, _ = read_conf(
        text.replace(f"- name: {plugin}\n", f"- name: {plugin}{more}\n"),
        actions=tuple(actions.REGISTRY),
        plugins=tuple(plugins.REGISTRY),
    )
    return conf


def job_order(conf: Conf) -> str:
    """Who gets the only place."""
    world = World(
        queue(), priority_class("high", 100), nodes(1, cpu=1),
        gang("old", 1, age=9, cpu=1), gang("high", 1, cpu=1, priority_class="high"), conf=conf,
    )  # fmt: skip
    world.decide()
    return ",".join(sorted(bind.group for bind in world.decide().binds))


def queue_order(conf: Conf) -> str:
    world = World(
        queue("a"), queue("z", priority=5), nodes(1, cpu=1),
        gang("a", 1, cpu=1, queue="a"), gang("z", 1, cpu=1, queue="z"), conf=conf,
    )  # fmt: skip
    return ",".join(sorted(bind.group for bind in world.decide().binds))


def task_order(conf: Conf) -> str:
    """Which pod of an elastic job starts."""
    low = pod("low", group="g", role="a", requests={"cpu": "1"}, priority=1)
    high = pod("high", group="g", role="b", requests={"cpu": "1"}, priority=9)
    world = World(queue(), nodes(1, cpu=1), [group("g", minimum=1), low, high], conf=conf)
    world.session()
    return ",".join(world.where())


def job_ready(conf: Conf) -> str:
    """How much of a gang of three starts where two fit."""
    world = World(queue(), nodes(1, cpu=2), gang("g", 3, cpu=1), conf=conf)
    decisions = world.decide()
    return str(decisions.bound_pods)


def predicate(conf: Conf) -> str:
    asks = pod("p", group="g", requests={"cpu": "1"}, selector={"disk": "ssd"})
    world = World(queue(), nodes(1), [group("g", minimum=1), asks], conf=conf)
    return str(world.decide().bound_pods)


def node_order(conf: Conf) -> str:
    there = pod("x", on="node-01", requests={"cpu": "9"}, scheduler="s")
    world = World(queue(), nodes(2), [there], gang("g", 1, cpu=1), conf=conf)
    world.session()
    return world.where()["g-worker-0"]


def enqueued(conf: Conf) -> str:
    large = gang("g", 1, cpu=1, phase="Pending", min_resources={"cpu": "99"})
    return ",".join(World(queue(), nodes(1, cpu=1), large, conf=conf).decide().enqueued)


def allocatable(conf: Conf) -> str:
    world = World(queue(capability={"cpu": "1"}), nodes(1, cpu=9), gang("g", 2, cpu=1), conf=conf)
    return str(world.decide().bound_pods)


def evicted(world: World) -> str:
    names = [ref.name for eviction in world.decide().evictions for ref in eviction.pods]
    return ",".join(sorted(names))


def running(name: str, count: int, *, minimum: int, **how: object) -> list[ApiObject]:
    where = how.pop("on", "node-01")
    pods = [
        pod(f"{name}-{n}", group=name, requests={"cpu": "1"}, on=str(where), **how.get("pods", {}))  # type: ignore[arg-type]  # a table of keyword arguments
        for n in range(count)
    ]
    return [
        group(name, minimum=minimum, phase="Running", queue=str(how.get("queue", "default"))),
        *pods,
    ]


def preempts_gang(conf: Conf) -> str:
    """A whole gang, when no plugin protects it."""
    world = World(
        queue(), priority_class("high", 9), nodes(1, cpu=2), running("low", 2, minimum=2),
        gang("g", 1, cpu=2, priority_class="high"), conf=conf,
    )  # fmt: skip
    return evicted(world)


def preempts_equal(conf: Conf) -> str:
    """A job of the same priority that has more."""
    world = World(
        queue(), nodes(1, cpu=2), running("rich", 2, minimum=1), gang("g", 1, cpu=1), conf=conf
    )
    return evicted(world)


def reclaims_gang(conf: Conf) -> str:
    world = World(
        queue("a"), queue("b"), nodes(1, cpu=2), running("a", 2, minimum=2, queue="a"),
        gang("g", 1, cpu=1, queue="b"), conf=conf,
    )  # fmt: skip
    return evicted(world)


def preempts_system(conf: Conf) -> str:
    """A pod of the system, where conformance is off."""
    world = World(
        queue(), priority_class("high", 9), nodes(1, cpu=1),
        running("low", 1, minimum=1, pods={"pod_priority_class": "system-node-critical"}),
        gang("g", 1, cpu=1, priority_class="high"), conf=conf,
    )  # fmt: skip
    return evicted(world)


def preemptive(conf: Conf) -> str:
    """Whether a queue reclaims beyond what it deserves."""
    world = World(
        queue("a"), queue("b"), queue("c"), nodes(1, cpu=6), running("a", 6, minimum=1, queue="a"),
        gang("g", 3, cpu=1, queue="b"), gang("c", 1, cpu=7, queue="c"), conf=conf,
    )  # fmt: skip
    return str(bool(evicted(world)))


def overused(conf: Conf) -> str:
    """Whether a queue borrows what another deserves and cannot use."""
    world = World(
        queue("a"), queue("b"), nodes(2, cpu=2), gang("a", 4, minimum=1, cpu=1, queue="a"),
        gang("b", 1, cpu=3, queue="b"), conf=conf,
    )  # fmt: skip
    return str(world.decide().bound_pods)


def starving(conf: Conf) -> str:
    """Whether a job that has its minimum has others evicted to grow."""
    world = World(
        queue(), priority_class("high", 9), nodes(1, cpu=2), running("low", 1, minimum=1),
        conf=conf,
    )  # fmt: skip
    grows = gang("g", 2, minimum=1, cpu=1, priority_class="high", phase="Running")
    first = pod("g-worker-0", group="g", role="worker", requests={"cpu": "1"}, on="node-01")
    world.put(*grows)
    world.put(first)
    return evicted(world)


def pipelined(conf: Conf) -> str:
    """Whether an overdue gang that does not fit keeps free resources from a smaller one."""
    late = gang("late", 3, cpu=1, age=999)
    world = World(queue(), nodes(1, cpu=2), late, gang("small", 1, cpu=1), conf=conf)
    return ",".join(sorted(bind.group for bind in world.decide().binds))


def hierarchy(conf: Conf) -> str:
    """Whether a queue's parent limits it."""
    world = World(
        queue("top", capability={"cpu": "1"}), queue("leaf", parent="top"), nodes(1, cpu=9),
        gang("g", 2, cpu=1, queue="leaf"), conf=conf,
    )  # fmt: skip
    return str(world.decide().bound_pods)


def keeps_to_budgets(conf: Conf) -> str:
    """Whether a pod goes whose budget is used up."""
    world = World(
        queue(), priority_class("high", 9), nodes(1, cpu=1), budget(0, app="db"),
        running("low", 1, minimum=1, pods={"labels": {"app": "db"}}),
        gang("g", 1, cpu=1, priority_class="high"), conf=conf,
    )  # fmt: skip
    return evicted(world)


PDB = FILE.replace("  - name: conformance\n", "  - name: conformance\n  - name: pdb\n")
SLA = FILE.replace("  - name: conformance\n", "  - name: conformance\n  - name: sla\n    arguments:\n      sla-waiting-time: 1s\n")  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A switch in the spelling of a file, and what becomes of a world on, off and unsaid."""

    plugin: str
    switch: str
    world: Callable[[Conf], str]
    on: str
    off: str
    unsaid: str | None = None
    """As on, unless it says something else."""
    """As on, unless it is said."""
    text: str = FILE

    @property
    def id(self) -> str:
        return f"{self.switch} of {self.plugin}"


CASES = [
    Case("priority", "enableJobOrder", job_order, "ns/high", "ns/old"),
    Case("priority", "enabledJobOrder", job_order, "ns/high", "ns/old"),
    Case("proportion", "enableQueueOrder", queue_order, "ns/z", "ns/a"),
    Case("priority", "enableTaskOrder", task_order, "high", "low"),
    Case("gang", "enableJobReady", job_ready, "0", "2"),
    Case("predicates", "enablePredicate", predicate, "0", "1"),
    Case("nodeorder", "enableNodeOrder", node_order, "node-02", "node-01"),
    Case("overcommit", "enableJobEnqueued", enqueued, "", "ns/g"),
    Case("proportion", "enabledAllocatable", allocatable, "0", "2"),
    Case("gang", "enablePreemptable", preempts_gang, "", "low-0,low-1", "low-0,low-1"),
    Case("drf", "enablePreemptable", preempts_equal, "rich-1", "", ""),
    Case("gang", "enableReclaimable", reclaims_gang, "", "a-0,a-1", "a-0,a-1"),
    Case("proportion", "enableReclaimable", reclaims_gang, "a-0,a-1", ""),
    Case("conformance", "enablePreemptable", preempts_system, "", "low-0"),
    Case("proportion", "enablePreemptive", preemptive, "False", "True"),
    Case("proportion", "enabledOverused", overused, "2", "4", "4"),
    Case("gang", "enableJobStarving", starving, "", "low-0"),
    Case("gang", "enableJobPipelined", pipelined, "ns/small", "", None, SLA),
    Case("proportion", "enableHierarchy", hierarchy, "0", "2"),
    Case("capacity", "enableHierarchy", hierarchy, "0", "2", None, FILE.replace("proportion", "capacity")),
    Case("pdb", "enablePreemptable", keeps_to_budgets, "", "low-0", None, PDB),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_switch_has_its_effect(case: Case) -> None:
    def end(*lines: str) -> str:
        return case.world(conf_with(case.plugin, *lines, text=case.text))

    assert end(f"{case.switch}: true") == case.on
    assert end(f"{case.switch}: false") == case.off
    assert end() == (case.on if case.unsaid is None else case.unsaid)


def test_every_switch_has_an_effect_or_says_that_it_has_none() -> None:
    shown = {case.switch.lower().replace("enabled", "").replace("enable", "") for case in CASES}
    assert shown | set(IDLE_SWITCHES) == {*EFFECTIVE_SWITCHES, *IDLE_SWITCHES}
    text = FILE.replace("- name: gang\n", "- name: gang\n    EnabledClusterOrder: true\n")
    _, warnings = read_conf(text, actions=tuple(actions.REGISTRY), plugins=tuple(plugins.REGISTRY))
    assert any("switch 'clusterorder' has no effect here" in warning for warning in warnings)


def test_drf_with_hierarchy_and_proportion_in_one_tier_contradict_each_other() -> None:
    with pytest.raises(ConfError, match=r"tiers\[1\]: drf with enableHierarchy and proportion"):
        conf_with("drf", "enableHierarchy: true")


def test_a_queue_that_is_overused_says_what_would_help_and_it_does() -> None:
    conf = conf_with("proportion", "enabledOverused: true")
    world = World(
        queue("a"), queue("b"), nodes(2, cpu=2), gang("a", 2, cpu=1, queue="a", age=9),
        gang("late", 1, cpu=1, queue="a"), gang("b", 1, cpu=3, queue="b"), conf=conf,
    )  # fmt: skip
    reason = reason_of(world.session(), "late")
    assert reason.stage is Stage.QUOTA
    assert reason.unblock is not None
    assert (reason.unblock.action, reason.unblock.target) == ("raise-weight", "a")
    world.put(queue("a", weight=100))
    world.session()
    assert world.bound("late") == 1


def budget(allowed: int, **labels: str) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(name="keep", namespace="ns"),
        spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels=labels)),
        status=PodDisruptionBudgetStatus(disruptions_allowed=allowed),
    )


def test_a_budget_that_is_used_up_protects_and_others_go_instead() -> None:
    def world(text: str, allowed: int) -> World:
        return World(
            queue(), priority_class("high", 9), nodes(2, cpu=2),
            running("kept", 2, minimum=1, pods={"labels": {"app": "db"}}),
            running("other", 2, minimum=1, on="node-02"), budget(allowed, app="db"),
            gang("g", 1, cpu=1, priority_class="high"), conf=conf_with("none", text=text),
        )  # fmt: skip

    assert evicted(world(FILE, 0)) == "kept-1"
    assert evicted(world(PDB, 0)) == "other-1"
    assert evicted(world(PDB, 1)) == "kept-1"


def test_budgets_count_victims_of_one_session_together() -> None:
    many = running("kept", 4, minimum=0, pods={"labels": {"app": "db"}})
    high = [gang(f"g{n}", 1, cpu=1, priority_class="high", age=n) for n in range(3)]
    for allowed in (0, 1, 2, 4):
        world = World(
            queue(), priority_class("high", 9), [node("node-01", cpu=4)], many,
            budget(allowed, app="db"), *high, conf=conf_with("none", text=PDB),
        )  # fmt: skip
        victims = evicted(world).split(",") if evicted(world) else []
        assert len(victims) == min(allowed, 3)
