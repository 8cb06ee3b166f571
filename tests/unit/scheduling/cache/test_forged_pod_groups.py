"""Forged pod groups: what a tenant writes into a pod group has no effect on other groups."""

import msgspec
import pytest

from tests.unit.scheduling.objects import EPOCH, gang, group, nodes, pod, priority_class, queue
from tests.unit.scheduling.world import World, reason_of
from vc.model.api.scheduling import PodGroup, PodGroupCondition, PodGroupStatus
from vc.model.values.times import format_time
from vc.scheduling.actions.inqueue_timeout import INQUEUE_SECONDS
from vc.scheduling.cache.overlays.enqueued import CLAIM_SECONDS
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.plugins.queue_shares.recoverable import UNBACKED_SECONDS

FAR: str = "9999-12-31T23:59:59Z"
EVICTING = Conf(actions=("enqueue", "allocate", "preempt", "backfill"))


def forged(
    name: str, *, cpu: str = "1000000", minimum: int = 1, queue: str = "default"
) -> PodGroup:
    """Inqueue for ever, with a claim on more than there is."""
    written = group(name, minimum=minimum, queue=queue, min_resources={"cpu": cpu})
    condition = PodGroupCondition(
        type="Unschedulable", status="True", reason="NotEnoughTasks", last_transition_time=FAR
    )
    status = PodGroupStatus(phase="Inqueue", conditions=[condition])
    return msgspec.structs.replace(written, status=status)


@pytest.mark.parametrize("cpu", ["8", "1000000"])
@pytest.mark.parametrize("minimum", [0, 1, 9])
def test_a_forged_inqueue_keeps_no_other_group_pending(cpu: str, minimum: int) -> None:
    world = World(queue(), nodes(1, cpu=8), conf=EVICTING)
    world.forge(forged("evil", cpu=cpu, minimum=minimum))
    world.put(*gang("good", 1, phase="Pending", age=99, min_resources={"cpu": "8"}, cpu=8))
    world.session()
    assert world.bound("good") == 1


def test_a_forged_inqueue_is_decided_again_and_goes_back() -> None:
    world = World(queue(), nodes(1, cpu=8))
    world.forge(forged("evil"))
    decisions = world.session()
    assert world.group("evil").status.phase == "Pending"
    assert reason_of(decisions, "evil").permanent, "it asks for more than there is"
    times = [c.last_transition_time for c in world.group("evil").status.conditions]
    assert FAR not in times, "a time to come counts as now"


def test_a_new_leader_decides_inqueue_groups_without_bound_pods_again() -> None:
    world = World(
        queue(), nodes(1, cpu=8),
        group("claims", minimum=1, min_resources={"cpu": "8"}),
        gang("good", 1, phase="Pending", age=9, min_resources={"cpu": "8"}, cpu=8),
    )  # fmt: skip
    assert world.session().enqueued == (), "an enqueued group keeps its claim"
    world.restart()
    assert world.session().enqueued == ("ns/good",), (
        "the older one goes first when all are asked again"
    )
    assert world.group("claims").status.phase == "Pending"


def test_a_new_leader_leaves_gangs_with_bound_pods_alone() -> None:
    world = World(
        queue(), nodes(2, cpu=8), group("half", minimum=2, min_resources={"cpu": "16"}),
        pod("half-0", group="half", requests={"cpu": "8"}, on="node-01"),
    )  # fmt: skip
    world.restart()
    world.put(pod("half-1", group="half", requests={"cpu": "8"}))
    world.session()
    assert world.bound("half") == 2, "it is completed"


def test_an_enqueued_group_cannot_raise_its_claim() -> None:
    """minResources is the tenant's to write, before and after."""
    world = World(
        queue(),
        nodes(1, cpu=8),
        group("evil", minimum=1, phase="Pending", min_resources={"cpu": "1"}),
    )
    assert world.session().enqueued == ("ns/evil",)
    known = world.group("evil")
    grown = msgspec.structs.replace(known.spec, min_resources={"cpu": "1000000"})
    world.put(msgspec.structs.replace(known, spec=grown))
    world.put(*gang("good", 1, phase="Pending", min_resources={"cpu": "7"}, cpu=7))
    world.session()
    assert world.bound("good") == 1


def test_a_claim_on_a_queue_that_does_not_exist_ends() -> None:
    world = World(
        queue(),
        nodes(1, cpu=8),
        group("evil", minimum=1, phase="Pending", min_resources={"cpu": "8"}),
    )
    world.session()
    known = world.group("evil")
    moved = msgspec.structs.replace(known.spec, queue="nowhere")
    world.put(msgspec.structs.replace(known, spec=moved))
    world.put(*gang("good", 1, phase="Pending", min_resources={"cpu": "8"}, cpu=8))
    wake_at = world.session().wake_at
    assert wake_at is not None
    world.now = wake_at
    while not world.bound("good") and world.now <= EPOCH + CLAIM_SECONDS:
        world.now = world.session().wake_at or world.now + CLAIM_SECONDS
    assert world.bound("good") == 1


