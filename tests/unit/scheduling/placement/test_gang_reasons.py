"""Reasons of gangs of several tasks count the whole gang, not only the first task that does not fit."""

from tests.unit.scheduling.objects import group, nodes, pod, queue
from tests.unit.scheduling.world import World, reason_of


def test_needed_available_and_missing_are_those_of_all_tasks() -> None:
    world = World(
        queue(),
        nodes(2, cpu=8),
        group("tf", minimum=6),
        [pod(f"tf-ps-{n}", group="tf", role="ps", requests={"cpu": "5"}) for n in range(2)],
        [pod(f"tf-worker-{n}", group="tf", role="worker", requests={"cpu": "3"}) for n in range(4)],
    )
    reason = reason_of(world.session(), "tf")
    assert (reason.needed_pods, reason.placeable_pods) == (6, 4)
    cpu = next(amount for amount in reason.amounts if amount.resource == "cpu")
    assert (cpu.needed, cpu.available, cpu.missing) == (22_000, 16_000, 6_000)
    assert reason.sentence.startswith("4 of the 6 pods of the gang fit; ")
