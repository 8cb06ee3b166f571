"""The patch types other than server-side apply: JSON, merge and strategic merge."""

from typing import Final

import msgspec

from vc.cluster.errors import InvalidError, UnsupportedMediaTypeError
from vc.model.api.graft import apply_merge_patch
from vc.model.api.struct import Json, JsonObject
from vc.simcluster.apply.strategic_merge import strategic_merge
from vc.simcluster.store.failures import bad_request
from vc.simcluster.store.resource import Resource

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

JSON_PATCH_OPERATIONS_MAX: Final = 10_000
"""The API server's bound on the operations of one JSON patch."""


def apply_patch(
    resource: Resource, obj: JsonObject, patch: Json, *, content_type: str
) -> JsonObject:
    """Return the object after the patch. The given object may be modified."""
    match content_type:
        case "application/json-patch+json":
            patched = json_patch(obj, patch)
        case "application/merge-patch+json":
            _must_be_object(patch)
            patched = apply_merge_patch(obj, patch)
        case "application/strategic-merge-patch+json" if not resource.custom:
            _must_be_object(patch)
            patched = strategic_merge(obj, patch)
        case _:
            # Strategic merge needs Go types; a real server rejects it for custom resources, too.
            accepted = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH]
            accepted += [] if resource.custom else [STRATEGIC_PATCH]
            raise UnsupportedMediaTypeError(
                "the body of the request was in an unknown format - accepted media types include: "
                + ", ".join(accepted)
            )
    if not isinstance(patched, dict):
        raise bad_request("the patch does not leave an object")
    return patched


def _must_be_object(patch: Json) -> None:
    if not isinstance(patch, dict):
        raise bad_request("error decoding patch: a merge patch is a JSON object")


class _Operation(msgspec.Struct, frozen=True):
    """One operation of an RFC 6902 patch."""

    op: str
    path: str
    source: str | None = msgspec.field(default=None, name="from")
    value: Json = msgspec.UNSET


def json_patch(obj: Json, patch: Json) -> Json:
    """Apply an RFC 6902 patch.

    The object may be left half-patched when an operation fails; the caller then discards it.
    """
    # Bounded as in the API server, so that one request cannot occupy the server for long.
    if not isinstance(patch, list) or len(patch) > JSON_PATCH_OPERATIONS_MAX:
        raise bad_request(
            f"error decoding patch: a JSON patch is a list of at most {JSON_PATCH_OPERATIONS_MAX}"
        )
    try:
        operations = msgspec.convert(patch, list[_Operation])
    except msgspec.ValidationError as error:
        raise bad_request(f"error decoding patch: {error}") from None
    for operation in operations:
        obj = _operate(obj, operation)
    return obj


def _operate(obj: Json, operation: _Operation) -> Json:
    path = _pointer(operation.path)
    match operation.op:
        case "add":
            return _add(obj, path, _given(operation))
        case "remove":
            return _remove(obj, path)
        case "replace":
            # RFC 6902: the target of a replace must exist.
            _look_up(obj, path)
            # Removed first, because an add into a list inserts instead of replacing the element.
            return _add(_remove(obj, path) if path else obj, path, _given(operation))
        case "move":
            source = _pointer(operation.source or "")
            value = _look_up(obj, source)
            return _add(_remove(obj, source), path, value)
        case "copy":
            value = _look_up(obj, _pointer(operation.source or ""))
            # A copy, so that a later operation on one place does not change the other.
            return _add(obj, path, msgspec.json.decode(msgspec.json.encode(value)))
        case "test":
            if _look_up(obj, path) != _given(operation):
                raise InvalidError(
                    f"the server rejected our request due to an error in our request: testing path {operation.path} failed"
                )
            return obj
        case unknown:
            raise bad_request(f"error decoding patch: unknown operation {unknown!r}")


def _given(operation: _Operation) -> Json:
    if operation.value is msgspec.UNSET:
        raise bad_request(f"error decoding patch: {operation.op} {operation.path} has no value")
    return operation.value


def _pointer(text: str) -> list[str]:
    """Parse an RFC 6901 pointer: `~1` is a slash, `~0` is a tilde."""
    if text and not text.startswith("/"):
        raise bad_request(f"error decoding patch: path {text!r} does not start with /")
    # The slash is decoded first, because `~01` has to become `~1` and not a slash.
    return [step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:]]


def _missing(path: list[str]) -> InvalidError:
    return InvalidError(
        "the server rejected our request due to an error in our request: "
        f"path /{'/'.join(path)} does not exist"
    )


def _look_up(obj: Json, path: list[str]) -> Json:
    for step in path:
        if isinstance(obj, dict) and step in obj:
            obj = obj[step]
        elif isinstance(obj, list):
            obj = obj[_index(step, len(obj) - 1, path)]
        else:
            raise _missing(path)
    return obj


def _index(step: str, highest: int, path: list[str]) -> int:
    # RFC 6901 allows plain digits; `int` would also accept signs, spaces and other scripts.
    if not (step.isascii() and step.isdigit()) or int(step) > highest:
        raise _missing(path)
    return int(step)


def _add(obj: Json, path: list[str], value: Json) -> Json:
    if not path:
        return value
    parent, last = _look_up(obj, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        # RFC 6902: `-` is the position after the last element, and an index may be equal to it.
        parent.insert(len(parent) if last == "-" else _index(last, len(parent), path), value)
    else:
        raise _missing(path)
    return obj


def _remove(obj: Json, path: list[str]) -> Json:
    if not path:
        raise bad_request("error decoding patch: the whole object cannot be removed")
    parent, last = _look_up(obj, path[:-1]), path[-1]
    if isinstance(parent, dict) and last in parent:
        del parent[last]
    elif isinstance(parent, list):
        del parent[_index(last, len(parent) - 1, path)]
    else:
        raise _missing(path)
    return obj