@pytest.mark.parametrize("minimum", [0, 1])
def test_a_claim_ends_however_often_the_time_is_overwritten(minimum: int) -> None:
    world = World(
        queue(),
        nodes(1, cpu=8),
        group("evil", minimum=minimum, phase="Pending", min_resources={"cpu": "8"}),
    )
    assert world.session().enqueued == ("ns/evil",)
    world.put(*gang("good", 1, phase="Pending", min_resources={"cpu": "8"}, cpu=8))
    begun = world.now
    while not world.bound("good") and world.now < begun + 2 * CLAIM_SECONDS:
        known = world.group("evil")
        said = [
            msgspec.structs.replace(c, last_transition_time=FAR) for c in known.status.conditions
        ]
        status = msgspec.structs.replace(known.status, conditions=said)
        world.put(msgspec.structs.replace(known, status=status))
        world.now += INQUEUE_SECONDS / 3
        world.session()
    assert world.bound("good") == 1
    assert world.now <= begun + CLAIM_SECONDS + INQUEUE_SECONDS


def claiming(name: str) -> PodGroup:
    """A group of another namespace, of the highest class and without pods, that claims the whole cluster."""
    made = group(name, minimum=1, phase="Pending", priority_class="top", min_resources={"cpu": "8"})
    metadata = msgspec.structs.replace(made.metadata, namespace="evil")
    return msgspec.structs.replace(made, metadata=metadata)


@pytest.mark.parametrize("has_pods", [True, False], ids=["with pods", "pods to come"])
def test_claims_of_groups_without_pods_hold_back_no_other_group(has_pods: bool) -> None:
    """A tenant writes one group after the other, of the highest class; each claims the whole cluster."""
    world = World(queue(), nodes(1, cpu=8), priority_class("top", 2_000_000_000))
    world.put(claiming("evil-0"))
    assert world.session().enqueued == ("evil/evil-0",)
    good, *pods = gang("good", 1, phase="Pending", min_resources={"cpu": "8"}, cpu=8)
    world.put(good, *(pods if has_pods else ()))
    begun = world.now
    for number in range(1, 5):
        decisions = world.session()
        if "ns/good" in decisions.enqueued:
            break
        world.now = decisions.wake_at or world.now
        world.put(claiming(f"evil-{number}"))
    assert world.group("good").status.phase in ("Inqueue", "Running")
    assert world.now <= begun + UNBACKED_SECONDS


def test_a_group_that_was_just_enqueued_keeps_its_claim_until_its_pods_exist() -> None:
    world = World(
        queue(),
        nodes(1, cpu=8),
        group("first", minimum=1, phase="Pending", min_resources={"cpu": "8"}),
    )
    assert world.session().enqueued == ("ns/first",)
    world.put(*gang("second", 1, phase="Pending", min_resources={"cpu": "8"}, cpu=8))
    world.now += UNBACKED_SECONDS / 2
    world.session()
    assert world.bound("second") == 0
    world.put(pod("first-0", group="first", requests={"cpu": "8"}))
    world.session()
    assert world.bound("first") == 1


def test_what_could_never_run_claims_nothing() -> None:
    """Without the plugin overcommit every group is enqueued; then no claim may count against a queue."""
    world = World(queue(capability={"cpu": "8"}), nodes(1, cpu=8), conf=EVICTING)
    world.forge(forged("evil", cpu="9"))
    world.put(*gang("good", 1, phase="Pending", min_resources={"cpu": "8"}, cpu=8))
    world.session()
    assert world.bound("good") == 1


OVERCOMMIT_ONLY = Conf(tiers=((PluginConf(name="gang"), PluginConf(name="overcommit")),))
"""Without shares of queues nothing but overcommit keeps a group out."""


@pytest.mark.parametrize(
    ("cpu", "in_queue", "claims"),
    [
        pytest.param("8", "default", True, id="all that the cluster has"),
        pytest.param("9", "default", False, id="more than the cluster has"),
        pytest.param("4", "leaf", True, id="all that its queues may have"),
        pytest.param("5", "leaf", False, id="more than the queue above may have"),
        pytest.param("7", "small", False, id="more than its queue may have"),
    ],
)
def test_a_group_claims_what_could_run_and_else_nothing(
    cpu: str, in_queue: str, claims: bool
) -> None:
    """Overcommit enqueues a fifth more than the cluster has."""
    world = World(
        queue(), queue("dept", capability={"cpu": "4"}), queue("leaf", parent="dept"),
        queue("small", capability={"cpu": "6"}), nodes(1, cpu=8),
        group("evil", minimum=1, queue=in_queue, phase="Pending", min_resources={"cpu": cpu}),
        conf=OVERCOMMIT_ONLY,
    )  # fmt: skip
    assert world.session().enqueued == ("ns/evil",)
    world.put(*gang("good", 1, phase="Pending", min_resources={"cpu": "8"}, cpu=8))
    world.session()
    assert world.bound("good") == (not claims)


