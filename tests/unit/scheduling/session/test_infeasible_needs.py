"""Infeasible gangs: their needs against capabilities and nodes, with numbers, bounds and remedies."""

import msgspec
import pytest

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, queue
from tests.unit.scheduling.scenarios.scenario import plugins
from tests.unit.scheduling.session.test_infeasible import first_reason
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage, Unblock
from vc.model.api.meta import ApiObject
from vc.model.api.scheduling import PodGroup
from vc.model.api.struct import ResourceList
from vc.scheduling.conf.model import PluginConf

# -- capabilities --------------------------------------------------------------------------------


def tasks(minimum: int, roles: dict[str, int] | None, **made: tuple[int, int]) -> list[ApiObject]:
    """A gang `big` of several tasks: so many pods of so many CPUs for each."""
    members = [
        pod(f"big-{task}-{n}", group="big", role=task, requests={"cpu": str(cpu)})
        for task, (count, cpu) in made.items()
        for n in range(count)
    ]
    return [group("big", minimum=minimum, roles=roles), *members]


def running(
    name: str, cpu: int, *, on: str, job: str = "", queue: str = "default"
) -> list[ApiObject]:
    """A pod on a node, of a job of its own or of another job."""
    head = [] if job else [group(name, minimum=1, phase="Running", queue=queue, age=99)]
    requests: ResourceList = {"cpu": str(cpu)}
    placed = pod(f"{name}-0", group=job or name, requests=requests, on=on, phase="Running")
    return [*head, placed]


class Need(msgspec.Struct, frozen=True):
    """A gang in a queue of so many CPUs, on nodes that have more than enough."""

    id: str
    gang: list[ApiObject]
    needs: int
    """CPUs: in a queue of one less it can never start, and with so many it starts."""


NEEDS = [
    Need("equal pods", gang("big", 6, minimum=3, cpu=2), needs=6),
    Need("each task its minimum", tasks(3, {"ps": 1, "w": 2}, ps=(2, 3), w=(3, 1)), needs=5),
    Need(
        "a pod that counts for its task does not count again for the whole",
        tasks(3, {"ps": 1}, ps=(1, 10), w=(5, 1)),
        needs=12,
    ),
    Need("the smallest pods will do", tasks(2, None, large=(2, 8), small=(3, 1)), needs=2),
    Need("larger pods make up the number", tasks(4, None, large=(2, 8), small=(3, 1)), needs=11),
    Need(
        "a resource that only some pods ask for",
        [*tasks(2, {"w": 1}, w=(2, 4)), pod("big-x", group="big", role="x")],
        needs=4,
    ),
    Need(
        "what pods of the gang have already",
        [*tasks(3, None, w=(2, 2)), *running("first", 5, on="node-01", job="big")],
        needs=9,
    ),
    Need(
        "what its pods ask for, where minResources say more",
        gang("big", 2, min_resources={"cpu": "40"}, cpu=2),
        needs=4,
    ),
]


@pytest.mark.parametrize("need", NEEDS, ids=lambda need: need.id)
def test_the_least_that_a_gang_needs_is_held_against_the_capability(need: Need) -> None:
    world = World(queue(capability={"cpu": str(need.needs - 1)}), nodes(4), need.gang)
    reason = reason_of(world.session(), "big")
    assert reason.permanent
    assert reason.sentence.startswith(
        f"can never start in queue 'default': the gang needs cpu {need.needs}, and the "
        f"capability of queue 'default' is cpu {need.needs - 1}"
    )
    world.put(queue(capability={"cpu": str(need.needs)}))
    world.session()
    assert world.bound("big") >= world.group("big").spec.min_member


def test_a_gang_that_waits_for_its_pods_is_judged_by_its_min_resources() -> None:
    """The queue was made smaller after the gang was enqueued."""
    reason = first_reason(
        queue(capability={"cpu": "4"}),
        nodes(4),
        group("big", minimum=2, min_resources={"cpu": "6"}),
        [pod("big-0", group="big", requests={"cpu": "1"})],
    )
    assert (reason.stage, reason.permanent) == (Stage.QUOTA, True)
    assert "the gang needs cpu 6" in reason.sentence


