"""How fast sessions decide.

Four measurements, over nodes of mixed sizes of which a tenth is tainted, ten queues, and gangs of 50
with four sizes of pods: a session that places everything, one in which nothing fits, one in which a
single pod arrives, and the cost of taking a pod fact in. The session time includes the snapshot. Run by `python -m bench.bench_scheduler [nodes …]`.
"""

import gc
import resource
import sys
import time
from collections.abc import Sequence
from typing import Final

import msgspec
from tests.unit.scheduler.objects import gang, node, pod, queue
from tests.unit.scheduler.world import World

from bench.report import report
from vc_model.meta import ApiObject
from vc_model.node import Taint
from vc_model.scheduling import PodGroup
from vc_scheduler.logic.cycle import run_cycle
from vc_scheduler.logic.decisions import Decisions

SIZES: Final = (100, 1_000, 5_000)
PODS_PER_NODE: Final = 10
GANG_PODS: Final = 50
QUEUES: Final = 10
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
    memory_mb: float


def some_nodes(count: int) -> list[ApiObject]:
    taint = Taint(key="dedicated", effect="NoSchedule")
    return [
        node(
            f"node-{n:05}",
            cpu=(16, 32, 64)[n % 3],
            labels={"zone": f"z{n % 10}"},
            taints=[taint] if n % 10 == 0 else [],
        )
        for n in range(count)
    ]


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


def measure(count: int) -> Row:
    pods = count * PODS_PER_NODE
    world = World([queue(f"queue-{q}") for q in range(QUEUES)], some_nodes(count))
    gangs = some_gangs(pods, cpu=("500m", "1", "1500m", "2"))
    began = time.perf_counter()
    for job in gangs:
        world.put(*job)
    load_seconds = time.perf_counter() - began

    place_seconds, decisions = timed_session(world)
    assert decisions.bound_pods == pods, f"{decisions.bound_pods} of {pods} pods were placed"
    world.session()
    world.session()  # counters; from here on everything rests
    arriving_seconds = one_arrives(world)

    refused = World([queue(f"queue-{q}") for q in range(QUEUES)], some_nodes(count))
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
        memory_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
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


def main(sizes: Sequence[int] = SIZES) -> None:
    """Print, write, end with the pairs."""
    rows = [measure(count) for count in sizes]
    last = rows[-1]
    report(
        "scheduler",
        header=[name.replace("_", " ") for name in Row.__struct_fields__],
        rows=[[f"{value:,g}" for value in msgspec.structs.astuple(row)] for row in rows],
        values={f"scheduler_{name}": value for name, value in msgspec.structs.asdict(last).items()},
    )


if __name__ == "__main__":
    main([int(given) for given in sys.argv[1:]] or SIZES)
