"""How long scheduling sessions take.

The cluster has nodes of mixed sizes, of which a tenth is tainted, ten queues, and gangs of 50 pods with four
different pod sizes. A tenth of the gangs is restricted to one zone. The plugins gang, priority, drf, proportion,
predicates, nodeorder and binpack are enabled. Measured are:

- `place all`: a session that places every pod; `one more`: a session for a single new pod; `load`: the cost of
  applying one pod fact to the cluster cache.
- `no fit`, on full nodes whose pods may all be evicted: a session in which no gang fits, and no two gangs have
  equal requests.
- `failed attempts`: the same where a quarter of the gangs may preempt, and no set of victims is sufficient.
- `torn`: the same on nodes of which every second one has idle CPUs and no idle memory. All queues are below their
  share, so no queue has a victim for another.
- `preempt` and `reclaim`: a session that evicts pods for a gang of 500, in its own queue and from another queue.

Session times include the snapshot. Growth is the exponent of time over nodes between the last two sizes. Run it
with `python -m bench.bench_scheduler [--images] [nodes …]`; with `--images` each node has 50 of 200 images, and
each gang uses one of them. Each bar is printed beside its figure, and a missed bar fails the run.
"""

import gc
import math
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from tests.unit.scheduling.objects import gang, group, node, pod, priority_class, queue
from tests.unit.scheduling.world import World

from bench.report import report
from vc.model.api.meta import ApiObject
from vc.model.api.node import Taint
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.cycle import run_cycle
from vc.scheduling.model.decisions import Decisions

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
    "nodes", "pods", "load/s", "place all ms", "pods/s", "no fit ms", "failed attempts ms",
    "torn ms", "one more ms", "preempt ms", "reclaim ms", "MB",
)  # fmt: skip
GROWING: Final = (
    "place_all_ms", "nothing_fits_ms", "failed_attempts_ms", "torn_ms", "one_arrives_ms",
    "preempt_ms", "reclaim_ms",
)  # fmt: skip
NODE_BYTES: Final = 512 * 2**30
"""As `objects.node` makes them."""
NODE_CPUS: Final = (16, 32, 64)
RACK_NODES: Final = 300
"""Enough large ones for a gang, and too few of a single queue's."""
REPEATS: Final = 3
"""Of each session; the best counts, since two cores are shared with others."""


class Bar(NamedTuple):
    """A bound on one figure at one cluster size."""

    nodes: int
    figure: str
    least: float = 0.0
    most: float = math.inf

    def keeps(self, row: "Row") -> bool:
        measured: float = getattr(row, self.figure)
        return self.least <= measured <= self.most

    def shown(self, row: "Row") -> str:
        said = f"at least {self.least:,g}" if self.least else f"at most {self.most:,g}"
        kept = "kept" if self.keeps(row) else "MISSED"
        return f"{self.figure} at {self.nodes:,} nodes: {getattr(row, self.figure):,g}, bar {said}: {kept}"


BARS: Final = (
    Bar(5_000, "pods_per_second", least=50_000),
    Bar(1_000, "nothing_fits_ms", most=20),
    Bar(1_000, "failed_attempts_ms", most=20),
    Bar(1_000, "torn_ms", most=20),
    Bar(10_000, "one_arrives_ms", most=10),
    Bar(1_000, "preempt_ms", most=1_000),
    Bar(1_000, "reclaim_ms", most=1_000),
    Bar(5_000, "memory_mb", most=500),
)
GROWTH_MAX: Final = {"one_arrives_ms": 1.0}
"""Below linear in nodes; looked at where a size of at least 5,000 is the last of several."""
GROWTH_NODES_MIN: Final = 5_000


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one cluster size."""

    nodes: int
    pods: int
    load_pods_per_second: float
    place_all_ms: float
    pods_per_second: float
    nothing_fits_ms: float
    failed_attempts_ms: float
    torn_ms: float
    one_arrives_ms: float
    preempt_ms: float
    reclaim_ms: float
    memory_mb: float


def some_nodes(count: int, *, images: int = 0) -> list[ApiObject]:
    """Nodes of mixed sizes, each with the given number of images."""
    taint = Taint(key="dedicated", effect="NoSchedule")
    return [
        node(
            f"node-{n:05}",
            cpu=NODE_CPUS[n % 3],
            labels={"zone": f"z{n % 10}", "rack": f"r{n // RACK_NODES}"},
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


class Watch:
    """Time without the waits for a core: other processes that share the cores are not measured."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._used = time.process_time()

    def seconds(self) -> float:
        return min(time.perf_counter() - self._began, time.process_time() - self._used)


