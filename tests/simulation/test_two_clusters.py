"""Two clusters on one bus: the second is refused with a sentence and writes nothing; the first goes on.

The second may take the topics over when somebody says that the first is gone, and it is silent.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.simulation.stack import CORE, Stack, gang_job
from tests.unit.watcher.test_service import read_all
from vc.clock import run_virtual
from vc.messages.facts import Stamp
from vc.messages.incarnations import cluster_of
from vc.messages.progress import Progress, progress_message, progress_of
from vc.messages.topics import ALL, PROGRESS, fact_partitions
from vc.model.api.kinds import NAMESPACES, WATCHED
from vc.runtime.consuming.follower import Follower
from vc.runtime.hosting.context import Service
from vc.watcher.config import TAKE_OVER_FROM, Config

SERVICES = (*CORE, "podgroup-controller", "plugin-svc")
PURE = ("plugin-env",)
"""Answers from the question alone, and may not even ask which cluster it is."""


def uid_of(stack: Stack) -> str:
    found = stack.api.get(stack.api.registry.for_kind(NAMESPACES), name="kube-system")
    return str(found["metadata"]["uid"])


def acting(stack: Stack) -> list[tuple[str, Service]]:
    return [(name, service) for name, service in stack.running.items() if name not in PURE]


async def completes(stack: Stack, name: str) -> None:
    await stack.submit(gang_job(name, replicas=2, run_seconds=2, plugins={"env": [], "svc": []}))
    await stack.until(
        lambda: stack.job(name).status.state.phase == "Completed", seconds=90, what=name
    )


async def written(stack: Stack) -> dict[str, list[int]]:
    return {topic.name: await stack.bus.end_offsets(topic.name) for topic in ALL}


def beside(first: Stack, seed: int, services: tuple[str, ...] = SERVICES) -> Stack:
    """Another cluster whose services use the first one's bus."""
    second = Stack(seed=seed, services=services)
    second.bus = first.bus
    return second


def run(test: Callable[[Stack], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        async with Stack(seed=1, services=SERVICES) as first:
            await completes(first, "before")
            await test(first)
            assert first.problems == []

    run_virtual(main())


def test_the_second_cluster_says_so_and_the_first_goes_on() -> None:
    async def test(first: Stack) -> None:
        async with beside(first, 2) as second:
            for turn in range(3):
                await completes(first, f"job-{turn}")
                await second.clock.sleep(20)
            for name, service in acting(second):
                said = service.unready()
                assert f"the topics belong to cluster {uid_of(first)}" in said, (name, said)
                assert f"this is cluster {uid_of(second)}" in said, name
                assert f"KAFKA_TAKE_OVER_FROM={uid_of(first)}" in said, name
            assert [s.unready() for s in first.running.values()] == [""] * len(SERVICES)
            assert second.problems == []
        await completes(first, "after")

    run(test)


def test_the_second_cluster_writes_nothing_even_when_the_first_is_silent() -> None:
    async def test(first: Stack) -> None:
        for name in SERVICES:
            first.pause(name)
        await first.clock.sleep(30)
        before = await written(first)
        async with beside(first, 2) as second:
            await second.clock.sleep(600)
            assert await written(first) == before
            assert "KAFKA_TAKE_OVER_FROM" in second.running["watcher"].unready()
            assert second.problems == []
        for name in SERVICES:
            first.resume(name)
        await completes(first, "after")

    run(test)


def test_a_cluster_that_is_gone_can_be_succeeded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(first: Stack) -> None:
        for name in SERVICES:
            first.pause(name)
        monkeypatch.setenv(TAKE_OVER_FROM.name, uid_of(first))
        async with beside(first, 2) as second:
            await completes(second, "inherited")
            told = [progress_of(r) for r in await read_all(second, PROGRESS.name) if r.value]
            assert cluster_of(told[-1].stamp.incarnation) == uid_of(second)
            assert second.problems == []
            for name in SERVICES:  # the first one was not gone after all
                first.resume(name)
            await first.clock.sleep(60)
            for name, service in acting(first):
                assert f"belong to cluster {uid_of(second)}" in service.unready(), name
            await completes(second, "undisturbed")

    run(test)


def test_services_that_lived_on_leave_topics_that_were_taken_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Members of a group, above all: they would take the requests of the other cluster."""

    async def test(first: Stack) -> None:
        first.pause("watcher")
        monkeypatch.setenv(TAKE_OVER_FROM.name, uid_of(first))
        async with beside(first, 2) as second:
            await second.clock.sleep(90)
            for name, service in acting(first):
                if name != "watcher":
                    assert f"belong to cluster {uid_of(second)}" in service.unready(), name
            for turn in range(6):
                await completes(second, f"job-{turn}")
            assert second.problems == []

    run(test)


def test_a_cluster_that_still_writes_is_not_succeeded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(first: Stack) -> None:
        monkeypatch.setenv(TAKE_OVER_FROM.name, uid_of(first))
        async with beside(first, 2) as second:
            await second.clock.sleep(60)
            assert "still writes" in second.running["watcher"].unready()
            await completes(first, "after")
            assert second.problems == []

    run(test)


def test_another_name_than_the_owner_s_takes_nothing_over(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(first: Stack) -> None:
        for name in SERVICES:
            first.pause(name)
        await first.clock.sleep(5)
        before = await written(first)
        monkeypatch.setenv(TAKE_OVER_FROM.name, "somebody-else")
        async with beside(first, 2, ("watcher",)) as second:
            await second.clock.sleep(120)
            assert await written(first) == before

    run(test)


def test_topics_of_a_release_that_named_no_cluster_are_adopted() -> None:
    async def main() -> None:
        async with Stack(seed=1, services=()) as stack:
            await stack.bus.ensure_topics(ALL)
            stamp = Stamp(incarnation="00f1a2b3c4d5e6f7", epoch=3)
            old = [
                Progress(
                    kind=kind.short,
                    stamp=stamp,
                    sequence=1,
                    synced=True,
                    resource_version="1",
                    end_offsets=[0] * fact_partitions(kind),
                )
                for kind in WATCHED
            ]
            await stack.bus.publish([progress_message(each) for each in old])
            reader = Follower(stack.context("test"), WATCHED)
            await reader.poll()
            await reader.poll()
            assert reader.view.incarnation == stamp.incarnation, "beside an older watcher"
            following = asyncio.create_task(follow(reader))
            stack.lives["watcher"] = []
            live = asyncio.create_task(stack._live("watcher"))
            await stack.until(lambda: not reader.unready(), seconds=60, what="a ready view")
            assert cluster_of(reader.view.incarnation or "") == uid_of(stack)
            for task in (following, live):
                task.cancel()
            await asyncio.gather(following, live, return_exceptions=True)

    run_virtual(main())


async def follow(reader: Follower) -> None:
    while True:
        await reader.poll()


def test_the_variable_reaches_the_watcher() -> None:
    assert Config.from_env({"KAFKA_TAKE_OVER_FROM": "gone"}).take_over_from == "gone"
