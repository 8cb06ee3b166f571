"""`-o json` and `-o yaml`: objects as the server gave them, without its bookkeeping."""

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
    shown = without_bookkeeping(obj)
    if form == YAML:
        import yaml

        begin = "---\n" if one_of_many else ""
        print(begin + yaml.safe_dump(shown, sort_keys=False), end="", flush=True)
    else:
        print(json.dumps(shown, indent=2, ensure_ascii=False), flush=True)


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
