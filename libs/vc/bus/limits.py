"""Size limits of messages, checked by every bus before sending.

The codec limits the value; key and headers are added to it. The broker is configured with the sum,
and a larger message is rejected here with a clear error.
"""

from typing import Final

from vc.bus.errors import OversizeError
from vc.messages.record import Message
from vc.messages.topics import MESSAGE_BYTES_MAX

ENVELOPE_BYTES_MAX: Final = 64 * 1024
"""Limit of key and headers of a message."""

TOPIC_MESSAGE_BYTES_MAX: Final = MESSAGE_BYTES_MAX + ENVELOPE_BYTES_MAX
"""The message size that brokers are configured to accept."""

POLL_BYTES_MAX: Final = 32 * 1024 * 1024
"""A poll returns no more bytes than about this, however many records were requested."""


def checked_bytes(message: Message) -> int:
    """The size of a message; raises OversizeError if it exceeds the limits."""
    value_bytes = len(message.value) if message.value is not None else 0
    envelope_bytes = len(message.key) + sum(
        len(name) + len(text) for name, text in message.headers.items()
    )
    if value_bytes > MESSAGE_BYTES_MAX:
        raise OversizeError(
            f"{message.topic} {message.key[:200]!r}: the value takes {value_bytes} bytes, "
            f"a message takes {MESSAGE_BYTES_MAX} at the most"
        )
    # Keys contain names that tenants choose, so they have a bound of their own: without it, a value
    # just within its limit would exceed the broker's.
    if envelope_bytes > ENVELOPE_BYTES_MAX:
        raise OversizeError(
            f"{message.topic} {message.key[:200]!r}: key and headers take {envelope_bytes} bytes, "
            f"a message takes {ENVELOPE_BYTES_MAX} at the most"
        )
    return value_bytes + envelope_bytes