def test_a_gang_that_is_not_enqueued_is_judged_by_its_min_resources_though_its_pods_exist() -> None:
    """The gate of its queue goes by minResources, and its pods ask for less."""
    waits = gang("big", 2, phase="Pending", min_resources={"cpu": "6"}, cpu=1)
    reason = first_reason(queue(capability={"cpu": "4"}), nodes(4), waits)
    assert (reason.stage, reason.permanent) == (Stage.QUOTA, True)
    assert "the gang needs cpu 6" in reason.sentence


def test_what_gated_pods_ask_for_is_not_held_against_the_capability() -> None:
    """minResources of 6 CPUs, 4 of them behind a gate: the queue of 4 can take what is left."""
    world = World(
        queue(capability={"cpu": "4"}),
        node("n", cpu=8),
        running("other", 4, on="n"),
        group("big", minimum=2, phase="Pending", min_resources={"cpu": "6"}),
        [pod("big-0", group="big", requests={"cpu": "2"})],
        [pod("big-1", group="big", requests={"cpu": "4"}, gates=["wait"])],
    )
    assert not reason_of(world.session(), "big").permanent


def test_a_gang_as_large_as_its_queue_waits_for_the_others() -> None:
    reason = first_reason(
        queue(capability={"cpu": "4"}),
        nodes(1),
        running("other", 2, on="node-01"),
        gang("big", 4, cpu=1),
    )
    assert (reason.stage, reason.permanent) == (Stage.QUOTA, False)


def test_without_hierarchy_the_limit_of_an_ancestor_is_not_named() -> None:
    conf = plugins(
        "overcommit", PluginConf(name="proportion", switches={"hierarchy": False}), "predicates"
    )
    world = World(
        queue("dept", capability={"cpu": "2"}),
        queue("team", parent="dept"),
        queue(),
        node("n", cpu=8),
        running("other", 6, on="n"),
        gang("big", 4, queue="team", cpu=1),
        conf=conf,
    )
    assert not reason_of(world.session(), "big").permanent


def test_without_a_plugin_that_limits_queues_a_capability_is_not_named() -> None:
    world = World(
        queue(capability={"cpu": "2"}),
        node("n", cpu=8),
        running("other", 6, on="n"),
        gang("big", 4, cpu=1),
        conf=plugins("gang", "predicates"),
    )
    assert not reason_of(world.decide(), "big").permanent


def test_the_remedy_counts_what_others_hold_in_the_queue() -> None:
    """The overcommit gate refused: 30 CPUs are needed of a queue of 20, of which another job has 4."""
    reason = first_reason(
        queue(capability={"cpu": "20"}),
        node("n", cpu=8),
        running("other", 4, on="n"),
        gang("big", 30, phase="Pending", min_resources={"cpu": "30"}, cpu=1),
    )
    assert (reason.stage, reason.permanent) == (Stage.QUOTA, True)
    (cpu,) = reason.amounts
    assert (cpu.resource, cpu.needed, cpu.available, cpu.missing) == ("cpu", 30_000, 20_000, 10_000)
    assert reason.unblock is not None
    assert reason.unblock.amounts == {"cpu": 14_000}


def test_the_remedy_counts_what_the_gang_itself_holds_once() -> None:
    """One pod of the gang is still to be made; of 16 CPUs the gang has 4 and another job has 4."""
    reason = first_reason(
        queue(capability={"cpu": "16"}),
        nodes(2),
        running("other", 4, on="node-01"),
        group("big", minimum=6),
        [pod(f"big-{n}", group="big", requests={"cpu": "4"}) for n in range(4)],
        running("first", 4, on="node-02", job="big"),
    )
    assert (reason.stage, reason.permanent) == (Stage.QUOTA, True)
    assert reason.unblock is not None
    assert reason.unblock.amounts == {"cpu": 8_000}


