"""Wake-ups: whatever waits for a time or for a disruption budget is considered again without other changes."""

import msgspec

from tests.unit.scheduler.shell import NAMESPACE, Shell
from tests.unit.scheduler.test_evictions import BUDGET, end, full_cluster, named, terminating
from tests.unit.scheduling.actions.test_preempt import CLASSES, asking, running
from tests.unit.scheduling.objects import group, nodes, pod, priority_class, queue
from tests.unit.scheduling.world import World
from vc.clock import run_virtual
from vc.cluster import ForbiddenError
from vc.model.api.kinds import BUDGETS, LEASES, PODS
from vc.model.values.times import format_micro_time
from vc.runtime.leading.election import LEASE_SECONDS, REQUEST_SECONDS_MAX
from vc.scheduling.cache.overlays.evictions import (
    EVICTION_COOLDOWN_SECONDS,
    EXEMPT_SECONDS,
    NOMINATION_SECONDS,
)

SOON_SECONDS = 2.0
BOTH = ("young-0", "old-0")


async def budget(shell: Shell, name: str = "keep", **match: str) -> None:
    """None of these pods may be evicted."""
    spec = {"maxUnavailable": 0, "selector": {"matchLabels": match}}
    body = {"metadata": {"name": name}, "spec": spec}
    await shell.create(BUDGETS, body, namespace=NAMESPACE)


async def label(shell: Shell, *names: str, **labels: str) -> None:
    """Budgets count pods that are healthy: they run as well."""
    ready = {"type": "Ready", "status": "True"}
    running = {"status": {"phase": "Running", "conditions": [ready]}}
    for name in names:
        await shell.cluster.patch(
            PODS, running, name=name, namespace=NAMESPACE, subresource="status"
        )
        await shell.cluster.patch(
            PODS, {"metadata": {"labels": labels}}, name=name, namespace=NAMESPACE
        )


def test_a_refused_victim_is_asked_again_when_its_sparing_ends_although_nothing_happens() -> None:
    async def story() -> None:
        async with Shell() as shell:
            await full_cluster(shell)
            for name in BOTH:
                shell.cluster.kept[name] = [BUDGET]
            await shell.gang("urgent", 1, cpu="4", priority="high")
            await shell.until(lambda: shell.cluster.writes["evict"] == 2, "both were asked")
            await shell.until(
                lambda: any(terminating(shell, name) for name in BOTH),
                "one is asked again",
                seconds=EXEMPT_SECONDS + SOON_SECONDS,
            )

    run_virtual(story())


def test_a_deleted_budget_ends_the_sparing_at_once() -> None:
    async def story() -> None:
        async with Shell() as shell:
            await full_cluster(shell)
            await label(shell, *BOTH, app="web")
            await budget(shell, app="web")
            await shell.gang("urgent", 1, cpu="4", priority="high")
            await shell.until(lambda: shell.cluster.writes["evict"] == 2, "both were asked")
            await shell.clock.sleep(5)
            asked = shell.cluster.writes["evict"]
            await shell.cluster.delete(BUDGETS, name="keep", namespace=NAMESPACE)
            await shell.until(
                lambda: any(terminating(shell, name) for name in BOTH), "it leaves", seconds=1
            )
            assert shell.cluster.writes["evict"] == asked + 1

    run_virtual(story())


def test_a_budget_of_other_pods_ends_no_sparing() -> None:
    async def story() -> None:
        async with Shell() as shell:
            await full_cluster(shell)
            await label(shell, *BOTH, app="web")
            await budget(shell, app="web")
            await budget(shell, "other", app="other")
            await shell.gang("urgent", 1, cpu="4", priority="high")
            await shell.until(lambda: shell.cluster.writes["evict"] == 2, "both were asked")
            await shell.clock.sleep(5)
            asked = shell.cluster.writes["evict"]
            await shell.cluster.delete(BUDGETS, name="other", namespace=NAMESPACE)
            await shell.clock.sleep(EXEMPT_SECONDS / 2)
            assert shell.cluster.writes["evict"] == asked

    run_virtual(story())


def test_a_deleted_budget_ends_the_rest_of_a_gang_that_could_not_be_released() -> None:
    async def story() -> None:
        async with Shell() as shell:
            await shell.nodes(1)
            await budget(shell)
            shell.cluster.kept["half-0"] = [BUDGET]
            shell.cluster.refusals["half-1"] = [ForbiddenError("never") for _ in range(9000)]
            await shell.gang("half", 2, cpu="20")
            await shell.until(
                lambda: shell.cluster.writes["evict"] == 1, "an eviction", seconds=100
            )
            await shell.clock.sleep(5)
            assert shell.cluster.writes["evict"] == 1
            await shell.cluster.delete(BUDGETS, name="keep", namespace=NAMESPACE)
            await shell.until(lambda: terminating(shell, "half-0"), "released", seconds=1)

    run_virtual(story())


