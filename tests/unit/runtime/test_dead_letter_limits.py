"""Thousands of broken facts become a few dead letters; the others are counted and logged once."""

import logging

import msgspec
import pytest

from tests.unit.runtime.test_dead_letters import (
    RECORD,
    context_with_topics,
    counted,
    dead_letters_on,
)
from vc.bus.limits import ENVELOPE_BYTES_MAX
from vc.bus.memory import MemoryBus
from vc.clock import run_virtual
from vc.messages.codec import CodecError
from vc.messages.record import Record
from vc.messages.topics import MESSAGE_BYTES_MAX
from vc.runtime.consuming.dead_letters import KEY_CHARACTERS_MAX, send_to_dead_letters
from vc.runtime.consuming.refusals import DEAD_LETTERS_PER_TOPIC_MAX, Refusals

BROKEN = 1000
REBUILDS = 3
ERROR = CodecError("not a Pod")


def record(number: int, *, topic: str = RECORD.topic) -> Record:
    return msgspec.structs.replace(RECORD, offset=number, key=f"ns/p{number}", topic=topic)


def test_broken_facts_of_a_topic_are_a_few_dead_letters_however_often_they_are_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        context = await context_with_topics("scheduler")
        refusals = Refusals(context)
        for _ in range(REBUILDS):
            refusals.forget_facts()
            for number in range(BROKEN):
                await refusals.refuse(record(number), ERROR)
        assert len(await dead_letters_on(context)) == DEAD_LETTERS_PER_TOPIC_MAX
        assert counted(context, RECORD.topic, ERROR.code) == REBUILDS * BROKEN
        await refusals.refuse(record(0, topic="cluster.nodes"), ERROR)
        assert len(await dead_letters_on(context)) == DEAD_LETTERS_PER_TOPIC_MAX + 1
        assert refusals.why() == "", "nobody could do better without them"

    with caplog.at_level(logging.ERROR):
        run_virtual(main())
    assert sum("are only counted" in said for said in caplog.messages) == 1
    assert len(caplog.messages) == DEAD_LETTERS_PER_TOPIC_MAX + 2


def test_broken_facts_hold_a_view_up_for_a_bounded_time_while_the_bus_is_away() -> None:
    async def main() -> float:
        context = await context_with_topics("scheduler")
        assert isinstance(context.bus, MemoryBus)
        context.bus.stop()
        refusals = Refusals(context)
        for number in range(BROKEN):
            await refusals.refuse(record(number), ERROR)
        return context.clock.monotonic()

    assert run_virtual(main()) <= 10 * (DEAD_LETTERS_PER_TOPIC_MAX + 1)


class Large(msgspec.Struct, frozen=True):
    """A record that does not fit into a letter as it is."""

    id: str
    key: str = "ns/p"
    headers: dict[str, str] = {}


LARGE = [
    Large("its key fills the envelope", key="k" * ENVELOPE_BYTES_MAX),
    Large("its headers fill a message", headers={"h": "x" * MESSAGE_BYTES_MAX}),
    Large("its key fills a message", key="k" * MESSAGE_BYTES_MAX),
]


@pytest.mark.parametrize("case", LARGE, ids=lambda case: case.id)
def test_a_dead_letter_about_any_record_can_be_sent(case: Large) -> None:
    async def main() -> None:
        context = await context_with_topics("scheduler")
        whole = b"\xc1" * MESSAGE_BYTES_MAX
        large = msgspec.structs.replace(RECORD, key=case.key, headers=case.headers, value=whole)
        await send_to_dead_letters(context, large, ERROR)
        (letter,) = await dead_letters_on(context)
        assert (letter.topic, letter.offset, letter.headers) == (large.topic, large.offset, {})
        assert letter.key == case.key[:KEY_CHARACTERS_MAX]

    run_virtual(main())
