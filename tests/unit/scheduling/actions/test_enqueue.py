"""enqueue: which groups become Inqueue, in which order, and within which limits."""

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api.struct import ResourceList
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.model.pod_group_status import COUNTERS_REFRESH_SECONDS, MESSAGE_REFRESH_SECONDS


def test_a_pending_group_is_enqueued_and_placed_in_one_session() -> None:
    world = World(nodes(1), queue(), gang("g", 2, cpu=1, phase="Pending"))
    decisions = world.session()
    assert decisions.enqueued == ("ns/g",)
    assert world.bound("g") == 2
    assert world.group("g").status.phase == "Running"


def test_a_group_without_pods_is_enqueued_so_that_they_can_be_created() -> None:
    world = World(nodes(1), queue(), [group("g", minimum=2, phase="")])
    world.session()
    assert world.group("g").status.phase == "Inqueue"


def test_a_queue_without_a_state_counts_as_open() -> None:
    world = World(nodes(1), queue(state=""), gang("g", 1, cpu=1, phase="Pending"))
    world.session()
    assert world.bound("g") == 1


def test_no_group_is_enqueued_in_a_closed_queue_until_it_opens() -> None:
    world = World(nodes(1), queue(state="Closed"), gang("g", 1, cpu=1, phase="Pending"))
    reason = reason_of(world.session(), "g")
    assert (reason.stage, reason.code) == (Stage.QUEUE_CLOSED, "QueueClosed")
    assert world.group("g").status.phase == "Pending"
    world.put(queue(state="Open"))
    world.session()
    assert world.bound("g") == 1


def test_a_group_of_a_missing_queue_waits_for_it() -> None:
    world = World(nodes(1), queue(), gang("g", 1, cpu=1, queue="team"), gang("ok", 1, cpu=1))
    reason = reason_of(world.session(), "g")
    assert reason.stage is Stage.QUEUE_MISSING
    assert (world.bound("g"), world.bound("ok")) == (0, 1)
    world.put(queue("team"))
    world.session()
    assert world.bound("g") == 1


def test_a_capability_holds_at_the_gate() -> None:
    small = gang("g", 2, cpu=3, phase="Pending", min_resources={"cpu": "6"})
    world = World(nodes(2), queue(capability={"cpu": "5"}), small)
    reason = reason_of(world.session(), "g")
    assert reason.stage is Stage.QUOTA
    assert reason.sentence == (
        "can never start in queue 'default': the gang needs cpu 6, and the capability of queue "
        "'default' is cpu 5"
    )
    assert reason.unblock is not None
    assert reason.unblock.amounts == {"cpu": 1000}
    world.put(queue(capability={"cpu": "6"}))
    world.session()
    assert world.bound("g") == 2


def test_what_a_job_asks_nothing_of_does_not_keep_it_out() -> None:
    """`nvidia.com/gpu: 0`, and others have more GPUs than the queue may have since yesterday."""
    asked: ResourceList = {"cpu": "1", "nvidia.com/gpu": "0"}
    world = World(nodes(1, gpu=4), queue(), gang("old", 1, gpu=4))
    world.session()
    world.put(queue(capability={"nvidia.com/gpu": "2", "cpu": "9"}))
    world.put(*gang("new", 1, cpu=1, phase="Pending", min_resources=asked))
    assert world.decide().enqueued == ("ns/new",)


def test_overcommit_enqueues_a_fifth_more_than_the_cluster_has() -> None:
    jobs = [
        group(f"g{n}", minimum=1, phase="Pending", min_resources={"cpu": "32"}, age=9 - n)
        for n in range(4)
    ]
    world = World(nodes(1), queue(), jobs)
    decisions = world.session()
    assert decisions.enqueued == ("ns/g0", "ns/g1")  # 64 * 1.2 = 76.8
    reason = reason_of(decisions, "g2")
    assert reason.stage is Stage.OVERCOMMIT
    assert "requested cpu 32, available 12.8" in reason.sentence


def test_gated_pods_wait_and_say_so() -> None:
    gated = pod("p-0", group="g", requests={"cpu": 1}, gates=["example.com/wait"])
    world = World(nodes(1), queue(), [group("g", minimum=1), gated])
    reason = reason_of(world.session(), "g")
    assert "1 pods have scheduling gates" in reason.sentence
    world.put(pod("p-0", group="g", requests={"cpu": 1}))
    world.session()
    assert world.bound("g") == 1


