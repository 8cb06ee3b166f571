"""The embedded stack: how long from submitting a gang to the last pod bound, and pods per second.

Every service in one process, in-memory bus, embedded cluster. Latency: one 4-pod gang at a time on an
idle cluster. Throughput: many gangs at once, submit to last bound.
"""

import asyncio
import logging
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from bench.report import percentile, report
from vc.cli.pyroclast.embedded import EmbeddedStack
from vc.model.api.kinds import JOBS, PODS
from vc.model.api.pod import Pod

LATENCY_ROUNDS = 20
GANG = 4
THROUGHPUT_JOBS = 50
THROUGHPUT_PODS = 10
SECONDS_MAX = 120.0


def job(name: str, *, replicas: int) -> dict[str, Any]:
    """A gang of small pods that run until they are deleted."""
    container = {
        "name": "main",
        "image": "example.com/work:1",
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "volcano",
            "minAvailable": replicas,
            "plugins": {"env": []},
            "tasks": [
                {
                    "name": "worker",
                    "replicas": replicas,
                    "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
                }
            ],
        },
    }


class Binds:
    """When each pod was seen bound, from one watch."""

    def __init__(self, stack: EmbeddedStack) -> None:
        self._stack = stack
        self.seen: dict[str, float] = {}
        self.changed = asyncio.Event()
        self.task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        events = self._stack.cluster.watch(PODS, resource_version="0", timeout_seconds=1e6)
        async for event in events:
            if event.type == "BOOKMARK":
                continue
            pod = msgspec.json.decode(event.object, type=Pod)
            if pod.spec.node_name and pod.metadata.uid not in self.seen:
                self.seen[pod.metadata.uid] = time.perf_counter()
                self.changed.set()

    async def until(self, count: int) -> None:
        """Wait until so many pods were bound."""
        async with asyncio.timeout(SECONDS_MAX):
            while len(self.seen) < count:
                self.changed.clear()
                await self.changed.wait()


async def measure_latency(stack: EmbeddedStack, binds: Binds) -> list[float]:
    """Milliseconds from submission to the last bind of each gang."""
    samples = []
    for number in range(LATENCY_ROUNDS):
        wanted = len(binds.seen) + GANG
        started = time.perf_counter()
        name = f"gang-{number}"
        await stack.cluster.create(JOBS, job(name, replicas=GANG), namespace="default")
        await binds.until(wanted)
        samples.append((max(binds.seen.values()) - started) * 1000)
        await asyncio.sleep(0.3)
    return samples


async def measure_throughput(stack: EmbeddedStack, binds: Binds) -> float:
    """Pods bound per second, from the first submission to the last bind."""
    wanted = len(binds.seen) + THROUGHPUT_JOBS * THROUGHPUT_PODS
    started = time.perf_counter()
    for number in range(THROUGHPUT_JOBS):
        body = job(f"many-{number}", replicas=THROUGHPUT_PODS)
        await stack.cluster.create(JOBS, body, namespace="default")
    await binds.until(wanted)
    return THROUGHPUT_JOBS * THROUGHPUT_PODS / (max(binds.seen.values()) - started)


async def measure() -> tuple[list[float], float]:
    """Latency samples in milliseconds, and pods per second."""
    with tempfile.TemporaryDirectory() as home:
        async with EmbeddedStack(home=Path(home)) as stack:
            await stack.wait_until_ready()
            binds = Binds(stack)
            try:
                return await measure_latency(stack, binds), await measure_throughput(stack, binds)
            finally:
                binds.task.cancel()


def main() -> None:
    """Print, write, end with the pairs."""
    logging.disable(logging.WARNING)
    samples, rate = asyncio.run(measure())
    p50, p99 = percentile(samples, 0.5), percentile(samples, 0.99)
    report(
        "embedded",
        header=("WHAT", "VALUE"),
        rows=[
            (f"submit → {GANG}-pod gang bound, p50", f"{p50:.0f} ms"),
            (f"submit → {GANG}-pod gang bound, p99", f"{p99:.0f} ms"),
            (f"{THROUGHPUT_JOBS} jobs × {THROUGHPUT_PODS} pods at once", f"{rate:.0f} pods/s"),
        ],
        values={
            "submit_to_bound_p50_ms": p50,
            "submit_to_bound_p99_ms": p99,
            "embedded_pods_per_second": rate,
        },
    )


if __name__ == "__main__":
    main()
