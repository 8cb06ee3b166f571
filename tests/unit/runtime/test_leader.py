"""Leading without trusting anybody's clock, in virtual time."""

import asyncio
from typing import Any

from tests.builders.contexts import memory_context
from tests.simulation.mortal import Life, Mortal
from vc_clock import LoopClock, run_virtual
from vc_cluster import ServerError
from vc_model.kinds import LEASES, NAMESPACES
from vc_runtime.leader import LEASE_SECONDS, REQUEST_SECONDS_MAX, Leadership
from vc_simcluster.api import Api
from vc_simcluster.cluster import StoreCluster


class World:
    """A cluster and some candidates."""

    def __init__(self) -> None:
        self.clock = LoopClock(wall_at_zero=1.8e9)
        self.cluster = StoreCluster(Api(clock=self.clock))
        self.lives: dict[str, Life] = {}
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        await self.cluster.create(
            NAMESPACES,
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "volcano-system"}},
        )

    def candidate(self, name: str, cluster: Any = None) -> Leadership:
        life = self.lives[name] = Life()
        context = memory_context(
            "scheduler",
            identity=name,
            clock=self.clock,
            cluster=Mortal(cluster or self.cluster, life, name="cluster"),
        )
        leadership = Leadership(context)
        self.tasks.append(asyncio.create_task(leadership.run()))
        return leadership

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def run(test: Any) -> None:
    async def main() -> None:
        world = World()
        await world.start()
        try:
            await test(world)
        finally:
            await world.stop()

    run_virtual(main())


def test_the_first_candidate_leads_at_once_and_stays() -> None:
    async def test(world: World) -> None:
        one = world.candidate("one")
        await world.clock.sleep(0.1)
        two = world.candidate("two")
        for _ in range(600):
            await world.clock.sleep(0.1)
            assert one.leading
            assert not two.leading
        assert one.epoch == 1

    run(test)


def test_a_dead_leader_is_followed_after_its_lease_and_a_request_are_over() -> None:
    async def test(world: World) -> None:
        world.candidate("one")
        await world.clock.sleep(0.1)
        two = world.candidate("two")
        await world.clock.sleep(5)
        world.lives["one"].over.set()
        died_at = world.clock.monotonic()
        await two.wait_until_leading()
        waited = world.clock.monotonic() - died_at
        assert waited >= LEASE_SECONDS + REQUEST_SECONDS_MAX - 2.1
        assert waited < LEASE_SECONDS + REQUEST_SECONDS_MAX + 3
        assert two.epoch == 2

    run(test)


def test_a_leader_that_stops_cleanly_is_followed_at_once() -> None:
    async def test(world: World) -> None:
        world.candidate("one")
        await world.clock.sleep(0.1)
        two = world.candidate("two")
        await world.clock.sleep(5)
        world.tasks[0].cancel()
        await world.clock.sleep(2.5)
        assert two.leading
        assert two.epoch == 2

    run(test)


class Deaf:
    """An API server that stops answering one client."""

    def __init__(self, real: StoreCluster) -> None:
        self._real = real
        self.deaf = False

    def __getattr__(self, name: str) -> Any:
        if self.deaf:
            return self._refuse
        return getattr(self._real, name)

    async def _refuse(self, *_: Any, **__: Any) -> None:
        raise ServerError("no answer")


def test_a_leader_that_cannot_renew_stops_before_anybody_else_can_lead() -> None:
    async def test(world: World) -> None:
        deaf = Deaf(world.cluster)
        one = world.candidate("one", cluster=deaf)
        await world.clock.sleep(0.1)
        two = world.candidate("two")
        await world.clock.sleep(5)
        deaf.deaf = True
        stopped_at = started_at = 0.0
        while not started_at:
            await world.clock.sleep(0.05)
            assert not (one.leading and two.leading)
            if not one.leading and not stopped_at:
                stopped_at = world.clock.monotonic()
            if two.leading:
                started_at = world.clock.monotonic()
        assert started_at - stopped_at >= REQUEST_SECONDS_MAX

    run(test)


def test_two_that_start_together_never_both_lead() -> None:
    async def test(world: World) -> None:
        candidates = [world.candidate(f"c{n}") for n in range(5)]
        for _ in range(100):
            await world.clock.sleep(0.1)
            assert sum(c.leading for c in candidates) == 1
        lease = await world.cluster.get(LEASES, name="vc-scheduler", namespace="volcano-system")
        assert lease["spec"]["leaseTransitions"] == 1

    run(test)
