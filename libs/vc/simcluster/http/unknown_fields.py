"""Detection of unknown fields, before they are pruned.

Otherwise a typing error in a manifest would be dropped silently. Clients choose with the
`fieldValidation` parameter: Strict rejects, Warn (the default) sends warnings, Ignore does nothing.
Built-in kinds have no schema here, so only their metadata is checked.
"""

from collections.abc import Iterator
from typing import Final

from aiohttp import web

from vc.cluster.errors import BadRequestError, ClusterError
from vc.model.api.struct import Json, JsonObject
from vc.simcluster.schema.openapi_builtin import OBJECT_META
from vc.simcluster.schema.structural import EMBEDDED, PRESERVE
from vc.simcluster.store.resource import Resource
from vc.simcluster.verbs.admission import warn

_FAULTS_SHOWN_MAX: Final = 20
_META_FIELDS: Final = frozenset(OBJECT_META) | {"selfLink"}
_HEADERS: Final = frozenset({"apiVersion", "kind", "metadata"})


class UndeclaredFieldError(ClusterError):
    """Server-side apply of a field that the schema does not have. The API sets no reason for it."""

    reason = ""


def check_fields(request: web.Request, resource: Resource, body: JsonObject) -> None:
    """Reject or warn about unknown fields of a complete object."""
    unknown = _wanted(request, resource, body)
    if _is_strict(request) and unknown:
        listed = ", ".join(f'unknown field "{field}"' for field in unknown)
        raise BadRequestError(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a '
            f"{resource.kind}: strict decoding error: {listed}"
        )
    warn([f'unknown field "{field}"' for field in unknown])


def check_patch_fields(
    request: web.Request, resource: Resource, patch: Json, *, content_type: str
) -> None:
    """Reject or warn about unknown fields of a patch that has the shape of the object.

    A JSON patch has another shape and is not checked.
    """
    if not isinstance(patch, dict):
        return
    unknown = _wanted(request, resource, patch)
    # Server-side apply rejects unknown fields even if the client wants warnings only.
    if content_type == "application/apply-patch+yaml" and unknown:
        metadata = patch.get("metadata") or {}
        name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        faults = [f".{field}: field not declared in schema" for field in unknown]
        listed = faults[0] if len(faults) == 1 else "\n  ".join(["errors:", *faults])
        raise UndeclaredFieldError(
            f"failed to create typed patch object ({name}; {resource.api_version}, "
            f"Kind={resource.kind}): {listed}"
        )
    if _is_strict(request) and unknown:
        listed = ", ".join(f'unknown field "{field}"' for field in unknown)
        raise BadRequestError(f"strict decoding error: {listed}")
    warn([f'unknown field "{field}"' for field in unknown])


def _is_strict(request: web.Request) -> bool:
    return request.query.get("fieldValidation", "") == "Strict"


def _wanted(request: web.Request, resource: Resource, body: JsonObject) -> list[str]:
    """The unknown fields, up to a limit. Empty if the client ignores them."""
    if request.query.get("fieldValidation", "") == "Ignore":
        return []
    found: list[str] = []
    for field in unknown_fields(resource, body):
        found.append(field)
        # A whole manifest in the wrong place would otherwise produce an endless message.
        if len(found) >= _FAULTS_SHOWN_MAX:
            break
    return found


def unknown_fields(resource: Resource, body: JsonObject) -> Iterator[str]:
    """The paths of unknown fields, such as `spec.tasks[0].replica`."""
    metadata = body.get("metadata")
    if isinstance(metadata, dict):
        yield from (f"metadata.{name}" for name in metadata if name not in _META_FIELDS)
    if resource.schema is not None:
        own = {name: value for name, value in body.items() if name not in _HEADERS}
        yield from _walk(resource.schema, own, "")


def _walk(schema: JsonObject, value: Json, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield from _walk_object(schema, value, path)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, element in enumerate(value):
            yield from _walk(schema["items"], element, f"{path}[{index}]")


def _walk_object(schema: JsonObject, value: JsonObject, path: str) -> Iterator[str]:
    properties = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    for name, member in value.items():
        place = f"{path}.{name}" if path else name
        below = properties.get(name, extra if isinstance(extra, dict) else None)
        if below is not None:
            yield from _walk(below, member, place)
        # An embedded resource has apiVersion, kind and metadata without declaring them.
        elif schema.get(EMBEDDED) and name in _HEADERS:
            continue
        elif extra is not True and not schema.get(PRESERVE) and not name.startswith("$"):
            yield place