def timed_session(world: World) -> tuple[float, Decisions]:
    """Seconds of the fastest of several sessions over equal snapshots, snapshot included."""
    best, decisions = float("inf"), None
    for _ in range(REPEATS):
        gc.collect()
        watch = Watch()
        decisions = run_cycle(world.snapshot(), world.conf, world.now)
        best = min(best, watch.seconds())
    assert decisions is not None
    return best, decisions


def measure(count: int, *, images: int = 0) -> Row:
    pods = count * PODS_PER_NODE
    nodes = some_nodes(count, images=images)
    world = World([queue(f"queue-{q}") for q in range(QUEUES)], nodes, conf=CONF)
    gangs = some_gangs(pods, cpu=("500m", "1", "1500m", "2"))
    for at, job in enumerate(gangs[::10]):
        job[:] = [_only_where(obj, {"zone": f"z{1 + at % 9}"}) for obj in job]
    for at, job in enumerate(gangs if images else ()):
        job[:] = [_naming(obj, _image(at)) for obj in job]
    watch = Watch()
    for job in gangs:
        world.put(*job)
    load_seconds = watch.seconds()

    place_seconds, decisions = timed_session(world)
    assert decisions.bound_pods == pods, f"{decisions.bound_pods} of {pods} pods were placed"
    world.session()
    world.session()  # writes the counters; later sessions have nothing to write
    arriving_seconds = one_arrives(world)
    memory_mb = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    del world

    return Row(
        nodes=count,
        pods=pods,
        load_pods_per_second=round(pods / load_seconds),
        place_all_ms=round(place_seconds * 1e3, 1),
        pods_per_second=round(pods / place_seconds),
        nothing_fits_ms=round(nothing_fits_seconds(count) * 1e3, 1),
        failed_attempts_ms=round(nothing_fits_seconds(count, urgent="high") * 1e3, 1),
        torn_ms=round(nothing_fits_seconds(count, torn=True) * 1e3, 1),
        one_arrives_ms=round(arriving_seconds * 1e3, 2),
        preempt_ms=round(evicting_seconds(count, queue_name="a") * 1e3, 1),
        reclaim_ms=round(evicting_seconds(count, queue_name="b") * 1e3, 1),
        memory_mb=memory_mb,
    )


