"""Scenarios of queues: deserved shares, borrowing, reclaim, guarantees and capabilities."""

import msgspec

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, queue
from tests.unit.scheduling.scenarios.scenario import Scenario, Wait, plugins
from vc.model.api.meta import ApiObject
from vc.model.api.scheduling import Queue
from vc.scheduling.conf.model import Conf, PluginConf

TEN = nodes(2, cpu=5)
CAPACITY = plugins("overcommit", "predicates", "capacity", "nodeorder")
LEAVES_ONLY = plugins(
    "overcommit", "predicates", PluginConf(name="capacity", switches={"hierarchy": True}), "nodeorder",
)  # fmt: skip
PARENTS_TOO = plugins(
    "overcommit", "predicates", PluginConf(name="capacity", arguments={"ancestorReclaimLevel": "1"}), "nodeorder",
)  # fmt: skip
OVERUSED = plugins(
    "predicates", "nodeorder", PluginConf(name="proportion", switches={"overused": True}),
    actions=("enqueue", "allocate"),
)  # fmt: skip
HDRF = Conf(
    actions=("enqueue", "allocate", "reclaim"),
    tiers=(
        (PluginConf(name="gang"),),
        (PluginConf(name="drf", switches={"hierarchy": True}), PluginConf(name="predicates"), PluginConf(name="nodeorder")),
    ),
)  # fmt: skip


def ones(name: str, count: int, *, in_queue: str, age: int = 0) -> list[ApiObject]:
    """Jobs of one pod of one CPU."""
    jobs: list[ApiObject] = []
    for n in range(count):
        jobs += gang(f"{name}{n}", 1, queue=in_queue, cpu=1, age=age + count - n)
    return jobs


