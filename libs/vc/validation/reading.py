"""Decoding raw objects into structs. A wrong type is a problem like any other.

Nulls are removed first, because Go clients write `null` for absent values. The depth is checked
before any recursive function reads the object.
"""

import re
from typing import Final, TypeVar

import msgspec

from vc.model.api.graft import strip_nulls
from vc.model.api.struct import Json, JsonObject
from vc.model.faults import describe
from vc.validation.result import ValidationResult, cut

NESTING_MAX: Final = 64
"""Maximum depth. A pod template needs about fifteen levels."""

_PLACE: Final = re.compile(r"^(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?$", re.DOTALL)
_ERROR_CHARACTERS_MAX: Final = 300

T = TypeVar("T")


def too_deep(value: Json, *, nesting_max: int = NESTING_MAX) -> bool:
    """Whether containers are nested deeper than the bound. Iterative, so
    that it cannot overflow the stack."""
    # Level by level, because a hostile object could exceed Python's recursion limit.
    level: list[Json] = [value]
    for _ in range(nesting_max + 1):
        below: list[Json] = []
        for member in level:
            if isinstance(member, dict):
                below.extend(v for v in member.values() if isinstance(v, dict | list))
            elif isinstance(member, list):
                below.extend(v for v in member if isinstance(v, dict | list))
        if not below:
            return False
        level = below
    return True


def read(raw: JsonObject, into: type[T], found: ValidationResult) -> T | None:
    """The struct, or None after adding the problem."""
    if too_deep(raw):
        found.refuse("object", f"is nested deeper than {NESTING_MAX} levels; flatten it")
        return None
    try:
        return msgspec.convert(strip_nulls(raw), into)
    except Exception as error:  # noqa: BLE001 - numbers, nesting, texts
        # The decoder names the path in its message; users need it as a field.
        match = _PLACE.match(describe(error))
        what = match["what"] if match else describe(error)
        path = (match["path"] or "object") if match else "object"
        found.refuse(path, cut(what.replace("`", ""), _ERROR_CHARACTERS_MAX))
        return None
