"""Random clusters in which jobs wait: queues in trees, limits, shares, priorities, gangs of several tasks,
fragmented nodes, budgets, quotas, several configurations. One seed, one world."""

import random
from typing import Final

import msgspec

from tests.unit.scheduling.objects import group, node, pod, priority_class, queue
from vc.model.api.kubernetes import PodDisruptionBudget, ResourceQuota
from vc.model.api.meta import ApiObject, ObjectMeta
from vc.model.api.node import Node, Taint
from vc.model.api.pod import Toleration
from vc.model.api.struct import ResourceList
from vc.model.values.quantity import format_resources, parse_resources
from vc.scheduling.conf.model import Conf, PluginConf

CLASSES: Final = {"low": 1, "normal": 5, "high": 9}
LEAVES: Final = ("alone", "dept-a", "dept-b", "lab", "deep")
TREE: Final = (
    ("root", ""), ("alone", "root"), ("dept", "root"), ("dept-a", "dept"), ("dept-b", "dept"),
    ("lab", "root"), ("mid", "dept"), ("deep", "mid"),
)  # fmt: skip
TAINT: Final = Taint(key="only", effect="NoSchedule")


class World(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster before its first session."""

    seed: int
    objects: list[ApiObject]
    conf: Conf


def random_world(seed: int) -> World:
    """The same for the same seed."""
    draw = random.Random(seed)
    conf = _conf(draw)
    nodes = _nodes(draw)
    objects: list[ApiObject] = [priority_class(name, value) for name, value in CLASSES.items()]
    objects += nodes
    objects += _queues(draw, cpus=sum(int(str(n.status.allocatable["cpu"])) for n in nodes))
    for number in range(draw.randint(3, 10)):
        objects += _job(draw, f"j{number:02}")
    if draw.random() < 0.25:
        objects.append(_budget(draw))
    if draw.random() < 0.2:
        objects.append(_quota(draw))
    return World(seed=seed, objects=objects, conf=conf)


def _conf(draw: random.Random) -> Conf:
    shares = draw.choice(
        [
            PluginConf(name="proportion"),
            PluginConf(name="proportion"),
            PluginConf(name="proportion", switches={"overused": True}),
            PluginConf(name="capacity"),
            PluginConf(name="capacity", switches={"hierarchy": True}),
        ]
    )
    second = [PluginConf(name="drf"), PluginConf(name="predicates"), shares]
    second.append(PluginConf(name="nodeorder"))
    if draw.random() < 0.6:
        second.insert(0, PluginConf(name="overcommit"))
    if draw.random() < 0.3:
        second.append(PluginConf(name="resourcequota"))
    first = [PluginConf(name="priority"), PluginConf(name="gang"), PluginConf(name="conformance")]
    if draw.random() < 0.3:
        first.append(PluginConf(name="pdb"))
    actions = draw.choice(
        [
            ("enqueue", "allocate", "preempt", "reclaim", "backfill"),
            ("enqueue", "allocate", "preempt", "reclaim", "backfill"),
            ("enqueue", "allocate", "backfill"),
            ("allocate", "preempt", "backfill"),
        ]
    )
    return Conf(actions=actions, tiers=(tuple(first), tuple(second)))


def _nodes(draw: random.Random) -> list[Node]:
    return [
        node(
            f"n{index}",
            cpu=draw.choice([2, 4, 8, 8, 16]),
            memory=f"{draw.choice([4, 8, 16, 32])}Gi",
            pods=draw.choice([3, 110, 110, 110]),
            gpu=draw.choice([0, 0, 0, 2, 4]),
            labels={"zone": draw.choice("ab")},
            taints=[TAINT] if draw.random() < 0.1 else [],
            ready=draw.random() > 0.05,
            unschedulable=draw.random() < 0.05,
        )
        for index in range(draw.randint(1, 6))
    ]


def _queues(draw: random.Random, *, cpus: int) -> list[ApiObject]:
    return [
        queue(
            name,
            parent=parent,
            weight=draw.randint(1, 4),
            priority=draw.choice([0, 0, 0, 5]),
            capability=_capability(draw, cpus) if name != "root" else None,
            guarantee={"cpu": str(draw.randint(1, max(1, cpus // 8)))}
            if name in LEAVES and draw.random() < 0.2
            else None,
            deserved=_deserved(draw, cpus),
            reclaimable=draw.choice([None, None, True, False]),
            fifo=draw.random() < 0.1,
            state="Closed" if name in LEAVES and draw.random() < 0.04 else "Open",
        )
        for name, parent in TREE
    ]


def _capability(draw: random.Random, cpus: int) -> ResourceList | None:
    if draw.random() < 0.5:
        return None
    limit: ResourceList = {"cpu": str(draw.randint(1, max(2, cpus)))}
    if draw.random() < 0.3:
        limit["memory"] = f"{draw.randint(2, 48)}Gi"
    if draw.random() < 0.1:
        limit["nvidia.com/gpu"] = str(draw.randint(0, 4))
    return limit


def _deserved(draw: random.Random, cpus: int) -> ResourceList | None:
    if draw.random() < 0.3:
        return None
    share: ResourceList = {"cpu": str(draw.randint(1, max(1, cpus // 2)))}
    if draw.random() < 0.4:
        share["memory"] = f"{draw.randint(1, 32)}Gi"
    return share


def _job(draw: random.Random, name: str) -> list[ApiObject]:
    tasks = {
        task: draw.randint(1, 4)
        for task in ("worker", "ps", "main")[: draw.choice([1, 1, 1, 2, 3])]
    }
    total = sum(tasks.values())
    least = draw.choice([total, total, total, max(1, total // 2), 1])
    requests = {task: _request(draw) for task in tasks}
    by_task = (
        {task: draw.randint(1, count) for task, count in tasks.items()}
        if draw.random() < 0.25
        else {}
    )
    if by_task:
        least = max(least, sum(by_task.values()))
    head = group(
        name,
        minimum=least,
        roles=by_task,
        queue="gone" if draw.random() < 0.02 else draw.choice(LEAVES),
        phase=draw.choice(["Pending", "Pending", "Inqueue"]),
        priority_class=draw.choice(["", *CLASSES]),
        min_resources=_least(tasks, requests, least) if draw.random() < 0.7 else None,
        age=draw.randint(0, 9),
    )
    made: list[ApiObject] = [head]
    for task, count in tasks.items():
        selector = {"zone": draw.choice("abc")} if draw.random() < 0.12 else {}
        tolerations = (Toleration(operator="Exists"),) if draw.random() < 0.1 else ()
        annotations = {"volcano.sh/preemptable": "false"} if draw.random() < 0.1 else None
        made += [
            pod(
                f"{name}-{task}-{n}",
                group=name,
                role=task,
                requests=dict(requests[task]),
                selector=selector,
                tolerations=tolerations,
                annotations=annotations,
                labels={"team": draw.choice("xy")},
            )
            for n in range(count)
        ]
    return made


def _request(draw: random.Random) -> ResourceList:
    request: ResourceList = {"cpu": draw.choice(["500m", "1", "1", "2", "3", "6", "12"])}
    if draw.random() < 0.5:
        request["memory"] = f"{draw.choice([1, 2, 6, 12])}Gi"
    if draw.random() < 0.15:
        request["nvidia.com/gpu"] = draw.choice(["1", "2"])
    return request


def _least(tasks: dict[str, int], requests: dict[str, ResourceList], least: int) -> ResourceList:
    """As the job controller adds up the first `least` pods, in the order of tasks."""
    total: dict[str, int] = {}
    left = least
    for task, count in tasks.items():
        pods = min(left, count)
        left -= pods
        for name, amount in parse_resources(requests[task]).items():
            total[name] = total.get(name, 0) + amount * pods
    return dict(format_resources(total))


def _budget(draw: random.Random) -> ApiObject:
    return msgspec.convert(
        {
            "metadata": {"name": "budget", "namespace": "ns"},
            "spec": {"selector": {"matchLabels": {"team": draw.choice("xy")}}},
            "status": {"disruptionsAllowed": draw.choice([0, 0, 1])},
        },
        type=PodDisruptionBudget,
    )


def _quota(draw: random.Random) -> ApiObject:
    hard: ResourceList = {"requests.cpu": str(draw.randint(4, 40))}
    found = ResourceQuota(metadata=ObjectMeta(name="limit", namespace="ns"))
    return msgspec.structs.replace(
        found,
        spec=msgspec.structs.replace(found.spec, hard=hard),
        status=msgspec.structs.replace(found.status, hard=hard, used={"requests.cpu": "0"}),
    )
