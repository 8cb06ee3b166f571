"""`-o json` and `-o yaml`: answers as they came, and objects without the server's bookkeeping."""

import json
from typing import Final

from vc_cli.ctl.resources import JsonObject

JSON: Final = "json"
YAML: Final = "yaml"
WIDE: Final = "wide"
CSV: Final = "csv"
OBJECT_FORMS: Final = (JSON, YAML)


def print_object(obj: JsonObject, form: str, *, one_of_many: bool = False) -> None:
    """One object, at once: whoever watches reads from a pipe. One of many is a document of its own."""
    if one_of_many and form == YAML:
        print("---")
    print_answer(without_bookkeeping(obj), form)


def print_answer(answer: object, form: str) -> None:
    """Whatever was answered, whole."""
    if form == YAML:
        import yaml

        print(yaml.safe_dump(answer, sort_keys=False, allow_unicode=True), end="", flush=True)
    else:
        print(json.dumps(answer, indent=2, ensure_ascii=False), flush=True)


def print_list(items: list[JsonObject], form: str) -> None:
    """Objects as a List that kubectl can apply."""
    shown = [without_bookkeeping(item) for item in items]
    print_object({"apiVersion": "v1", "kind": "List", "items": shown}, form)


def without_bookkeeping(obj: JsonObject) -> JsonObject:
    """Without managedFields, as kubectl shows objects."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**obj, "metadata": kept}
