"""The backends under test: each opens a cluster and says what it can do beside the interface."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from typing import Any

import msgspec

from vc.clock import LoopClock
from vc.cluster import Cluster
from vc.model.api.struct import JsonObject
from vc.simcluster import Api, Registry, StoreCluster, load_crds


class Target(msgspec.Struct, kw_only=True):
    """An open backend."""

    cluster: Cluster
    compact: Callable[[], Awaitable[None]] | None = None
    """Forget all history now; None when the backend does that only in its own time."""
    has_controllers: bool = False
    """Whether garbage collection, namespace deletion and disruption budgets are at work."""
    furnish: Callable[[str], Awaitable[None]] | None = None
    """Wait until controllers have put into a new namespace what its pods need."""
    bookmark_seconds_max: float = 5.0
    """How long a quiet watch may take to say how far it is."""


class Backend(msgspec.Struct, frozen=True, kw_only=True):
    """How to get a target."""

    name: str
    open: Callable[[], AbstractAsyncContextManager[Target]]
    marks: tuple[Any, ...] = ()
    """pytest marks: which real part it needs."""


@cache
def definitions() -> list[JsonObject]:
    """Read once: parsing the YAML takes longer than most tests."""
    return load_crds()


@asynccontextmanager
async def open_store() -> AsyncIterator[Target]:
    """The in-memory twin, fresh for each test."""
    api = Api(clock=LoopClock(), registry=Registry(crds=definitions()))

    async def compact() -> None:
        api.compact()

    cluster = StoreCluster(api)
    yield Target(cluster=cluster, compact=compact, has_controllers=True)
    await cluster.close()
