"""The scheduler's shell on the in-memory cluster and bus, with the real watcher between them.

`UnreliableCluster` is the in-memory twin of an API server with faults: binds that are refused, that fail, or that
succeed with an error, as scripted per pod name.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, Self

import msgspec

from tests.builders.contexts import our_registry
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock
from vc.cluster import ClusterError
from vc.cluster.interface import Preconditions
from vc.messages.record import TopicPartition
from vc.messages.sessions import SessionRecord, session_of
from vc.messages.topics import SESSIONS
from vc.model.api.kinds import JOBS, NAMESPACES, NODES, PODGROUPS, PODS, QUEUES, Kind
from vc.model.api.node import Node
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, Queue
from vc.model.api.struct import JsonObject
from vc.runtime.hosting.context import Context, Service
from vc.scheduler.config import Config
from vc.scheduler.service import Scheduler, build
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.store.identity import seeded_uids
from vc.simcluster.verbs.api import Api
from vc.snapshot.memory import MemorySnapshot
from vc.watcher.service import build as build_watcher

WALL_AT_ZERO: Final = 1_800_000_000.0
NAMESPACE: Final = "default"


class UnreliableCluster(StoreCluster):
    """Counts writes, and fails binds as scripted."""

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.writes: Counter[str] = Counter()
        self.refusals: dict[str, list[ClusterError]] = {}
        """Pod name to the answers its next binds get instead."""
        self.silent: dict[str, ClusterError] = {}
        """Pods that are bound, but whose binder gets an error, once."""
        self.kept: dict[str, list[ClusterError]] = {}
        """Pod name to the answers its next evictions get instead."""
        self.gone: dict[str, None] = {}
        """Pods that another client deletes when we would evict them."""
        self.patch_seconds: dict[str, float] = {}
        """By kind, how long a patch takes."""

    async def bind(
        self,
        *,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: dict[str, str] | None = None,
    ) -> None:
        self.writes["bind"] += 1
        if self.refusals.get(name):
            raise self.refusals[name].pop(0)
        await super().bind(
            namespace=namespace, name=name, uid=uid, node=node, annotations=annotations
        )
        if name in self.silent:
            raise self.silent.pop(name)

    async def evict(
        self, *, namespace: str, name: str, uid: str, grace_seconds: int | None = None
    ) -> None:
        self.writes["evict"] += 1
        if name in self.gone:
            await self.delete(PODS, name=name, namespace=namespace, grace_seconds=0)
        if self.kept.get(name):
            raise self.kept[name].pop(0)
        await super().evict(namespace=namespace, name=name, uid=uid, grace_seconds=grace_seconds)

    async def patch(
        self,
        kind: Kind,
        patch: JsonObject,
        *,
        name: str,
        namespace: str = "",
        subresource: str = "",
        preconditions: Preconditions | None = None,
    ) -> JsonObject:
        await self.api.clock.sleep(self.patch_seconds.get(kind.short, 0.0))
        self.writes[f"patch {kind.short}"] += 1
        return await super().patch(
            kind, patch, name=name, namespace=namespace,
            subresource=subresource, preconditions=preconditions,
        )  # fmt: skip


class Shell:
    """A cluster with a watcher and one or more schedulers."""

    def __init__(self, *, schedulers: int = 1, config: Config | None = None) -> None:
        self.clock = LoopClock(wall_at_zero=WALL_AT_ZERO)
        self.api = Api(
            clock=self.clock,
            registry=our_registry(),
            uid_source=seeded_uids(1),
        )
        self.cluster = UnreliableCluster(self.api)
        self.bus = MemoryBus(self.clock, seed=1)
        self.snapshot = MemorySnapshot()
        self._config = config or Config()
        self.schedulers: list[Scheduler] = []
        self._wanted = schedulers
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        for name in ("volcano-system", NAMESPACE):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            try:
                await self.cluster.create(NAMESPACES, body)
            except ClusterError:
                continue  # the store comes with some
        await self.queue("default")
        self.start("watcher", build_watcher(self._context("watcher", 0)))
        for number in range(self._wanted):
            scheduler = build(self._context("scheduler", number), self._config)
            self.schedulers.append(scheduler)
            self.start(f"scheduler-{number}", scheduler)
        return self

    async def __aexit__(self, *_: object) -> None:
        for name in list(self.tasks):
            await self.stop(name)

    def start(self, name: str, service: Service) -> None:
        self.tasks[name] = asyncio.create_task(service.run(), name=name)

    async def stop(self, name: str) -> None:
        task = self.tasks.pop(name)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def _context(self, name: str, number: int) -> Context:
        return Context(
            name=name,
            bus=self.bus,
            cluster=self.cluster,
            snapshot=self.snapshot,
            clock=self.clock,
            identity=f"{name}-{number}",
            rng=random.Random(number),
        )

    # -- objects ---------------------------------------------------------------------------------

    async def create(self, kind: Kind, body: JsonObject, *, namespace: str = "") -> JsonObject:
        return await self.cluster.create(
            kind, {"apiVersion": kind.api_version, "kind": kind.kind, **body}, namespace=namespace
        )

    async def queue(self, name: str, **spec: Any) -> None:
        await self.create(QUEUES, {"metadata": {"name": name}, "spec": {"weight": 1, **spec}})

    async def nodes(self, count: int, *, cpu: str = "64", prefix: str = "node") -> None:
        amounts = {"cpu": cpu, "memory": "512Gi", "pods": "110"}
        status = {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        for number in range(count):
            name = f"{prefix}-{number}"
            await self.create(NODES, {"metadata": {"name": name}})
            await self.cluster.patch(NODES, {"status": status}, name=name, subresource="status")

    async def gang(
        self, name: str, count: int, *, cpu: str = "1", minimum: int = 0, priority: str = ""
    ) -> None:
        """A pod group and its pods, controlled by a vcjob whose controller is not here."""
        task = {"name": "w", "replicas": count, "template": {"spec": {"containers": []}}}
        job = await self.create(
            JOBS,
            {"metadata": {"name": name}, "spec": {"minAvailable": count, "tasks": [task]}},
            namespace=NAMESPACE,
        )
        await self.create(
            PODGROUPS,
            {
                "metadata": {"name": name},
                "spec": {
                    "minMember": minimum or count,
                    "queue": "default",
                    "priorityClassName": priority,
                },
            },
            namespace=NAMESPACE,
        )
        for number in range(count):
            body = pod_body(f"{name}-{number}", group=name, cpu=cpu)
            body["metadata"]["ownerReferences"] = [_owner(job)]
            if priority:
                body["spec"]["priorityClassName"] = priority
            await self.create(PODS, body, namespace=NAMESPACE)

    # -- looking ---------------------------------------------------------------------------------

    def pods(self) -> list[Pod]:
        listed = self.api.list(self.api.registry.for_kind(PODS)).items
        return [msgspec.json.decode(raw, type=Pod) for raw in listed]

    def bound(self, group: str) -> int:
        return sum(
            bool(pod.spec.node_name) for pod in self.pods() if pod.metadata.name.startswith(group)
        )

    def group(self, name: str) -> PodGroup:
        raw = self.api.get(self.api.registry.for_kind(PODGROUPS), name=name, namespace=NAMESPACE)
        return msgspec.convert(raw, PodGroup)

    def phase(self, name: str) -> str:
        return self.group(name).status.phase

    def queue_status(self, name: str = "default") -> Queue:
        raw = self.api.get(self.api.registry.for_kind(QUEUES), name=name)
        return msgspec.convert(raw, Queue)

    def node_names(self) -> list[str]:
        listed = self.api.list(self.api.registry.for_kind(NODES)).items
        return [msgspec.json.decode(raw, type=Node).metadata.name for raw in listed]

    async def sessions(self) -> list[SessionRecord]:
        ends = await self.bus.end_offsets(SESSIONS.name)
        reader = await self.bus.reader(
            {TopicPartition(SESSIONS.name, p): 0 for p in range(len(ends))}
        )
        try:
            records = await reader.poll(max_records=10_000, wait_seconds=0)
        finally:
            await reader.close()
        return sorted(map(session_of, records), key=lambda r: int(r.session_id.split("-")[1]))

    async def until(self, holds: Callable[[], bool], what: str, *, seconds: float = 30) -> None:
        deadline = self.clock.monotonic() + seconds
        while not holds():
            why = [scheduler.unready() for scheduler in self.schedulers]
            assert self.clock.monotonic() < deadline, f"not within {seconds} s: {what}; {why}"
            await self.clock.sleep(0.05)


def _owner(job: JsonObject) -> JsonObject:
    metadata = job["metadata"]
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }


def pod_body(name: str, *, group: str, cpu: str) -> JsonObject:
    """A pod of a group, without an owner."""
    return {
        "metadata": {"name": name, "annotations": {"scheduling.k8s.io/group-name": group}},
        "spec": {
            "schedulerName": "volcano",
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}],
        },
    }
