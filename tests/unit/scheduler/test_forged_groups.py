"""What a tenant writes into a pod group decides nothing about others."""

import msgspec
import pytest

from tests.unit.scheduler.objects import EPOCH, gang, group, nodes, pod, priority_class, queue
from tests.unit.scheduler.world import World, reason_of
from vc_model.kubernetes import Namespace
from vc_model.meta import ObjectMeta
from vc_model.scheduling import PodGroup, PodGroupCondition, PodGroupStatus, Queue
from vc_scheduler.logic.cache.let_in import CLAIM_SECONDS
from vc_scheduler.logic.conf import Conf
from vc_scheduler.logic.inqueue import INQUEUE_SECONDS

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
def test_a_forged_inqueue_keeps_nobody_out(cpu: str, minimum: int) -> None:
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
    assert world.session().enqueued == (), "what is let in keeps its claim"
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


def test_whoever_is_let_in_claims_no_more_later() -> None:
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
def test_a_claim_ends_however_often_the_time_is_written_anew(minimum: int) -> None:
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


def test_what_could_never_run_claims_nothing() -> None:
    """Without the plugin overcommit everybody is let in; then nobody's claim may count against a queue."""
    world = World(queue(capability={"cpu": "8"}), nodes(1, cpu=8), conf=EVICTING)
    world.forge(forged("evil", cpu="9"))
    world.put(*gang("good", 1, phase="Pending", min_resources={"cpu": "8"}, cpu=8))
    world.session()
    assert world.bound("good") == 1


def test_an_annotation_holds_no_room_in_a_queue() -> None:
    """Ours says that the scheduler lifted a gate; a tenant can write it on a pod of any size."""
    said = {"volcano.sh/queue-allocated": "true"}
    world = World(
        queue(), nodes(1, cpu=8), group("evil", minimum=1),
        pod("evil-0", group="evil", requests={"cpu": "1000000"}, annotations=said),
        gang("good", 1, phase="Pending", min_resources={"cpu": "4"}, cpu=4),
    )  # fmt: skip
    world.session()
    assert world.bound("good") == 1
    assert not world.columns.queues.use()["default"].reserved


# -- queues ----------------------------------------------------------------------------------------


def listed(name: str, **notes: str) -> Queue:
    """A queue with annotations."""
    made = queue(name)
    metadata = msgspec.structs.replace(made.metadata, annotations=notes)
    return msgspec.structs.replace(made, metadata=metadata)


LISTS = [
    ({"volcano.sh/allowed-namespaces": "ns"}, True),
    ({"volcano.sh/allowed-namespaces": "a, ns"}, True),
    ({"volcano.sh/allowed-namespaces": "a,b"}, False),
    ({"volcano.sh/allowed-namespaces": ""}, False),
    ({"volcano.sh/allowed-namespace-selector": "team=x"}, True),
    ({"volcano.sh/allowed-namespace-selector": "team!=x"}, False),
    ({"volcano.sh/allowed-namespace-selector": "((("}, False),
    ({}, True),
]


@pytest.mark.parametrize(("notes", "allowed"), LISTS, ids=[str(notes) for notes, _ in LISTS])
def test_a_job_waits_in_a_queue_that_its_namespace_may_not_use(
    notes: dict[str, str], allowed: bool
) -> None:
    """It holds without webhooks: the scheduler itself looks."""
    space = Namespace(metadata=ObjectMeta(name="ns", labels={"team": "x"}))
    world = World(listed("team", **notes), nodes(1, cpu=8), space)
    world.put(*gang("job", 1, phase="Pending", queue="team", cpu=1))
    decisions = world.session()
    assert world.bound("job") == allowed
    if not allowed:
        reason = reason_of(decisions, "job")
        assert reason.code == "QueueNotAllowed"
        assert "namespace 'ns' may not use queue 'team'" in reason.sentence
        (condition,) = world.group("job").status.conditions
        assert condition.reason == "QueueNotAllowed"


def test_labels_that_change_let_a_job_in() -> None:
    world = World(listed("team", **{"volcano.sh/allowed-namespace-selector": "team=x"}), nodes(1))
    world.put(Namespace(metadata=ObjectMeta(name="ns")))
    world.put(*gang("job", 1, phase="Pending", queue="team", cpu=1))
    world.session()
    assert world.bound("job") == 0
    world.put(Namespace(metadata=ObjectMeta(name="ns", labels={"team": "x"})))
    assert world.matters, "a session is wanted"
    world.session()
    assert world.bound("job") == 1


@pytest.mark.parametrize(
    ("said", "evicted"), [({}, 0), ({"volcano.sh/honor-non-preemptable": "false"}, 1)]
)
def test_pods_exempt_themselves_only_where_their_queue_lets_them(
    said: dict[str, str], evicted: int
) -> None:
    world = World(
        listed("default", **said), nodes(1, cpu=8), priority_class("top", 1000),
        group("old", minimum=1, phase="Running"),
        pod("old-0", group="old", requests={"cpu": "8"}, on="node-01",
            annotations={"volcano.sh/preemptable": "false"}),
        gang("new", 1, priority_class="top", cpu=8),
        conf=EVICTING,
    )  # fmt: skip
    assert len(world.session().evictions) == evicted


# -- priority ----------------------------------------------------------------------------------------


def contest(*, pods_priority: int | None, victims: int = 100) -> World:
    """A gang of class `top` whose pods have another priority, and a full node."""
    return World(
        queue(), nodes(1, cpu=8), priority_class("top", 1000), priority_class("mid", victims),
        group("old", minimum=1, priority_class="mid", phase="Running"),
        pod("old-0", group="old", requests={"cpu": "8"}, on="node-01", priority=victims),
        group("new", minimum=1, priority_class="top"),
        pod("new-0", group="new", requests={"cpu": "8"}, priority=pods_priority),
        conf=EVICTING,
    )  # fmt: skip


@pytest.mark.parametrize("lower", [0, 99, 100])
def test_a_class_on_the_group_alone_evicts_nobody(lower: int) -> None:
    assert contest(pods_priority=lower).session().evictions == ()


@pytest.mark.parametrize("pods_priority", [101, 1000, 2000, None])
def test_pods_of_the_class_evict_as_before(pods_priority: int | None) -> None:
    """Without a number on the pods the API server does not know priorities, and the group's class holds."""
    assert len(contest(pods_priority=pods_priority).session().evictions) == 1


def test_one_pod_of_a_high_class_does_not_carry_the_others() -> None:
    world = contest(pods_priority=1000)
    world.put(pod("new-1", group="new", requests={"cpu": "1"}, priority=0))
    assert world.session().evictions == ()


def test_an_annotation_is_no_priority_of_the_group() -> None:
    world = contest(pods_priority=0)
    said = pod(
        "new-0", group="new", requests={"cpu": "8"}, priority=0,
        annotations={"volcano.sh/task-priority": "1000"},
    )  # fmt: skip
    world.put(said)
    assert world.session().evictions == ()


def test_a_class_on_the_group_alone_protects_nobody() -> None:
    """The other way round: pods of a low class are victims of a higher one, whatever their group says."""
    world = World(
        queue(), nodes(1, cpu=8), priority_class("top", 1000), priority_class("mid", 100),
        group("evil", minimum=1, priority_class="top", phase="Running"),
        pod("evil-0", group="evil", requests={"cpu": "8"}, on="node-01", priority=0),
        group("good", minimum=1, priority_class="mid"),
        pod("good-0", group="good", requests={"cpu": "8"}, priority=100),
        conf=EVICTING,
    )  # fmt: skip
    assert len(world.session().evictions) == 1
