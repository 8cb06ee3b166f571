"""Many pods on a real kube-apiserver with ready nodes: from submitting jobs to all pods bound.

One vcjob of 1,000 pods on 100 nodes, then 100 vcjobs of 50 pods on 1,000 nodes. Beside the times it
reports where they are spent: CPU seconds of every process, and the number and duration of writes at the
API server. For comparison it measures, on the same cluster before any service runs, how many creates and
binds a second the API server handles for one client that does nothing else.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Final

from bench.api_load import Writes, between, writes_at
from bench.bench_embedded import job
from bench.bench_stack import measure_rounds
from bench.parts import load_average, run_on
from bench.pod_times import PodTimes
from bench.processes import CpuCount
from bench.real_stack import OWN_NAME, RealStack, real_ground
from bench.report import report
from vc.cli.tables import render
from vc.model.api.kinds import JOBS, PODS
from vc.model.api.struct import JsonObject

NAMESPACE: Final = "default"
ANCHOR_PODS: Final = 500
ANCHOR_AT_ONCE: Final = 32
"""As many requests as a service of ours has under way."""
SUBMITTED_AT_ONCE: Final = 16
WARM_UP_ROUNDS: Final = 3
SETTLE_SECONDS: Final = 5.0
"""For the writes behind the last bind, and for new nodes to get around."""
BOUND_SECONDS_MAX: Final = 90.0
SECONDS_MAX: Final = 240.0
WIDTH: Final = 120


@dataclass(frozen=True, kw_only=True)
class Load:
    """What is submitted at once."""

    key: str
    jobs: int
    pods: int
    """Of each job."""
    nodes: int

    def __str__(self) -> str:
        return f"{self.jobs} × {self.pods:,} pods, {self.nodes:,} nodes"


LOADS: Final = (
    Load(key="one_large", jobs=1, pods=1_000, nodes=100),
    Load(key="many", jobs=100, pods=50, nodes=1_000),
)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Seconds from before the first submission, and what it cost."""

    load: Load
    submitted: float
    created: float
    first_bound: float
    bound: float
    cpu: dict[str, float]
    writes: Writes
    load_average: float

    @property
    def pods(self) -> int:
        return self.load.jobs * self.load.pods


# -- the anchor: the API server without us -------------------------------------------------------


def anchor_pod(number: int) -> JsonObject:
    """Like the pods of our jobs, for a scheduler that does not exist."""
    spec = job("anchor", replicas=1)["spec"]["tasks"][0]["template"]["spec"]
    return {"metadata": {"name": f"anchor-{number}"}, "spec": {**spec, "schedulerName": "none"}}


async def measure_anchor(stack: RealStack) -> tuple[float, float]:
    """Creates and binds a second of one client; the pods are deleted again."""
    slots = asyncio.Semaphore(ANCHOR_AT_ONCE)
    uids: dict[int, str] = {}

    async def create(number: int) -> None:
        async with slots:
            made = await stack.cluster.create(PODS, anchor_pod(number), namespace=NAMESPACE)
        uids[number] = made["metadata"]["uid"]

    async def bind(number: int) -> None:
        name, node = f"anchor-{number}", f"node-{number % LOADS[0].nodes}"
        async with slots:
            await stack.cluster.bind(namespace=NAMESPACE, name=name, uid=uids[number], node=node)

    async def delete(number: int) -> None:
        name = f"anchor-{number}"
        async with slots:
            await stack.cluster.delete(PODS, name=name, namespace=NAMESPACE, grace_seconds=0)

    rates = []
    for step in (create, bind, delete):
        started = time.perf_counter()
        await asyncio.gather(*(step(number) for number in range(ANCHOR_PODS)))
        rates.append(ANCHOR_PODS / (time.perf_counter() - started))
    return rates[0], rates[1]


# -- the stack -----------------------------------------------------------------------------------


async def submit(stack: RealStack, load: Load) -> None:
    """All jobs of a load, several at a time."""
    slots = asyncio.Semaphore(SUBMITTED_AT_ONCE)

    async def one(number: int) -> None:
        body = job(f"{load.key.replace('_', '-')}-{number}", replicas=load.pods)
        async with slots:
            await stack.cluster.create(JOBS, body, namespace=NAMESPACE)

    await asyncio.gather(*(one(number) for number in range(load.jobs)))


async def measure_load(stack: RealStack, watch: PodTimes, load: Load) -> Measured:
    """Submit and wait until everything is bound."""
    assert stack.plane is not None
    already = len(watch.at["bound"])
    writes, cpu = await writes_at(stack.plane), CpuCount(stack.pids)
    started = time.perf_counter()
    await submit(stack, load)
    submitted = time.perf_counter() - started
    await watch.until("bound", already + load.jobs * load.pods, seconds_max=BOUND_SECONDS_MAX)
    used = cpu.used()
    bound = list(watch.at["bound"].values())[already:]
    return Measured(
        load=load,
        submitted=submitted,
        created=max(watch.at["created"].values()) - started,
        first_bound=bound[0] - started,
        bound=bound[-1] - started,
        cpu=used,
        writes=between(writes, await writes_at(stack.plane)),
        load_average=load_average(),
    )


