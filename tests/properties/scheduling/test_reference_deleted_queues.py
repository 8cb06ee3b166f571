"""Queues deleted under their pods, and jobs of `root`, which wait: the core decides as the naive reference does (`tests/reference`)."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.scheduling.test_reference import (
    KEPT,
    LEAVES,
    LIMITS,
    PHASES,
    PRIORITIES,
    a_conf,
    a_greedy_job,
    hold_against_reference,
)
from tests.unit.scheduling.objects import node, queue
from tests.unit.scheduling.world import World
from vc.model.api import kinds


@settings(max_examples=100, deadline=None, phases=PHASES)
@given(data=st.data())
def test_pods_whose_queue_was_deleted_count_as_in_the_reference(data: st.DataObject) -> None:
    conf = data.draw(a_conf())
    root = [queue("root", reclaimable=False)] if data.draw(st.booleans()) else []
    above = "root" if root else ""
    others = [
        queue("alone", parent=above, weight=2, guarantee=data.draw(st.sampled_from(KEPT))),
        queue("dept", parent=above, capability=data.draw(st.sampled_from(LIMITS))),
        queue("dept-a", parent="dept"),
        queue("dept-b", parent="dept", weight=2),
    ]
    sizes = [node(f"n{n}", cpu=6, memory="12Gi") for n in range(2)]
    world = World(PRIORITIES, root, others, sizes, conf=conf)
    for n in range(2):
        world.put(*data.draw(a_greedy_job(f"first{n}")))
    world.session()
    world.now += 1
    world.delete(kinds.QUEUES, data.draw(st.sampled_from(["alone", "dept-a", "dept-b"])))
    hold_against_reference(
        data, world, lambda name: a_greedy_job(name, queues=(*LEAVES, *LEAVES, "root"))
    )
