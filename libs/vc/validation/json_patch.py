"""The difference of two JSON values as an RFC 6902 patch.

Mutations are computed as a defaulted object, and this module converts them to the patch for the API
server. Only differences are included, by member and element, so a job of megabytes gets a patch of
bytes. Lists of different length are replaced as a whole.
"""

from typing import Final

from vc.model.api.struct import Json, JsonObject

_ESCAPES: Final = (("~", "~0"), ("/", "~1"))


def json_patch(before: Json, after: Json) -> list[JsonObject]:
    """Operations that turn `before` into `after`, in the order of keys."""
    operations: list[JsonObject] = []
    _compare(before, after, path="", operations=operations)
    return operations


def _compare(before: Json, after: Json, *, path: str, operations: list[JsonObject]) -> None:
    if isinstance(before, dict) and isinstance(after, dict):
        _compare_objects(before, after, path=path, operations=operations)
    # Lists of equal length are compared by position, which keeps the patch small.
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            _compare(old, new, path=f"{path}/{index}", operations=operations)
    # Python treats 1, 1.0 and True as equal, but their JSON differs.
    elif type(before) is not type(after) or before != after:
        operations.append({"op": "replace", "path": path, "value": after})


def _compare_objects(
    before: JsonObject, after: JsonObject, *, path: str, operations: list[JsonObject]
) -> None:
    for key in sorted(before.keys() | after.keys()):
        member = f"{path}/{_escape(key)}"
        if key not in after:
            operations.append({"op": "remove", "path": member})
        elif key not in before:
            operations.append({"op": "add", "path": member, "value": after[key]})
        else:
            _compare(before[key], after[key], path=member, operations=operations)


def _escape(key: str) -> str:
    # The order matters: "~" must be escaped before "~1" is added.
    for character, escaped in _ESCAPES:
        key = key.replace(character, escaped)
    return key
