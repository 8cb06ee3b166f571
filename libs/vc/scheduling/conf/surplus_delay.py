"""The argument `surplusDelay` of the action allocate: how long surplus pods wait."""

from collections.abc import Mapping
from typing import Final

from vc.model.values.times import DurationError, parse_duration

SURPLUS_DELAY: Final = "surplusDelay"
SURPLUS_DELAY_SECONDS: Final = 0.5
SURPLUS_DELAY_SECONDS_MAX: Final = 600.0


def surplus_delay_seconds(arguments: Mapping[str, str]) -> float:
    """The configured delay, or the default. A ValueError names the value and the fix."""
    written = arguments.get(SURPLUS_DELAY)
    if written is None:
        return SURPLUS_DELAY_SECONDS
    try:
        seconds = parse_duration(written)
    except DurationError:
        # Out of range, so that both errors share one message.
        seconds = -1.0
    if not 0.0 <= seconds <= SURPLUS_DELAY_SECONDS_MAX:
        raise ValueError(
            f"{SURPLUS_DELAY} {written!r} is not a duration from 0 to 10m; write one like 500ms, or 0 for none"
        )
    return seconds
