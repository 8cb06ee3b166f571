"""Our control plane beside an API server: the embedded one, or a real kube-apiserver with etcd.

All services run in this process on an in-memory bus, and talk to the API server over HTTP as they do
anywhere. Users are kubectl. Neither API server has kubelets here: nodes are objects. The real one has
its controller manager; where the embedded one lacks a controller, a test plays its part.
"""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.integration.kubectl.backends import start
from tests.integration.kubectl.shell import find_kubectl
from vc.admission.config import Config as AdmissionConfig
from vc.admission.service import build as build_admission
from vc.bus.memory import MemoryBus
from vc.cli.pyroclast.services import build_of
from vc.clock import LoopClock
from vc.cluster import Cluster
from vc.cluster.kubernetes import connect
from vc.model.api.struct import JsonObject
from vc.queue_controller.config import Config as QueueConfig
from vc.queue_controller.service import build as build_queue_controller
from vc.runtime.hosting.context import Context, Service
from vc.simcluster.schema.registry import crd_folder
from vc.snapshot.memory import MemorySnapshot

SERVICES = ("watcher", "queue-controller", "podgroup-controller", "job-controller", "scheduler")
KUBECTL_SECONDS_MAX = 60.0
READY_SECONDS_MAX = 60.0
POLL_SECONDS = 0.2


class ControlPlaneUnderTest:
    """What a test may do."""

    def __init__(self, kubeconfig: Path, cluster: Cluster) -> None:
        self._kubeconfig = kubeconfig
        self._kubectl = find_kubectl()
        self._cluster = cluster
        self._clock = LoopClock()
        self._bus, self._snapshot = MemoryBus(self._clock), MemorySnapshot()
        self._running: dict[str, asyncio.Task[None]] = {}

    # -- services --------------------------------------------------------------------------------

    async def run(self, name: str) -> Service:
        """Start a service and wait until it can work."""
        context = Context(
            name=name,
            bus=self._bus,
            cluster=self._cluster,
            snapshot=self._snapshot,
            clock=self._clock,
            identity=f"{name}-test",
        )
        service: Service
        if name == "admission":
            service = build_admission(context, AdmissionConfig(port=0, create_configurations=True))
        elif name == "queue-controller":  # admission vets Commands of every namespace
            service = build_queue_controller(context, QueueConfig(commands_vetted=True))
        else:
            service = build_of(name)(context)
        self._running[name] = asyncio.create_task(service.run())
        return service

    async def run_all(self) -> None:
        """The whole control plane; admission first, as a chart's webhooks are."""
        services = [await self.run(name) for name in ("admission", *SERVICES)]
        async with asyncio.timeout(READY_SECONDS_MAX):
            for service in services:
                while service.unready():  # noqa: ASYNC110 - a service has no event to wait for
                    await asyncio.sleep(POLL_SECONDS)

    async def kill(self, name: str) -> None:
        """End a service."""
        task = self._running.pop(name)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def close(self) -> None:
        for name in list(self._running):
            await self.kill(name)

    # -- kubectl ---------------------------------------------------------------------------------

    async def kubectl(
        self, *arguments: str, documents: list[JsonObject] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """The outcome, good or bad; documents go to standard input as one file."""
        text = yaml.safe_dump_all(documents or [])
        return await asyncio.to_thread(
            subprocess.run,
            [self._kubectl, "--kubeconfig", str(self._kubeconfig), *arguments],
            input=text,
            capture_output=True,
            text=True,
            timeout=KUBECTL_SECONDS_MAX,
            check=False,
        )

    async def apply(self, *documents: JsonObject) -> None:
        """Must work."""
        done = await self.kubectl("apply", "-f", "-", documents=list(documents))
        assert done.returncode == 0, done.stderr

    async def refused(self, document: JsonObject, says: str) -> None:
        """Must not work, and kubectl must show why."""
        done = await self.kubectl("create", "-f", "-", documents=[document])
        assert done.returncode != 0, f"accepted: {document}"
        assert says in done.stderr, done.stderr

    async def get(self, *words: str) -> Any:
        done = await self.kubectl("get", *words, "-o", "json")
        return json.loads(done.stdout) if done.returncode == 0 else None

    async def eventually(self, holds: Callable[[], Awaitable[bool]], what: str) -> float:
        """Seconds until it held."""
        begun = self._clock.monotonic()
        while not await holds():
            waited = self._clock.monotonic() - begun
            if waited > READY_SECONDS_MAX:
                there = await self.kubectl("get", "pods,podgroups,queues", "-A", "-o", "wide")
                raise AssertionError(f"not within {waited:.0f} s: {what}\n{there.stdout}")
            await asyncio.sleep(POLL_SECONDS)
        return self._clock.monotonic() - begun


@asynccontextmanager
async def control_plane(backend: str, folder: Path) -> AsyncIterator[ControlPlaneUnderTest]:
    """All of it, with our kinds known and two nodes."""
    async with start(backend, folder) as server:
        clock = LoopClock()
        cluster = await connect(service="test", kubeconfig=str(server.kubeconfig), clock=clock)
        plane = ControlPlaneUnderTest(server.kubeconfig, cluster)
        try:
            if backend == "kubernetes":
                done = await plane.kubectl("create", "-f", str(crd_folder()))
                assert done.returncode == 0, done.stderr
                waiting = ("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
                assert (await plane.kubectl(*waiting)).returncode == 0
            for name in ("node-a", "node-b"):
                await _add_node(plane, name)
            await plane.run_all()
            yield plane
        finally:
            await plane.close()
            await cluster.close()


async def _add_node(plane: ControlPlaneUnderTest, name: str) -> None:
    room = {"cpu": "4", "memory": "8Gi", "pods": "20"}
    await plane.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    ready = [{"type": "Ready", "status": "True"}]
    status = {"status": {"capacity": room, "allocatable": room, "conditions": ready}}
    done = await plane.kubectl(
        "patch", "node", name, "--subresource=status", "--type=merge", "-p", json.dumps(status)
    )
    assert done.returncode == 0, done.stderr
    taints = json.dumps({"spec": {"taints": None}})
    await plane.kubectl("patch", "node", name, "--type=merge", "-p", taints)
