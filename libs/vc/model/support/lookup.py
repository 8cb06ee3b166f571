"""Looks up an object in the support table: which of its fields have an answer other than an effect.

Admission, the controllers and the scheduler use this module and have no lists of their own. The
input is plain JSON as stored by the API server. The work is bounded by the size of the object and
of the table.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from vc.model.api.struct import Json, JsonObject
from vc.model.support.answers import Answer, Case, Entry, FieldValue
from vc.model.support.pod_fields import FREE_PARTS, unknown_fields
from vc.model.support.table import ENTRIES

POD: Final = "Pod"
METADATA: Final = "Label or annotation"
TEMPLATE: Final = "Template"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A field of an object whose answer is not an effect."""

    path: str
    """The path with the positions in lists; empty for the object as a whole."""
    case: Case

    @property
    def sentence(self) -> str:
        """The field and the text of its answer."""
        return f"{self.path}: {self.case.text}" if self.path else self.case.text


def look_up(kind: str, written: JsonObject) -> list[Found]:
    """All fields of an object of this kind whose answer is not an effect,
    in the order of the table.
    """
    found = list(_fields(kind, written, at="", root=written))
    found += _metadata(kind, written.get("metadata"), at="metadata")
    for at, template in templates_of(kind, written):
        metadata = template.get("metadata")
        found += _fields(POD, template, at=f"{at}.", root=written)
        # The template's metadata becomes the metadata of the pods.
        found += _metadata(POD, metadata, at=f"{at}.metadata", template_of=written)
    return found


def templates_of(kind: str, written: JsonObject) -> list[tuple[str, JsonObject]]:
    """The pod templates of an object, with their paths."""
    parts = free_parts_of(kind, written)
    return [(at, part) for at, part, of_kind in parts if of_kind == TEMPLATE]


def free_parts_of(kind: str, written: JsonObject) -> list[tuple[str, JsonObject, str]]:
    """(path, value, type) of the parts whose schema preserves unknown fields."""
    return [
        (at, place.value, of_kind)
        for path, of_kind in FREE_PARTS.get(kind, ())
        for at, place in _expand(path, written)
        if isinstance(place.value, dict)
    ]


def unknown_in(kind: str, written: JsonObject) -> list[tuple[str, str]]:
    """(path, nearest known field or empty) of each field of
    an object that Kubernetes does not have.
    """
    return [
        (f"{at}.{path}", meant)
        for at, part, of_kind in free_parts_of(kind, written)
        for path, meant in unknown_fields(part, of_kind)
    ]


def conditions(kind: str, written: JsonObject) -> list[Found]:
    """The fields that make the object wait."""
    return [found for found in look_up(kind, written) if found.case.answer is Answer.CONDITION]


def _special(scope: str) -> tuple[Entry, ...]:
    return _SPECIAL.get(scope, ())


def _by_scope() -> dict[str, tuple[Entry, ...]]:
    special = [entry for entry in ENTRIES if entry.special]
    scopes = dict.fromkeys(entry.scope for entry in special)
    return {scope: tuple(e for e in special if e.scope == scope) for scope in scopes}


_SPECIAL: Final = _by_scope()
"""The entries with an answer other than an effect, by scope."""


def _fields(kind: str, written: JsonObject, *, at: str, root: JsonObject) -> Iterator[Found]:
    for entry in _special(kind):
        for path, place in _expand(entry.path, written):
            case = entry.case_of(msgspec.structs.replace(place, root=root))
            if case.answer is not Answer.EFFECT:
                yield Found(path=f"{at}{path}", case=case)


def _metadata(
    kind: str, metadata: Json, *, at: str, template_of: JsonObject | None = None
) -> list[Found]:
    """The labels and annotations; for a pod template the root is the object that contains it."""
    if not isinstance(metadata, dict):
        return []
    found: list[Found] = []
    for entry in _special(METADATA):
        for field in ("annotations", "labels"):
            values = metadata.get(field)
            # The same key has no meaning on kinds that the entry does not name.
            if kind not in entry.on or not isinstance(values, dict) or entry.path not in values:
                continue
            case = entry.case_of(
                FieldValue(value=values[entry.path], parent=values, root=template_of)
            )
            if case.answer is not Answer.EFFECT:
                found.append(Found(path=f"{at}.{field}[{entry.path}]", case=case))
    return found


def _expand(path: str, written: JsonObject) -> Iterator[tuple[str, FieldValue]]:
    """All values at a path of the table, with their concrete paths."""
    found = [("", FieldValue(value=written))]
    for step in path.split(".") if path else ():
        name = step.removesuffix("[]")
        below = [
            (
                f"{at}.{name}" if at else name,
                FieldValue(value=place.value[name], parent=place.value),
            )
            for at, place in found
            if isinstance(place.value, dict) and name in place.value
        ]
        found = list(_members(below)) if step.endswith("[]") else below
    yield from found


def _members(found: list[tuple[str, FieldValue]]) -> Iterator[tuple[str, FieldValue]]:
    for at, place in found:
        if isinstance(place.value, list):
            for index, member in enumerate(place.value):
                yield f"{at}[{index}]", FieldValue(value=member, parent=place.value)
