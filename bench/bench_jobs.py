"""A vcjob from its submission until all its pods are created: a large one, many, and very many small.

All services run, the scheduler included, because pods are created only after it has enqueued the
gang; it binds them at the same time. Time begins before the first request that creates a job and ends when a
watch shows the last pod. Once in one process (memory bus, embedded cluster), and, where the parts
are, with Kafka, Redis, a kube-apiserver with etcd and every service a process.
"""

import asyncio
import logging
import tempfile
import time
from pathlib import Path
from typing import Final

import msgspec
import yaml

from bench.bench_embedded import job
from bench.parts import load_average, run_on
from bench.pod_times import PodTimes
from bench.real_stack import CAPACITY, real_stack
from bench.report import report
from vc.cli.pyroclast.embedded import EmbeddedStack
from vc.cluster import Cluster
from vc.model.api.kinds import JOBS
from vc.parts.probe import wait_until

NODES: Final = 80
"""Enough for the pods of all shapes at once."""

SUBMITTED_AT_ONCE: Final = 32
SHAPE_SECONDS_MAX: Final = 180.0
"""Seconds on an idle machine; minutes on one whose cores others use too."""

EMBEDDED_SECONDS_MAX: Final = 400.0
REAL_SECONDS_MAX: Final = 600.0


class Shape(msgspec.Struct, frozen=True):
    """So many jobs of so many pods."""

    jobs: int
    pods: int

    @property
    def name(self) -> str:
        return f"{self.jobs}x{self.pods}"


SHAPES: Final = (Shape(1, 1000), Shape(100, 50), Shape(2000, 1))


async def submit(cluster: Cluster, shape: Shape) -> None:
    """As many requests at a time as a busy client sends."""
    slots = asyncio.Semaphore(SUBMITTED_AT_ONCE)

    async def one(number: int) -> None:
        async with slots:
            body = job(f"job-{shape.name}-{number}", replicas=shape.pods)
            await cluster.create(JOBS, body, namespace="default")

    async with asyncio.TaskGroup() as group:
        for number in range(shape.jobs):
            group.create_task(one(number))


async def measure_shape(cluster: Cluster, watch: PodTimes, shape: Shape) -> float:
    """Seconds until the last pod was seen."""
    wanted = len(watch.at["created"]) + shape.jobs * shape.pods
    started = time.perf_counter()
    await submit(cluster, shape)

    async def all_there() -> bool:
        return len(watch.at["created"]) >= wanted

    await wait_until(
        all_there,
        seconds_max=SHAPE_SECONDS_MAX,
        otherwise=lambda: f"{shape.name}: {wanted - len(watch.at['created'])} pods are missing",
    )
    return max(watch.at["created"].values()) - started


async def measure_embedded() -> None:
    """Each shape on a stack of its own."""
    took: dict[str, float] = {}
    for shape in SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            nodes = home / "nodes.yaml"
            nodes.write_text(yaml.safe_dump({"nodes": [{"count": NODES, "capacity": CAPACITY}]}))
            async with EmbeddedStack(home=home, nodes=nodes) as stack:
                await stack.wait_until_ready()
                async with PodTimes(stack.cluster) as watch:
                    took[shape.name] = await measure_shape(stack.cluster, watch, shape)
    report_jobs("jobs_embedded", took)


async def measure_real() -> None:
    """All shapes on one stack, one after the other; pods stay where they are.

    Results are reported even if a later shape takes too long.
    """
    took: dict[str, float] = {}
    try:
        async with real_stack(real=True, nodes=NODES) as stack, PodTimes(stack.cluster) as watch:
            for shape in SHAPES:
                took[shape.name] = await measure_shape(stack.cluster, watch, shape)
    finally:
        if took:
            report_jobs("jobs_kubernetes", took)


def report_jobs(name: str, took: dict[str, float]) -> None:
    """Print the table, write the JSON file, and print the values as one line."""
    load = load_average()
    rows = [
        (
            f"{shape.jobs:,} × {shape.pods:,} (jobs × pods), submit → all pods created",
            f"{took[shape.name]:.2f} s",
            f"{shape.jobs * shape.pods / took[shape.name]:,.0f} pods/s",
        )
        for shape in SHAPES
        if shape.name in took
    ]
    report(
        name,
        header=("WHAT", "TOOK", "RATE"),
        rows=[*rows, ("load average of the machine", f"{load:.1f}", "")],
        values={
            **{f"{shape}_seconds": seconds for shape, seconds in took.items()},
            "load_average": load,
        },
    )


def main() -> bool:
    """The embedded stack, then the real one; False when one failed."""
    logging.disable(logging.WARNING)
    embedded = run_on([], measure_embedded, name="jobs_embedded", seconds_max=EMBEDDED_SECONDS_MAX)
    real = run_on(
        ["kafka", "redis", "kubernetes"],
        measure_real,
        name="jobs_kubernetes",
        seconds_max=REAL_SECONDS_MAX,
    )
    return embedded and real


if __name__ == "__main__":
    main()
