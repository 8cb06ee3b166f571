"""preempt within a job: the gang stays whole, and every victim is needed.

The invariants of `World` check the second: a preemptor must be bound once its victims are gone.
"""

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.unit.scheduling.objects import GROUP, TASK, group, node, pod, queue
from tests.unit.scheduling.world import World
from vc.model.api.pod import Pod

PHASES = [phase for phase in Phase if phase is not Phase.explain]
ROLES = ["a", "b", "c"]


def members(data: st.DataObject, *, free: dict[str, int], count: int) -> list[Pod]:
    """Tasks in an order of their own, on nodes as long as they fit, and then waiting."""
    made: list[Pod] = []
    for n in range(count):
        cpu = data.draw(st.integers(1, 4))
        on = next((name for name, left in free.items() if left >= cpu), "")
        if on:
            free[on] -= cpu
        role = data.draw(st.sampled_from(ROLES))
        priority = data.draw(st.integers(1, 4))
        made.append(
            pod(f"{role}-{n}", group="j", role=role, requests={"cpu": str(cpu)}, on=on, priority=priority)
        )  # fmt: skip
    return made


def placed(world: World) -> list[str]:
    """Roles of the tasks that run and stay."""
    return [
        found.metadata.labels[TASK]
        for found in world.pods()
        if found.metadata.annotations.get(GROUP) == "j"
        and found.spec.node_name
        and not found.metadata.deletion_timestamp
    ]


@settings(max_examples=200, deadline=None, phases=PHASES)
@given(data=st.data())
def test_preemption_within_a_job_leaves_its_gang_whole(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(2, 8), min_size=1, max_size=3))
    free = {f"n{n}": cpu for n, cpu in enumerate(sizes)}
    tasks = members(data, free=dict(free), count=data.draw(st.integers(2, 9)))
    there = [task.metadata.labels[TASK] for task in tasks if task.spec.node_name]
    least = {role: data.draw(st.integers(0, there.count(role))) for role in ROLES}
    minimum = data.draw(st.integers(sum(least.values()), max(1, len(there))))
    world = World(
        queue(),
        [node(name, cpu=cpu) for name, cpu in free.items()],
        group("j", minimum=minimum, roles=least, phase="Running"),
        tasks,
    )
    for _ in range(4):
        world.session()
        lingers = data.draw(st.booleans())
        if lingers:
            world.session()
        world.leave()
        world.session()
        now = placed(world)
        assert len(now) >= min(minimum, len(there)), "it is left in pieces"
        assert all(now.count(role) >= n for role, n in least.items()), "a task is below its minimum"
        world.now += 11
