"""The feasibility bound: it rejects jobs before a simulation, so it must never reject one that fits."""

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.scheduling.objects import gang, group, node, pod, queue
from tests.unit.scheduling.world import World
from vc.scheduling import plugins
from vc.scheduling.framework.framework import Framework
from vc.scheduling.model.rows import GroupRow, PodRow
from vc.scheduling.placement.gang import why_no_fit
from vc.scheduling.placement.simulated_removal import could_help, feasibility_without
from vc.scheduling.session.feasibility import empty_node_bound
from vc.scheduling.session.session import Session


def session_of(world: World) -> Session:
    return Session(world.snapshot(), Framework(world.conf, plugins.REGISTRY), world.now)


def waiting(session: Session, name: str = "new") -> GroupRow:
    (found,) = [group for group in session.snapshot.groups if group.name == name]
    return found


def placed(session: Session) -> list[PodRow]:
    return [pod for group in session.snapshot.all_groups.values() for pod in group.placed]


def test_only_nodes_it_may_go_to_count() -> None:
    world = World(
        queue(), node("n1", cpu=8), node("n2", cpu=8, labels={"at": "n2"}),
        group("new", minimum=2),
        *[pod(f"new-{n}", group="new", requests={"cpu": "8"}, selector={"at": "n2"}) for n in range(2)],
    )  # fmt: skip
    session = session_of(world)
    assert session.cached(empty_node_bound).most(waiting(session).runs[0].shape) == 1
    assert not session.cached(empty_node_bound).covers(waiting(session), [(None, 2)])
    assert session.cached(empty_node_bound).covers(waiting(session), [(None, 1)])


def test_a_resource_that_no_node_has_is_infeasible() -> None:
    session = session_of(World(queue(), node("n1"), gang("new", 1, gpu=1)))
    assert not session.cached(empty_node_bound).covers(waiting(session), [(None, 1)])


def test_each_task_is_looked_at_by_itself() -> None:
    world = World(
        queue(), node("n1", cpu=8),
        group("new", minimum=2, roles={"x": 1, "y": 1}),
        pod("new-x", group="new", role="x", requests={"cpu": "6"}),
        pod("new-y", group="new", role="y", requests={"cpu": "9"}),
    )  # fmt: skip
    session = session_of(world)
    assert session.cached(empty_node_bound).covers(waiting(session), [("x", 1)])
    assert not session.cached(empty_node_bound).covers(waiting(session), [("x", 1), ("y", 1)])


def test_with_partial_reservations_the_bound_is_unknown() -> None:
    world = World(queue(), node("n1", cpu=1), gang("new", 1, cpu=2))
    session = session_of(world)
    job, reach = waiting(session), feasibility_without(session, [])
    assert not could_help(session, job, [(None, 1)], reach)
    session.reservations.keep_partial(waiting(session), lambda: None)
    assert could_help(session, job, [(None, 1)], reach)


CPUS = st.integers(1, 8)


@given(st.lists(CPUS, min_size=1, max_size=3), st.data())
def test_a_no_is_a_no(nodes: list[int], data: st.DataObject) -> None:
    """If some went and the gang fits then, it was within reach."""
    names = [f"n{n}" for n in range(len(nodes))]
    world = World(queue(), [node(name, cpu=cpu) for name, cpu in zip(names, nodes, strict=True)])
    for at, (name, cpu) in enumerate(zip(names, nodes, strict=True)):
        taken = data.draw(st.integers(1, cpu))
        world.put(
            group(f"old{at}", minimum=1, phase="Running"),
            pod(f"old{at}-0", group=f"old{at}", requests={"cpu": str(taken)}, on=name),
        )
    count = data.draw(st.integers(1, 3))
    world.put(*gang("new", count, cpu=data.draw(CPUS)))
    session = session_of(world)
    job, gone = waiting(session), placed(session)
    reach = feasibility_without(session, gone)
    there = session_of(world)  # the same, with those pods away
    for one in gone:
        row = there.snapshot.nodes.static.row(one.node)
        assert row is not None
        there.node_capacity.used[row] -= there.node_capacity.request(one.shape)
    fits = why_no_fit(there, job, [(None, count)]) is None
    assert reach.covers(job, [(None, count)]) == fits, "equal pods: the bound is exact"
