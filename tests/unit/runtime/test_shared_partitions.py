"""Shared partitions: each key is owned by one member, which has read all of it before it decides."""

import asyncio
from typing import Any

from tests.simulation.stack import Stack
from vc.clock import run_virtual
from vc.model.api.kinds import JOBS, PODGROUPS
from vc.runtime.consuming.follower import Follower

GROUP_COUNT = 40


class Replica:
    """A member that follows pod groups until it is stopped or killed."""

    def __init__(self, stack: Stack, name: str) -> None:
        self._stack = stack
        context = stack.context("test", identity=name)
        self.follower = Follower(context, [PODGROUPS, JOBS], group="test")
        self.decided: set[str] = set()
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            await self.follower.poll()
            if not self.follower.unready():
                self.decided = self.groups()
                await self.follower.commit()

    def groups(self) -> set[str]:
        return {group.metadata.name for group in self.follower.view.objects(PODGROUPS)}

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.follower.close()


async def make_groups(stack: Stack) -> set[str]:
    names = {f"g{n}" for n in range(GROUP_COUNT)}
    for name in sorted(names):
        body: dict[str, Any] = {
            "apiVersion": PODGROUPS.api_version,
            "kind": PODGROUPS.kind,
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"minMember": 1},
        }
        await stack.cluster.create(PODGROUPS, body, namespace="default")
    return names


def test_two_members_share_all_keys_and_one_takes_over_from_the_other() -> None:
    async def main() -> None:
        async with Stack(services=["watcher"]) as stack:
            names = await make_groups(stack)
            one = Replica(stack, "one")
            await stack.until(lambda: one.decided == names, seconds=30, what="one has all")
            two = Replica(stack, "two")
            await stack.until(
                lambda: (
                    one.decided | two.decided == names
                    and not one.decided & two.decided
                    and bool(two.decided)
                ),
                seconds=30,
                what="they share",
            )
            await one.stop()
            await stack.until(lambda: two.decided == names, seconds=60, what="two has all")
            await two.stop()

    run_virtual(main())


def test_a_member_that_dies_without_leaving_is_replaced() -> None:
    async def main() -> None:
        async with Stack(services=["watcher"]) as stack:
            names = await make_groups(stack)
            one, two = Replica(stack, "one"), Replica(stack, "two")
            await stack.until(
                lambda: one.decided | two.decided == names, seconds=30, what="they share"
            )
            one.task.cancel()  # dead: it neither polls nor leaves
            await stack.until(lambda: two.decided == names, seconds=120, what="two has all")
            await two.stop()

    run_virtual(main())


def test_wiped_topics_are_shared_again() -> None:
    async def main() -> None:
        async with Stack(services=["watcher"]) as stack:
            names = await make_groups(stack)
            one = Replica(stack, "one")
            await stack.until(lambda: one.decided == names, seconds=30, what="one has all")
            stack.bus.delete_topics()
            one.decided = set()
            await stack.until(lambda: one.decided == names, seconds=60, what="one has all again")
            await one.stop()

    run_virtual(main())
