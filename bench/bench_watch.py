"""Watch events decoded and published: from the API server's bytes to the memory bus.

Measures the watcher's own path (typed decode, difference, encode, publish in batches) on pods of a
realistic size, one core, no network. Bar: 20,000 pod events a second.
"""

import asyncio
import time

import msgspec

from bench.report import report
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock
from vc.messages.facts import Stamp
from vc.messages.record import Message
from vc.messages.topics import ALL
from vc.model.api.kinds import PODS
from vc.watcher.logic import Decoder, Index

EVENTS = 40_000
BATCH = 500
BAR_EVENTS_PER_SECOND = 20_000


def pod_bytes(number: int) -> bytes:
    """A pod as an API server sends it: env, status and managedFields included."""
    labels = {f"volcano.sh/label-{n}": f"value-{n}" for n in range(6)}
    managed = [{"manager": "kubectl", "fieldsV1": {f"f:{n}": {} for n in range(60)}}]
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": f"pod-{number}",
            "namespace": "default",
            "uid": f"00000000-0000-4000-8000-{number:012d}",
            "resourceVersion": str(number),
            "labels": labels,
            "annotations": labels,
            "managedFields": managed,
            "ownerReferences": [
                {
                    "apiVersion": "batch.volcano.sh/v1alpha1",
                    "kind": "Job",
                    "name": f"job-{number // 50}",
                    "uid": f"11111111-0000-4000-8000-{number // 50:012d}",
                    "controller": True,
                }
            ],
        },
        "spec": {
            "schedulerName": "volcano",
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example.com/trainer:v1",
                    "args": ["--epochs=100"] * 8,
                    "env": [{"name": f"VARIABLE_{n}", "value": "x" * 40} for n in range(20)],
                    "resources": {
                        "requests": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}
                    },
                }
            ],
        },
        "status": {"phase": "Pending"},
    }
    return msgspec.json.encode(pod)


async def measure() -> tuple[float, int]:
    """Seconds for all events, and the bytes they came in."""
    raw = [pod_bytes(number) for number in range(EVENTS)]
    bus = MemoryBus(LoopClock())
    await bus.ensure_topics(ALL)
    decoder, index = Decoder(PODS), Index(PODS, stamp=Stamp(incarnation="bench", epoch=1))
    started = time.perf_counter()
    batch: list[Message] = []
    for data in raw:
        batch += index.seen(decoder.decode(data))
        if len(batch) >= BATCH:
            await bus.publish(batch)
            batch = []
    await bus.publish(batch)
    return time.perf_counter() - started, sum(map(len, raw))


def main() -> None:
    """Print, write, end with the pairs."""
    seconds, size = asyncio.run(measure())
    rate = EVENTS / seconds
    report(
        "watch",
        header=("EVENTS", "BYTES EACH", "SECONDS", "EVENTS/S", "BAR"),
        rows=[
            (
                f"{EVENTS:,}",
                f"{size // EVENTS:,}",
                f"{seconds:.2f}",
                f"{rate:,.0f}",
                f"{BAR_EVENTS_PER_SECOND:,}",
            )
        ],
        values={"watch_events_per_second": rate, "bar": BAR_EVENTS_PER_SECOND},
    )


if __name__ == "__main__":
    main()
