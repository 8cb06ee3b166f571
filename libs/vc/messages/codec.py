"""Encodes and decodes structs: MessagePack, with a schema version and a size limit.

The version is in a header, so a reader can reject a message before decoding it. A newer schema is
rejected and never guessed: an older reader sends the message to `dead-letters` and continues.
Within a version fields may be added with defaults. Any other change is a new version, which one
release reads before the next one writes it (docs/adr/0014).
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, TypeVar

import msgspec

from vc.messages.topics import MESSAGE_BYTES_MAX
from vc.model.faults import describe

SCHEMA_VERSION: Final = 1
"""The schema version that this release writes."""
SCHEMA_VERSION_READ_MAX: Final = 1
"""The highest version that this release reads; raised one release before `SCHEMA_VERSION`."""
CONTENT_TYPE: Final = "application/msgpack"

_READABLE_SCHEMAS: Final = frozenset(str(n) for n in range(1, SCHEMA_VERSION_READ_MAX + 1))
_SHOWN_CHARACTERS_MAX: Final = 40
_VERSION_DIGITS_MAX: Final = 6
_DEPTH_MAX: Final = 100
"""Depth limit for measuring a value before it is encoded; our messages are far less deep."""

HEADER_SCHEMA: Final = "schema"
HEADER_CONTENT_TYPE: Final = "content-type"
HEADER_TRACEPARENT: Final = "traceparent"

T = TypeVar("T")

_encoder: Final = msgspec.msgpack.Encoder(order="deterministic")
_decoders: Final[dict[type, msgspec.msgpack.Decoder[Any]]] = {}


class CodecError(ValueError):
    """A message that cannot be used; the text has the reason in one line."""

    code: ClassVar[str] = "unreadable"
    """Machine-readable error code; each subclass has its own."""


class NewerSchemaError(CodecError):
    """Written by a newer release: the message is valid, but this release cannot read it."""

    code = "newer-schema"


class MessageTooLargeError(CodecError):
    """Larger than the size limit of a message."""

    code = "too-large"


def encode(value: msgspec.Struct) -> bytes:
    """Encode a struct; equal structs have equal bytes under any hash seed."""
    try:
        data = _encoder.encode(value)
    except Exception as error:  # noqa: BLE001 - of numbers, nesting, texts with lone surrogates …
        raise CodecError(f"{type(value).__name__} cannot be written: {describe(error)}") from None
    if len(data) > MESSAGE_BYTES_MAX:
        raise MessageTooLargeError(
            f"{type(value).__name__} takes {len(data)} bytes; "
            f"a message takes {MESSAGE_BYTES_MAX} at the most"
        )
    return data


def check_size(value: msgspec.Struct) -> None:
    """Raises MessageTooLargeError if the texts in a value alone exceed the size limit.

    Encoding foreign input may take gigabytes before its size is known; this check stops at the
    first byte beyond the limit. Deeper nesting than `_DEPTH_MAX` is left to the encoder, which
    rejects it.
    """
    size = 0
    # An explicit stack: recursion on foreign input could exhaust Python's.
    left: list[tuple[Any, int]] = [(value, 0)]
    while left:
        part, depth = left.pop()
        # No value takes less than a byte, so a million tiny values count too, not only long texts.
        size += 1
        if isinstance(part, str | bytes):
            size += len(part)
        elif depth < _DEPTH_MAX:
            left.extend((each, depth + 1) for each in _parts(part))
        if size > MESSAGE_BYTES_MAX:
            raise MessageTooLargeError(
                f"{type(value).__name__} takes more than {MESSAGE_BYTES_MAX} bytes; "
                f"a message takes {MESSAGE_BYTES_MAX} at the most"
            )


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, msgspec.Struct):
        return (getattr(value, name) for name in value.__struct_fields__)
    if isinstance(value, dict):
        return itertools.chain(value.keys(), value.values())
    return value if isinstance(value, list | tuple | set | frozenset) else ()


def wire_headers(traceparent: str = "") -> dict[str, str]:
    """The headers of every message."""
    headers = {HEADER_SCHEMA: str(SCHEMA_VERSION), HEADER_CONTENT_TYPE: CONTENT_TYPE}
    if traceparent:
        headers[HEADER_TRACEPARENT] = traceparent
    return headers


def decode(data: bytes, *, into: type[T], headers: Mapping[str, str]) -> T:
    """Decode a struct of the given type; raises CodecError with the reason."""
    check_schema(headers)
    # Another producer may have other limits, and decoded values take a multiple of the bytes.
    if len(data) > MESSAGE_BYTES_MAX:
        raise MessageTooLargeError(f"{len(data)} bytes; {MESSAGE_BYTES_MAX} are read at the most")
    # Creating a decoder is expensive, and the number of types is fixed.
    decoder = _decoders.get(into)
    if decoder is None:
        decoder = _decoders[into] = msgspec.msgpack.Decoder(into)
    try:
        decoded: T = decoder.decode(data)
    except Exception as error:  # noqa: BLE001 - DecodeError, but of texts that are no UTF-8 others too
        raise CodecError(f"not a {into.__name__}: {describe(error)}") from None
    return decoded


def unreadable(error: Exception) -> CodecError:
    """Any exception that a record causes, as a CodecError for its dead letter."""
    if isinstance(error, CodecError):
        return error
    return CodecError(f"{type(error).__name__}: {describe(error)}")


def check_schema(headers: Mapping[str, str]) -> None:
    """Reject a message without a schema version, or with one that this release cannot read."""
    written = headers.get(HEADER_SCHEMA, "")
    if written not in _READABLE_SCHEMAS:
        # The difference matters: a newer record makes the service unready, a damaged one does not.
        refused = NewerSchemaError if _is_newer(written) else CodecError
        raise refused(
            f"schema version {written[:_SHOWN_CHARACTERS_MAX]!r}: this release reads 1 to {SCHEMA_VERSION_READ_MAX}; upgrade it first"
        )


def _is_newer(written: str) -> bool:
    """Whether the version is one that a later release could have written."""
    # Only a plausible version counts as newer; anything else is a damaged header.
    if not written.isascii() or not written.isdecimal() or len(written) > _VERSION_DIGITS_MAX:
        return False
    return int(written) > SCHEMA_VERSION_READ_MAX