def nothing_fits_seconds(count: int, *, urgent: str = "", torn: bool = False) -> float:
    """Time a session in which no pending pod fits, neither on idle capacity nor with victims evicted.

    There are more than half as many pending pods as running ones. `urgent` is the priority class of a quarter of
    them. With `torn` every second node has idle CPUs and no idle memory.
    """
    world = World(
        priority_class("high", 100), [queue(f"queue-{q}") for q in range(QUEUES)],
        some_nodes(count), conf=CONF,
    )  # fmt: skip
    for g in range(count * FULL_NODE_PODS // GANG_PODS):
        world.put(
            group(f"job-{g}", minimum=GANG_PODS // 2, queue=f"queue-{g % QUEUES}", phase="Running"),
            *[_filling(g, g * GANG_PODS + n, torn=torn) for n in range(GANG_PODS)],
        )
    for g in range(5 * count // GANG_PODS):
        world.put(*_misfit(g, urgent, racks=max(1, count // RACK_NODES)))
    world.session()
    world.session()  # writes the reasons of all groups; later sessions have nothing to write
    seconds, none = timed_session(world)
    assert (none.bound_pods, none.evictions) == (0, ())
    return seconds


def _filling(job: int, number: int, *, torn: bool) -> Pod:
    """Request an eighth of a node; on every second torn node an eighth of the memory, half of that of the CPUs."""
    at = number // FULL_NODE_PODS
    lacks_memory = torn and at % 2 == 1
    milli = NODE_CPUS[at % 3] * 1000 // FULL_NODE_PODS // (2 if lacks_memory else 1)
    memory = str(NODE_BYTES // FULL_NODE_PODS) if lacks_memory else "1Gi"
    return pod(
        f"job-{job}-{number}",
        group=f"job-{job}",
        requests={"cpu": f"{milli}m", "memory": memory},
        on=f"node-{at:05}",
    )


def _misfit(number: int, urgent: str, *, racks: int) -> list[ApiObject]:
    """A gang that cannot be placed, of one of four kinds.

    It is too large for every node, restricted to a full zone, restricted to a rack with too few nodes that have
    enough victims (this one may have the priority class), or fits no node because all are full. All gangs have
    different requests, so that no result of one can be used for another.
    """
    size = (65_000, 2_000, 60_000, 4_000)[number % 4] + number // 4
    job = gang(
        f"gang-{number:05}",
        GANG_PODS,
        queue=f"queue-{number % QUEUES}",
        age=number,
        priority_class=urgent if number % 4 == 2 else "",
        cpu=f"{size}m",
        memory="1Gi",
    )
    where = {
        1: {"zone": f"z{1 + number % 9}"},
        2: {"rack": f"r{number // 4 % racks}"},
    }.get(number % 4, {})
    return [_only_where(obj, where) for obj in job]


def _only_where(obj: ApiObject, labels: Mapping[str, str]) -> ApiObject:
    if not isinstance(obj, Pod):
        return obj
    spec = msgspec.structs.replace(obj.spec, node_selector=dict(labels))
    return msgspec.structs.replace(obj, spec=spec)


def _naming(obj: ApiObject, image: str) -> ApiObject:
    if not isinstance(obj, Pod):
        return obj
    containers = [msgspec.structs.replace(c, image=image) for c in obj.spec.containers]
    spec = msgspec.structs.replace(obj.spec, containers=containers)
    return msgspec.structs.replace(obj, spec=spec)


def evicting_seconds(count: int, *, queue_name: str) -> float:
    """Evict for a large gang on nodes full of jobs of queue a; half of each job's pods are surplus pods."""
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
    """The exponent of time over nodes between the last two sizes."""
    before, last = rows[-2], rows[-1]
    return math.log(getattr(last, name) / getattr(before, name)) / math.log(
        last.nodes / before.nodes
    )


def one_arrives(world: World) -> float:
    """Seconds from the fact of a single pod to its decision, on a loaded cluster."""
    world.decide()
    best = float("inf")
    for n in range(REPEATS):
        single: PodGroup | ApiObject = gang(f"single-{n}", 1, queue="queue-0", cpu="100m")[0]
        arriving = pod(f"single-{n}-0", group=f"single-{n}", requests={"cpu": "100m"})
        world.put(single)
        world.decide()
        gc.collect()
        watch = Watch()
        world.put(arriving)
        decisions = run_cycle(world.snapshot(), world.conf, world.now)
        best = min(best, watch.seconds())
        assert decisions.bound_pods >= 1
    return best


def judged(rows: Sequence[Row], growths: Mapping[str, float]) -> bool:
    """Print for each bar whether it was met; return whether all were."""
    kept = True
    for row in rows:
        for bar in BARS:
            if bar.nodes == row.nodes:
                print(bar.shown(row))
                kept &= bar.keeps(row)
    for name, most in GROWTH_MAX.items() if rows[-1].nodes >= GROWTH_NODES_MIN else ():
        if name in growths:
            below = growths[name] < most
            print(
                f"{name} grows by {growths[name]:.2f}, bar below {most:g}: {'kept' if below else 'MISSED'}"
            )
            kept &= below
    return kept


def main(sizes: Sequence[int] = SIZES, *, images: int = 0) -> bool:
    """Measure all sizes and report; False when a bar was missed."""
    rows = [measure(count, images=images) for count in sizes]
    last = rows[-1]
    values = {f"scheduler_{name}": value for name, value in msgspec.structs.asdict(last).items()}
    growths = {name: growth(rows, name) for name in GROWING} if len(rows) > 1 else {}
    values.update({f"scheduler_growth_{name}": exponent for name, exponent in growths.items()})
    kept = judged(rows, growths)
    report(
        "scheduler",
        header=HEADER,
        rows=[[f"{value:,g}" for value in msgspec.structs.astuple(row)] for row in rows],
        values=values,
    )
    return kept


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument != "--images"]
    asked = IMAGES_A_NODE if "--images" in sys.argv else 0
    sys.exit(not main([int(size) for size in given] or SIZES, images=asked))
