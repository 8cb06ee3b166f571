"""Asking the table about an object: which of its fields have another answer than an effect.

Admission, the controllers and the scheduler ask here; none of them has a list of its own. What is asked is
plain JSON as the API server holds it. The work is bounded by the size of the object and of the table.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from vc_model.keys import ALLOW_UNSUPPORTED
from vc_model.struct import Json, JsonObject
from vc_model.support.answers import Answer, Case, Entry, Place
from vc_model.support.pod_fields import FREE_PARTS, unknown_fields
from vc_model.support.table import ENTRIES

POD: Final = "Pod"
METADATA: Final = "Label or annotation"
TEMPLATE: Final = "Template"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A field of an object that has another answer than an effect."""

    path: str
    """With the positions in lists; empty for the object as a whole."""
    case: Case

    @property
    def sentence(self) -> str:
        """The field and what is to be said of it."""
        return f"{self.path}: {self.case.text}" if self.path else self.case.text


def ask(kind: str, written: JsonObject) -> list[Found]:
    """Everything about an object of this kind that is not simply an effect, in the table's order."""
    found = list(_fields(kind, written, at="", root=written))
    found += _metadata(kind, written.get("metadata"), at="metadata")
    for at, template in templates_of(kind, written):
        metadata = template.get("metadata")
        found += _fields(POD, template, at=f"{at}.", root=written)
        found += _metadata(POD, metadata, at=f"{at}.metadata", template_of=written)
    return found


def templates_of(kind: str, written: JsonObject) -> list[tuple[str, JsonObject]]:
    """The pod templates of an object, with the paths that lead to them."""
    parts = free_parts_of(kind, written)
    return [(at, part) for at, part, of_kind in parts if of_kind == TEMPLATE]


def free_parts_of(kind: str, written: JsonObject) -> list[tuple[str, JsonObject, str]]:
    """(path, value, type) of the parts whose schema keeps what it does not know."""
    return [
        (at, place.value, of_kind)
        for path, of_kind in FREE_PARTS.get(kind, ())
        for at, place in _expand(path, written)
        if isinstance(place.value, dict)
    ]


def unknown_in(kind: str, written: JsonObject) -> list[tuple[str, str]]:
    """(path, nearest known field or empty) of each field of an object that Kubernetes does not have."""
    return [
        (f"{at}.{path}", meant)
        for at, part, of_kind in free_parts_of(kind, written)
        for path, meant in unknown_fields(part, of_kind)
    ]


def conditions(kind: str, written: JsonObject) -> list[Found]:
    """The fields that keep the object waiting."""
    return [found for found in ask(kind, written) if found.case.answer is Answer.CONDITION]


def allows_unsupported(written: JsonObject) -> bool:
    """Whether the author wants the object stored although nothing acts on it."""
    metadata = written.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and annotations.get(ALLOW_UNSUPPORTED) == "true"


def _special(scope: str) -> tuple[Entry, ...]:
    return _SPECIAL.get(scope, ())


def _by_scope() -> dict[str, tuple[Entry, ...]]:
    special = [entry for entry in ENTRIES if entry.special]
    scopes = dict.fromkeys(entry.scope for entry in special)
    return {scope: tuple(e for e in special if e.scope == scope) for scope in scopes}


_SPECIAL: Final = _by_scope()
"""The entries that have another answer than an effect, by scope."""


def _fields(kind: str, written: JsonObject, *, at: str, root: JsonObject) -> Iterator[Found]:
    for entry in _special(kind):
        for path, place in _expand(entry.path, written):
            case = entry.case_of(msgspec.structs.replace(place, root=root))
            if case.answer is not Answer.EFFECT:
                yield Found(path=f"{at}{path}", case=case)


def _metadata(
    kind: str, metadata: Json, *, at: str, template_of: JsonObject | None = None
) -> list[Found]:
    """Labels and annotations; of a pod template the root is the object that has the template."""
    if not isinstance(metadata, dict):
        return []
    found: list[Found] = []
    for entry in _special(METADATA):
        for field in ("annotations", "labels"):
            values = metadata.get(field)
            if kind not in entry.on or not isinstance(values, dict) or entry.path not in values:
                continue
            case = entry.case_of(Place(value=values[entry.path], parent=values, root=template_of))
            if case.answer is not Answer.EFFECT:
                found.append(Found(path=f"{at}.{field}[{entry.path}]", case=case))
    return found


def _expand(path: str, written: JsonObject) -> Iterator[tuple[str, Place]]:
    """Every value at a path of the table, with the path that leads to it."""
    places = [("", Place(value=written))]
    for step in path.split(".") if path else ():
        name = step.removesuffix("[]")
        below = [
            (f"{at}.{name}" if at else name, Place(value=place.value[name], parent=place.value))
            for at, place in places
            if isinstance(place.value, dict) and name in place.value
        ]
        places = list(_members(below)) if step.endswith("[]") else below
    yield from places


def _members(places: list[tuple[str, Place]]) -> Iterator[tuple[str, Place]]:
    for at, place in places:
        if isinstance(place.value, list):
            for index, member in enumerate(place.value):
                yield f"{at}[{index}]", Place(value=member, parent=place.value)
