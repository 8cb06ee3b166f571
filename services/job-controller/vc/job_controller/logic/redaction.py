"""Refusals of the API server without private content of templates.

The API server and its admission webhooks quote what they refuse. Their text becomes an Event, a
log line and part of the job's status, and the status is published on the bus. Content that is
not published is removed from it.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from vc.messages.effects import CreateObject, Effect
from vc.messages.published import annotation_travels
from vc.messages.redaction import REDACTED
from vc.model.api.kinds import PODS
from vc.model.api.outline import outline
from vc.model.api.struct import Json, JsonObject

LENGTH_MIN: Final = 4
"""Shorter texts are not removed, because they occur in ordinary sentences."""


def conceal(text: str, effect: Effect) -> str:
    """The error text of an effect, without values that are not published on the bus."""
    # Only creates carry content of templates.
    if not isinstance(effect, CreateObject) or not text:
        return text
    for hidden in _hidden(effect):
        # The text may quote a value as it is or with JSON escapes.
        for form in dict.fromkeys((hidden, msgspec.json.encode(hidden).decode()[1:-1])):
            text = text.replace(form, REDACTED)
    return text


def _hidden(effect: CreateObject) -> list[str]:
    """Unpublished texts of the object, longest first, so that no part of a longer one remains."""
    annotations = (effect.body.get("metadata") or {}).get("annotations") or {}
    foreign = [text for key, text in annotations.items() if not annotation_travels(key)]
    spec: JsonObject = effect.body.get("spec") or {}
    shown = outline({"spec": spec}, annotations={}) if effect.kind is PODS else {}
    published = set(_texts(shown))
    hidden = {text for text in (*_texts(spec), *_texts(foreign)) if text not in published}
    return sorted((t for t in hidden if len(t) >= LENGTH_MIN), key=lambda t: (-len(t), t))


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from _texts(member)
