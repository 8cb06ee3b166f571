"""Scenarios of gangs, priorities, preemption, elastic jobs, drf and placement."""

import msgspec

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, priority_class, queue
from tests.unit.scheduling.scenarios.scenario import Scenario, Wait, plugins
from vc.model.api.kubernetes import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from vc.model.api.meta import ApiObject, ObjectMeta
from vc.model.api.scheduling import PriorityClass
from vc.model.api.selectors import LabelSelector
from vc.scheduling.conf.model import Conf, PluginConf

CLASSES = [priority_class("high", 100), priority_class("low", 1)]
PATIENT = PriorityClass(metadata=ObjectMeta(name="patient"), value=100, preemption_policy="Never")
ROOM = Wait(stage="gang", unblock="add-room")
PACK = plugins(
    "predicates", "proportion", "nodeorder",
    PluginConf(
        name="binpack",
        arguments={"binpack.weight": "10", "binpack.resources": "nvidia.com/gpu", "binpack.resources.nvidia.com/gpu": "10"},
    ),
)  # fmt: skip
TOPOLOGY = plugins(
    "predicates", "proportion", "nodeorder",
    PluginConf(name="task-topology", arguments={"task-topology.weight": "10"}),
)  # fmt: skip
BUDGETS = plugins("pdb", "predicates", "proportion", "nodeorder")


def training(
    name: str, *, age: int = 0, ps: int = 2, workers: int = 4, cpu: int = 1
) -> list[ApiObject]:
    """A gang of parameter servers and workers of one CPU each."""
    roles = {"ps": ps, "worker": workers}
    return [
        group(name, minimum=ps + workers, roles=roles, age=age),
        *(
            pod(f"{name}-{role}-{n}", group=name, role=role, requests={"cpu": str(cpu)})
            for role, count in roles.items()
            for n in range(count)
        ),
    ]


def two_kinds(
    *,
    roles: dict[str, int] | None = None,
    zones: tuple[str, str] | None = None,
    gates: tuple[str, ...] = (),
) -> list[ApiObject]:
    """A gang of parameter servers with CPUs and workers with GPUs, each in a zone of their own."""
    where = [{"zone": zone} for zone in zones] if zones else [{}, {}]
    least = {"ps": 2, "worker": 4} if roles is None else roles
    servers = [
        pod(
            f"tf-ps-{n}",
            group="tf",
            role="ps",
            requests={"cpu": "2"},
            selector=where[0],
            gates=gates,
        )
        for n in range(2)
    ]
    asked = {"cpu": "8", "nvidia.com/gpu": "1"}
    workers = [
        pod(f"tf-worker-{n}", group="tf", role="worker", requests=dict(asked), selector=where[1])
        for n in range(4)
    ]
    return [group("tf", minimum=6, roles=least), *servers, *workers]


def together(job: list[ApiObject], **topology: str) -> list[ApiObject]:
    """The same job, whose tasks want to be together or apart."""
    noted = {f"volcano.sh/task-topology-{k.replace('_', '-')}": v for k, v in topology.items()}
    head, *pods = job
    metadata = msgspec.structs.replace(head.metadata, annotations=noted)
    return [msgspec.structs.replace(head, metadata=metadata), *pods]


def budget(allowed: int, **labels: str) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(name="budget", namespace="ns"),
        spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels=labels)),
        status=PodDisruptionBudgetStatus(disruptions_allowed=allowed),
    )


def labelled(name: str, **labels: str) -> list[ApiObject]:
    """A job of one pod of four CPUs, of low priority."""
    member = pod(f"{name}-0", group=name, requests={"cpu": "4"}, labels=labels)
    return [group(name, minimum=1, priority_class="low"), member]


