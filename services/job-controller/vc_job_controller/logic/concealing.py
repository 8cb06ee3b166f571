"""Refusals without what the author of a template keeps to the pods.

The API server and its admission webhooks quote what they refuse. Their text becomes an event, the job's
status, and a line of the log, and the status travels on the bus: what may not travel is taken out of it.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from vc_messages.effects import CreateObject, Effect
from vc_messages.published import annotation_travels
from vc_messages.redaction import REDACTED
from vc_model.kinds import PODS
from vc_model.outline import outline
from vc_model.struct import Json, JsonObject

LENGTH_MIN: Final = 4
"""Shorter texts are words of every sentence."""


def conceal(text: str, effect: Effect) -> str:
    """A refusal of that effect, without values that are hidden from the bus."""
    if not isinstance(effect, CreateObject) or not text:
        return text
    for hidden in _hidden(effect):
        for form in dict.fromkeys((hidden, msgspec.json.encode(hidden).decode()[1:-1])):
            text = text.replace(form, REDACTED)
    return text


def _hidden(effect: CreateObject) -> list[str]:
    """Texts of the object that do not travel, the longest first, so that none is left in part."""
    annotations = (effect.body.get("metadata") or {}).get("annotations") or {}
    foreign = [text for key, text in annotations.items() if not annotation_travels(key)]
    spec: JsonObject = effect.body.get("spec") or {}
    shown = outline({"spec": spec}, annotations={}) if effect.kind is PODS else {}
    told = set(_texts(shown))
    hidden = {text for text in (*_texts(spec), *_texts(foreign)) if text not in told}
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
