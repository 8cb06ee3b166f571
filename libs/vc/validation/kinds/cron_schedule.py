"""Validation of cron schedules: five fields or a descriptor."""

import re
from typing import Final

from vc.model.values.times import DurationError, parse_duration

SCHEDULE_LENGTH_MAX: Final = 256

_DESCRIPTORS: Final = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_EVERY: Final = "@every "
_EVERY_SECONDS_MIN: Final = 1.0
_MONTHS: Final = [
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
]
_DAYS: Final = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_FIELDS: Final[tuple[tuple[str, int, int, dict[str, int]], ...]] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of month", 1, 31, {}),
    ("month", 1, 12, {name: index + 1 for index, name in enumerate(_MONTHS)}),
    ("day of week", 0, 6, {name: index for index, name in enumerate(_DAYS)}),
)
_PART: Final = re.compile(r"(?P<low>\*|\?|\w+)(?:-(?P<high>\w+))?(?:/(?P<step>\d{1,4}))?")


def schedule_problem(schedule: str) -> str:
    """What is wrong with a schedule, or empty if it is valid."""
    if len(schedule) > SCHEDULE_LENGTH_MAX:
        return f"is longer than {SCHEDULE_LENGTH_MAX} characters"
    text = schedule.strip()
    if text.startswith(_EVERY):
        return _every_problem(text.removeprefix(_EVERY).strip())
    if text.startswith("@"):
        known = ", ".join(sorted(_DESCRIPTORS))
        return "" if text in _DESCRIPTORS else f"is no descriptor; use {known} or @every 10m"
    fields = text.split()
    if len(fields) != len(_FIELDS):
        return f"has {len(fields)} fields; write five: minute hour day month weekday"
    # Lists are checked by element, so that the message can name the wrong part.
    for (name, low, high, names), field in zip(_FIELDS, fields, strict=True):
        for part in field.split(","):
            problem = _part_problem(part, low=low, high=high, names=names)
            if problem:
                return f"{name} {part[:40]!r} {problem}"
    return ""


def _every_problem(duration: str) -> str:
    try:
        seconds = parse_duration(duration)
    except DurationError as error:
        return str(error)
    return "" if seconds >= _EVERY_SECONDS_MIN else "must be every second or slower"


def _part_problem(part: str, *, low: int, high: int, names: dict[str, int]) -> str:
    """Check one element of a list: a value, a range or everything, each with an optional step."""
    match = _PART.fullmatch(part)
    if match is None:
        return "cannot be read; write a number, a range a-b, a list a,b or a step */n"
    if match["step"] is not None and int(match["step"]) == 0:
        return "has a step of 0; write 1 or more"
    if match["low"] in ("*", "?"):
        return "" if match["high"] is None else "cannot be a range"
    ends = [_number(text, names) for text in (match["low"], match["high"]) if text is not None]
    if any(end is None or not low <= end <= high for end in ends):
        return f"is not between {low} and {high}"
    if len(ends) == 2 and (ends[0] or 0) > (ends[1] or 0):
        return "ends before it begins"
    return ""


def _number(text: str, names: dict[str, int]) -> int | None:
    if text.lower() in names:
        return names[text.lower()]
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 4 else None
