"""The whole system in memory on a virtual loop: every service, killed and restarted at will.

A run is a function of its seed. `Stack.problems` collects everything that must never be: services
that raise, nodes over their allocatable, pods created twice under one name and owner.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Self

import msgspec

from tests.builders.contexts import memory_context, our_registry
from tests.simulation.api_faults import ApiFaults, FaultyApi
from tests.simulation.machines import SkewedClock
from tests.simulation.mortal import Life, Mortal, ProcessDied
from tests.simulation.traces import Traces
from vc.bus.memory import Faults, MemoryBus
from vc.cli.pyroclast.services import build_of
from vc.clock import LoopClock, ServerClock
from vc.model.api.job import Job
from vc.model.api.kinds import JOBS, NAMESPACES, NODES, PODS
from vc.model.api.pod import Pod
from vc.model.api.struct import JsonObject
from vc.model.pod_requests import pod_requests
from vc.model.pod_resize import with_held_requests
from vc.model.values.quantity import parse_resources
from vc.runtime.hosting.context import Context, Service
from vc.runtime.hosting.time_keeper import TimeKeeper
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.kubelet.node_pools import DEFAULT_POOLS, NodePool
from vc.simcluster.kubelet.nodes import SimulatedNodes
from vc.simcluster.store.identity import seeded_uids
from vc.simcluster.verbs.api import Api
from vc.snapshot import SnapshotStore
from vc.snapshot.memory import MemorySnapshot

WALL_AT_ZERO: Final = 1_800_000_000.0
RESTART_SECONDS: Final = 0.5
"""How long a dead process stays dead."""

CORE: Final = (
    "watcher", "job-controller", "plugin-env", "queue-controller", "usage-ledger", "scheduler"
)  # fmt: skip
"""The shortest way of a gang job through all kinds of services."""


class Stack:
    """Cluster, bus, cache and services of one simulated run."""

    def __init__(
        self,
        *,
        seed: int = 0,
        services: Iterable[str] = CORE,
        faults: Faults | None = None,
        api_faults: ApiFaults | None = None,
        pools: Iterable[NodePool] = DEFAULT_POOLS,
        die_at: tuple[str, int] | None = None,
        traces: Traces | None = None,
        wall_at_zero: float = WALL_AT_ZERO,
        ahead_seconds: Mapping[str, float] | None = None,
    ) -> None:
        """`die_at` names a service and the number of the call at which its first life ends.
        `ahead_seconds` says by how much the clocks of some services' machines are wrong.

        `job-controller@2` in `services` is another replica of `job-controller`.
        """
        services = tuple(services)
        self._seed = seed
        self._api_faults = api_faults
        self._die_at = die_at
        self._traces = traces if traces is not None else Traces()
        self.clock = LoopClock(wall_at_zero=wall_at_zero)
        self.machines = {name: SkewedClock(self.clock) for name in services}
        """The clocks of the services' machines; a test may set them."""
        for name, ahead in (ahead_seconds or {}).items():
            self.machines[name].ahead_seconds = ahead
        self.api = Api(
            clock=self.clock,
            registry=our_registry(),
            uid_source=seeded_uids(seed),
        )
        self.cluster = StoreCluster(self.api)
        self.bus = MemoryBus(self.clock, seed=seed, faults=faults)
        self.snapshot = MemorySnapshot()
        self.nodes = SimulatedNodes(self.api, pools=pools)
        self.lives: dict[str, list[Life]] = {name: [] for name in services}
        self.running: dict[str, Service] = {}
        self.problems: list[str] = []
        self.created: Counter[str] = Counter()
        """Pods created, by name and owner's uid."""
        self.faulty: list[FaultyApi] = []
        """What each life saw of an API server with faults."""
        self._tasks: list[asyncio.Task[None]] = []
        self._paused: set[str] = set()

    # -- start and stop --------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self.cluster.create(
            NAMESPACES,
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "volcano-system"}},
        )
        await self.nodes.start()
        self._tasks.append(asyncio.create_task(self._audit()))
        for name in self.lives:
            self._tasks.append(asyncio.create_task(self._live(name)))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.nodes.stop()

    def context(
        self, name: str, *, identity: str = "test", snapshot: SnapshotStore | None = None
    ) -> Context:
        """Of somebody who is none of the services: it lives on when they die."""
        return memory_context(
            name,
            identity=identity,
            clock=self.clock,
            bus=self.bus,
            cluster=self.cluster,
            snapshot=snapshot or self.snapshot,
        )

    def _context(self, name: str, life: Life) -> Context:
        number = len(self.lives[name])
        cluster: Any = self.cluster
        if self._api_faults is not None:
            seed = f"{self._seed}/api/{name}/{number}"
            cluster = FaultyApi(cluster, self._api_faults, clock=self.clock, seed=seed)
            self.faulty.append(cluster)
        return Context(
            name=name.partition("@")[0],
            bus=Mortal(self.bus, life, name="bus"),
            cluster=Mortal(cluster, life, name="cluster"),
            snapshot=Mortal(self.snapshot, life, name="snapshot"),
            clock=ServerClock(self.machines.setdefault(name, SkewedClock(self.clock))),
            identity=f"{name}-{number}",
            rng=random.Random(f"{self._seed}/{name}/{number}"),
            tracer=self._traces.tracer(name, life),
        )

    async def _live(self, name: str) -> None:
        """One life after another."""
        while True:
            first = not self.lives[name]
            die_at = self._die_at[1] if first and self._die_at and self._die_at[0] == name else None
            life = Life(die_at=die_at)
            self.lives[name].append(life)
            context = self._context(name, life)
            service = self.running[name] = build_of(name.partition("@")[0])(context)
            task = asyncio.create_task(service.run())
            assert isinstance(context.clock, ServerClock)
            keeper = TimeKeeper(context.clock, self.cluster, context.log)
            keeping = asyncio.create_task(keeper.run())
            death = asyncio.create_task(life.over.wait())
            try:
                await asyncio.wait({task, death}, return_when=asyncio.FIRST_COMPLETED)
                if not life.over.is_set():
                    self.problems.append(f"{name} ended by itself: {_told(task)}")
            finally:
                life.over.set()
                for each in (task, death, keeping):
                    each.cancel()
                await asyncio.gather(task, death, keeping, return_exceptions=True)
            await self.clock.sleep(RESTART_SECONDS)
            while name in self._paused:
                await self.clock.sleep(RESTART_SECONDS)

    def pause(self, name: str) -> None:
        """Kill a service and keep it dead until `resume`."""
        self._paused.add(name)
        self.kill(name)

    def resume(self, name: str) -> None:
        """Let it live again."""
        self._paused.discard(name)

    def kill(self, name: str) -> None:
        """End a service's present life, wherever it is."""
        for life in self.lives[name][-1:]:  # none before its first start
            life.over.set()

    # -- looking ---------------------------------------------------------------------------------

    async def _audit(self) -> None:
        """Look at every pod that appears, and at every node when something is bound."""
        async for event in self.cluster.watch(PODS, resource_version="0", timeout_seconds=1e9):
            if event.type == "BOOKMARK":
                continue
            pod = msgspec.json.decode(event.object, type=Pod)
            if event.type == "ADDED":
                owners = ",".join(o.uid for o in pod.metadata.owner_references)
                self.created[f"{pod.key} of {owners}"] += 1
            if pod.spec.node_name:
                self._check_node(pod.spec.node_name)

    def _check_node(self, node: str) -> None:
        used: Counter[str] = Counter()
        for pod in self.pods():
            if pod.spec.node_name == node and pod.status.phase in ("Pending", "Running"):
                used.update(pod_requests(with_held_requests(pod).spec))
        status = self.api.get(self.api.registry.for_kind(NODES), name=node)["status"]
        allocatable = parse_resources(status["allocatable"])
        for resource, amount in used.items():
            if amount > allocatable.get(resource, 0):
                self.problems.append(f"{node} over-committed: {resource} {amount}")

    def pods(self) -> list[Pod]:
        """Every pod there is."""
        resource = self.api.registry.for_kind(PODS)
        return [msgspec.json.decode(raw, type=Pod) for raw in self.api.list(resource).items]

    def job(self, name: str, namespace: str = "default") -> Job:
        """A job as it is now."""
        resource = self.api.registry.for_kind(JOBS)
        return msgspec.convert(self.api.get(resource, name=name, namespace=namespace), Job)

    async def submit(self, manifest: JsonObject) -> JsonObject:
        """Create a namespaced object the way a user does."""
        return await self.cluster.create(JOBS, manifest, namespace="default")

    async def delete_job(self, name: str) -> None:
        """Delete a job; its pods follow by their owner reference."""
        await self.cluster.delete(JOBS, name=name, namespace="default")

    async def until(self, holds: Callable[[], bool], *, seconds: float, what: str) -> None:
        """Wait, in virtual time, until something holds; a problem when it never does."""
        deadline = self.clock.monotonic() + seconds
        while not holds():
            if self.clock.monotonic() > deadline:
                reasons = {name: service.unready() for name, service in self.running.items()}
                raise AssertionError(f"not within {seconds:.0f} s: {what}; services: {reasons}")
            await self.clock.sleep(0.1)


def _told(task: "asyncio.Task[Any]") -> str:
    if not task.done() or task.cancelled():
        return "cancelled"
    error = task.exception()
    return "returned" if error is None else repr(_innermost(error))


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def died(error: BaseException) -> bool:
    """Whether this is only the simulated death of a process."""
    return isinstance(_innermost(error), ProcessDied)


def gang_job(
    name: str,
    *,
    replicas: int = 4,
    min_available: int | None = None,
    cpu: str = "1",
    run_seconds: float = 5,
    plugins: dict[str, list[str]] | None = None,
    queue: str = "default",
) -> JsonObject:
    """A vcjob of one task."""
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "volcano",
            "queue": queue,
            "minAvailable": replicas if min_available is None else min_available,
            "plugins": {"env": []} if plugins is None else plugins,
            "tasks": [
                {
                    "name": "worker",
                    "replicas": replicas,
                    "template": {
                        "metadata": {
                            "annotations": {"sim.pyroclast.io/run-seconds": str(run_seconds)}
                        },
                        "spec": {
                            "restartPolicy": "Never",
                            "containers": [
                                {
                                    "name": "main",
                                    "image": "example.com/work:1",
                                    "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}},
                                }
                            ],
                        },
                    },
                }
            ],
        },
    }
