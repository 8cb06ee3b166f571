"""gang: the minimum of a job is bound as a whole or not at all."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from tests.unit.scheduling.objects import gang, group, nodes, pod, queue
from tests.unit.scheduling.plugins.session_of import group_row, one_tier, session_of
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api.meta import ApiObject
from vc.scheduling.framework.job_points import PERMIT, REJECT
from vc.scheduling.plugins.gang import Gang


def members(task: str, *, running: int = 0, waiting: int = 0, done: int = 0) -> list[ApiObject]:
    """Pods of one task."""
    states = [("node-01", "Running")] * running + [("", "Pending")] * waiting
    states += [("node-01", "Succeeded")] * done
    return [
        pod(f"g-{task}-{n}", group="g", role=task, requests={"cpu": "1"}, on=on, phase=phase)
        for n, (on, phase) in enumerate(states)
    ]


@dataclass(frozen=True)
class Case:
    """A job with tasks, and what it lacks."""

    id: str
    minimum: int
    pods: list[list[ApiObject]]
    missing: list[tuple[str | None, int]]
    tasks: Mapping[str, int] = field(default_factory=dict)
    """minTaskMember."""
    refused: str = ""
    """The code of the reason, if the job is not valid."""


CASES = [
    Case("nothing runs", 3, [members("w", waiting=3)], [(None, 3)]),
    Case("some run", 3, [members("w", running=2, waiting=1)], [(None, 1)]),
    Case("the minimum runs", 3, [members("w", running=3, waiting=2)], []),
    Case("succeeded pods count", 3, [members("w", running=1, waiting=1, done=1)], [(None, 1)]),
    Case("no minimum", 0, [members("w", waiting=2)], []),
    Case("tasks first, then any", 4, [members("ps", waiting=2), members("w", waiting=2)],
         [("ps", 1), (None, 3)], tasks={"ps": 1}),
    Case("a task that has its minimum", 3, [members("ps", running=1), members("w", waiting=2)],
         [("w", 2)], tasks={"ps": 1, "w": 2}),
    Case("too few pods", 4, [members("w", waiting=3)], [(None, 4)], refused="NotEnoughTasks"),
    Case("too few pods of a task", 2, [members("w", waiting=3)],
         [("ps", 1), ("w", 1)], tasks={"ps": 1, "w": 1}, refused="NotEnoughPodsOfTask"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_what_a_job_lacks(case: Case) -> None:
    head = group("g", minimum=case.minimum, roles=case.tasks, phase="Running")
    session = session_of(World(queue(), nodes(1), [head], *case.pods))
    row, plugin = group_row(session, "g"), Gang({})
    assert plugin.job_ready_missing(row) == case.missing
    assert plugin.job_starving(session, row) == bool(case.missing)
    assert plugin.job_order_key(session, row) == (not case.missing,)
    refusal = plugin.job_valid_refusal(session, row)
    assert (refusal.code if refusal is not None else "") == case.refused


@pytest.mark.parametrize(("whole", "vote"), [(True, PERMIT), (False, REJECT)])
def test_only_a_whole_gang_keeps_a_reservation(whole: bool, vote: int) -> None:
    session = session_of(World(queue(), nodes(1), gang("g", 2, cpu=1)))
    assert Gang({}).job_pipelined_vote(session, group_row(session, "g"), whole=whole) == vote


@pytest.mark.parametrize(("plugin", "bound"), [("gang", 0), ("priority", 2)])
def test_without_the_plugin_a_part_of_a_gang_is_bound(plugin: str, bound: int) -> None:
    world = World(queue(), nodes(1, cpu=2), gang("g", 3, cpu=1), conf=one_tier(plugin))
    decisions = world.decide()
    assert decisions.bound_pods == bound
    if not bound:
        assert reason_of(decisions, "g").stage is Stage.GANG
