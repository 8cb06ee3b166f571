"""Leader election by Lease without trust in another machine's clock, in virtual time."""

import asyncio
from typing import Any

import pytest

from tests.builders.contexts import memory_context
from tests.simulation.mortal import Life, Mortal
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock, run_virtual
from vc.cluster import ServerError
from vc.messages.record import Message
from vc.messages.topics import ALL, PROGRESS
from vc.model.api.kinds import LEASES, NAMESPACES, WATCHED
from vc.runtime.leading.election import (
    LEASE_SECONDS,
    NEW_CLUSTER_ROUNDS_MAX,
    RENEW_SECONDS,
    REQUEST_SECONDS_MAX,
    Leadership,
)
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.verbs.api import Api


class World:
    """A cluster and some candidates."""

    def __init__(self) -> None:
        self.clock = LoopClock(wall_at_zero=1.8e9)
        self.cluster = StoreCluster(Api(clock=self.clock))
        self.bus = MemoryBus(self.clock)
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
            bus=self.bus,
            cluster=Mortal(cluster or self.cluster, life, name="cluster"),
        )
        leadership = Leadership(context)
        self.tasks.append(asyncio.create_task(leadership.run()))
        return leadership

    async def delete_lease(self) -> None:
        await self.cluster.delete(LEASES, name="vc-scheduler", namespace="volcano-system")

    async def grow_old(self) -> None:
        """More progress than a cluster tells while it is being born."""
        await self.bus.ensure_topics(ALL)
        told = Message(topic=PROGRESS.name, partition=0, key="pods", value=b"{}")
        await self.bus.publish([told] * (NEW_CLUSTER_ROUNDS_MAX * len(WATCHED) + 1))

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


@pytest.mark.parametrize("after_seconds", [n * RENEW_SECONDS / 8 for n in range(8)])
def test_a_lease_deleted_under_its_holder_is_made_again_by_it(after_seconds: float) -> None:
    """Wherever between two of its renewals: the first candidate that reads finds nothing."""

    async def test(world: World) -> None:
        one = world.candidate("one")
        await world.clock.sleep(RENEW_SECONDS / 2)
        two = world.candidate("two")
        await world.clock.sleep(5 * RENEW_SECONDS + after_seconds)
        await world.delete_lease()
        for _ in range(400):
            await world.clock.sleep(0.05)
            assert one.leading
            assert not two.leading
        lease = await world.cluster.get(LEASES, name="vc-scheduler", namespace="volcano-system")
        assert lease["spec"]["holderIdentity"] == "one"
        assert (one.epoch, lease["spec"]["leaseTransitions"]) == (1, 1)

    run(test)


def test_a_deleted_lease_whose_holder_is_dead_is_created_again_in_a_higher_epoch() -> None:
    async def test(world: World) -> None:
        for name in ("one", "two"):
            world.candidate(name)
            await world.clock.sleep(0.1)
        three = world.candidate("three")
        await world.clock.sleep(5)
        world.tasks[0].cancel()
        await world.clock.sleep(5)
        assert not three.leading, "two leads, in the second epoch"
        world.lives["two"].over.set()
        await world.delete_lease()
        deleted_at = world.clock.monotonic()
        await three.wait_until_leading()
        waited = world.clock.monotonic() - deleted_at
        assert waited >= LEASE_SECONDS + REQUEST_SECONDS_MAX
        assert waited < LEASE_SECONDS + REQUEST_SECONDS_MAX + 2 * RENEW_SECONDS + 0.1
        assert three.epoch == 3
        assert not three.has_no_predecessor

    run(test)


def test_a_lease_that_is_deleted_while_its_holder_cannot_renew_gives_no_second_leader() -> None:
    async def test(world: World) -> None:
        deaf = Deaf(world.cluster)
        one = world.candidate("one", cluster=deaf)
        await world.clock.sleep(0.1)
        two = world.candidate("two")
        await world.clock.sleep(5)
        deaf.deaf = True
        await world.delete_lease()
        while not two.leading:
            await world.clock.sleep(0.05)
            assert not (one.leading and two.leading)
        assert two.epoch == 2
        deaf.deaf = False
        await world.clock.sleep(5)
        assert (one.leading, two.leading) == (False, True)

    run(test)


