"""What becomes of a request when something fails: it is answered, and none behind it is held up."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec
import pytest

from tests.builders.contexts import memory_context
from tests.unit.job_controller.builders import job
from vc.bus import BusUnavailableError
from vc.bus.limits import ENVELOPE_BYTES_MAX
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock, run_virtual
from vc.jobplugin.answers import Decorated, Found, MakesNothing, ObjectReference
from vc.jobplugin.service import PluginService
from vc.messages.codec import decode
from vc.messages.dead_letters import DeadLetter
from vc.messages.plugins import (
    EnvVar,
    JobDecoration,
    PluginAnnouncement,
    PluginReply,
    PluginRequest,
    TaskDecoration,
    request_message,
)
from vc.messages.record import Message, Record, TopicPartition
from vc.messages.topics import ALL, DEAD_LETTERS, MESSAGE_BYTES_MAX, PLUGIN_REPLIES, plugin_requests
from vc.model.api.job import Job
from vc.runtime.hosting.context import Context

PLUGIN = "env"
SERVED_SECONDS = 60.0
"""Time enough for a plugin to be back from anything."""
BAD, GOOD = "bad", "good"


class LossyBus(MemoryBus):
    """Does not get the next so many publishes to a topic through."""

    def __init__(self, clock: LoopClock) -> None:
        super().__init__(clock)
        self.lost: dict[str, int] = {}

    async def publish(self, messages: Sequence[Message]) -> list[int]:
        for topic in {message.topic for message in messages}:
            if self.lost.get(topic, 0) > 0:
                self.lost[topic] -= 1
                raise BusUnavailableError("no broker")
        return await super().publish(messages)


class Moody(MakesNothing):
    """A core that answers every job but the bad one."""

    def __init__(self, mood: Callable[[], Decorated] | None = None) -> None:
        self.announcement = PluginAnnouncement(plugin=PLUGIN, version="1")
        self._mood = mood
        self.blind = False

    def looks_at(self, request: PluginRequest) -> list[ObjectReference]:
        if self.blind and request.job.metadata.name == BAD:
            raise KeyError("a job without what I look for")
        return []

    def decorate(self, request: PluginRequest, found: Found) -> Decorated:
        if self._mood is not None and request.job.metadata.name == BAD:
            return self._mood()
        return Decorated(decoration=JobDecoration())


def named(name: str) -> Job:
    made = job("Pending")
    return msgspec.structs.replace(
        made, metadata=msgspec.structs.replace(made.metadata, name=name, uid=f"uid-{name[:9]}")
    )


def asked(name: str) -> Message:
    """A request; all of them on one partition, so that one may hold up another."""
    request = PluginRequest(
        verb="apply", plugin=PLUGIN, arguments=[], job=named(name), spec_hash="h"
    )
    return msgspec.structs.replace(request_message(request), partition=0, key=name[:9])


async def read_all(context: Context, topic: str) -> list[Record]:
    starts = await context.bus.start_offsets(topic)
    reader = await context.bus.reader({TopicPartition(topic, p): s for p, s in enumerate(starts)})
    records = await reader.poll(max_records=1000, wait_seconds=0)
    await reader.close()
    return records


async def served(core: Moody, messages: Sequence[Message], *, lost: int = 0) -> Context:
    """The world after a plugin was asked."""
    clock = LoopClock()
    bus = LossyBus(clock)
    await bus.ensure_topics(ALL)
    context = memory_context(f"plugin-{PLUGIN}", clock=clock, bus=bus)
    await bus.publish(messages)
    bus.lost = {PLUGIN_REPLIES.name: lost, DEAD_LETTERS.name: lost}
    running = asyncio.create_task(PluginService(context, core).run())
    await clock.sleep(SERVED_SECONDS)
    assert not running.done(), "no request ends a plugin"
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return context


async def replies_on(context: Context) -> dict[str, PluginReply]:
    records = await read_all(context, PLUGIN_REPLIES.name)
    decoded = [decode(r.value or b"", into=PluginReply, headers=r.headers) for r in records]
    return {reply.job_key.rpartition("/")[2]: reply for reply in decoded}


async def behind(context: Context) -> int:
    """Requests that have not had their effect."""
    lag = await context.bus.lag(f"vc-plugin-{PLUGIN}", [plugin_requests(PLUGIN).name])
    return sum(lag.values())


@pytest.mark.parametrize("lost", [1, 3])
def test_an_answer_that_did_not_get_through_is_given_again(lost: int) -> None:
    async def main() -> None:
        context = await served(Moody(), [asked(GOOD)], lost=lost)
        assert set(await replies_on(context)) == {GOOD}
        assert await behind(context) == 0

    run_virtual(main())


def test_a_dead_letter_that_did_not_get_through_is_written_again() -> None:
    async def main() -> None:
        broken = msgspec.structs.replace(asked(GOOD), value=b"\xc1")
        context = await served(Moody(), [broken], lost=2)
        assert len(await read_all(context, DEAD_LETTERS.name)) == 1
        assert await behind(context) == 0

    run_virtual(main())


def too_much() -> Decorated:
    env = [EnvVar(name="A", value="x" * MESSAGE_BYTES_MAX)]
    return Decorated(decoration=JobDecoration(tasks={"t": TaskDecoration(env=env)}))


def unspeakable() -> Decorated:
    volumes = [{"name": object()}]
    return Decorated(decoration=JobDecoration(tasks={"t": TaskDecoration(volumes=volumes)}))


def nothing() -> Decorated:
    return None  # type: ignore[return-value] # what a guest may do


class Failure(msgspec.Struct, frozen=True):
    """A core that fails on one job, and the problem that the job gets."""

    id: str
    mood: Callable[[], Decorated] | None
    problem: str
    blind: bool = False


FAILURES = [
    Failure("it cannot say what it looks at", None, "the plugin failed on this job", blind=True),
    Failure(
        "its answer is larger than a message",
        too_much,
        "cannot be sent: PluginReply takes more than",
    ),
    Failure("its answer cannot be written", unspeakable, "cannot be sent"),
    Failure("it answers nothing", nothing, "the plugin failed on this job"),
]


@pytest.mark.parametrize("case", FAILURES, ids=lambda case: case.id)
def test_a_job_on_which_the_plugin_fails_gets_the_error_and_blocks_no_other(case: Failure) -> None:
    async def main() -> None:
        core = Moody(case.mood)
        core.blind = case.blind
        context = await served(core, [asked(BAD), asked(GOOD)])
        replies = await replies_on(context)
        assert case.problem in replies[BAD].problem
        assert replies[BAD].decoration is None
        assert replies[GOOD].problem == ""
        assert await behind(context) == 0

    run_virtual(main())


def test_a_request_whose_answer_no_message_carries_is_a_dead_letter() -> None:
    async def main() -> None:
        context = await served(Moody(), [asked("n" * (ENVELOPE_BYTES_MAX + 1)), asked(GOOD)])
        (record,) = await read_all(context, DEAD_LETTERS.name)
        letter = decode(record.value or b"", into=DeadLetter, headers=record.headers)
        assert "key and headers take" in letter.error
        assert set(await replies_on(context)) == {GOOD}
        assert await behind(context) == 0

    run_virtual(main())
