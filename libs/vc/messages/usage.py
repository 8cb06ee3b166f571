"""Usage rows: the resources that a job held in one hour, for other services.

A row has the unit-seconds of each resource that a job held in an hour of the clock. It is replaced
while its hour runs (same key, newer value) and closed afterwards. Amounts are decimal strings,
because byte-seconds of a large cluster exceed 64 bits. A row with an empty job sums up the small
jobs of its queue and namespace.
"""

from datetime import UTC, datetime
from typing import Final

import msgspec

from vc.messages.codec import CodecError, decode, encode, wire_headers
from vc.messages.partition import partition_of_key
from vc.messages.record import Message, Record
from vc.messages.topics import USAGE_LEDGER
from vc.model.values.bounded import read_integer, shown

HOUR_SECONDS: Final = 3600
HOUR_MAX: Final = 253_402_300_799
"""The last second that Python's calendar can represent."""
UNITS_MAX: Final = 10**40
"""Limit per row: more than the byte-seconds of any cluster in an hour,
and short enough to print.
"""


class UsageKey(msgspec.Struct, frozen=True, order=True):
    """The holder of resources: queue, namespace and job."""

    queue: str
    namespace: str
    job: str


class UsageRow(msgspec.Struct, frozen=True, kw_only=True):
    """The resources that a job held in one hour."""

    queue: str
    namespace: str
    job: str
    hour: int
    """Start of the hour, in seconds since the Unix epoch."""
    held: dict[str, str]
    """Unit-seconds by resource (`vc.model.values.quantity.decimals_of` defines the unit)."""
    closed: bool = False
    """The hour is over and the row will not change again."""


def hour_text(hour: int) -> str:
    """The hour in UTC, as in `2026-11-16T14`."""
    return datetime.fromtimestamp(hour, UTC).strftime("%Y-%m-%dT%H")


def usage_key(key: UsageKey, hour: int) -> str:
    """The key on the topic."""
    return f"{key.queue}/{key.namespace}/{key.job}/{hour_text(hour)}"


def usage_message(row: UsageRow) -> Message:
    """The message on `usage.ledger`."""
    key = usage_key(UsageKey(row.queue, row.namespace, row.job), row.hour)
    return _message(key, encode(row))


def no_usage_message(key: UsageKey, hour: int) -> Message:
    """A tombstone: the row was merged with other small jobs, or has expired."""
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
    """Decodes a row; None for a tombstone."""
    if record.value is None:
        return None
    row = decode(record.value, into=UsageRow, headers=record.headers)
    # Readers format the hour as a date, which would raise outside this range.
    if not 0 <= row.hour <= HOUR_MAX:
        raise CodecError(f"hour {row.hour} is none")
    for resource, units in row.held.items():
        # Readers sum these values; one invalid text would fail the whole sum.
        if read_integer(units, least=-UNITS_MAX, most=UNITS_MAX) is None:
            raise CodecError(f"{shown(resource)} holds {shown(units)}, which is no number")
    return row
