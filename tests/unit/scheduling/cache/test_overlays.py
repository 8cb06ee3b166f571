"""Overlays: assumed binds, bind backoff and status updates over the facts; and which changes open a session."""

import msgspec

from tests.unit.scheduling.objects import gang, node, nodes, pod, queue
from tests.unit.scheduling.world import World
from vc.messages.view import Change
from vc.model.api import kinds
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Pod, PodCondition
from vc.scheduling.cache.overlays.assumed_binds import AssumedBind
from vc.scheduling.cache.overlays.bind_backoff import BACKOFF_SECONDS_FIRST

FIRST = "g-worker-0"


def assumed(world: World, name: str, on: str) -> AssumedBind:
    return AssumedBind(key=f"ns/{name}", uid=world.pod(name).metadata.uid, node=on)


def used_cpu(world: World, name: str) -> int:
    table = world.cache.facts.nodes.table()
    return int(table.used[table.static.names.index(name), table.resources["cpu"]])


def bound(world: World, name: str, on: str) -> Pod:
    known = world.pod(name)
    return msgspec.structs.replace(known, spec=msgspec.structs.replace(known.spec, node_name=on))


def test_an_assumed_bind_counts_until_its_fact_is_seen() -> None:
    world = World(queue(), nodes(1), gang("g", 1, cpu=40), gang("later", 1, cpu=40))
    world.cache.assume(assumed(world, FIRST, "node-01"))
    assert used_cpu(world, "node-01") == 40_000
    assert world.decide().binds == ()
    world.put(bound(world, FIRST, "node-01"))
    assert not world.matters
    assert used_cpu(world, "node-01") == 40_000
    assert world.cache.overlays.assumed == {}


def test_a_live_read_that_comes_after_its_fact_leaves_nothing() -> None:
    world = World(queue(), nodes(1), gang("g", 1, cpu=40))
    world.put(bound(world, FIRST, "node-01"))
    world.cache.assume(assumed(world, FIRST, "node-01"))
    assert world.cache.overlays.assumed == {}
    assert used_cpu(world, "node-01") == 40_000


def test_an_older_fact_does_not_lift_an_assumed_bind() -> None:
    world = World(queue(), nodes(1), gang("g", 1, cpu=40))
    world.cache.assume(assumed(world, FIRST, "node-01"))
    world.put(world.pod(FIRST))
    assert used_cpu(world, "node-01") == 40_000


def test_a_bind_that_turns_out_elsewhere_is_counted_there() -> None:
    world = World(queue(), nodes(2), gang("g", 1, cpu=40))
    world.cache.assume(assumed(world, FIRST, "node-01"))
    world.put(bound(world, FIRST, "node-02"))
    assert (used_cpu(world, "node-01"), used_cpu(world, "node-02")) == (0, 40_000)


def test_assumed_binds_survive_a_rebuilt_view() -> None:
    world = World(queue(), nodes(1), gang("g", 1, cpu=40))
    world.cache.assume(assumed(world, FIRST, "node-01"))
    again = world.pod(FIRST)
    world.cache.rebuild()
    for obj in (node("node-01"), again):
        kind = kinds.PODS if isinstance(obj, Pod) else kinds.NODES
        world.cache.apply(Change(kind=kind, key=obj.key, partition=0, before=None, after=obj))
    assert used_cpu(world, "node-01") == 40_000


def test_assumed_binds_of_pods_that_are_gone_are_forgotten_once_the_view_is_complete() -> None:
    world = World(queue(), nodes(1), gang("g", 1, cpu=40))
    world.cache.assume(assumed(world, FIRST, "node-01"))
    world.cache.rebuild()
    world.cache.forget_absent()
    assert world.cache.overlays.assumed == {}


