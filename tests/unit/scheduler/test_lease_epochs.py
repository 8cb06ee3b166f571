"""What was decided under one lease epoch is never written under another, and nothing is lost with it."""

import asyncio
import dataclasses
from typing import Any

from prometheus_client import CollectorRegistry

from tests.unit.scheduler.shell import Shell
from vc_clock import run_virtual
from vc_cluster import ServerError
from vc_model.kinds import LEASES, PRIORITYCLASSES, Kind
from vc_runtime.context import Context
from vc_runtime.effects import CONCURRENCY_MAX
from vc_runtime.leader import LEASE_SECONDS, REQUEST_SECONDS_MAX

NODE_CPUS = CONCURRENCY_MAX + 40
LARGE_CPUS = 40
"""One of these fits on the node beside the stuck gang, two do not."""
FOLLOWED_SECONDS = 3 * (LEASE_SECONDS + REQUEST_SECONDS_MAX)


class Jammed:
    """One scheduler's way to the API server: its binds hang, its Lease cannot be renewed."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.jammed = self.deaf = False
        self.freed = asyncio.Event()
        self.hanging = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def bind(self, **call: Any) -> None:
        if self.jammed:
            self.hanging += 1
            await self.freed.wait()
            raise ServerError("no answer")
        await self._real.bind(**call)

    async def get(self, kind: Kind, **call: Any) -> Any:
        return await self._ask("get", kind, **call)

    async def replace(self, kind: Kind, body: Any, **call: Any) -> Any:
        return await self._ask("replace", kind, body, **call)

    async def _ask(self, verb: str, kind: Kind, *args: Any, **call: Any) -> Any:
        if kind is LEASES and self.deaf:
            raise ServerError("no answer")
        return await getattr(self._real, verb)(kind, *args, **call)


class Replicas(Shell):
    """Schedulers, each with a way to the API server of its own."""

    def __init__(self, *, schedulers: int) -> None:
        super().__init__(schedulers=schedulers)
        self.ways: list[Jammed] = []

    def _context(self, name: str, number: int) -> Context:
        context = super()._context(name, number)
        if name != "scheduler":
            return context
        self.ways.append(Jammed(self.cluster))
        return dataclasses.replace(context, cluster=self.ways[-1], metrics=CollectorRegistry())

    def leader(self) -> int:
        (number,) = [n for n, each in enumerate(self.schedulers) if each._lead.leading]
        return number


def used_cpus(shell: Shell) -> float:
    return sum(
        int(pod.spec.containers[0].resources.requests["cpu"])
        for pod in shell.pods()
        if pod.spec.node_name
    )


def test_a_bind_of_epoch_1_is_not_written_under_epoch_3() -> None:
    """The leader's binds hang, it loses the Lease, another leader gives the room away and stops."""

    async def story() -> None:
        async with Replicas(schedulers=2) as shell:
            await shell.create(PRIORITYCLASSES, {"metadata": {"name": "high"}, "value": 1000})
            await shell.nodes(1, cpu=str(NODE_CPUS))
            await shell.gang("first", 1, cpu="0")
            await shell.until(lambda: shell.bound("first") == 1, "somebody leads")
            stale = shell.leader()
            way = shell.ways[stale]
            way.jammed = True
            await shell.gang("stuck", CONCURRENCY_MAX, cpu="1")
            await shell.until(lambda: way.hanging == CONCURRENCY_MAX, "all requests hang")
            await shell.gang("late", 1, cpu=str(LARGE_CPUS))
            await shell.clock.sleep(1)
            way.deaf = True
            await shell.gang("rival", 1, cpu=str(LARGE_CPUS), priority="high")
            await shell.until(
                lambda: shell.bound("rival") == 1, "followed", seconds=FOLLOWED_SECONDS
            )
            assert shell.bound("late") == 0
            assert shell.schedulers[1 - stale]._lead.epoch == 2
            way.deaf = way.jammed = False
            await shell.stop(f"scheduler-{1 - stale}")
            await shell.until(lambda: shell.schedulers[stale]._lead.leading, "leading again")
            way.freed.set()
            for _ in range(400):
                await shell.clock.sleep(0.05)
                assert used_cpus(shell) <= NODE_CPUS, "a bind of epoch 1 over-commits the node"
            assert shell.schedulers[stale]._lead.epoch == 3
            assert shell.bound("stuck") == CONCURRENCY_MAX

    run_virtual(story())
