"""Lease epochs: what was decided under one epoch is never written under another, and nothing is lost."""

import asyncio
import dataclasses
from typing import Any

from prometheus_client import CollectorRegistry

from tests.unit.scheduler.shell import Shell
from vc.clock import run_virtual
from vc.cluster import ServerError, UnavailableError
from vc.model.api.kinds import LEASES, PODS, PRIORITYCLASSES, Kind
from vc.runtime.applying.effects import CONCURRENCY_MAX
from vc.runtime.hosting.context import Context
from vc.runtime.leading.election import LEASE_SECONDS, REQUEST_SECONDS_MAX
from vc.scheduling.actions.release import GANG_RELEASE_SECONDS

NODE_CPUS = CONCURRENCY_MAX + 40
LARGE_CPUS = 40
"""One of these fits on the node beside the stuck gang, two do not."""
FOLLOWED_SECONDS = 3 * (LEASE_SECONDS + REQUEST_SECONDS_MAX)


class Jammed:
    """One scheduler's way to the API server: its binds hang, its Lease cannot be renewed."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.jammed = self.deaf = False
        self.jam_after: int | None = None
        """Binds that are still done before the rest hangs."""
        self.reads = 0
        """Of pods: binds whose fate was unknown."""
        self.freed = asyncio.Event()
        self.hanging = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def bind(self, **call: Any) -> None:
        if self.jam_after is not None:
            self.jammed = self.jam_after <= 0
            self.jam_after -= 1
        if self.jammed:
            self.hanging += 1
            await self.freed.wait()
            raise UnavailableError("no answer")
        await self._real.bind(**call)

    async def get(self, kind: Kind, **call: Any) -> Any:
        return await self._ask("get", kind, **call)

    async def replace(self, kind: Kind, body: Any, **call: Any) -> Any:
        return await self._ask("replace", kind, body, **call)

    async def _ask(self, verb: str, kind: Kind, *args: Any, **call: Any) -> Any:
        self.reads += kind is PODS
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
    """The leader's binds hang, it loses the Lease, another leader binds other pods there and stops."""

    async def story() -> None:
        async with Replicas(schedulers=2) as shell:
            await shell.create(PRIORITYCLASSES, {"metadata": {"name": "high"}, "value": 1000})
            await shell.nodes(1, cpu=str(NODE_CPUS))
            await shell.gang("first", 1, cpu="0")
            await shell.until(lambda: shell.bound("first") == 1, "a replica leads")
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


async def half_bound(shell: Replicas, name: str, *, pods: int, done: int, cpu: str) -> int:
    """A gang of which some binds are done and the others hang; whose leader it is."""
    await shell.gang("first", 1, cpu="0")
    await shell.until(lambda: shell.bound("first") == 1, "a replica leads")
    leader = shell.leader()
    shell.ways[leader].jam_after = done
    await shell.gang(name, pods, cpu=cpu)
    await shell.until(lambda: shell.ways[leader].hanging == pods - done, "the others hang")
    assert shell.bound(name) == done
    return leader


def test_a_lease_that_ran_out_for_minutes_keeps_a_half_bound_gang_and_then_goes_on() -> None:
    """Nobody else takes it: nothing is written, read back, decided again or released."""

    async def story() -> None:
        async with Replicas(schedulers=1) as shell:
            await shell.nodes(1, cpu="64")
            leader = await half_bound(shell, "gang", pods=40, done=8, cpu="1")
            way, scheduler = shell.ways[leader], shell.schedulers[leader]
            way.deaf = True
            await shell.until(lambda: not scheduler._lead.leading, "it ran out")
            way.jammed, way.jam_after = False, None
            way.freed.set()
            way.reads = 0
            await shell.gang("late", 1, cpu="1")
            sent = shell.cluster.writes["bind"]
            await shell.clock.sleep(3 * GANG_RELEASE_SECONDS)
            assert shell.cluster.writes["bind"] == sent, "written without a lease"
            way.deaf = False
            await shell.until(lambda: shell.bound("gang") == 40, "it goes on", seconds=10)
            await shell.until(lambda: shell.bound("late") == 1, "and with others", seconds=10)
            assert (scheduler._lead.epoch, way.reads) == (1, 0)
            assert shell.cluster.writes["bind"] == 1 + 40 + 1, "each pod once"
            assert shell.cluster.writes["evict"] == 0

    run_virtual(story())


def test_the_next_leader_completes_the_gang_before_other_jobs() -> None:
    async def story() -> None:
        async with Replicas(schedulers=2) as shell:
            await shell.create(PRIORITYCLASSES, {"metadata": {"name": "high"}, "value": 1000})
            await shell.nodes(1, cpu="8")
            leader = await half_bound(shell, "gang", pods=8, done=3, cpu="1")
            shell.ways[leader].deaf = True
            await shell.gang("rival", 5, cpu="1", priority="high")
            await shell.until(
                lambda: shell.bound("gang") == 8, "completed", seconds=FOLLOWED_SECONDS
            )
            assert shell.schedulers[1 - leader]._lead.epoch == 2
            assert shell.cluster.writes["evict"] == 0
            assert shell.bound("rival") == 0

    run_virtual(story())