def test_a_pod_of_the_same_name_inherits_nothing() -> None:
    world = World(queue(), nodes(1), gang("g", 1, cpu=40))
    world.cache.assume(assumed(world, FIRST, "node-01"))
    known = world.pod(FIRST)
    world.put(
        msgspec.structs.replace(
            known, metadata=msgspec.structs.replace(known.metadata, uid="another")
        )
    )
    assert used_cpu(world, "node-01") == 0
    assert world.cache.overlays.assumed == {}


def test_a_deleted_pod_takes_its_assumed_bind_with_it() -> None:
    world = World(queue(), nodes(1), gang("g", 1, cpu=40))
    world.cache.assume(assumed(world, FIRST, "node-01"))
    world.delete_pod(FIRST)
    assert used_cpu(world, "node-01") == 0
    assert world.cache.overlays.assumed == {}


def test_a_failed_bind_rests_longer_each_time() -> None:
    world = World(queue(), nodes(1), gang("g", 1, cpu=40))
    uid = world.pod(FIRST).metadata.uid
    for attempt in range(3):
        world.cache.assume(assumed(world, FIRST, "node-01"))
        world.cache.unassume(f"ns/{FIRST}", uid, now=world.now)
        rest = BACKOFF_SECONDS_FIRST * 2**attempt
        held = world.decide()
        assert held.binds == ()
        assert held.wake_at == world.now + rest
        world.now += rest
        assert world.decide().bound_pods == 1


def test_an_expired_bind_backoff_requests_no_further_session() -> None:
    world = World(queue(), nodes(1), gang("g", 1, cpu=400))
    world.cache.unassume(f"ns/{FIRST}", world.pod(FIRST).metadata.uid, now=world.now)
    world.session()
    world.now += BACKOFF_SECONDS_FIRST + 60
    world.session()
    assert world.session().wake_at is None


def test_only_what_can_change_the_outcome_wakes_a_session() -> None:
    world = World(queue(), nodes(1), gang("g", 1, cpu=40))
    known = world.pod(FIRST)
    status = msgspec.structs.replace(
        known.status, conditions=[PodCondition(type="PodScheduled", status="False")]
    )
    written = msgspec.structs.replace(known, status=status)
    cases: list[tuple[str, ApiObject, bool]] = [
        ("our own condition", written, False),
        ("a node's heartbeat", node("node-01"), False),
        ("a cordon", node("node-01", unschedulable=True), True),
        ("a queue's counters", queue(), False),
        ("a queue that closes", queue(state="Closed"), True),
        ("a new pod", pod("other", requests={"cpu": 1}), True),
    ]
    for what, obj, wakes in cases:
        world.put(obj)
        assert world.matters == wakes, what


def test_our_own_status_opens_no_session_when_it_is_observed() -> None:
    world = World(queue(), nodes(1), gang("g", 1, cpu=40))
    change = world.decide().statuses[0]
    world.cache.assume_status("ns/g", change.uid, status=change.status, now=world.now)
    world.put(msgspec.structs.replace(world.group("g"), status=change.status))
    assert not world.matters


def test_a_noted_status_stands_until_a_fact_at_least_as_new() -> None:
    world = World(queue(), nodes(1), gang("g", 2, cpu=40))
    change = world.decide().statuses[0]
    world.cache.assume_status("ns/g", change.uid, status=change.status, now=world.now)
    world.put(world.group("g"))
    assert world.decide().statuses == (), "an older fact does not bring the write back"
    world.cache.status_failed("ns/g", change.uid, status=change.status)
    assert len(world.decide().statuses) == 1, "a failed write is written again"


def test_rows_of_nodes_are_used_again() -> None:
    world = World(queue())
    for turn in range(300):
        world.put(node(f"n-{turn}"), pod(f"p-{turn}", requests={"cpu": 1}, on=f"n-{turn}"))
        world.delete(kinds.NODES, f"n-{turn}")
        world.delete_pod(f"p-{turn}")
    assert world.cache.facts.nodes.amounts.used.shape[0] <= 64
    assert not world.cache.facts.nodes.amounts.used.any()
