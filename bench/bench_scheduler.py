"""How fast sessions decide.

Over nodes of mixed sizes of which a tenth is tainted, ten queues, and gangs of 50 with four sizes of pods,
a tenth of which may only go to one zone, with gang, priority, drf, proportion, predicates, nodeorder and
binpack on: a session that places everything, one in which nothing fits, one in which a single pod
arrives, and the cost of taking a pod fact in. Over full nodes: a session that makes room for a gang of 500
inside its queue, and one that takes it back from another queue. The session time includes the snapshot.
Growth is the exponent of time over nodes between the last two sizes. Run by
`python -m bench.bench_scheduler [--images] [nodes …]`; with `--images` each node has 50 images of 200, and
each gang names one of them.
"""

import gc
import math
import resource
import sys
import time
from collections.abc import Sequence
from typing import Final

import msgspec
from tests.unit.scheduler.objects import gang, group, node, pod, priority_class, queue
from tests.unit.scheduler.world import World

from bench.report import report
from vc_model.meta import ApiObject
from vc_model.node import Taint
from vc_model.pod import Pod
from vc_model.scheduling import PodGroup
from vc_scheduler.logic.conf import Conf, PluginConf
from vc_scheduler.logic.cycle import run_cycle
from vc_scheduler.logic.decisions import Decisions

SIZES: Final = (100, 1_000, 5_000, 10_000)
CONF: Final = Conf(tiers=(Conf().tiers[0], (*Conf().tiers[1], PluginConf(name="binpack"))))
LARGE_GANG_PODS: Final = 500
FULL_NODE_PODS: Final = 8
PODS_PER_NODE: Final = 10
GANG_PODS: Final = 50
QUEUES: Final = 10
IMAGES: Final = 200
IMAGES_A_NODE: Final = 50
HEADER: Final = (
    "nodes", "pods", "load/s", "place all ms", "pods/s", "nothing fits ms", "one arrives ms",
    "preempt ms", "reclaim ms", "MB",
)  # fmt: skip
GROWING: Final = ("place_all_ms", "nothing_fits_ms", "one_arrives_ms", "preempt_ms", "reclaim_ms")
REPEATS: Final = 3
"""Of each session; the best counts, since two cores are shared with others."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured at one size."""

    nodes: int
    pods: int
    load_pods_per_second: float
    place_all_ms: float
    pods_per_second: float
    nothing_fits_ms: float
    one_arrives_ms: float
    preempt_ms: float
    reclaim_ms: float
    memory_mb: float


def some_nodes(count: int, *, images: int = 0) -> list[ApiObject]:
    """Mixed nodes, each with so many images."""
    taint = Taint(key="dedicated", effect="NoSchedule")
    return [
        node(
            f"node-{n:05}",
            cpu=(16, 32, 64)[n % 3],
            labels={"zone": f"z{n % 10}"},
            taints=[taint] if n % 10 == 0 else [],
            images={_image(n + i): 2**29 for i in range(images)},
        )
        for n in range(count)
    ]


def _image(number: int) -> str:
    return f"registry.example/team/image-{number % IMAGES}:1"


