"""Ages in kubectl's short form: two units for young objects, one for older ones."""

from typing import Final

from vc.model.values.times import parse_time

UNKNOWN_AGE: Final = "<unknown>"
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY

# Upper bound of the age (exclusive) | unit | finer unit shown beside it, 0 for none.
_STEPS: Final = (
    (2 * _MINUTE, 1, 0),
    (10 * _MINUTE, _MINUTE, 1),
    (3 * _HOUR, _MINUTE, 0),
    (8 * _HOUR, _HOUR, _MINUTE),
    (2 * _DAY, _HOUR, 0),
    (8 * _DAY, _DAY, _HOUR),
    (2 * _YEAR, _DAY, 0),
    (8 * _YEAR, _YEAR, _DAY),
)
_NAMES: Final = {1: "s", _MINUTE: "m", _HOUR: "h", _DAY: "d", _YEAR: "y"}
_SKEW_SECONDS_MAX: Final = 2


def human_duration(seconds: float) -> str:
    """`45s`, `3m20s`, `17m`, `2h5m`, `3d4h`, `40d`; a small clock skew counts as now."""
    whole = int(seconds)
    # As kubectl does: a time in the future is shown as invalid, not as an age.
    if whole <= -_SKEW_SECONDS_MAX:
        return "<invalid>"
    whole = max(0, whole)
    for below, unit, finer in _STEPS:
        if whole < below:
            return _in_units(whole, unit, finer)
    return _in_units(whole, _YEAR, 0)


def _in_units(whole: int, unit: int, finer: int) -> str:
    text = f"{whole // unit}{_NAMES[unit]}"
    rest = whole % unit // finer if finer else 0
    return f"{text}{rest}{_NAMES[finer]}" if rest else text


def age(timestamp: str | None, *, now: float) -> str:
    """The age of an API time."""
    try:
        then = parse_time(timestamp)
    except (ValueError, TypeError):
        then = None
    return UNKNOWN_AGE if then is None else human_duration(now - then)
