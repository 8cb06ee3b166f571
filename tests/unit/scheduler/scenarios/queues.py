"""Queues: what they get, borrow, give back and keep, by weight and by what they deserve."""

import msgspec

from tests.unit.scheduler.objects import gang, nodes, queue
from tests.unit.scheduler.scenarios.scenario import Scenario, Wait, plugins
from vc_model.meta import ApiObject
from vc_model.scheduling import Queue
from vc_scheduler.logic.conf import Conf, PluginConf

TEN = nodes(2, cpu=5)
CAPACITY = plugins("overcommit", "predicates", "capacity", "nodeorder")
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
        runs={"one": 2}, waits={"two": Wait(stage="quota", unblock="raise-capability", says="cpu 2 needed, 1 left")},
    ),
    Scenario(
        id="a job that is not let in for its queue's capability",
        cluster=[queue("a", capability={"cpu": "3"}), TEN, gang("one", 2, queue="a", cpu=1, age=9, phase="Pending", min_resources={"cpu": "2"}), gang("two", 2, queue="a", cpu=1, phase="Pending", min_resources={"cpu": "2"})],
        runs={"one": 2}, waits={"two": RAISE},
    ),
    Scenario(
        id="a job that the capability of a queue above does not hold",
        cluster=[[queue("dept", capability={"cpu": "3"}), queue("team", parent="dept", capability={"cpu": "8"}), queue("other", parent="dept")], TEN, gang("one", 2, queue="other", cpu=1, age=9), gang("two", 2, queue="team", cpu=1)],
        runs={"one": 2}, waits={"two": Wait(stage="quota", unblock="raise-capability", says="queue 'dept' has not enough left")},
    ),
    Scenario(
        id="a job larger than the capability of a queue above",
        cluster=[[queue("dept", capability={"cpu": "3"}), queue("team", parent="dept", capability={"cpu": "8"})], TEN, gang("big", 4, queue="team", cpu=1)],
        waits={"big": Wait(stage="quota", unblock="raise-capability", says="queue 'dept' has not enough left")},
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
        waits={"more": Wait(stage="quota", unblock="raise-weight", says="queue 'a' has all that it deserves", then=["gang"]),
               "much": Wait(stage="quota", unblock="raise-weight", says="queue 'b' has all that it deserves", then=["gang"])},
    ),
    Scenario(
        id="the least weight that would help is told",
        cluster=[[queue("a"), queue("b", weight=3)], TEN, gang("five", 5, queue="a", cpu=1, age=9), gang("other", 9, minimum=5, queue="b", cpu=1)],
        then=[gang("more", 1, queue="a", cpu=1)],
        conf=OVERUSED, runs={"five": 5, "other": 5},
        waits={"more": Wait(stage="quota", unblock="raise-weight", says="with a weight of 3 instead of 1 it deserves more", then=["gang"])},
    ),
    Scenario(
        id="a queue that deserves everything is told of room, not of weight",
        cluster=[queue("a"), nodes(1, cpu=4), gang("all", 4, queue="a", cpu=1, age=9), gang("more", 1, queue="a", cpu=1)],
        conf=OVERUSED, runs={"all": 4}, waits={"more": Wait(stage="gang", unblock="add-room")},
    ),
]  # fmt: skip
