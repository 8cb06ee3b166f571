"""How large a message may be, checked by every bus before anything is sent.

The codec bounds a value; key and headers come on top. A broker must be told the sum, and a message
beyond it is refused here with a sentence instead of there with a number.
"""

from typing import Final

from vc_bus.errors import OversizeError
from vc_messages.record import Message
from vc_messages.topics import MESSAGE_BYTES_MAX

ENVELOPE_BYTES_MAX: Final = 64 * 1024
"""Key and headers of a message."""

TOPIC_MESSAGE_BYTES_MAX: Final = MESSAGE_BYTES_MAX + ENVELOPE_BYTES_MAX
"""What a broker is told to accept."""

POLL_BYTES_MAX: Final = 32 * 1024 * 1024
"""A poll stops growing here, however many records were asked for."""


def checked_bytes(message: Message) -> int:
    """The size of a message; OversizeError when no topic takes it."""
    value_bytes = len(message.value) if message.value is not None else 0
    envelope_bytes = len(message.key) + sum(
        len(name) + len(text) for name, text in message.headers.items()
    )
    if value_bytes > MESSAGE_BYTES_MAX:
        raise OversizeError(
            f"{message.topic} {message.key[:200]!r}: the value takes {value_bytes} bytes, "
            f"a message takes {MESSAGE_BYTES_MAX} at the most"
        )
    if envelope_bytes > ENVELOPE_BYTES_MAX:
        raise OversizeError(
            f"{message.topic} {message.key[:200]!r}: key and headers take {envelope_bytes} bytes, "
            f"a message takes {ENVELOPE_BYTES_MAX} at the most"
        )
    return value_bytes + envelope_bytes
