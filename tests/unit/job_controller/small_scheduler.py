"""Just enough of a scheduler to let a job live: lets every gang in and binds every pod.

Reads and writes the embedded cluster directly: these tests are about the controllers, and the real
scheduler has its own.
"""

import asyncio
import contextlib
import itertools
from typing import Final, TypeVar

import msgspec

from tests.simulation.stack import Stack
from vc.cluster import ClusterError
from vc.model.api.kinds import NODES, PODGROUPS, PODS, Kind
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup

PERIOD_SECONDS: Final = 0.1
T = TypeVar("T")


async def schedule(stack: Stack) -> None:
    """Until cancelled."""
    while True:
        with contextlib.suppress(ClusterError):  # it changed under us: again
            await _once(stack)
        await asyncio.sleep(PERIOD_SECONDS)


async def _once(stack: Stack) -> None:
    nodes = [msgspec.json.decode(raw)["metadata"]["name"] for raw in _items(stack, NODES)]
    groups = {g.key: g for g in (_decoded(raw, PodGroup) for raw in _items(stack, PODGROUPS))}
    for group in groups.values():
        if group.status.phase in ("", "Pending"):
            await _set_phase(stack, group, "Inqueue")
    spread = itertools.cycle(sorted(nodes))
    for pod in (_decoded(raw, Pod) for raw in _items(stack, PODS)):
        if not pod.spec.node_name and pod.metadata.deletion_timestamp is None:
            metadata = pod.metadata
            await stack.cluster.bind(
                namespace=metadata.namespace,
                name=metadata.name,
                uid=metadata.uid,
                node=next(spread),
            )


async def _set_phase(stack: Stack, group: PodGroup, phase: str) -> None:
    await stack.cluster.patch(
        PODGROUPS,
        {"status": {"phase": phase}},
        name=group.metadata.name,
        namespace=group.metadata.namespace,
    )


def _items(stack: Stack, kind: Kind) -> list[bytes]:
    return stack.api.list(stack.api.registry.for_kind(kind)).items


def _decoded(raw: bytes, into: type[T]) -> T:
    return msgspec.json.decode(raw, type=into)
