"""What a job held in one hour, as others may read it.

A row says how many seconds of each resource a job held in an hour of the clock. It is replaced
while its hour runs (same key, newer value) and closed afterwards. Amounts are decimal texts, because
byte-seconds of a large cluster do not fit 64 bits. A row whose job is empty holds the small jobs of
its queue and namespace together.
"""

from datetime import UTC, datetime
from typing import Final

import msgspec

from vc_messages.codec import CodecError, decode, encode, wire_headers
from vc_messages.partition import partition_of_key
from vc_messages.record import Message, Record
from vc_messages.topics import USAGE_LEDGER
from vc_model.bounded import read_integer, shown

HOUR_SECONDS: Final = 3600
HOUR_MAX: Final = 253_402_300_799
"""The last second that a calendar knows."""
UNITS_MAX: Final = 10**40
"""Of one row: more than the bytes of any cluster for an hour, and still a number that can be printed."""


class UsageKey(msgspec.Struct, frozen=True, order=True):
    """Who held it."""

    queue: str
    namespace: str
    job: str


class UsageRow(msgspec.Struct, frozen=True, kw_only=True):
    """What was held in one hour."""

    queue: str
    namespace: str
    job: str
    hour: int
    """When it began, in seconds since the epoch."""
    held: dict[str, str]
    """Resource to unit-seconds (`vc_model.quantity.decimals_of` gives the unit)."""
    closed: bool = False
    """The hour is over and this will not change again."""


def hour_text(hour: int) -> str:
    """`2026-11-16T14`, in UTC."""
    return datetime.fromtimestamp(hour, UTC).strftime("%Y-%m-%dT%H")


def usage_key(key: UsageKey, hour: int) -> str:
    """The key on the topic."""
    return f"{key.queue}/{key.namespace}/{key.job}/{hour_text(hour)}"


def usage_message(row: UsageRow) -> Message:
    """On `usage.ledger`."""
    key = usage_key(UsageKey(row.queue, row.namespace, row.job), row.hour)
    return _message(key, encode(row))


def no_usage_message(key: UsageKey, hour: int) -> Message:
    """That row is gone: its job was put together with other small ones, or it grew too old."""
    return _message(usage_key(key, hour), None)


def _message(key: str, value: bytes | None) -> Message:
    return Message(
        topic=USAGE_LEDGER.name,
        partition=partition_of_key(key),
        key=key,
        value=value,
        headers=wire_headers(),
    )


def usage_of(record: Record) -> UsageRow | None:
    """Read it back; None for a row that is gone."""
    if record.value is None:
        return None
    row = decode(record.value, into=UsageRow, headers=record.headers)
    if not 0 <= row.hour <= HOUR_MAX:
        raise CodecError(f"hour {row.hour} is none")
    for resource, units in row.held.items():
        if read_integer(units, least=-UNITS_MAX, most=UNITS_MAX) is None:
            raise CodecError(f"{shown(resource)} holds {shown(units)}, which is no number")
    return row