def test_queue_status_says_what_is_allocated_up_to_the_root() -> None:
    world = World(
        nodes(1),
        queue("root"),
        queue("team", parent="root"),
        gang("g", 2, cpu=2, memory="1Gi", queue="team"),
    )
    said = {q.queue: q.allocated for q in world.session().queues}
    assert said["team"] == {"cpu": "4", "memory": "2Gi", "pods": "2"}
    assert said["root"] == said["team"]


def test_a_status_is_written_only_when_it_says_something_new() -> None:
    world = World(nodes(1), queue(), gang("wait", 2, cpu=40), gang("run", 1, cpu=1))
    assert {s.name for s in world.session().statuses} == {"run", "wait"}
    world.session()
    assert world.session().statuses == ()


def test_numbers_in_a_message_are_refreshed_at_a_slow_pace() -> None:
    world = World(nodes(1), queue(), gang("wait", 3, cpu=40))
    change = world.session().statuses[0]
    world.cache.assume_status("ns/wait", "group-wait", status=change.status, now=world.now)
    world.put(node("node-02"))
    put_off = world.decide()
    assert put_off.statuses == ()
    assert put_off.wake_at == world.now + MESSAGE_REFRESH_SECONDS
    world.now += MESSAGE_REFRESH_SECONDS
    refreshed = world.session().statuses
    assert "2 of the 3" in refreshed[0].refusal


def test_counters_are_written_at_most_once_a_second() -> None:
    world = World(nodes(1), queue(), gang("j", 3, cpu=1))
    world.session()
    world.session()
    world.cache.assume_status("ns/j", "group-j", status=world.group("j").status, now=world.now)
    world.finish("j-worker-0")
    put_off = world.decide()
    assert put_off.statuses == ()
    assert put_off.wake_at == world.now + COUNTERS_REFRESH_SECONDS
    world.now += COUNTERS_REFRESH_SECONDS
    assert world.session().statuses[0].status.succeeded == 1


def test_a_new_group_whose_pods_are_being_made_is_not_called_unschedulable() -> None:
    fresh = group("g", minimum=2, phase="Inqueue", age=-3600)
    world = World(nodes(1), queue(), [fresh])
    decisions = world.session()
    assert decisions.statuses == ()
    assert reason_of(decisions, "g").stage is Stage.TASKS
    assert decisions.wake_at is not None
    world.now = decisions.wake_at
    assert world.session().statuses[0].status.conditions[0].reason == "NotEnoughTasks"


def test_names_that_only_quotas_know_do_not_keep_a_group_out() -> None:
    least = {"cpu": "2", "requests.cpu": "2", "limits.memory": "1Gi", "count/pods": "2"}
    world = World(
        nodes(1), queue(), gang("g", 2, cpu=1, phase="Pending", min_resources=dict(least))
    )
    world.session()
    assert world.bound("g") == 2


def test_a_gang_of_several_tasks_in_a_parent_queue_has_one_reason() -> None:
    capacity = PluginConf(name="capacity", switches={"hierarchy": True})
    conf = Conf(tiers=(Conf().tiers[0], (PluginConf(name="predicates"), capacity)))
    tasks = [
        pod("ps-0", group="up", role="ps", requests={"cpu": 1}),
        pod("worker-0", group="up", role="worker", requests={"cpu": 2}),
    ]
    job = group("up", minimum=2, roles={"ps": 1, "worker": 1}, queue="dept")
    many = [queue(f"team-{n:02}", parent="dept") for n in range(20)]
    world = World(nodes(1), queue("dept"), many, [job, *tasks], conf=conf)
    reason = reason_of(world.session(), "up")
    assert reason.sentence == (
        "queue 'dept' has child queues, and only leaf queues run jobs; "
        "move the job to one of: 'team-00', 'team-01', 'team-02' and 17 more"
    )
    assert reason.unblock is not None
    assert reason.unblock.target.split(",") == [f"team-{n:02}" for n in range(8)]
    assert reason.unblock.also == []
