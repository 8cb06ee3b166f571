"""A gang on an idle stack of real processes: how long from submitting it to the last pod bound.

Every service is a process, Kafka and Redis are real; once with the embedded cluster as the API
server, once with a real kube-apiserver and etcd. A gang passes admission, the watcher, Kafka, the
job-controller and a plugin, and the scheduler; time begins before the request that creates the job
and ends when a watch shows its last pod bound. One gang at a time, with a pause in which the writes
behind the last one end. Bar: p50 of 250 ms on the real API server.
"""

import asyncio
import time
from typing import Final

from bench.bench_embedded import job
from bench.parts import load_average, run_on
from bench.pod_times import PodTimes
from bench.processes import CpuCount
from bench.real_stack import RealStack, real_stack
from bench.report import percentile, report
from vc.model.api.kinds import JOBS

NODES: Final = 8
GANG: Final = 4
WARM_UP_ROUNDS: Final = 5
ROUNDS: Final = 25
PAUSE_SECONDS: Final = 0.7
ROUND_SECONDS_MAX: Final = 30.0
BAR_P50_MS: Final = 250
SECONDS_MAX: Final = 170.0
PROCESSES_SHOWN: Final = 4


async def measure_rounds(
    stack: RealStack, watch: PodTimes, rounds: int, *, name: str
) -> list[float]:
    """Milliseconds from submission to the last bind of each gang."""
    samples = []
    for number in range(rounds):
        body = job(f"{name}-{number}", replicas=GANG)
        wanted = len(watch.at["bound"]) + GANG
        started = time.perf_counter()
        await stack.cluster.create(JOBS, body, namespace="default")
        await watch.until("bound", wanted, seconds_max=ROUND_SECONDS_MAX)
        samples.append((max(watch.at["bound"].values()) - started) * 1000)
        await asyncio.sleep(PAUSE_SECONDS)
    return samples


async def measure(name: str, *, real: bool) -> None:
    """Start a stack, measure, report."""
    async with real_stack(real=real, nodes=NODES) as stack, PodTimes(stack.cluster) as watch:
        await measure_rounds(stack, watch, WARM_UP_ROUNDS, name="warm")
        cpu = CpuCount(stack.pids)
        samples = await measure_rounds(stack, watch, ROUNDS, name="gang")
        used = cpu.used()
    report_latency(name, samples, used)


def report_latency(name: str, samples: list[float], used: dict[str, float]) -> None:
    """Print the table, write the JSON file, and print the values as one line."""
    p50, p99 = percentile(samples, 0.5), percentile(samples, 0.99)
    load = load_average()
    busy = sorted(used, key=lambda process: -used[process])[:PROCESSES_SHOWN]
    shown = ", ".join(f"{process} {used[process] / ROUNDS * 1000:.0f}" for process in busy)
    report(
        name,
        header=("WHAT", "VALUE"),
        rows=[
            (
                f"submit → {GANG}-pod gang bound ({ROUNDS} rounds), fastest",
                f"{min(samples):.0f} ms",
            ),
            (f"p50 (bar {BAR_P50_MS} ms)", f"{p50:.0f} ms"),
            ("p99", f"{p99:.0f} ms"),
            ("CPU ms a round, pauses included", shown),
            ("load average of the machine", f"{load:.1f}"),
        ],
        values={
            "submit_to_bound_min_ms": min(samples),
            "submit_to_bound_p50_ms": p50,
            "submit_to_bound_p99_ms": p99,
            "bar_p50_ms": BAR_P50_MS,
            "load_average": load,
        },
    )


def main() -> bool:
    """Both API servers, the embedded one first; False when one failed."""
    embedded = run_on(
        ["kafka", "redis"],
        lambda: measure("stack_embedded", real=False),
        name="stack_embedded",
        seconds_max=SECONDS_MAX,
    )
    kubernetes = run_on(
        ["kafka", "redis", "kubernetes"],
        lambda: measure("stack_kubernetes", real=True),
        name="stack_kubernetes",
        seconds_max=SECONDS_MAX,
    )
    return embedded and kubernetes


if __name__ == "__main__":
    main()
