"""Dead letters: messages that cannot be used, with their origin and the error."""

from typing import Final

import msgspec

from vc.messages.codec import encode, wire_headers
from vc.messages.partition import partition_of_key
from vc.messages.record import Message, Record
from vc.messages.topics import DEAD_LETTERS, MESSAGE_BYTES_MAX

_VALUE_BYTES_MAX: Final = MESSAGE_BYTES_MAX // 2
"""The original value is cut here,
so that the dead letter of a message at the size limit still fits.
"""

_ERROR_CHARACTERS_MAX: Final = 2000


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """The original message and why it could not be used."""

    service: str
    topic: str
    partition: int
    offset: int
    key: str
    error: str
    headers: dict[str, str]
    value: bytes | None
    truncated: bool = False


def dead_letter_message(record: Record, *, service: str, error: str) -> Message:
    """The dead letter for a record that could not be used."""
    value = record.value
    # The bytes are for inspection only; the original stays in its topic.
    truncated = value is not None and len(value) > _VALUE_BYTES_MAX
    message = DeadLetter(
        service=service,
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=record.key,
        # The text may quote foreign input of any length.
        error=error[:_ERROR_CHARACTERS_MAX],
        headers=record.headers,
        value=value[:_VALUE_BYTES_MAX] if value is not None else None,
        truncated=truncated,
    )
    return Message(
        topic=DEAD_LETTERS.name,
        partition=partition_of_key(record.key),
        key=record.key,
        value=encode(message),
        headers=wire_headers(),
    )
