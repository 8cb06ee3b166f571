"""Prints a digest of everything a simulated run decided: `python -m tests.simulation.history SEED`.

All records on the bus and all objects at the end, in order. Run under two hash seeds it must print
the same.
"""

import hashlib
import sys

from tests.simulation.stack import Stack, gang_job
from vc.clock import run_virtual
from vc.messages.record import TopicPartition
from vc.messages.topics import ALL


async def _digest_bus(stack: Stack) -> "hashlib._Hash":
    digest = hashlib.sha256()
    for topic in ALL:
        starts = await stack.bus.start_offsets(topic.name)
        positions = {TopicPartition(topic.name, p): s for p, s in enumerate(starts)}
        reader = await stack.bus.reader(positions)
        records = []
        while batch := await reader.poll(max_records=10_000, wait_seconds=0):
            records += batch
        await reader.close()
        for record in sorted(records, key=lambda r: (r.partition, r.offset)):
            digest.update(repr(record).encode())
    return digest


async def _history(seed: int) -> str:
    async with Stack(seed=seed) as stack:
        for number in range(4):
            await stack.submit(gang_job(f"job-{number}", replicas=5, cpu="30", run_seconds=3))
        await stack.until(
            lambda: all(stack.job(f"job-{n}").status.state.phase == "Completed" for n in range(4)),
            seconds=120,
            what="all completed",
        )
        assert stack.problems == []
        return await digest_of(stack)


async def digest_of(stack: Stack) -> str:
    """Of all records on the bus and all objects of the cluster."""
    digest = await _digest_bus(stack)
    for resource in stack.api.registry.stored():
        for raw in stack.api.list(resource).items:
            digest.update(raw)
    return digest.hexdigest()


if __name__ == "__main__":
    print(run_virtual(_history(int(sys.argv[1]))))
