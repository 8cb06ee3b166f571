"""Builds requests: path, query, and preconditions in the body.

Names come from objects that any user may have written, so each path segment is checked. An empty
name or `..` would turn the path of one object into the path of its collection.
"""

from typing import Final
from urllib.parse import quote

from vc.cluster.errors import NotFoundError
from vc.cluster.interface import Preconditions
from vc.model.api.kinds import Kind
from vc.model.api.struct import JsonObject

_NO_SEGMENT: Final = frozenset({"", ".", ".."})


def collection_path(kind: Kind, namespace: str) -> str:
    """The path of all objects of a kind, in one namespace or in all."""
    return kind.path(_segment("namespace", namespace) if namespace else "")


def object_path(kind: Kind, namespace: str, name: str, subresource: str = "") -> str:
    """The path of one object. It is never the collection, whatever the name:
    a DELETE there would delete all objects.
    """
    scope = _segment("namespace", namespace) if namespace else ""
    path = kind.path(scope, _segment(kind.kind, name))
    return f"{path}/{subresource}" if subresource else path


def given(**values: str) -> dict[str, str]:
    """The query parameters that have a value."""
    return {name: value for name, value in values.items() if value}


def typed(kind: Kind, body: JsonObject) -> JsonObject:
    """The body with apiVersion and kind,
    which the server requires where it has no schema of its own.
    """
    return {"apiVersion": kind.api_version, "kind": kind.kind, **body}


def with_preconditions(patch: JsonObject, preconditions: Preconditions | None) -> JsonObject:
    """A merge patch that fails for an object with another uid or version."""
    held = _held(preconditions)
    if not held:
        return patch
    # Merged last, so that no metadata in the patch can replace the precondition.
    return {**patch, "metadata": {**(patch.get("metadata") or {}), **held}}


def delete_options(preconditions: Preconditions | None, grace_seconds: int | None) -> JsonObject:
    """The options that deletions and evictions have in common."""
    options: JsonObject = {}
    if held := _held(preconditions):
        options["preconditions"] = held
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    return options


def _held(preconditions: Preconditions | None) -> dict[str, str]:
    if preconditions is None:
        return {}
    return given(uid=preconditions.uid, resourceVersion=preconditions.resource_version)


def _segment(what: str, name: str) -> str:
    """A name as path segment. Rejected names cannot exist, so the error is NotFoundError."""
    # A proxy or server may decode percent escapes before routing, so `%` is rejected too.
    if name in _NO_SEGMENT or "/" in name or "%" in name:
        raise NotFoundError(f"no {what} can have the name {name!r}")
    return quote(name, safe="")
