"""A service that follows facts writes no time before the creation of an object it has read."""

from tests.simulation.stack import Stack
from tests.unit.runtime.test_checkpoints import queue
from vc.clock import ServerClock, run_virtual
from vc.messages.view import Change
from vc.model.api.kinds import QUEUES
from vc.model.values.times import format_time
from vc.runtime.consuming.follower import Follower
from vc.runtime.hosting.context import Context


def test_times_are_not_before_the_creation_of_a_followed_object() -> None:
    async def main() -> None:
        async with Stack(services=["watcher"]) as stack:
            context = stack.context("test")
            clock = ServerClock(stack.clock)
            # One answer in the middle of a second: `now` is late by up to a second from here on.
            moment = stack.clock.monotonic()
            clock.observe(float(int(stack.clock.now())), sent=moment - 0.5, received=moment + 0.5)
            follower = Follower(_with(context, clock), [QUEUES])
            while follower.unready():
                await follower.poll()
            for number in range(10):
                await stack.cluster.create(QUEUES, queue(f"q-{number}"))
                changes: list[Change] = []
                while not changes:
                    changes = (await follower.poll()).changes
                created = [c.after.metadata.creation_timestamp for c in changes if c.after]
                assert all(
                    time is not None and time <= format_time(clock.now()) for time in created
                )
                await stack.clock.sleep(0.37)
            await follower.close()

    run_virtual(main())


def _with(context: Context, clock: ServerClock) -> Context:
    return Context(
        name=context.name,
        bus=context.bus,
        cluster=context.cluster,
        snapshot=context.snapshot,
        clock=clock,
        identity=context.identity,
    )
