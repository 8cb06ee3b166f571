"""The `Date` header of an API server's answers: its clock, in whole seconds."""

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final, Protocol

DATE_CHARACTERS_MAX: Final = 64
"""An HTTP date has 29."""


class DateListener(Protocol):
    """Who follows the server's clock, such as `vc_clock.ServerClock.observe`."""

    def __call__(self, date: float, *, sent: float, received: float) -> None:
        """The server's clock stood at `date`, to the second, between two monotonic moments of ours."""
        ...


def no_listener(date: float, *, sent: float, received: float) -> None:
    """Nobody wants to know."""
    del date, sent, received


def read_date(headers: Mapping[str, str]) -> float | None:
    """Seconds since the epoch; None when there is no date, or one that cannot be read."""
    text = headers.get("Date", "")
    if not text or len(text) > DATE_CHARACTERS_MAX:
        return None
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, IndexError, TypeError, OverflowError):
        return None