def test_a_lost_lease_is_no_refused_eviction() -> None:
    """The nomination is under way when another process takes the Lease and goes away again. The job needs
    the places of all victims, so one that counts as refused holds it up."""

    async def story() -> None:
        async with Shell() as shell:
            await full_cluster(shell)
            shell.cluster.patch_seconds["pods"] = LEASE_SECONDS - 2
            await shell.gang("urgent", 2, cpu="4", priority="high")
            await shell.clock.sleep(1)
            lease = {
                "spec": {
                    "holderIdentity": "another-replica",
                    "renewTime": format_micro_time(shell.clock.now()),
                    "leaseTransitions": 7,
                }
            }
            found = [lease_of(raw) for raw in (await shell.cluster.list(LEASES)).items]
            namespace = next(ns for name, ns in found if name == "vc-scheduler")
            await shell.cluster.patch(LEASES, lease, name="vc-scheduler", namespace=namespace)
            await shell.clock.sleep(LEASE_SECONDS - 2)
            shell.cluster.patch_seconds.clear()
            assert shell.cluster.writes["evict"] == 0
            back = LEASE_SECONDS + REQUEST_SECONDS_MAX + SOON_SECONDS
            await shell.until(
                lambda: all(terminating(shell, name) for name in BOTH), "both leave", seconds=back
            )

    run_virtual(story())


def lease_of(raw: bytes) -> tuple[str, str]:
    metadata = msgspec.json.decode(raw)["metadata"]
    return metadata["name"], metadata["namespace"]


def test_what_some_victims_freed_is_not_given_back_to_them() -> None:
    """`urgent` needs both places; one victim leaves and its controller makes it again, one is kept."""

    async def story() -> None:
        async with Shell() as shell:
            await full_cluster(shell)
            shell.cluster.kept["young-0"] = [BUDGET]
            await shell.gang("urgent", 1, cpu="8", priority="high")
            await shell.until(lambda: terminating(shell, "old-0"), "one leaves")
            await end(shell, "old-0")
            await shell.gang("again", 1, cpu="4", priority="low")
            await shell.clock.sleep(EVICTION_COOLDOWN_SECONDS)
            assert shell.bound("again") == 0, "the freed node is reserved"
            await shell.until(
                lambda: terminating(shell, "young-0"),
                "the other",
                seconds=EXEMPT_SECONDS + SOON_SECONDS,
            )
            await end(shell, "young-0")
            await shell.until(lambda: shell.bound("urgent") == 1, "urgent runs", seconds=1)

    run_virtual(story())


def test_where_no_victim_left_the_pod_is_nominated_no_more() -> None:
    async def story() -> None:
        async with Shell() as shell:
            await full_cluster(shell)
            for name in BOTH:
                shell.cluster.kept[name] = [BUDGET] * 99
            await shell.gang("urgent", 1, cpu="4", priority="high")
            await shell.until(lambda: shell.cluster.writes["evict"] == 2, "both were asked")
            await shell.clock.sleep(SOON_SECONDS)
            waiting = named(shell, "urgent-0")
            assert waiting is not None
            assert waiting.status.nominated_node_name == ""

    run_virtual(story())


def partly_evicted() -> World:
    """`p` needs the whole node: `a-1` is gone, `a-0` was refused, and `b` came instead of `a-1`."""
    world = World(queue(), CLASSES, nodes(1, cpu=8), running("a", 2), asking(cpu=8))
    (eviction,) = world.decide().evictions
    world.cache.overlays.evictions.nominate(eviction, now=world.now)
    world.delete_pod("a-1")
    row = world.cache.pods["ns/a-0"]
    world.cache.unevict(row.key, row.uid, now=world.now)
    world.cache.overlays.evictions.victims_not_evicted(
        eviction.group, some_evicted=True, now=world.now
    )
    world.put(pod("a-2", group="a", requests={"cpu": "4"}))
    return world


def test_a_partly_carried_out_eviction_holds_what_was_freed() -> None:
    world = partly_evicted()
    decisions = world.session()
    assert decisions.binds == ()
    assert decisions.wake_at == world.now + EVICTION_COOLDOWN_SECONDS


def test_the_reservation_ends_with_its_time_however_often_victims_are_refused() -> None:
    world = partly_evicted()
    started, at_most = world.now, 100
    for _ in range(at_most):
        decisions = world.decide()
        if decisions.binds:
            break
        for eviction in decisions.evictions:
            world.cache.overlays.evictions.nominate(eviction, now=world.now)
            for victim in eviction.pods:
                key = f"ns/{victim.name}"
                world.cache.evict(key, victim.uid)
                world.cache.unevict(key, victim.uid, now=world.now)
            world.cache.overlays.evictions.evictions_refused(eviction.group, now=world.now)
            world.cache.overlays.evictions.victims_not_evicted(
                eviction.group, some_evicted=False, now=world.now
            )
            decisions = world.decide()
        assert decisions.wake_at is not None
        world.now = decisions.wake_at
    assert [gang.group for gang in world.session().binds] == ["ns/a"]
    assert world.now == started + NOMINATION_SECONDS


def test_a_job_of_higher_priority_takes_over_the_reservation() -> None:
    world = partly_evicted()
    world.put(
        priority_class("top", 1000),
        group("top", minimum=1, priority_class="top"),
        pod("top-0", group="top", requests={"cpu": "4"}),
    )
    assert [gang.group for gang in world.session().binds] == ["ns/top"]


def test_a_pod_that_may_be_evicted_from_now_on_wakes_the_scheduler() -> None:
    no = {"volcano.sh/preemptable": "false"}
    world = World(queue(), CLASSES, nodes(1, cpu=4), running("a", 1, annotations=no), asking())
    assert world.session().evictions == ()
    kept = world.pod("a-0")
    annotations = {
        k: v for k, v in kept.metadata.annotations.items() if k != "volcano.sh/preemptable"
    }
    metadata = msgspec.structs.replace(kept.metadata, annotations=annotations)
    world.put(msgspec.structs.replace(kept, metadata=metadata))
    assert world.matters
    assert len(world.session().evictions) == 1
