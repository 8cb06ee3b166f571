"""What-if: simulations decide as the sessions that really happen afterwards."""

from collections.abc import Sequence

import pytest

from tests.unit.scheduling.objects import EPOCH, gang, node, nodes, priority_class, queue
from tests.unit.scheduling.world import World
from vc.messages.sessions import Stage
from vc.model.api.meta import ApiObject
from vc.scheduling.conf.model import Conf
from vc.scheduling.what_if import SESSIONS_MAX, Simulation


def simulation(*objects: ApiObject | Sequence[ApiObject]) -> Simulation:
    flat = [o for given in objects for o in ([given] if isinstance(given, ApiObject) else given)]
    return Simulation(flat, Conf(), now=EPOCH)


def running(name: str, count: int, on: str, **options: object) -> list[ApiObject]:
    """A gang whose pods lie on a node, as a world leaves it."""
    world = World(queue(), queue("other"), node(on, cpu=64), gang(name, count, **options))  # type: ignore[arg-type]
    world.session()
    return [world.group(name), *world.pods()]


def test_a_job_that_fits_is_placed_in_one_session() -> None:
    outcome = simulation(
        queue(), nodes(2, cpu=4), gang("g", 3, cpu=2, phase="Pending")
    ).run_sessions()
    assert set(outcome.placements["ns/g"].values()) == {"node-01", "node-02"}
    assert len(outcome.placements["ns/g"]) == 3
    assert (outcome.victims, outcome.reasons, outcome.stable) == ((), {}, True)
    assert outcome.sessions == 1


def test_a_job_that_does_not_fit_has_the_reason_of_the_real_session() -> None:
    jobs = gang("g", 3, cpu=3)
    outcome = simulation(queue(), nodes(2, cpu=4), jobs).run_sessions()
    real = World(queue(), nodes(2, cpu=4), jobs).session().reasons[0]
    assert outcome.reasons["ns/g"].reason == real.reason
    assert outcome.reasons["ns/g"].reason.stage is Stage.GANG
    assert outcome.placements == {}


def test_more_nodes_let_it_run() -> None:
    tried = simulation(queue(), nodes(2, cpu=4), gang("g", 3, cpu=3))
    tried.put([node("more", cpu=4)])
    assert len(tried.run_sessions().placements["ns/g"]) == 3


def test_a_higher_priority_names_its_victims_and_then_runs() -> None:
    low = running("low", 4, "n", cpu=16)
    high = gang("high", 2, cpu=16, priority_class="high", phase="Pending")
    outcome = simulation(
        queue(), priority_class("high", 9), node("n", cpu=64), low, high
    ).run_sessions()
    assert {victim.made_for for victim in outcome.victims} == {"ns/high"}
    assert {victim.group for victim in outcome.victims} == {"ns/low"}
    assert {victim.node for victim in outcome.victims} == {"n"}
    assert len(outcome.placements["ns/high"]) == 2
    assert outcome.stable


def test_a_queue_with_more_quota_lets_it_run() -> None:
    small = queue("other", capability={"cpu": "1"})
    tried = simulation(queue(), small, nodes(1, cpu=8), gang("g", 2, cpu=2, queue="other"))
    assert tried.run_sessions().reasons["ns/g"].reason.stage is Stage.QUOTA
    tried.put([queue("other", capability={"cpu": "4"})])
    assert len(tried.run_sessions().placements["ns/g"]) == 2


def test_a_dropped_job_frees_its_nodes() -> None:
    tried = simulation(
        queue(), node("n", cpu=64), running("low", 4, "n", cpu=16), gang("g", 2, cpu=20)
    )
    assert "ns/g" in tried.run_sessions().reasons
    assert tried.drop_group("ns/low")
    assert not tried.drop_group("ns/low"), "it is gone"
    assert len(tried.run_sessions().placements["ns/g"]) == 2


def test_a_problem_of_an_object_is_reported() -> None:
    assert "node bad" in simulation(queue(), node("bad", cpu="many")).problems


@pytest.mark.parametrize("count", [1, 7, 30])
def test_a_simulation_decides_as_real_sessions_do(count: int) -> None:
    jobs = [gang(f"g{i}", 1 + i % 5, cpu=1 + i % 3, age=i, phase="Pending") for i in range(count)]
    outcome = simulation(queue(), nodes(4, cpu=6), *jobs).run_sessions()
    world = World(queue(), nodes(4, cpu=6), *jobs)
    for _ in range(SESSIONS_MAX):
        world.session()
    placed = {pod: on for group in outcome.placements.values() for pod, on in group.items()}
    assert {f"ns/{name}": on for name, on in world.where().items()} == placed