def test_a_claim_is_not_inherited_by_another_group_of_the_name() -> None:
    world = World(
        queue(), nodes(1, cpu=8),
        group("evil", minimum=1, phase="Pending", min_resources={"cpu": "8"}),
    )  # fmt: skip
    assert world.session().enqueued == ("ns/evil",)
    again = group("evil", minimum=1, phase="Inqueue", min_resources={"cpu": "8"})
    metadata = msgspec.structs.replace(again.metadata, uid="another")
    world.put(msgspec.structs.replace(again, metadata=metadata))
    world.put(*gang("good", 1, phase="Pending", age=99, min_resources={"cpu": "8"}, cpu=8))
    world.session()
    assert world.bound("good") == 1


def test_a_claim_that_came_true_does_not_come_back_when_pods_end() -> None:
    world = World(
        queue(), nodes(1, cpu=8),
        gang("evil", 2, minimum=1, phase="Pending", min_resources={"cpu": "8"}, cpu=4),
    )  # fmt: skip
    world.session()
    world.session()
    assert world.bound("evil") == 2
    world.finish("evil-worker-1")
    world.put(*gang("good", 1, phase="Pending", min_resources={"cpu": "5"}, cpu=4))
    world.session()
    assert world.bound("good") == 1


def test_what_a_group_has_or_its_queue_reserves_is_not_claimed_again() -> None:
    world = World(
        queue(), nodes(1, cpu=8),
        gang("g", 1, phase="Pending", min_resources={"cpu": "8"}, cpu=3),
    )  # fmt: skip
    world.session()
    assert world.bound("g") == 1
    row = world.snapshot().all_groups["ns/g"]
    assert row.claimed == {"cpu": 5000}
    reserving = msgspec.structs.replace(row, reserved=(("cpu", 2000),))
    assert reserving.claimed == {"cpu": 3000}


def test_a_group_that_a_session_sends_back_claims_nothing() -> None:
    """As soon as that is decided, before the write is seen."""
    world = World(
        queue(), nodes(1, cpu=8),
        group("evil", minimum=1, phase="Pending", min_resources={"cpu": "8"}),
    )  # fmt: skip
    world.session()
    known = world.group("evil")
    for phase, claims in (("Inqueue", True), ("Pending", False)):
        status = msgspec.structs.replace(known.status, phase=phase)
        world.cache.assume_status(known.key, known.metadata.uid, status=status, now=world.now)
        row = world.snapshot().all_groups[known.key]
        assert (row.enqueued_at is not None) == claims


def test_groups_that_others_place_claim_nothing() -> None:
    world = World(
        queue(), nodes(1, cpu=8),
        group("evil", minimum=1, phase="Pending", min_resources={"cpu": "8"}),
    )  # fmt: skip
    assert world.session().enqueued == ("ns/evil",)
    world.put(pod("evil-0", group="evil", requests={"cpu": "8"}, scheduler="other"))
    world.put(*gang("good", 1, phase="Pending", min_resources={"cpu": "8"}, cpu=8))
    world.session()
    assert world.bound("good") == 1


def test_a_group_returns_to_pending_however_often_the_time_is_overwritten() -> None:
    world = World(
        queue(), nodes(1, cpu=8),
        group("evil", minimum=1, phase="Pending", min_resources={"cpu": "8"}),
    )  # fmt: skip
    world.session()
    begun, phases = world.now, []
    while world.now < begun + 2 * INQUEUE_SECONDS + 60:
        world.now += INQUEUE_SECONDS / 3
        world.session()
        known = world.group("evil")
        phases.append(known.status.phase)
        said = [
            msgspec.structs.replace(c, last_transition_time=format_time(world.now + 30))
            for c in known.status.conditions
        ]
        status = msgspec.structs.replace(known.status, conditions=said)
        world.put(msgspec.structs.replace(known, status=status))
    assert "Pending" in phases


def test_a_time_to_come_is_written_as_now_though_nothing_else_is_new() -> None:
    world = World(queue(), nodes(1, cpu=8), gang("waits", 1, phase="Inqueue", cpu=9))
    world.session()
    known = world.group("waits")
    said = [msgspec.structs.replace(c, last_transition_time=FAR) for c in known.status.conditions]
    assert said
    status = msgspec.structs.replace(known.status, conditions=said)
    world.put(msgspec.structs.replace(known, status=status))
    world.now += 1
    world.session()
    times = [c.last_transition_time for c in world.group("waits").status.conditions]
    assert times == [format_time(world.now)] * len(said)


def test_an_annotation_reserves_no_quota_in_a_queue() -> None:
    """Ours says that the scheduler lifted a gate; a tenant can write it on a pod of any size."""
    said = {"volcano.sh/queue-allocated": "true"}
    world = World(
        queue(), nodes(1, cpu=8), group("evil", minimum=1),
        pod("evil-0", group="evil", requests={"cpu": "1000000"}, annotations=said),
        gang("good", 1, phase="Pending", min_resources={"cpu": "4"}, cpu=4),
    )  # fmt: skip
    world.session()
    assert world.bound("good") == 1
    assert not world.cache.facts.queues.use()["default"].reserved