async def measure() -> None:
    """One ground for the anchor and for both loads, the smaller first."""
    async with real_ground(real=True, nodes=LOADS[0].nodes) as stack:
        anchor = await measure_anchor(stack)
        await stack.start_services()
        async with PodTimes(stack.cluster) as watch:
            await measure_rounds(stack, watch, WARM_UP_ROUNDS, name="warm")
            measured: list[Measured] = []
            try:
                await measure_loads(stack, watch, measured)
            finally:
                if measured:
                    report_results(measured, anchor)


async def measure_loads(stack: RealStack, watch: PodTimes, measured: list[Measured]) -> None:
    """Measure one load after the other; results before a failure are reported too."""
    nodes = LOADS[0].nodes
    for load in LOADS:
        await stack.add_nodes(load.nodes - nodes, first=nodes)
        nodes = load.nodes
        await asyncio.sleep(SETTLE_SECONDS)
        measured.append(await measure_load(stack, watch, load))


# -- report --------------------------------------------------------------------------------------


def report_results(measured: list[Measured], anchor: tuple[float, float]) -> None:
    """Print CPU time and writes first, then the results."""
    print("\nCPU seconds until all were bound")
    print(cpu_table(measured))
    print("\nWrites at the API server, and its milliseconds for each")
    print(writes_table(measured))
    print(f"\nThe API server alone takes {anchor[0]:,.0f} creates/s, then {anchor[1]:,.0f} binds/s")
    values = {"anchor_creates_per_second": anchor[0], "anchor_binds_per_second": anchor[1]}
    for each in measured:
        values |= values_of(each)
    report(
        "throughput",
        header=("SUBMITTED", "ACCEPTED", "CREATED", "1ST BOUND", "ALL BOUND", "CREATED/S", "BOUND/S", "LOAD"),
        rows=[row_of(each) for each in measured],
        values=values,
    )  # fmt: skip


def cpu_table(measured: list[Measured]) -> str:
    """Every process, the busiest first."""
    names = sorted(measured[-1].cpu, key=lambda name: -measured[-1].cpu[name])
    rows = [(_process(name), *(f"{each.cpu[name]:.1f} s" for each in measured)) for name in names]
    rows.append(("together", *(f"{sum(each.cpu.values()):.1f} s" for each in measured)))
    return render(("PROCESS", *(str(each.load) for each in measured)), rows, width=WIDTH)


def _process(name: str) -> str:
    return "this process (submits, watches)" if name == OWN_NAME else name


def writes_table(measured: list[Measured]) -> str:
    """By verb and resource, the most frequent first."""
    last = measured[-1].writes
    asked = sorted(
        {asked for each in measured for asked in each.writes},
        key=lambda asked: (-last[asked].requests if asked in last else 0, asked),
    )
    rows = [(sort, *(_cell(each, sort) for each in measured)) for sort in asked]
    totals = [sum(sent.requests for sent in each.writes.values()) for each in measured]
    pods = [each.pods for each in measured]
    rows.append(
        ("together", *(f"{t:.0f} ({t / n:.2f} a pod)" for t, n in zip(totals, pods, strict=True)))
    )
    return render(("WRITE", *(str(each.load) for each in measured)), rows, width=WIDTH)


def _cell(each: Measured, asked: str) -> str:
    sent = each.writes.get(asked)
    return f"{sent.requests:.0f} ({sent.seconds / sent.requests * 1000:.0f} ms)" if sent else "-"


def row_of(each: Measured) -> tuple[str, ...]:
    seconds = (each.submitted, each.created, each.first_bound, each.bound)
    rates = (each.pods / each.created, each.pods / each.bound)
    return (
        str(each.load),
        *(f"{value:.2f} s" for value in seconds),
        *(f"{rate:.0f}" for rate in rates),
        f"{each.load_average:.1f}",
    )


def values_of(each: Measured) -> dict[str, float]:
    key = each.load.key
    return {
        f"{key}_created_seconds": each.created,
        f"{key}_bound_seconds": each.bound,
        f"{key}_created_per_second": each.pods / each.created,
        f"{key}_bound_per_second": each.pods / each.bound,
        f"{key}_cpu_seconds": sum(each.cpu.values()),
        f"{key}_load_average": each.load_average,
    }


def main() -> bool:
    """False when it failed."""
    parts = ["kafka", "redis", "kubernetes"]
    return run_on(parts, measure, name="throughput", seconds_max=SECONDS_MAX)


if __name__ == "__main__":
    main()
