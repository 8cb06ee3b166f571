"""Dead letters: records that cannot be used are logged, counted, and stored with their origin."""

from typing import Final

import msgspec

from vc.bus import BusError, OversizeError
from vc.bus.limits import checked_bytes
from vc.messages.codec import CodecError
from vc.messages.dead_letters import dead_letter_message
from vc.messages.record import Message, Record
from vc.runtime.hosting.context import Context

KEY_CHARACTERS_MAX: Final = 1000
"""Limit of the key in a dead letter about a record that is too large for one."""


def dead_letter(context: Context, record: Record, error: CodecError) -> Message:
    """Logs and counts an unusable record; returns the dead letter, which the caller publishes."""
    context.log.error("dead letter record=%s error=%s", _place(record), error)
    context.dead_letters.labels(context.name, record.topic, error.code).inc()
    return _fitting(record, service=context.name, error=str(error))


def _fitting(record: Record, *, service: str, error: str) -> Message:
    """The dead letter; if key and headers are too large, without headers and with a shortened key.

    A dead letter that cannot be sent would block its writer at that record.
    """
    try:
        message = dead_letter_message(record, service=service, error=error)
        checked_bytes(message)
    except (CodecError, OversizeError):
        # Topic, partition and offset stay, so the original can still be found.
        cut = msgspec.structs.replace(record, key=record.key[:KEY_CHARACTERS_MAX], headers={})
        message = dead_letter_message(cut, service=service, error=error)
    return message


async def send_to_dead_letters(context: Context, record: Record, error: CodecError) -> None:
    """Send an unusable record to the dead letters, and continue with the next.

    An unreachable bus does not block the reader: the record stays in its topic, and the log names
    its offset.
    """
    message = dead_letter(context, record, error)
    try:
        await context.bus.publish([message])
    except BusError as away:
        context.log.error("dead letter not delivered record=%s error=%s", _place(record), away)


def _place(record: Record) -> str:
    return f"{record.topic}[{record.partition}]@{record.offset} {record.key[:KEY_CHARACTERS_MAX]!r}"
