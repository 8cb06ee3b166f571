"""RFC 3339 times as the API writes them, and the durations of manifests."""

import re
from datetime import UTC, datetime
from typing import Final

_DURATION_UNIT_SECONDS: Final = {
    "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9,
}  # fmt: skip
_DURATION_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns)", re.ASCII)
_DURATION_LENGTH_MAX: Final = 64
_TIME_LENGTH_MAX: Final = 64


class DurationError(ValueError):
    """An invalid duration; the message has the text and an example."""


def parse_time(text: str | None) -> float | None:
    """Seconds since the Unix epoch; None for a missing or invalid time, because tenants may write
    any text. A time without an offset is taken as UTC.
    """
    # The limit bounds the parser's work on text that tenants write.
    if not isinstance(text, str) or not text or len(text) > _TIME_LENGTH_MAX:
        return None
    try:
        moment = datetime.fromisoformat(text)
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return aware.timestamp()
    except (ValueError, OverflowError):
        return None


def format_time(seconds: float) -> str:
    """The time in UTC with whole seconds, as metav1.Time."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_micro_time(seconds: float) -> str:
    """The time in UTC with microseconds, as metav1.MicroTime."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_duration(text: str) -> float:
    """Seconds of a duration in Go's syntax (`1h30m`, `300s`, `1.5s`)."""
    sign, rest = (-1.0, text[1:]) if text.startswith("-") else (1.0, text.removeprefix("+"))
    # Go accepts zero without a unit, and no other number.
    if rest == "0":
        return 0.0
    total, end = 0.0, 0
    for part in _DURATION_PART.finditer(rest[:_DURATION_LENGTH_MAX]):
        # A gap between two parts means that the text contains something else.
        if part.start() != end:
            break
        total += float(part[1]) * _DURATION_UNIT_SECONDS[part[2]]
        end = part.end()
    # Trailing characters, or a text beyond the limit, make it invalid.
    if not rest or end != len(rest):
        raise DurationError(
            f"{text[:_DURATION_LENGTH_MAX]!r} is not a duration; write one like 300s, 10m or 1h30m"
        )
    return sign * total


def format_duration(seconds: float) -> str:
    """The duration in Go's syntax, in whole seconds: `1h2m3s`."""
    whole = max(0, int(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