def test_who_comes_to_an_old_cluster_without_a_lease_waits_for_a_holder_it_never_saw() -> None:
    async def test(world: World) -> None:
        await world.grow_old()
        holder = world.candidate("holder")
        await holder.wait_until_leading()
        await world.delete_lease()
        newcomer = world.candidate("newcomer")
        for _ in range(400):
            await world.clock.sleep(0.05)
            assert holder.leading
            assert not newcomer.leading
        assert not holder.has_no_predecessor

    run(test)


def test_who_cannot_ask_how_old_the_cluster_is_takes_it_for_old() -> None:
    async def test(world: World) -> None:
        world.bus.stop()
        one = world.candidate("one")
        await one.wait_until_leading()
        assert world.clock.monotonic() >= LEASE_SECONDS + REQUEST_SECONDS_MAX
        assert one.epoch == 1
        assert not one.has_no_predecessor

    run(test)


def test_a_lease_that_ran_out_is_regained_in_the_same_epoch_if_it_was_not_taken() -> None:
    async def test(world: World) -> None:
        deaf = Deaf(world.cluster)
        one = world.candidate("one", cluster=deaf)
        await world.clock.sleep(5)
        deaf.deaf = True
        waiting = asyncio.create_task(one.regained(1))
        assert await waiting, "it still holds"
        await world.clock.sleep(10 * LEASE_SECONDS)
        assert not one.leading
        assert not one.passed_on(1), "no other replica has it"
        waiting = asyncio.create_task(one.regained(1))
        await world.clock.sleep(LEASE_SECONDS)
        assert not waiting.done()
        deaf.deaf = False
        await world.clock.sleep(2 * RENEW_SECONDS)
        assert waiting.done()
        assert waiting.result() is True
        assert (one.leading, one.epoch, one.holds(1), one.holds(2)) == (True, 1, True, False)

    run(test)


def test_who_waits_for_a_lease_that_another_took_is_told_so_and_again_after_it_comes_back() -> None:
    async def test(world: World) -> None:
        deaf = Deaf(world.cluster)
        one = world.candidate("one", cluster=deaf)
        await world.clock.sleep(0.1)
        two = world.candidate("two")
        await world.clock.sleep(5)
        deaf.deaf = True
        while one.leading:
            await world.clock.sleep(0.1)
        waiting = asyncio.create_task(one.regained(1))
        await two.wait_until_leading()
        deaf.deaf = False
        await world.clock.sleep(2 * RENEW_SECONDS)
        assert waiting.done()
        assert waiting.result() is False
        world.tasks[1].cancel()
        await one.wait_until_leading()
        assert one.epoch == 3
        assert one.passed_on(1)
        assert not await one.regained(1), "epoch 1 is over, although we lead again"
        assert await one.regained(3)

    run(test)


class Counting:
    """Counts requests, and answers late."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.asked: list[str] = []
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **named: Any) -> Any:
            self.asked.append(name)
            await self._world.clock.sleep(self.seconds)
            return await getattr(self._world.cluster, name)(*args, **named)

        return call


def test_a_renewal_is_one_request_every_two_seconds() -> None:
    async def test(world: World) -> None:
        counting = Counting(world)
        one = world.candidate("one", cluster=counting)
        await one.wait_until_leading()
        counting.asked.clear()
        await world.clock.sleep(30 * RENEW_SECONDS)
        assert counting.asked == ["replace"] * 30

    run(test)


def test_an_api_server_that_answers_just_in_time_costs_no_lease() -> None:
    async def test(world: World) -> None:
        counting = Counting(world)
        one = world.candidate("one", cluster=counting)
        await one.wait_until_leading()
        counting.seconds = REQUEST_SECONDS_MAX * 0.9
        for _ in range(600):
            await world.clock.sleep(0.1)
            assert one.leading

    run(test)
