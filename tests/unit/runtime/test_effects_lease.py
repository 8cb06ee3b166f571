"""Effects of a leader: sent under the lease of their decision or not at all, and retried until answered."""

import asyncio

import msgspec
import pytest

from tests.unit.runtime.effects_world import World, config_map, run
from vc.cluster import ServerError, TooManyRequestsError, UnavailableError
from vc.messages.effects import BindPod
from vc.model.api.kinds import PODS
from vc.runtime.applying.effects import ATTEMPTS_MAX, CONCURRENCY_MAX, OutcomeStatus


def test_what_was_decided_under_another_lease_epoch_is_dropped() -> None:
    async def test(world: World) -> None:
        for leading in (False, True):
            world.lease.epoch, world.lease.leading = 3, leading
            assert await world.status_of(config_map("a")) is OutcomeStatus.SKIPPED
        assert world.calls == []

    run(test)


def test_a_leader_that_does_not_say_the_epoch_of_its_decision_writes_nothing() -> None:
    async def test(world: World) -> None:
        with pytest.raises(ValueError, match="lease epoch"):
            await world.applier.apply([config_map("a")])
        assert world.calls == []

    run(test)


@pytest.mark.parametrize("epoch", [1, 2])
def test_writes_wait_for_a_lease_that_ran_out_and_are_dropped_only_if_another_had_it(
    epoch: int,
) -> None:
    async def test(world: World) -> None:
        world.lease.leading = False
        applying = asyncio.create_task(world.apply(*(config_map(f"c-{n}") for n in range(100))))
        await world.clock.sleep(60)
        assert not applying.done()
        assert world.calls == []
        world.lease.epoch, world.lease.leading = epoch, True
        wanted = OutcomeStatus.DONE if epoch == 1 else OutcomeStatus.SKIPPED
        assert {outcome.status for outcome in await applying} == {wanted}
        assert len(world.calls) == (100 if epoch == 1 else 0)

    run(test)


def test_a_lease_that_passes_on_while_a_write_stands_in_line_stops_it() -> None:
    async def test(world: World) -> None:
        world.seconds = 1.0
        binds = [config_map(f"c-{n}") for n in range(CONCURRENCY_MAX + 5)]
        applying = asyncio.create_task(world.apply(*binds))
        await world.clock.sleep(0.5)
        world.lease.epoch = 2
        statuses = [outcome.status for outcome in await applying]
        assert statuses.count(OutcomeStatus.SKIPPED) == 5
        assert len(world.calls) == CONCURRENCY_MAX

    run(test)


async def waiting_pod(world: World) -> BindPod:
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    made = await world.store.create(PODS, body, namespace="default")
    return BindPod(namespace="default", name="p", uid=made["metadata"]["uid"], node="n")


@pytest.mark.parametrize(
    "slow", [UnavailableError("no answer within 5 s"), TooManyRequestsError("busy")]
)
def test_a_bind_is_sent_until_a_slow_server_answers(slow: Exception) -> None:
    """Given up, it would be decided again and the gang at last released, because of slowness alone."""

    async def test(world: World) -> None:
        bind = await waiting_pod(world)
        world.failures = [slow] * (10 * ATTEMPTS_MAX)
        assert await world.status_of(bind) is OutcomeStatus.DONE
        world.failures = [ServerError("no")] * 100
        other = msgspec.structs.replace(bind, name="q")
        assert await world.status_of(other) is OutcomeStatus.UNAVAILABLE
        assert len(world.failures) == 100 - ATTEMPTS_MAX, "an answer that says no is no slowness"

    run(test)


def test_a_bind_that_was_done_without_an_answer_is_done() -> None:
    async def test(world: World) -> None:
        bind = await waiting_pod(world)
        await world.store.bind(namespace="default", name=bind.name, uid=bind.uid, node=bind.node)
        assert await world.status_of(bind) is OutcomeStatus.DONE
        elsewhere = msgspec.structs.replace(bind, node="m")
        assert await world.status_of(elsewhere) is OutcomeStatus.STALE

    run(test)
