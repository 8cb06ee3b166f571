"""What a request says: its path, its query, and the preconditions in its body.

Names come from objects that anybody may have written, so a path is made of checked segments: a name
that is empty or climbs would turn the path of one object into the path of all of them.
"""

from typing import Final
from urllib.parse import quote

from vc_cluster.errors import NotFoundError
from vc_cluster.interface import Preconditions
from vc_model.kinds import Kind
from vc_model.struct import JsonObject

_NO_SEGMENT: Final = frozenset({"", ".", ".."})


def collection_path(kind: Kind, namespace: str) -> str:
    """All objects of a kind, in one namespace or in all."""
    return kind.path(_segment("namespace", namespace) if namespace else "")


def object_path(kind: Kind, namespace: str, name: str, subresource: str = "") -> str:
    """One object; never its collection, whatever the name is: a DELETE there means all objects."""
    scope = _segment("namespace", namespace) if namespace else ""
    path = kind.path(scope, _segment(kind.kind, name))
    return f"{path}/{subresource}" if subresource else path


def given(**values: str) -> dict[str, str]:
    """Those that say something."""
    return {name: value for name, value in values.items() if value}


def typed(kind: Kind, body: JsonObject) -> JsonObject:
    """The body with its kind, which a server asks for where it has no schema of its own."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, **body}


def with_preconditions(patch: JsonObject, preconditions: Preconditions | None) -> JsonObject:
    """A merge patch that fails on another object, or another version of it."""
    held = _held(preconditions)
    if not held:
        return patch
    return {**patch, "metadata": {**(patch.get("metadata") or {}), **held}}


def delete_options(preconditions: Preconditions | None, grace_seconds: int | None) -> JsonObject:
    """What a deletion and an eviction have in common."""
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
    """A name as part of a path. What is refused here no object can have, so it is not found."""
    if name in _NO_SEGMENT or "/" in name or "%" in name:
        raise NotFoundError(f"no {what} can have the name {name!r}")
    return quote(name, safe="")
