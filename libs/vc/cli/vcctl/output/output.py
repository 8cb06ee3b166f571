"""`-o json` and `-o yaml`: responses unchanged, and objects without managedFields."""

import json
from typing import Final

from vc.cli.vcctl.api.resources import JsonObject

JSON: Final = "json"
YAML: Final = "yaml"
WIDE: Final = "wide"
CSV: Final = "csv"
OBJECT_FORMS: Final = (JSON, YAML)


def print_object(obj: JsonObject, form: str, *, one_of_many: bool = False) -> None:
    """Print one object and flush, because the reader may be a pipe.

    With `one_of_many`, a YAML object starts with a document separator.
    """
    if one_of_many and form == YAML:
        print("---")
    print_answer(without_bookkeeping(obj), form)


def print_answer(answer: object, form: str) -> None:
    """Print a whole response."""
    if form == YAML:
        import yaml

        # The order of fields is kept, as kubectl prints it.
        print(yaml.safe_dump(answer, sort_keys=False, allow_unicode=True), end="", flush=True)
    else:
        print(json.dumps(answer, indent=2, ensure_ascii=False), flush=True)


def print_list(items: list[JsonObject], form: str) -> None:
    """Print objects as a List that kubectl can apply."""
    shown = [without_bookkeeping(item) for item in items]
    print_object({"apiVersion": "v1", "kind": "List", "items": shown}, form)


def without_bookkeeping(obj: JsonObject) -> JsonObject:
    """The object without managedFields, as kubectl shows it."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**obj, "metadata": kept}