def at(name: str, path: str, weights: str) -> Queue:
    made = queue(name)
    notes = {"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights}
    metadata = msgspec.structs.replace(made.metadata, annotations=notes)
    return msgspec.structs.replace(made, metadata=metadata)


THREE = [queue("a", weight=3), queue("b"), queue("c")]
DEPARTMENTS = [
    queue("root"), queue("dept-a", weight=3, parent="root"), queue("dept-b", weight=2, parent="root"),
    queue("team-a1", weight=2, parent="dept-a"), queue("team-a2", weight=1, parent="dept-a"),
]  # fmt: skip
DESERVING = [
    queue("dept-a", deserved={"cpu": "6"}), queue("dept-b", deserved={"cpu": "4"}),
    queue("team-a1", deserved={"cpu": "4"}, parent="dept-a"), queue("team-a2", deserved={"cpu": "2"}, parent="dept-a"),
]  # fmt: skip
BRANCHES = [
    queue("dept-a", deserved={"cpu": "6"}), queue("dept-b", deserved={"cpu": "4"}),
    queue("team-a1", deserved={"cpu": "1"}, parent="dept-a"), queue("team-b1", deserved={"cpu": "1"}, parent="dept-b"),
]  # fmt: skip
NO_ROOM = Wait(stage="gang", unblock="add-room")
RAISE = Wait(stage="quota", unblock="raise-capability")

TABLE = [
    Scenario(
        id="3:1:1 when all come at once",
        cluster=[THREE, TEN, ones("a", 9, in_queue="a"), ones("b", 9, in_queue="b"), ones("c", 9, in_queue="c")],
        shares={"a": 6, "b": 2, "c": 2},
    ),
    Scenario(
        id="3:1:1, one queue borrows what the others do not use",
        cluster=[THREE, TEN, ones("b", 12, in_queue="b")],
        shares={"b": 10},
    ),
    Scenario(
        id="3:1:1, and gives it back when they come",
        cluster=[THREE, TEN, ones("b", 12, in_queue="b", age=99)],
        then=[ones("a", 9, in_queue="a"), ones("c", 9, in_queue="c")],
        shares={"a": 6, "b": 2, "c": 2}, remade=True, evicted=" ".join(f"b{n}-worker-0" for n in range(2, 10)),
    ),
    Scenario(
        id="no more is taken back than is asked for",
        cluster=[[queue("a", weight=9), queue("b")], TEN, ones("b", 10, in_queue="b", age=99)],
        then=[ones("a", 3, in_queue="a")],
        shares={"a": 3, "b": 7}, remade=True, evicted="b7-worker-0 b8-worker-0 b9-worker-0",
    ),
    Scenario(
        id="a queue that is not reclaimable gives nothing",
        cluster=[[queue("a"), queue("b", reclaimable=False)], TEN, gang("old", 10, queue="b", cpu=1)],
        then=[gang("new", 2, queue="a", cpu=1)],
        runs={"old": 10}, waits={"new": Wait(stage="gang", unblock="add-room")},
    ),
    Scenario(
        id="a gang that would pass its queue's share reclaims nothing",
        cluster=[[queue("a"), queue("b")], TEN, gang("old", 10, queue="b", cpu=1)],
        then=[gang("new", 6, queue="a", cpu=1)],
        runs={"old": 10}, waits={"new": Wait(stage="gang", unblock="add-room")},
    ),
    Scenario(
        id="a guarantee is kept free for its queue",
        cluster=[[queue("a", guarantee={"cpu": "4"}), queue("b")], TEN, gang("six", 6, queue="b", cpu=1, age=9), gang("more", 1, queue="b", cpu=1)],
        runs={"six": 6}, waits={"more": Wait(stage="quota", unblock="add-room", says="guaranteed to other queues")},
    ),
    Scenario(
        id="two queues together do not take what a third is guaranteed",
        cluster=[[queue("a", guarantee={"cpu": "4"}), queue("b"), queue("c")], TEN, gang("three", 3, queue="b", cpu=1, age=9), gang("four", 4, queue="c", cpu=1)],
        runs={"three": 3}, waits={"four": Wait(stage="quota", unblock="add-room", says="of the cluster is guaranteed to other queues")},
    ),
    Scenario(
        id="a guarantee is never reclaimed",
        cluster=[[queue("a", weight=9), queue("b", guarantee={"cpu": "7"})], TEN, ones("b", 10, in_queue="b", age=99)],
        then=[ones("a", 9, in_queue="a")],
        shares={"a": 3, "b": 7}, remade=True, evicted="b7-worker-0 b8-worker-0 b9-worker-0",
    ),
    Scenario(
        id="an overuse that is tolerated stays",
        cluster=[[queue("a"), queue("b", tolerance="0.6")], TEN, ones("b", 10, in_queue="b", age=99)],
        then=[ones("a", 9, in_queue="a")],
        shares={"a": 2, "b": 8}, remade=True, evicted="b8-worker-0 b9-worker-0",
    ),
    Scenario(
        id="departments 3:2 and teams 2:1 by weight",
        cluster=[DEPARTMENTS, TEN, ones("b", 15, in_queue="dept-b"), ones("x", 15, in_queue="team-a1"), ones("y", 15, in_queue="team-a2")],
        shares={"dept-b": 4, "team-a1": 4, "team-a2": 2},
    ),
    Scenario(
        id="departments give back down the tree",
        cluster=[DEPARTMENTS, TEN, ones("b", 10, in_queue="dept-b", age=99)],
        then=[ones("x", 15, in_queue="team-a1"), ones("y", 15, in_queue="team-a2")],
        shares={"dept-b": 4, "team-a1": 4, "team-a2": 2}, remade=True, evicted=" ".join(f"b{n}-worker-0" for n in range(4, 10)),
    ),
    Scenario(
        id="departments and teams by what they deserve",
        cluster=[DESERVING, TEN, ones("y", 10, in_queue="team-a2", age=99)],
        then=[ones("x", 9, in_queue="team-a1"), ones("b", 9, in_queue="dept-b")],
        conf=CAPACITY, shares={"dept-b": 4, "team-a1": 4, "team-a2": 2}, remade=True, evicted=" ".join(f"y{n}-worker-0" for n in range(2, 10)),
    ),
    Scenario(
        id="by what they deserve, borrowing",
        cluster=[[queue("a", deserved={"cpu": "7"}), queue("b", deserved={"cpu": "3"})], TEN, ones("b", 12, in_queue="b")],
        conf=CAPACITY, shares={"b": 10},
    ),
    Scenario(
        id="by what they deserve, one resource of a job is enough to take it back",
        cluster=[[queue("a", deserved={"cpu": "5", "memory": "1Gi"}), queue("b", deserved={"cpu": "5"})], TEN, ones("b", 10, in_queue="b", age=99)],
        then=[gang("new", 1, queue="a", cpu=1, memory="4Gi")],
        conf=CAPACITY, shares={"a": 1, "b": 9}, evicted="b9-worker-0",
    ),
    Scenario(
        id="by what they deserve, also for a job that is not enqueued yet",
        cluster=[[queue("a", deserved={"cpu": "2", "memory": "1Gi"}), queue("b", deserved={"cpu": "1"})], node("n", cpu=4, memory="4Gi"), gang("old", 4, minimum=1, queue="b", cpu=1, memory="1Gi")],
        then=[gang("new", 1, queue="a", cpu=1, memory="2Gi", phase="Pending", min_resources={"cpu": "1", "memory": "2Gi"})],
        conf=CAPACITY, runs={"old": 2, "new": 1}, evicted="old-worker-2 old-worker-3",
    ),
    Scenario(
        id="a job beyond all that its queue deserves takes nothing back",
        cluster=[[queue("a", deserved={"cpu": "1", "memory": "1Gi"}), queue("b", deserved={"cpu": "5"})], TEN, gang("old", 10, minimum=1, queue="b", cpu=1)],
        then=[gang("new", 1, queue="a", cpu=2, memory="2Gi")],
        conf=CAPACITY, runs={"old": 10}, waits={"new": NO_ROOM},
    ),
    Scenario(
        id="pods that use nothing of what is needed stay",
        cluster=[[queue("a", deserved={"memory": "4Gi"}), queue("b")], node("n", cpu=4, pods=2), gang("old", 2, minimum=1, queue="b", cpu=1)],
        then=[gang("new", 1, queue="a", memory="1Gi")],
        conf=CAPACITY, runs={"old": 2}, waits={"new": NO_ROOM},
    ),
    Scenario(
        id="pods that use nothing of what their queue lists go at once",
        cluster=[[queue("a", deserved={"cpu": "2"}), queue("b", deserved={"memory": "64Gi"})], nodes(1, cpu=4), gang("old", 4, minimum=1, queue="b", cpu=1)],
        then=[gang("new", 1, queue="a", cpu=2)],
        conf=CAPACITY, runs={"old": 2, "new": 1}, evicted="old-worker-2 old-worker-3",
    ),
    Scenario(
        id="what a queue does not list makes it give nothing that it deserves",
        cluster=[[queue("a", deserved={"cpu": "4"}), queue("b", deserved={"cpu": "4"})], nodes(1, cpu=4), gang("old", 4, minimum=1, queue="b", cpu=1, memory="1Gi")],
        then=[gang("new", 1, queue="a", cpu=1, memory="1Gi")],
        conf=CAPACITY, runs={"old": 4}, waits={"new": NO_ROOM},
    ),
    Scenario(
        id="a queue gives while it has too much of anything that the victim uses",
        cluster=[[queue("a", deserved={"cpu": "4"}), queue("b", deserved={"cpu": "4", "memory": "2Gi"})], nodes(1, cpu=4), gang("old", 4, minimum=1, queue="b", cpu=1, memory="1Gi")],
        then=[gang("two", 2, queue="a", cpu=1, age=9), gang("more", 1, queue="a", cpu=1)],
        conf=CAPACITY, runs={"old": 2, "two": 2}, evicted="old-worker-2 old-worker-3", waits={"more": NO_ROOM},
    ),
    Scenario(
        id="by what they deserve, a guarantee is never taken back",
        cluster=[[queue("a", deserved={"cpu": "9"}), queue("b", deserved={"cpu": "1"}, guarantee={"cpu": "7"})], TEN, gang("old", 10, minimum=1, queue="b", cpu=1)],
        then=[gang("three", 3, queue="a", cpu=1, age=9), gang("more", 1, queue="a", cpu=1)],
        conf=CAPACITY, runs={"old": 7, "three": 3}, evicted="old-worker-7 old-worker-8 old-worker-9", waits={"more": Wait(stage="quota", unblock="add-room", says="guaranteed to other queues")},
    ),
    Scenario(
        id="no queue deserves more than there is",
        cluster=[[queue("a", deserved={"cpu": "100"}), queue("b", deserved={"cpu": "5"})], TEN, gang("seven", 7, queue="a", cpu=1), gang("two", 2, queue="b", cpu=1)],
        then=[gang("old", 1, queue="a", cpu=1, age=9), gang("young", 1, queue="b", cpu=1)],
        conf=CAPACITY, runs={"seven": 7, "two": 2, "young": 1}, waits={"old": NO_ROOM},
    ),
    Scenario(
        id="what only the queue above deserves is not taken back",
        cluster=[BRANCHES, TEN, gang("old", 10, minimum=1, queue="team-b1", cpu=1)],
        then=[gang("new", 2, queue="team-a1", cpu=1)],
        conf=CAPACITY, runs={"old": 10}, waits={"new": NO_ROOM},
    ),
    Scenario(
        id="with ancestorReclaimLevel 1 it is, down to what the queue above the victims deserves",
        cluster=[[queue("dept-a", deserved={"cpu": "8"}), *BRANCHES[1:]], TEN, gang("old", 10, minimum=1, queue="team-b1", cpu=1)],
        then=[gang("five", 5, queue="team-a1", cpu=1, age=9), gang("one", 1, queue="team-a1", cpu=1, age=8), gang("more", 1, queue="team-a1", cpu=1)],
        conf=PARENTS_TOO, runs={"old": 4, "five": 5, "one": 1}, evicted=" ".join(f"old-worker-{n}" for n in range(4, 10)),
        waits={"more": NO_ROOM},
    ),
    Scenario(
        id="without ancestorReclaimLevel the queue above the victims is not asked",
        cluster=[[*BRANCHES[:2], queue("team-a1", deserved={"cpu": "9"}, parent="dept-a"), BRANCHES[3]], TEN, gang("old", 10, minimum=1, queue="team-b1", cpu=1)],
        then=[gang("nine", 9, queue="team-a1", cpu=1)],
        conf=CAPACITY, runs={"old": 1, "nine": 9}, evicted=" ".join(f"old-worker-{n}" for n in range(1, 10)),
    ),
    Scenario(
        id="queues of the same branch give first",
        cluster=[[queue("dept", deserved={"cpu": "6"}), queue("mine", deserved={"cpu": "4"}, parent="dept"), queue("near", deserved={"cpu": "2"}, parent="dept"), queue("far", deserved={"cpu": "1"})],
                 TEN, gang("n", 3, minimum=1, queue="near", cpu=1), gang("f", 7, minimum=1, queue="far", cpu=1)],
        then=[gang("new", 1, queue="mine", cpu=1)],
        conf=CAPACITY, runs={"n": 2, "f": 7, "new": 1}, evicted="n-worker-2",
    ),
    Scenario(
        id="jobs of a queue above others are not placed where only leaves take jobs",
        cluster=[[*DESERVING, queue("team-a3", parent="dept-a", state="Closed")], TEN, gang("up", 2, queue="dept-a", cpu=1), gang("leaf", 2, queue="dept-b", cpu=1)],
        conf=LEAVES_ONLY, runs={"leaf": 2},
        waits={"up": Wait(stage="queue-closed", code="QueueNotLeaf", unblock="move-job", says="queue 'dept-a' has child queues, and only leaf queues run jobs; move the job to one of: 'team-a1', 'team-a2'")},
    ),
    Scenario(
        id="jobs of root are not placed, whatever the plugins say of hierarchy",
        cluster=[DEPARTMENTS, TEN, gang("up", 1, queue="root", cpu=1), gang("leaf", 1, queue="team-a1", cpu=1)],
        runs={"leaf": 1},
        waits={"up": Wait(stage="queue-closed", code="QueueNotLeaf", unblock="move-job", says="queue 'root' has child queues, and only leaf queues run jobs; move the job to one of: 'dept-b', 'team-a1', 'team-a2'")},
    ),
    Scenario(
        id="nor are they enqueued",
        cluster=[DESERVING, TEN, gang("up", 2, queue="dept-a", cpu=1, phase="Pending", min_resources={"cpu": "2"})],
        conf=LEAVES_ONLY,
        waits={"up": Wait(stage="queue-closed", code="QueueNotLeaf", unblock="move-job")},
    ),
    Scenario(
        id="a gang of two tasks in a queue above others has one reason",
        cluster=[DESERVING, TEN, [group("up", minimum=2, roles={"ps": 1, "worker": 1}, queue="dept-a"), pod("up-ps-0", group="up", role="ps", requests={"cpu": "1"}), pod("up-worker-0", group="up", role="worker", requests={"cpu": "2"})]],
        conf=LEAVES_ONLY,
        waits={"up": Wait(stage="queue-closed", code="QueueNotLeaf", unblock="move-job")},
    ),
    Scenario(
        id="jobs of a queue above others are placed where nothing is said of hierarchy",
        cluster=[DESERVING, TEN, gang("up", 2, queue="dept-a", cpu=1)],
        conf=CAPACITY, runs={"up": 2},
    ),
    Scenario(
        id="drf with hierarchy: sci and eng 3:1, dev and prod evenly",
        cluster=[[at("dev", "root/sci/dev", "100/75/50"), at("prod", "root/sci/prod", "100/75/50"), at("eng", "root/eng", "100/25")],
                 nodes(1, cpu=16), ones("d", 16, in_queue="dev"), ones("p", 16, in_queue="prod"), ones("e", 16, in_queue="eng")],
        conf=HDRF, shares={"dev": 6, "prod": 6, "eng": 4},
    ),
    Scenario(
        id="a queue of higher priority goes first",
        cluster=[[queue("a", priority=5), queue("b")], nodes(1, cpu=4), gang("late", 4, queue="a", cpu=1), gang("early", 4, queue="b", cpu=1, age=9)],
        runs={"late": 4}, waits={"early": Wait(stage="gang", unblock="add-room")},
    ),
    Scenario(
        id="a capability is the end of borrowing",
        cluster=[queue("a", capability={"cpu": "3"}), TEN, gang("grow", 9, minimum=1, queue="a", cpu=1)],
        runs={"grow": 3},
    ),
    Scenario(
        id="a gang that its queue's capability does not hold",
        cluster=[queue("a", capability={"cpu": "3"}), TEN, gang("one", 2, queue="a", cpu=1, age=9), gang("two", 2, queue="a", cpu=1)],
        runs={"one": 2}, waits={"two": Wait(stage="quota", unblock="raise-capability", says="requested cpu 2, available 1")},
    ),
    Scenario(
        id="a job that is not enqueued for its queue's capability",
        cluster=[queue("a", capability={"cpu": "3"}), TEN, gang("one", 2, queue="a", cpu=1, age=9, phase="Pending", min_resources={"cpu": "2"}), gang("two", 2, queue="a", cpu=1, phase="Pending", min_resources={"cpu": "2"})],
        runs={"one": 2}, waits={"two": RAISE},
    ),
    Scenario(
        id="a job that the capability of a queue above does not hold",
        cluster=[[queue("dept", capability={"cpu": "3"}), queue("team", parent="dept", capability={"cpu": "8"}), queue("other", parent="dept")], TEN, gang("one", 2, queue="other", cpu=1, age=9), gang("two", 2, queue="team", cpu=1)],
        runs={"one": 2}, waits={"two": Wait(stage="quota", unblock="raise-capability", says="insufficient quota in queue 'dept'")},
    ),
    Scenario(
        id="a job larger than the capability of a queue above",
        cluster=[[queue("dept", capability={"cpu": "3"}), queue("team", parent="dept", capability={"cpu": "8"})], TEN, gang("big", 4, queue="team", cpu=1)],
        waits={"big": Wait(stage="quota", unblock="raise-capability", says="the capability of queue 'dept' is cpu 3")},
    ),
    Scenario(
        id="what is left of a capability is guaranteed to a sibling",
        cluster=[[queue("dept", capability={"cpu": "6"}), queue("team", parent="dept"), queue("kept", parent="dept", guarantee={"cpu": "4"})], TEN, gang("big", 3, queue="team", cpu=1)],
        waits={"big": Wait(stage="quota", unblock="raise-capability")},
    ),
    Scenario(
        id="a queue that may not borrow has all that it deserves",
        cluster=[[queue("a"), queue("b")], TEN, gang("five", 5, queue="a", cpu=1, age=9), gang("other", 5, minimum=1, queue="b", cpu=1)],
        then=[gang("more", 1, queue="a", cpu=1), gang("much", 9, minimum=1, queue="b", cpu=1)],
        conf=OVERUSED, runs={"five": 5, "other": 5},
        waits={"more": Wait(stage="quota", unblock="raise-weight", says="queue 'a' is overused, it has its deserved share", then=["gang"]),
               "much": Wait(stage="quota", unblock="raise-weight", says="queue 'b' is overused, it has its deserved share", then=["gang"])},
    ),
    Scenario(
        id="the least weight that would help is named",
        cluster=[[queue("a"), queue("b", weight=3)], TEN, gang("five", 5, queue="a", cpu=1, age=9), gang("other", 9, minimum=5, queue="b", cpu=1)],
        then=[gang("more", 1, queue="a", cpu=1)],
        conf=OVERUSED, runs={"five": 5, "other": 5},
        waits={"more": Wait(stage="quota", unblock="raise-weight", says="with a weight of 3 instead of 1 it deserves more", then=["gang"])},
    ),
    Scenario(
        id="a queue that deserves everything has a remedy of nodes, not of weight",
        cluster=[queue("a"), nodes(1, cpu=4), gang("all", 4, queue="a", cpu=1, age=9), gang("more", 1, queue="a", cpu=1)],
        conf=OVERUSED, runs={"all": 4}, waits={"more": Wait(stage="gang", unblock="add-room")},
    ),
]  # fmt: skip
