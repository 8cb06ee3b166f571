"""The JSONPath of printer columns.

Columns use a small part of the language: fields, quoted fields, indices, `[*]`, and filters that
compare one field with a string. Parsed paths are cached, because each is used for every row.
"""

import re
from functools import lru_cache
from typing import Final

import msgspec

from vc.model.api.struct import Json

_STEP: Final = re.compile(
    r"""\.?\[\?\(\s*@\.(?P<key>[\w.-]+)\s*==\s*["'](?P<wanted>[^"']*)["']\s*\)\]"""
    r"""|\.?\[(?P<index>-?\d+)\]"""
    r"""|\.?\[(?P<all>\*)\]"""
    r"""|\.?\[["'](?P<quoted>[^"']+)["']\]"""
    r"""|\.(?P<field>(?:\\\.|[^.\[\]\\])+)"""
)
_PATHS_CACHED_MAX: Final = 1024


class PathError(ValueError):
    """A JSONPath outside of the supported subset."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a path. Exactly one of field, index, every and filter is set."""

    field: str = ""
    index: int | None = None
    every: bool = False
    filter_key: str = ""
    filter_value: str = ""


@lru_cache(maxsize=_PATHS_CACHED_MAX)
def parse_path(text: str) -> tuple[Step, ...]:
    """The steps of a path such as `.status.conditions[?(@.type=="Ready")].status`."""
    steps: list[Step] = []
    end = 0
    while end < len(text):
        match = _STEP.match(text, end)
        if match is None:
            raise PathError(f"JSONPath {text!r}: cannot read it from {text[end:]!r} on")
        steps.append(_step(match))
        end = match.end()
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    if match["key"]:
        return Step(filter_key=match["key"], filter_value=match["wanted"])
    if match["index"]:
        return Step(index=int(match["index"]))
    if match["all"]:
        return Step(every=True)
    return Step(field=match["quoted"] or match["field"].replace("\\.", "."))


def find_all(value: Json, path: str) -> list[Json]:
    """All values at the path. Empty if a part of the path is absent."""
    found = [value]
    for step in parse_path(path):
        found = [below for one in found for below in _below(one, step)]
    return found


def find_first(value: Json, path: str) -> Json:
    """The first value at the path, or None."""
    found = find_all(value, path)
    return found[0] if found else None


def _below(value: Json, step: Step) -> list[Json]:
    if step.field:
        has = isinstance(value, dict) and value.get(step.field) is not None
        return [value[step.field]] if has else []
    if not isinstance(value, list):
        return []
    if step.every:
        return value
    if step.index is not None:
        # A slice, because a missing element is an empty cell and not an error.
        return value[step.index :][:1]
    return [v for v in value if isinstance(v, dict) and v.get(step.filter_key) == step.filter_value]
