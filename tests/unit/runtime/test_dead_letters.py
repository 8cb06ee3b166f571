"""Dead letters: a record that cannot be decoded is logged, counted and stored."""

import asyncio
import logging

import pytest

from tests.builders.contexts import memory_context
from vc.bus.memory import MemoryBus
from vc.clock import LoopClock, run_virtual
from vc.messages.codec import CodecError, MessageTooLargeError, NewerSchemaError, decode
from vc.messages.dead_letters import DeadLetter
from vc.messages.record import Message, Record, TopicPartition
from vc.messages.topics import ALL, DEAD_LETTERS, plugin_requests
from vc.plugin_env.service import build
from vc.runtime.consuming.dead_letters import send_to_dead_letters
from vc.runtime.hosting.context import Context

RECORD = Record(topic="cluster.pods", partition=3, offset=7, key="ns/p", value=b"\xc1", headers={})


async def context_with_topics(name: str) -> Context:
    clock = LoopClock()
    bus = MemoryBus(clock)
    await bus.ensure_topics(ALL)
    return memory_context(name, clock=clock, bus=bus)


async def dead_letters_on(context: Context) -> list[DeadLetter]:
    starts = await context.bus.start_offsets(DEAD_LETTERS.name)
    logs = {TopicPartition(DEAD_LETTERS.name, p): start for p, start in enumerate(starts)}
    reader = await context.bus.reader(logs)
    records = await reader.poll(max_records=100, wait_seconds=0)
    await reader.close()
    return [decode(r.value or b"", into=DeadLetter, headers=r.headers) for r in records]


def counted(context: Context, topic: str, reason: str) -> float | None:
    labels = {"service": context.name, "topic": topic, "reason": reason}
    return context.metrics.get_sample_value("pyroclast_dead_letters_total", labels)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (CodecError("not a Pod"), "unreadable"),
        (NewerSchemaError("schema version '9'"), "newer-schema"),
        (MessageTooLargeError("9 MB"), "too-large"),
    ],
)
def test_a_dead_letter_is_counted_under_a_code_of_its_reason(
    error: CodecError, reason: str
) -> None:
    async def main() -> None:
        context = await context_with_topics("scheduler")
        await send_to_dead_letters(context, RECORD, error)
        (letter,) = await dead_letters_on(context)
        assert (letter.topic, letter.offset, letter.error) == ("cluster.pods", 7, str(error))
        assert counted(context, "cluster.pods", reason) == 1

    run_virtual(main())


def test_a_dead_letter_that_the_bus_does_not_take_is_counted_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        context = await context_with_topics("scheduler")
        assert isinstance(context.bus, MemoryBus)
        context.bus.stop()
        await send_to_dead_letters(context, RECORD, CodecError("not a Pod"))
        assert counted(context, "cluster.pods", "unreadable") == 1

    with caplog.at_level(logging.ERROR):
        run_virtual(main())
    assert "dead letter not delivered record=cluster.pods[3]@7 'ns/p'" in caplog.messages[-1]


def test_a_question_that_a_plugin_cannot_read_is_counted_and_kept() -> None:
    async def main() -> None:
        context = await context_with_topics("plugin-env")
        service = build(context)
        topic = plugin_requests("env").name
        broken = Message(topic=topic, partition=0, key="ns/j", value=b"\xc1", headers={})
        await context.bus.publish([broken])
        running = asyncio.create_task(service.run())
        await context.clock.sleep(5)
        running.cancel()
        (letter,) = await dead_letters_on(context)
        assert (letter.service, letter.topic, letter.key) == ("plugin-env", topic, "ns/j")
        assert counted(context, topic, "unreadable") == 1

    run_virtual(main())