def some_gangs(pods: int, *, cpu: tuple[str, ...]) -> list[list[ApiObject]]:
    return [
        gang(
            f"gang-{g:05}",
            GANG_PODS,
            queue=f"queue-{g % QUEUES}",
            age=g,
            cpu=cpu[g % len(cpu)],
            memory="1Gi",
        )
        for g in range(pods // GANG_PODS)
    ]


def timed_session(world: World) -> tuple[float, Decisions]:
    """Seconds of the best of some sessions that change nothing, snapshot included."""
    best, decisions = float("inf"), None
    for _ in range(REPEATS):
        gc.collect()
        began = time.perf_counter()
        decisions = run_cycle(world.snapshot(), world.conf, world.now)
        best = min(best, time.perf_counter() - began)
    assert decisions is not None
    return best, decisions


def measure(count: int, *, images: int = 0) -> Row:
    pods = count * PODS_PER_NODE
    nodes = some_nodes(count, images=images)
    world = World([queue(f"queue-{q}") for q in range(QUEUES)], nodes, conf=CONF)
    gangs = some_gangs(pods, cpu=("500m", "1", "1500m", "2"))
    for at, job in enumerate(gangs[::10]):
        job[:] = [_in_zone(obj, f"z{1 + at % 9}") for obj in job]
    for at, job in enumerate(gangs if images else ()):
        job[:] = [_naming(obj, _image(at)) for obj in job]
    began = time.perf_counter()
    for job in gangs:
        world.put(*job)
    load_seconds = time.perf_counter() - began

    place_seconds, decisions = timed_session(world)
    assert decisions.bound_pods == pods, f"{decisions.bound_pods} of {pods} pods were placed"
    world.session()
    world.session()  # counters; from here on everything rests
    arriving_seconds = one_arrives(world)
    memory_mb = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    del world

    refused = World([queue(f"queue-{q}") for q in range(QUEUES)], some_nodes(count), conf=CONF)
    for job in some_gangs(min(pods, 5 * count), cpu=("65", "70", "80", "90")):
        refused.put(*job)
    refused.session()  # everybody is told once; from then on nothing changes
    nothing_seconds, none = timed_session(refused)
    assert none.bound_pods == 0
    return Row(
        nodes=count,
        pods=pods,
        load_pods_per_second=round(pods / load_seconds),
        place_all_ms=round(place_seconds * 1e3, 1),
        pods_per_second=round(pods / place_seconds),
        nothing_fits_ms=round(nothing_seconds * 1e3, 1),
        one_arrives_ms=round(arriving_seconds * 1e3, 2),
        preempt_ms=round(evicting_seconds(count, queue_name="a") * 1e3, 1),
        reclaim_ms=round(evicting_seconds(count, queue_name="b") * 1e3, 1),
        memory_mb=memory_mb,
    )


def _in_zone(obj: ApiObject, zone: str) -> ApiObject:
    if not isinstance(obj, Pod):
        return obj
    spec = msgspec.structs.replace(obj.spec, node_selector={"zone": zone})
    return msgspec.structs.replace(obj, spec=spec)


def _naming(obj: ApiObject, image: str) -> ApiObject:
    if not isinstance(obj, Pod):
        return obj
    containers = [msgspec.structs.replace(c, image=image) for c in obj.spec.containers]
    spec = msgspec.structs.replace(obj.spec, containers=containers)
    return msgspec.structs.replace(obj, spec=spec)


def evicting_seconds(count: int, *, queue_name: str) -> float:
    """Room for a large gang on nodes that jobs of queue a fill; half of each job's pods can be spared."""
    world = World(
        priority_class("high", 100), queue("a"), queue("b"),
        [node(f"node-{n:05}", cpu=2 * FULL_NODE_PODS) for n in range(count)],
        conf=CONF,
    )  # fmt: skip
    for g in range(count * FULL_NODE_PODS // GANG_PODS):
        members = [
            pod(
                f"job-{g}-{n}",
                group=f"job-{g}",
                requests={"cpu": "2", "memory": "1Gi"},
                on=f"node-{(g * GANG_PODS + n) // FULL_NODE_PODS:05}",
            )
            for n in range(GANG_PODS)
        ]
        world.put(
            group(f"job-{g}", minimum=GANG_PODS // 2, queue="a", phase="Running", age=g), *members
        )
    world.decide()
    asked = min(LARGE_GANG_PODS, count * FULL_NODE_PODS // 4)
    world.put(*gang("large", asked, queue=queue_name, priority_class="high", cpu=2, memory="1Gi"))
    seconds, decisions = timed_session(world)
    assert sum(len(eviction.pods) for eviction in decisions.evictions) == asked
    return seconds


def growth(rows: Sequence[Row], name: str) -> float:
    """The exponent between the last two sizes."""
    before, last = rows[-2], rows[-1]
    return math.log(getattr(last, name) / getattr(before, name)) / math.log(
        last.nodes / before.nodes
    )


def one_arrives(world: World) -> float:
    """A single pod on busy nodes: from its fact to the decision."""
    world.decide()
    best = float("inf")
    for n in range(REPEATS):
        single: PodGroup | ApiObject = gang(f"single-{n}", 1, queue="queue-0", cpu="100m")[0]
        arriving = pod(f"single-{n}-0", group=f"single-{n}", requests={"cpu": "100m"})
        world.put(single)
        world.decide()
        gc.collect()
        began = time.perf_counter()
        world.put(arriving)
        decisions = world.decide()
        best = min(best, time.perf_counter() - began)
        assert decisions.bound_pods >= 1
    return best


def main(sizes: Sequence[int] = SIZES, *, images: int = 0) -> None:
    """Print, write, end with the pairs."""
    rows = [measure(count, images=images) for count in sizes]
    last = rows[-1]
    values = {f"scheduler_{name}": value for name, value in msgspec.structs.asdict(last).items()}
    for name in GROWING if len(rows) > 1 else ():
        values[f"scheduler_growth_{name}"] = growth(rows, name)
    report(
        "scheduler",
        header=HEADER,
        rows=[[f"{value:,g}" for value in msgspec.structs.astuple(row)] for row in rows],
        values=values,
    )


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument != "--images"]
    asked = IMAGES_A_NODE if "--images" in sys.argv else 0
    main([int(size) for size in given] or SIZES, images=asked)
