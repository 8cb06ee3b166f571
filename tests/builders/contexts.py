"""A service's world on the in-memory twins: what a test does not say is new and empty."""

import functools
import random

import msgspec

from vc.bus import Bus
from vc.bus.memory import MemoryBus
from vc.clock import Clock, LoopClock
from vc.cluster import Cluster
from vc.runtime.hosting.context import Context
from vc.runtime.hosting.tracing import NoTracer, Tracer
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.schema.registry import Registry, crd_folder, load_crds
from vc.simcluster.verbs.api import Api
from vc.snapshot import SnapshotStore
from vc.snapshot.memory import MemorySnapshot


def memory_context(
    name: str = "test",
    *,
    identity: str = "test",
    clock: Clock | None = None,
    bus: Bus | None = None,
    cluster: Cluster | None = None,
    snapshot: SnapshotStore | None = None,
    tracer: Tracer | None = None,
    seed: int = 0,
) -> Context:
    """Contexts that share a world are given the same bus, cluster and clock."""
    clock = clock or LoopClock()
    return Context(
        name=name,
        bus=bus or MemoryBus(clock),
        cluster=cluster or memory_cluster(clock),
        snapshot=snapshot or MemorySnapshot(),
        clock=clock,
        identity=identity,
        rng=random.Random(seed),
        tracer=tracer or NoTracer(),
    )


def memory_cluster(clock: Clock) -> StoreCluster:
    """A cluster that knows our kinds, and has nothing in it."""
    return StoreCluster(Api(clock=clock, registry=our_registry()))


def our_registry() -> Registry:
    """Of our kinds; decoded anew for each, so that nothing is shared by reference."""
    return Registry(crds=msgspec.json.decode(_crds()))


@functools.cache
def _crds() -> bytes:
    """Reading them takes most of a tenth of a second."""
    return msgspec.json.encode(load_crds(crd_folder()))