TABLE = [
    Scenario(
        id="nine pods of 40 CPUs on eight nodes of 64 wait together",
        cluster=[queue(), nodes(8, cpu=64), gang("train", 9, cpu=40)],
        waits={"train": Wait(stage="gang", unblock="add-room", says="8 of the 9 pods of cpu 40")},
    ),
    Scenario(
        id="nine pods of 40 CPUs run on nine nodes of 64",
        cluster=[queue(), nodes(9, cpu=64), gang("train", 9, cpu=40)],
        runs={"train": 9},
        on={"train": " ".join(f"node-0{n}" for n in range(1, 10))},
    ),
    Scenario(
        id="of two gangs that do not fit together the older runs",
        cluster=[queue(), nodes(2, cpu=4), gang("young", 4, cpu=2), gang("old", 4, cpu=2, age=9)],
        runs={"old": 4}, waits={"young": ROOM},
    ),
    Scenario(
        id="of two gangs that do not fit together the one of higher priority runs",
        cluster=[queue(), *CLASSES, nodes(2, cpu=4), gang("old", 4, cpu=2, age=9), gang("urgent", 4, cpu=2, priority_class="high")],
        runs={"urgent": 4}, waits={"old": ROOM},
    ),
    Scenario(
        id="2 ps and 4 workers are whole with both or not at all",
        cluster=[queue(), nodes(1, cpu=5), training("tf")],
        waits={"tf": Wait(stage="gang", unblock="add-room", says="3 of the 4 pods")},
    ),
    Scenario(
        id="2 ps and 4 workers where none of them fits",
        cluster=[queue(), nodes(1, cpu=1), gang("full", 1, cpu=1, age=9), training("tf")],
        runs={"full": 1},
        waits={"tf": Wait(stage="gang", unblock="add-room", says="2 more pods fit; it also needs capacity for 4 more pods of cpu 1")},
    ),
    Scenario(
        id="ps that would lie on the GPU nodes leave them to the workers",
        cluster=[queue(), [node("plain", cpu=4), *nodes(4, prefix="gpu", cpu=8, gpu=1)], two_kinds()],
        runs={"tf": 6}, on={"tf": "gpu-01 gpu-02 gpu-03 gpu-04 plain plain"},
    ),
    Scenario(
        id="workers that want GPUs and ps that want CPUs, and neither fits",
        cluster=[queue(), nodes(1, cpu=1), two_kinds()],
        waits={"tf": Wait(stage="gang", unblock="add-room", says="it also needs capacity for 4 more pods of cpu 8, nvidia.com/gpu 1")},
    ),
    Scenario(
        id="workers that want GPUs and ps that want CPUs, of which the gang says only how many",
        cluster=[queue(), nodes(1, cpu=3), two_kinds(roles={})],
        waits={"tf": Wait(stage="gang", unblock="add-room", says="it also needs capacity for")},
    ),
    Scenario(
        id="some ps and some workers fit",
        cluster=[queue(), [node("a", cpu=2), node("b", cpu=8, gpu=1)], two_kinds()],
        waits={"tf": Wait(stage="gang", unblock="add-room", says="it also needs capacity for")},
    ),
    Scenario(
        id="two tasks that lack the very same",
        cluster=[queue(), nodes(1, cpu=1), training("tf", ps=3, workers=3, cpu=2)],
        waits={"tf": Wait(stage="gang", unblock="add-room", says="3 more pods fit; it also needs capacity for 3 more pods of cpu 2")},
    ),
    Scenario(
        id="two tasks, each with its own kind of node",
        cluster=[queue(), nodes(1, cpu=1), two_kinds(zones=("a", "b"))],
        waits={"tf": Wait(stage="predicate", unblock="add-room", says="capacity for 4 more pods of cpu 8, nvidia.com/gpu 1 on nodes with zone=b")},
    ),
    Scenario(
        id="a queue that is too small for two tasks, and too few nodes",
        cluster=[queue(capability={"cpu": "3"}), nodes(1, cpu=1), two_kinds()],
        waits={"tf": Wait(stage="quota", unblock="raise-capability", says="raise-capability default")},
    ),
    Scenario(
        id="a queue that is too small for one task, and too few nodes",
        cluster=[queue(capability={"cpu": "3"}), nodes(1, cpu=1), gang("g", 4, cpu=1)],
        waits={"g": Wait(stage="quota", unblock="raise-capability", says="it also needs capacity for 3 more pods of cpu 1")},
    ),
    Scenario(
        id="ps that are gated and workers that find no GPUs",
        cluster=[queue(), nodes(1, cpu=64), two_kinds(gates=("later",))],
        waits={"tf": Wait(stage="tasks", code="NotEnoughTasks", unblock="lift-gates", says="capacity for 4 more pods of cpu 8, nvidia.com/gpu 1")},
    ),
    Scenario(
        id="2 ps and 4 workers run where six pods fit",
        cluster=[queue(), nodes(2, cpu=3), training("tf")],
        runs={"tf": 6},
    ),
    Scenario(
        id="a small job passes a large one that waits",
        cluster=[queue(), nodes(1, cpu=4), gang("large", 2, cpu=3, age=9), gang("small", 1, cpu=3)],
        runs={"small": 1}, waits={"large": Wait(stage="gang", unblock="add-room", says="0 of the 2 pods")},
    ),
    Scenario(
        id="in a fifo queue no job passes the first that waits",
        cluster=[queue(fifo=True), nodes(1, cpu=4), gang("large", 2, cpu=3, age=9), gang("small", 1, cpu=1)],
        waits={"large": ROOM, "small": Wait(stage="order", code="BehindOthers", unblock="wait", says="ns/large waits before it")},
    ),
    Scenario(
        id="in a fifo queue no job passes one whose pods are gated",
        cluster=[queue(fifo=True), nodes(1, cpu=4), [group("gated", minimum=1, age=9), pod("gated-0", group="gated", requests={"cpu": "1"}, gates=["wait"])], gang("small", 1, cpu=1)],
        waits={"gated": Wait(stage="tasks", code="NotEnoughTasks", unblock="lift-gates"), "small": Wait(stage="order", code="BehindOthers", unblock="wait", says="ns/gated waits before it")},
    ),
    Scenario(
        id="an elastic job takes its minimum and what is free",
        cluster=[queue(), nodes(2, cpu=2), gang("grow", 6, minimum=2, cpu=1)],
        runs={"grow": 4},
    ),
    Scenario(
        id="an elastic job without its minimum takes nothing",
        cluster=[queue(), nodes(2, cpu=2), gang("grow", 9, minimum=5, cpu=1)],
        waits={"grow": Wait(stage="gang", unblock="add-room", says="4 of the 5 pods")},
    ),
    Scenario(
        id="a gang goes before an older job that only grows",
        cluster=[queue(), nodes(1, cpu=4), gang("grow", 6, minimum=1, cpu=1, age=9), gang("new", 3, cpu=1)],
        runs={"grow": 1, "new": 3},
    ),
    Scenario(
        id="what an elastic job has beyond its minimum is evicted for a higher priority",
        cluster=[queue(), *CLASSES, nodes(1, cpu=4), gang("grow", 4, minimum=1, cpu=1, priority_class="low")],
        then=[gang("urgent", 2, cpu=1, priority_class="high")],
        runs={"grow": 2, "urgent": 2}, evicted="grow-worker-2 grow-worker-3",
    ),
    Scenario(
        id="two elastic jobs grow side by side",
        cluster=[queue(), nodes(2, cpu=4), gang("a", 9, minimum=1, cpu=1, age=9), gang("b", 9, minimum=1, cpu=1)],
        runs={"a": 4, "b": 4},
    ),
    Scenario(
        id="drf: a memory-heavy and a CPU-heavy job end with equal dominant shares",
        cluster=[queue(), node("n", cpu=9, memory="18Gi"), gang("ram", 9, minimum=1, cpu=1, memory="4Gi", age=9), gang("cpu", 9, minimum=1, cpu=3, memory="1Gi")],
        runs={"ram": 3, "cpu": 2},
    ),
    Scenario(
        id="without drf the older of the two takes what it can",
        cluster=[queue(), node("n", cpu=9, memory="18Gi"), gang("ram", 9, minimum=1, cpu=1, memory="4Gi", age=9), gang("cpu", 9, minimum=1, cpu=3, memory="1Gi")],
        conf=plugins("predicates", "proportion", "nodeorder"),
        runs={"ram": 4, "cpu": 1},
    ),
    Scenario(
        id="drf: ten times the cluster, ten times the shares",
        cluster=[queue(), node("n", cpu=90, memory="180Gi"), gang("ram", 90, minimum=1, cpu=1, memory="4Gi", age=9), gang("cpu", 90, minimum=1, cpu=3, memory="1Gi")],
        runs={"ram": 30, "cpu": 20},
    ),
    Scenario(
        id="pods that ask for nothing go where nothing else fits",
        cluster=[queue(), nodes(1, cpu=2), gang("full", 2, cpu=1, age=9), gang("free", 3)],
        runs={"full": 2, "free": 3},
    ),
    Scenario(
        id="more pods that ask for nothing than a node takes",
        cluster=[queue(), node("n", pods=3), gang("free", 4)],
        waits={"free": Wait(stage="gang", unblock="add-room", says="too many pods")},
    ),
    Scenario(
        id="limits without requests count as requests",
        cluster=[queue(), nodes(1, cpu=4), [group("limited", minimum=2), *(pod(f"p{n}", group="limited", limits={"cpu": "3"}) for n in range(2))]],
        waits={"limited": Wait(stage="gang", unblock="add-room", says="1 of the 2 pods of cpu 3")},
    ),
    Scenario(
        id="requests below limits count, not the limits",
        cluster=[queue(), nodes(1, cpu=4), [group("limited", minimum=2), *(pod(f"p{n}", group="limited", requests={"cpu": "2"}, limits={"cpu": "3"}) for n in range(2))]],
        runs={"limited": 2},
    ),
    Scenario(
        id="a higher PriorityClass evicts the fewest of a lower one and runs",
        cluster=[queue(), *CLASSES, nodes(1, cpu=8), *[gang(f"l{n}", 1, cpu=2, priority_class="low", age=9 - n) for n in range(4)]],
        then=[gang("urgent", 1, cpu=4, priority_class="high")],
        runs={"l0": 1, "l1": 1, "urgent": 1}, evicted="l2-worker-0 l3-worker-0",
        waits={name: Wait(stage="tasks", code="NotEnoughTasks", unblock="create-pods", then=["gang"]) for name in ("l2", "l3")},
    ),
    Scenario(
        id="a gang leaves whole",
        cluster=[queue(), *CLASSES, nodes(1, cpu=4), gang("low", 4, cpu=1, priority_class="low")],
        then=[gang("urgent", 1, cpu=1, priority_class="high")],
        runs={"urgent": 1}, evicted="low-worker-0 low-worker-1 low-worker-2 low-worker-3", remade=True,
        waits={"low": Wait(stage="gang", unblock="add-room", says="3 of the 4 pods")},
    ),
    Scenario(
        id="no pod is evicted for an equal priority",
        cluster=[queue(), *CLASSES, nodes(1, cpu=4), gang("first", 4, cpu=1, priority_class="high")],
        then=[gang("second", 1, cpu=1, priority_class="high")],
        runs={"first": 4}, waits={"second": ROOM},
    ),
    Scenario(
        id="no pod is evicted when it would not be enough",
        cluster=[queue(), *CLASSES, nodes(1, cpu=4), gang("low", 4, cpu=1, priority_class="low")],
        then=[gang("urgent", 2, cpu=3, priority_class="high")],
        runs={"low": 4}, waits={"urgent": ROOM},
    ),
    Scenario(
        id="a class that never preempts waits",
        cluster=[queue(), *CLASSES, PATIENT, nodes(1, cpu=4), gang("low", 4, cpu=1, priority_class="low")],
        then=[gang("kind", 1, cpu=1, priority_class="patient")],
        runs={"low": 4}, waits={"kind": ROOM},
    ),
    Scenario(
        id="pods of the system are never evicted",
        cluster=[queue(), *CLASSES, nodes(1, cpu=4), [group("core", minimum=1, priority_class="low"), pod("core-0", group="core", requests={"cpu": "4"}, pod_priority_class="system-node-critical")]],
        then=[gang("urgent", 1, cpu=1, priority_class="high")],
        runs={"core": 1}, waits={"urgent": ROOM},
    ),
    Scenario(
        id="a disruption budget makes others leave",
        cluster=[queue(), *CLASSES, nodes(1, cpu=8), budget(0, app="db"), labelled("db", app="db"), labelled("web", app="web")],
        then=[gang("urgent", 1, cpu=4, priority_class="high")],
        conf=BUDGETS,
        runs={"db": 1, "urgent": 1}, evicted="web-0", remade=True, waits={"web": ROOM},
    ),
    Scenario(
        id="a disruption budget lets the one go that is of use",
        cluster=[queue(), *CLASSES, node("n1", cpu=4), node("n2", cpu=4, labels={"zone": "b"}), budget(1, app="db"),
                 [group("db", minimum=0, priority_class="low"), *(pod(f"db-{n}", group="db", requests={"cpu": "4"}, labels={"app": "db"}) for n in range(2))]],
        then=[[group("urgent", minimum=1, priority_class="high"), pod("urgent-0", group="urgent", requests={"cpu": "4"}, selector={"zone": "b"})]],
        conf=BUDGETS, runs={"db": 1, "urgent": 1}, on={"urgent": "n2"}, evicted="db-1", remade=True,
    ),
    Scenario(
        id="a job that asks for nothing but a place has one that asks for nothing evicted",
        cluster=[queue(), *CLASSES, node("n1", cpu=4, pods=2), [group("idle", minimum=1, priority_class="low"), pod("idle-0", group="idle")], gang("busy", 1, cpu=4, priority_class="low")],
        then=[[group("urgent", minimum=1, priority_class="high"), pod("urgent-0", group="urgent")]],
        runs={"busy": 1, "urgent": 1}, evicted="idle-0", remade=True, waits={"idle": ROOM},
    ),
    Scenario(
        id="a job keeps its reservation until its victims are gone",
        cluster=[queue(), *CLASSES, nodes(1, cpu=4), gang("low", 4, minimum=1, cpu=1, priority_class="low")],
        then=[gang("urgent", 2, cpu=1, priority_class="high"), gang("late", 1, cpu=1, priority_class="low")],
        lingering=True,
        runs={"low": 4}, evicted="low-worker-2 low-worker-3",
        waits={"urgent": Wait(stage="victims", code="WaitingForVictims", unblock="wait", says="until 2 terminating pods are gone"), "late": ROOM},
    ),
    Scenario(
        id="a gang that a crash left half bound is completed before other jobs",
        cluster=[queue(), nodes(1, cpu=4), gang("first", 3, cpu=1, age=9),
                 [group("half", minimum=3), *(pod(f"half-{n}", group="half", requests={"cpu": "1"}, on="node-01" if n else "", phase="Pending") for n in range(3))]],
        runs={"half": 3}, waits={"first": ROOM},
    ),
    Scenario(
        id="with binpack GPUs fill one node before the next",
        cluster=[queue(), nodes(2, gpu=8), gang("a", 1, gpu=4, age=9), gang("b", 1, gpu=4)],
        conf=PACK, runs={"a": 1, "b": 1}, on={"a": "node-01", "b": "node-01"},
    ),
    Scenario(
        id="with binpack a job of eight GPUs still finds a whole node",
        cluster=[queue(), nodes(2, gpu=8), gang("a", 1, gpu=4, age=9), gang("b", 1, gpu=4, age=8)],
        then=[gang("whole", 1, gpu=8)],
        conf=PACK, runs={"a": 1, "b": 1, "whole": 1},
    ),
    Scenario(
        id="without binpack the same GPUs are scattered and the job waits",
        cluster=[queue(), nodes(2, gpu=8), gang("a", 1, gpu=4, age=9), gang("b", 1, gpu=4, age=8)],
        then=[gang("whole", 1, gpu=8)],
        runs={"a": 1, "b": 1}, on={"a": "node-01", "b": "node-02"},
        waits={"whole": Wait(stage="gang", unblock="add-room", says="insufficient nvidia.com/gpu (at most nvidia.com/gpu 4 free on a node)")},
    ),
    Scenario(
        id="task-topology: each ps has its workers beside it",
        cluster=[queue(), nodes(4, cpu=4), together(training("tf"), affinity="ps,worker", anti_affinity="ps")],
        conf=TOPOLOGY, runs={"tf": 6}, on={"tf": "node-01 node-01 node-01 node-02 node-02 node-02"},
    ),
    Scenario(
        id="without task-topology ps and workers are strewn over the nodes",
        cluster=[queue(), nodes(4, cpu=4), together(training("tf"), affinity="ps,worker", anti_affinity="ps")],
        runs={"tf": 6}, on={"tf": "node-01 node-01 node-02 node-02 node-03 node-04"},
    ),
    Scenario(
        id="without the action preempt no pod is evicted",
        cluster=[queue(), *CLASSES, nodes(1, cpu=4), gang("low", 4, cpu=1, priority_class="low")],
        then=[gang("urgent", 1, cpu=1, priority_class="high")],
        conf=Conf(actions=("enqueue", "allocate", "backfill")),
        runs={"low": 4}, waits={"urgent": ROOM},
    ),
]  # fmt: skip
