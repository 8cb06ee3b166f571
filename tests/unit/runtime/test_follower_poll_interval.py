"""A follower with a rest time: the first change is read at once, many changes in few polls."""

import asyncio
from itertools import pairwise
from typing import Final

from tests.simulation.stack import Stack
from tests.unit.runtime.test_checkpoints import queue
from vc.clock import run_virtual
from vc.model.api.kinds import QUEUES
from vc.runtime.consuming.follower import Follower

REST_SECONDS: Final = 1.0
CROWD: Final = 20
EVENT_SECONDS: Final = 0.1


def test_news_after_silence_come_at_once_and_a_crowd_in_few_reads() -> None:
    async def main() -> None:
        async with Stack(services=["watcher"]) as stack:
            context = stack.context("test")
            follower = Follower(context, [QUEUES], rest_seconds=REST_SECONDS)
            while follower.unready():
                await follower.poll()
            await stack.clock.sleep(2 * REST_SECONDS)
            began = stack.clock.monotonic()
            reads: list[float] = []

            async def crowd() -> None:
                for number in range(CROWD):
                    await stack.cluster.create(QUEUES, queue(f"q-{number}"))
                    await stack.clock.sleep(EVENT_SECONDS)

            making = asyncio.create_task(crowd())
            seen = 0
            while seen < CROWD:
                changes = (await follower.poll()).changes
                if changes:
                    reads.append(stack.clock.monotonic())
                    seen += len(changes)
            await making
            await follower.close()

            assert reads[0] - began < EVENT_SECONDS
            assert all(later - at >= REST_SECONDS for at, later in pairwise(reads))
            assert len(reads) <= CROWD * EVENT_SECONDS / REST_SECONDS + 2

    run_virtual(main())
