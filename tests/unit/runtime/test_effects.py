"""Effects that are applied late, twice, or after another writer (docs/protocol.md 12)."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.unit.runtime.effects_world import OLDER, OWNER, World, config_map, run
from vc.bus.limits import TOPIC_MESSAGE_BYTES_MAX
from vc.cluster import ForbiddenError, ServerError, TooManyRequestsError
from vc.messages.effects import (
    BindPod,
    DeleteObject,
    EvictPod,
    PatchObject,
    PublishMessage,
    RecordEvent,
)
from vc.messages.record import Message
from vc.model.api.keys import QUEUE_ALLOCATION_GATE
from vc.model.api.kinds import CONFIGMAPS, EVENTS, NAMESPACES, PODS
from vc.runtime.applying.effects import ATTEMPTS_MAX, CONCURRENCY_MAX, OutcomeStatus
from vc.runtime.applying.terminating import TERMINATING_SECONDS


def test_creating_what_is_there_and_ours_is_success() -> None:
    async def test(world: World) -> None:
        assert await world.status_of(config_map("a")) is OutcomeStatus.DONE
        assert await world.status_of(config_map("a")) is OutcomeStatus.DONE
        page = await world.store.list(CONFIGMAPS, namespace="default")
        assert len(page.items) == 1

    run(test)


@pytest.mark.parametrize("owner_name", ["", "another-job"])
def test_what_is_foreign_is_never_touched(owner_name: str) -> None:
    async def test(world: World) -> None:
        owner = OLDER if owner_name else ""
        foreign = config_map("a", owner=owner, owner_name=owner_name)
        made = await world.store.create(CONFIGMAPS, foreign.body, namespace="default")
        (outcome,) = await world.apply(config_map("a"))
        assert outcome.status is OutcomeStatus.FOREIGN
        assert "'a'" in outcome.error
        kept = await world.store.get(CONFIGMAPS, name="a", namespace="default")
        assert kept == made

    run(test)


def test_a_namespace_that_is_being_deleted_is_asked_one_round_and_no_more() -> None:
    async def test(world: World) -> None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ending"}}
        body["metadata"]["finalizers"] = ["example.com/hold"]  # type: ignore[index]  # a manifest
        await world.store.create(NAMESPACES, body)
        await world.store.delete(NAMESPACES, name="ending")
        made = [
            msgspec.structs.replace(config_map(f"c-{n}"), namespace="ending") for n in range(100)
        ]
        for _ in range(9):  # as a controller does that tries again for 8 seconds
            outcomes = await world.apply(*made)
            assert {o.status for o in outcomes} == {OutcomeStatus.REFUSED}
            assert all(o.namespace_terminating for o in outcomes)
            assert "is being terminated" in outcomes[-1].error
            await world.clock.sleep(1.0)
        assert 1 <= world.calls.count("create") <= CONCURRENCY_MAX
        await world.clock.sleep(TERMINATING_SECONDS)
        await world.store.patch(NAMESPACES, {"metadata": {"finalizers": None}}, name="ending")
        await world.clock.sleep(1.0)
        await world.store.create(NAMESPACES, {"metadata": {"name": "ending"}, **_NAMESPACE})
        assert await world.status_of(made[0]) is OutcomeStatus.DONE, "another of the same name"

    run(test)


_NAMESPACE = {"apiVersion": "v1", "kind": "Namespace"}


def test_deleting_what_is_gone_or_another_is_success_and_touches_nothing() -> None:
    async def test(world: World) -> None:
        await world.apply(config_map("a"))
        for uid in ("gone-long-ago", OLDER):
            effect = DeleteObject(kind=CONFIGMAPS, namespace="default", name="a", uid=uid)
            assert await world.status_of(effect) is OutcomeStatus.DONE
        missing = DeleteObject(kind=CONFIGMAPS, namespace="default", name="b", uid=OLDER)
        assert await world.status_of(missing) is OutcomeStatus.DONE
        assert await world.store.get(CONFIGMAPS, name="a", namespace="default")

    run(test)


def test_a_patch_of_another_version_or_uid_is_stale() -> None:
    async def test(world: World) -> None:
        await world.apply(config_map("a"))
        for preconditions in ({"uid": OLDER}, {"resource_version": "1"}):
            effect = PatchObject(
                kind=CONFIGMAPS,
                namespace="default",
                name="a",
                patch={"data": {"x": "y"}},
                **preconditions,
            )
            assert await world.status_of(effect) is OutcomeStatus.STALE

    run(test)


def test_temporary_failures_are_tried_again_within_a_bound() -> None:
    async def test(world: World) -> None:
        world.failures = [ServerError("busy")] * (ATTEMPTS_MAX - 1)
        assert await world.status_of(config_map("a")) is OutcomeStatus.DONE
        world.failures = [ServerError("busy")] * 100
        assert await world.status_of(config_map("b")) is OutcomeStatus.UNAVAILABLE
        assert len(world.failures) == 100 - ATTEMPTS_MAX

    run(test)


RETRY_AFTER_SECONDS = 10.0


def busy() -> TooManyRequestsError:
    return TooManyRequestsError("too many requests", retry_after_seconds=RETRY_AFTER_SECONDS)


def test_a_write_that_waits_for_a_busy_server_does_not_delay_others() -> None:
    async def test(world: World) -> None:
        world.failures = [busy() for _ in range(CONCURRENCY_MAX)]
        told_off = [config_map(f"early-{n}") for n in range(CONCURRENCY_MAX)]
        waiting = asyncio.create_task(world.apply(*told_off))
        await world.clock.sleep(0.01)
        assert len(world.calls) == CONCURRENCY_MAX, "every slot was taken, and its write refused"
        began = world.clock.monotonic()
        assert await world.status_of(config_map("late")) is OutcomeStatus.DONE
        assert world.clock.monotonic() - began < RETRY_AFTER_SECONDS / 2
        assert {outcome.status for outcome in await waiting} == {OutcomeStatus.DONE}

    run(test)


def test_those_told_to_come_back_later_come_back_no_sooner_and_not_together() -> None:
    async def test(world: World) -> None:
        count = 20
        world.failures = [busy() for _ in range(count)]
        came_back: list[float] = []
        create = world.store.create

        async def noted(*args: Any, **kwargs: Any) -> Any:
            came_back.append(world.clock.monotonic())
            return await create(*args, **kwargs)

        world.store.create = noted  # type: ignore[method-assign]
        await world.apply(*(config_map(f"c{n}") for n in range(count)))
        assert len(came_back) == count
        assert min(came_back) >= RETRY_AFTER_SECONDS
        assert max(came_back) < 2 * RETRY_AFTER_SECONDS
        assert len({round(at, 1) for at in came_back}) > count / 2

    run(test)


def test_an_eviction_that_a_budget_refuses_is_an_outcome_at_once() -> None:
    async def test(world: World) -> None:
        world.failures = [
            TooManyRequestsError(
                "Cannot evict pod as it would violate the pod's disruption budget.",
                retry_after_seconds=RETRY_AFTER_SECONDS,
                details={"causes": [{"reason": "DisruptionBudget", "message": "needs 1"}]},
            )
        ]
        (outcome,) = await world.apply(
            EvictPod(namespace="default", name="p", uid=OLDER, reason="room")
        )
        assert outcome.status is OutcomeStatus.REFUSED
        assert "disruption budget" in outcome.error
        assert world.calls == ["evict"]
        assert world.clock.monotonic() < 1

    run(test)


def test_a_refusal_is_told_and_not_tried_again() -> None:
    async def test(world: World) -> None:
        world.failures = [ForbiddenError("exceeded quota: pods")]
        (outcome,) = await world.apply(config_map("a"))
        assert outcome.status is OutcomeStatus.REFUSED
        assert "quota" in outcome.error
        assert world.calls == ["create"]

    run(test)


def test_a_message_to_a_wiped_topic_is_told_and_raises_nothing() -> None:
    async def test(world: World) -> None:
        message = Message(topic="plugin.env.requests", partition=0, key="ns/job", value=b"ask")
        (outcome,) = await world.apply(PublishMessage(message=message))
        assert outcome.status is OutcomeStatus.UNAVAILABLE
        assert "plugin.env.requests" in outcome.error

    run(test)


def test_a_message_that_no_topic_takes_is_refused() -> None:
    async def test(world: World) -> None:
        value = bytes(TOPIC_MESSAGE_BYTES_MAX + 1)
        message = Message(topic="plugin.env.requests", partition=0, key="ns/job", value=value)
        (outcome,) = await world.apply(PublishMessage(message=message))
        assert outcome.status is OutcomeStatus.REFUSED

    run(test)


def test_after_a_failed_run_the_rest_is_skipped() -> None:
    async def test(world: World) -> None:
        world.failures = [ForbiddenError("no")]
        patch = PatchObject(kind=CONFIGMAPS, namespace="default", name="a", patch={})
        statuses = [o.status for o in await world.apply(config_map("a"), config_map("b"), patch)]
        assert statuses == [OutcomeStatus.REFUSED, OutcomeStatus.DONE, OutcomeStatus.SKIPPED]

    run(test)


def test_binding_the_pod_of_another_uid_is_stale_and_evicting_it_is_done() -> None:
    async def test(world: World) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        await world.store.create(PODS, body, namespace="default")
        bind = BindPod(namespace="default", name="p", uid=OLDER, node="n")
        assert await world.status_of(bind) is OutcomeStatus.STALE
        evict = EvictPod(namespace="default", name="p", uid=OLDER, reason="test")
        assert await world.status_of(evict) is OutcomeStatus.DONE
        assert await world.store.get(PODS, name="p", namespace="default")

    run(test)


def test_a_bind_lifts_volcanos_gate_first_and_only_when_told_so() -> None:
    async def test(world: World) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {
                "containers": [{"name": "c", "image": "i"}],
                "schedulingGates": [{"name": QUEUE_ALLOCATION_GATE}],
            },
        }
        created = await world.store.create(PODS, body, namespace="default")
        uid = created["metadata"]["uid"]
        plain = BindPod(namespace="default", name="p", uid=uid, node="n")
        assert await world.status_of(plain) is OutcomeStatus.STALE
        other = msgspec.structs.replace(plain, uid=OLDER, lifts_gate=True)
        assert await world.status_of(other) is OutcomeStatus.STALE
        kept = await world.store.get(PODS, name="p", namespace="default")
        assert kept["spec"]["schedulingGates"], "of the pod of another uid nothing is lifted"
        lifting = msgspec.structs.replace(plain, lifts_gate=True)
        assert await world.status_of(lifting) is OutcomeStatus.DONE
        bound = await world.store.get(PODS, name="p", namespace="default")
        assert (bound["spec"]["nodeName"], bound["spec"].get("schedulingGates")) == ("n", None)

    run(test)


def test_the_same_event_is_one_object_and_one_write_a_window() -> None:
    async def test(world: World) -> None:
        event = RecordEvent(
            kind=CONFIGMAPS,
            namespace="default",
            name="a",
            uid=OWNER,
            type="Warning",
            reason="Pending",
            message="waits",
        )
        for _ in range(100):
            await world.apply(event)
            await world.clock.sleep(1)
        page = await world.store.list(EVENTS, namespace="default")
        assert len(page.items) == 1
        assert len(world.calls) <= 3

    run(test)