def test_a_closed_queue_is_named_before_its_capability() -> None:
    reason = first_reason(
        queue(capability={"cpu": "4"}, state="Closed"), nodes(1), gang("big", 6, cpu=1)
    )
    assert (reason.stage, reason.permanent) == (Stage.QUEUE_CLOSED, False)


def test_each_queue_that_refuses_is_named_and_the_same_queue_once() -> None:
    both = first_reason(
        queue("dept", capability={"cpu": "6"}),
        queue("team", parent="dept", capability={"cpu": "9"}),
        nodes(2, cpu=8),
        running("other", 4, on="node-01", queue="team"),
        gang("big", 7, queue="team", cpu=1),
    )
    assert both.sentence == (
        "can never start in queue 'team': the gang needs cpu 7, and the capability of queue 'dept' "
        "is cpu 6; insufficient quota in queue 'team': requested cpu 7, available 5"
    )
    once = first_reason(queue(capability={"cpu": "6"}), nodes(2, cpu=8), gang("big", 7, cpu=1))
    assert once.sentence == (
        "can never start in queue 'default': the gang needs cpu 7, and the capability of queue "
        "'default' is cpu 6"
    )


# -- nodes ---------------------------------------------------------------------------------------


def outside(cpu: int, made: list[ApiObject]) -> list[ApiObject]:
    """The gang is not enqueued: the overcommit gate refuses so many CPUs."""
    head, *members = made
    assert isinstance(head, PodGroup)
    spec = msgspec.structs.replace(head.spec, min_resources={"cpu": str(cpu)})
    status = msgspec.structs.replace(head.status, phase="Pending")
    return [msgspec.structs.replace(head, spec=spec, status=status), *members]


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A gang on nodes of 8 CPUs that the overcommit gate refuses."""

    id: str
    nodes: int = 2
    gang: list[ApiObject]
    says: str = ""
    """Why it can never start; empty: it waits for the gate."""
    add: tuple[int, float] = (0, 0)
    """The remedy: capacity for so many pods, of so many CPUs each."""


NO_NODE = "no node is that large: a pod needs cpu {}, and the largest node has 8"
TOO_MANY = (
    "can never start with these nodes: even if they were empty they could run {} of the {} pods "
    "that must start together"
)
TOGETHER = "can never start with these nodes: the gang needs cpu {}, and all nodes together have {}"

NODES = [
    Node(
        id="too few pods are no larger than a node",
        gang=outside(40, tasks(3, None, large=(2, 12), small=(2, 4))),
        says=NO_NODE.format(12),
        add=(1, 12),
    ),
    Node(
        id="enough pods are no larger than a node",
        gang=outside(40, tasks(2, None, large=(2, 12), small=(2, 4))),
    ),
    Node(
        id="the first task that is too large is named",
        gang=outside(40, tasks(2, None, large=(1, 12), larger=(1, 16))),
        says=NO_NODE.format(12),
        add=(2, 12),
    ),
    Node(
        id="the minimum of the second task is too large",
        gang=outside(40, tasks(2, {"ps": 1, "w": 1}, ps=(2, 4), w=(1, 12))),
        says=NO_NODE.format(12),
        add=(1, 12),
    ),
    Node(
        id="a pod as large as the largest node",
        gang=outside(40, tasks(1, None, w=(1, 8))),
    ),
    Node(
        id="empty nodes take some pods of each task, and too few together",
        gang=outside(40, tasks(4, None, a=(1, 1), large=(4, 5))),
        says=TOO_MANY.format(3, 4),
        add=(1, 5),
    ),
    Node(
        id="empty nodes take just as many",
        gang=outside(40, tasks(3, None, a=(1, 1), large=(4, 5))),
    ),
    Node(
        id="no node passes the checks of its pods",
        gang=outside(
            40,
            [
                group("big", minimum=1),
                pod("big-0", group="big", requests={"cpu": "4"}, selector={"disk": "ssd"}),
            ],
        ),
    ),
    Node(
        id="before pods exist, their average is too large",
        gang=outside(34, [group("big", minimum=4)]),
        says=NO_NODE.format(8.5),
        add=(4, 8.5),
    ),
    Node(
        id="before pods exist, their average is as large as a node",
        gang=outside(32, [group("big", minimum=4)]),
        says=TOGETHER.format(32, 16),
        add=(4, 8),
    ),
    Node(
        id="before pods exist, all of them are as large as all nodes together",
        nodes=5,
        gang=outside(40, [group("big", minimum=10)]),
    ),
    Node(
        id="some of its pods exist",
        gang=outside(
            24, [group("big", minimum=6), pod("big-0", group="big", requests={"cpu": "4"})]
        ),
        says=TOGETHER.format(24, 16),
        add=(6, 4),
    ),
]


@pytest.mark.parametrize("case", NODES, ids=lambda case: case.id)
def test_a_gang_is_held_against_empty_nodes(case: Node) -> None:
    busy = [running(f"other-{n}", 8, on=f"node-{n:02}") for n in range(1, case.nodes + 1)]
    reason = first_reason(queue(), nodes(case.nodes, cpu=8), *busy, case.gang)
    if not case.says:
        assert (reason.stage, reason.permanent) == (Stage.OVERCOMMIT, False)
        return
    assert (reason.permanent, reason.sentence) == (True, case.says)
    pods, cpu = case.add
    amounts = {"cpu": int(cpu * 1000), "pods": 1000}
    assert reason.unblock == Unblock(action="add-room", pods=pods, amounts=amounts)


def test_the_amount_is_what_all_nodes_lack_together() -> None:
    reason = first_reason(queue(), nodes(2, cpu=8), outside(24, [group("big", minimum=6)]))
    (cpu,) = reason.amounts
    assert (cpu.needed, cpu.available, cpu.missing) == (24_000, 16_000, 8_000)


@pytest.mark.parametrize("away", ["ready", "cordoned"])
@pytest.mark.parametrize(
    "waits",
    [[group("big", minimum=6)], tasks(6, None, w=(6, 4))],
    ids=["before pods exist", "pods exist"],
)
def test_nodes_that_may_come_back_may_take_a_gang(away: str, waits: list[ApiObject]) -> None:
    large = node("large", cpu=8, ready=away != "ready", unschedulable=away == "cordoned")
    reason = first_reason(queue(), nodes(2, cpu=8), large, outside(40, waits))
    assert (reason.stage, reason.permanent) == (Stage.OVERCOMMIT, False)


def test_a_resource_that_no_node_has() -> None:
    reason = first_reason(queue(), nodes(2), gang("big", 1, gpu=1))
    assert reason.permanent
    assert reason.sentence.startswith(
        "no node is that large: a pod needs nvidia.com/gpu 1, and the largest node has 0; 0 of the "
    )


def test_a_gang_without_min_resources_whose_pods_are_missing_waits_for_them() -> None:
    some = [group("big", minimum=3), pod("big-0", group="big", requests={"cpu": "1"})]
    reason = first_reason(queue(), nodes(2), some)
    assert (reason.stage, reason.permanent) == (Stage.TASKS, False)


def test_a_gang_that_empty_nodes_could_take_is_not_called_permanent() -> None:
    world = World(nodes(2), queue(), running("other", 40, on="node-01"), gang("big", 2, cpu=40))
    reason = reason_of(world.session(), "big")
    assert (reason.stage, reason.permanent) == (Stage.GANG, False)


def test_a_node_that_may_come_back_keeps_a_gang_from_being_called_permanent() -> None:
    away = node("node-09", unschedulable=True)
    world = World(nodes(2), away, queue(), gang("big", 3, cpu=40))
    assert not reason_of(world.session(), "big").permanent
