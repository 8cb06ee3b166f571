"""The `Date` header of API server responses: the server's clock in whole seconds."""

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final, Protocol

DATE_CHARACTERS_MAX: Final = 64
"""Limit of the header's length; an HTTP date has 29 characters."""


class DateListener(Protocol):
    """Receives the server's time, such as `vc.clock.ServerClock.observe`."""

    def __call__(self, date: float, *, sent: float, received: float) -> None:
        """The server's clock read `date`, in whole seconds,
        between two moments of our monotonic clock.
        """
        ...


def no_listener(date: float, *, sent: float, received: float) -> None:
    """The default listener; it ignores the date."""
    del date, sent, received


def read_date(headers: Mapping[str, str]) -> float | None:
    """Seconds since the Unix epoch; None if the date is missing or invalid."""
    text = headers.get("Date", "")
    # The parser's running time must not depend on what a proxy sends.
    if not text or len(text) > DATE_CHARACTERS_MAX:
        return None
    try:
        date = parsedate_to_datetime(text)
        # The parser gives no zone for `-0000`; the machine's zone must not be used then.
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, IndexError, TypeError, OverflowError):
        return None
