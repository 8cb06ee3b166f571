"""Putting aside what nobody can read: said, counted, and kept with where it came from."""

from typing import Final

import msgspec

from vc_bus import BusError, OversizeError
from vc_bus.limits import checked_bytes
from vc_messages.codec import CodecError
from vc_messages.dead_letters import dead_letter_message
from vc_messages.record import Message, Record
from vc_runtime.context import Context

KEY_CHARACTERS_MAX: Final = 1000
"""Of a letter about a record that does not fit into one."""


def dead_letter(context: Context, record: Record, error: CodecError) -> Message:
    """The letter about a record nobody can use, to be published; it is said and counted here."""
    context.log.error("dead letter: %s: %s", _place(record), error)
    context.dead_letters.labels(context.name, record.topic, error.code).inc()
    return _fitting(record, service=context.name, error=str(error))


def _fitting(record: Record, *, service: str, error: str) -> Message:
    """The letter; of a record whose key and headers take too much, without its headers.

    A letter that cannot be sent would stop whoever writes it at the record it is about.
    """
    try:
        letter = dead_letter_message(record, service=service, error=error)
        checked_bytes(letter)
    except (CodecError, OversizeError):
        cut = msgspec.structs.replace(record, key=record.key[:KEY_CHARACTERS_MAX], headers={})
        letter = dead_letter_message(cut, service=service, error=error)
    return letter


async def send_to_dead_letters(context: Context, record: Record, error: CodecError) -> None:
    """Put a record nobody can use aside, and go on with the next.

    A bus that is away does not stop the reader either: the record stays where it was read, and the
    log says where that is.
    """
    letter = dead_letter(context, record, error)
    try:
        await context.bus.publish([letter])
    except BusError as away:
        context.log.error("dead letter of %s not delivered: %s", _place(record), away)


def _place(record: Record) -> str:
    return f"{record.topic}[{record.partition}]@{record.offset} {record.key[:KEY_CHARACTERS_MAX]!r}"
