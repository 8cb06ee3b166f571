"""OpenAPI documents, computed from the registry.

kubectl reads version 3 for `explain` and to find out whether the server checks unknown fields (the
`fieldValidation` parameter of PATCH). Strategic merge patch is supported but not announced: a
client that sees it announced would compute patches from the short models here instead of its own
complete models. Version 2 is a valid document without models. kubectl reads it, as protobuf, only
for a kind that version 3 does not have.
"""

import hashlib
from typing import Final

import msgspec

from vc.model.api.struct import JsonObject
from vc.simcluster.http.accept import parse_accept
from vc.simcluster.http.errors import NotAcceptableError
from vc.simcluster.schema.openapi_builtin import DESCRIBED, OBJECT_META
from vc.simcluster.schema.openapi_notation import schema_of
from vc.simcluster.schema.registry import Registry
from vc.simcluster.store.resource import Resource

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_GVK: Final = "x-kubernetes-group-version-kind"
_INFO: Final = {"title": "Kubernetes", "version": "v1.35.0"}
_PATCH_TYPES: Final = (
    "application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json",
)  # fmt: skip
SWAGGER_PROTOBUF_TYPE: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_SWAGGER_PROTOBUF_ASKED: Final = frozenset(
    {SWAGGER_PROTOBUF_TYPE, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}
)
"""Clients still request the older name, but it is not a valid media type for a response."""
_VARINT_BYTE_MAX: Final = 128
_JSON_TYPES: Final = frozenset({"application/json", "*/*", "application/*", ""})


def index(registry: Registry) -> JsonObject:
    """`/openapi/v3`: the URL of each group and version's document, with its hash."""
    paths = {}
    for group, version in _group_versions(registry):
        place = f"apis/{group}/{version}" if group else f"api/{version}"
        # The hash lets clients cache a document for ever, so it must depend on the content only.
        encoded = msgspec.json.encode(document(registry, group, version), order="deterministic")
        digest = hashlib.sha256(encoded).hexdigest()[:32].upper()
        paths[place] = {"serverRelativeURL": f"/openapi/v3/{place}?hash={digest}"}
    return {"paths": paths}


def _group_versions(registry: Registry) -> list[tuple[str, str]]:
    return list(dict.fromkeys((r.group, r.version) for r in registry.all()))


def document(registry: Registry, group: str, version: str) -> JsonObject | None:
    """The document of one group and version. None if it is not served."""
    resources = [r for r in registry.all() if (r.group, r.version) == (group, version)]
    if not resources:
        return None
    paths: JsonObject = {}
    schemas: JsonObject = {_META: schema_of(OBJECT_META)}
    for resource in resources:
        # kubectl finds a kind by the group-version-kind extension inside its schema.
        schemas[schema_name(resource)] = _schema(resource)
        paths |= _paths(resource)
    return {
        "openapi": "3.0.0",
        "info": dict(_INFO),
        "paths": paths,
        "components": {"schemas": schemas},
    }


def schema_name(resource: Resource) -> str:
    """The group reversed, then version and kind: `sh.volcano.batch.v1alpha1.Job`."""
    group = resource.group if "." in resource.group else f"{resource.group or 'core'}.api.k8s.io"
    return ".".join([*reversed(group.split(".")), resource.version, resource.kind])


def _gvk(resource: Resource) -> JsonObject:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _schema(resource: Resource) -> JsonObject:
    """The schema of a CRD or the built-in description, with the fields that every object has."""
    if resource.custom:
        schema: JsonObject = dict(resource.schema or {"type": "object"})
    else:
        schema = schema_of(DESCRIBED.get((resource.group, resource.kind), {"": ""}))
    own = dict(schema.get("properties") or {})
    for name in ("apiVersion", "kind"):
        own.setdefault(name, {"type": "string", "description": _HEADERS[name]})
    # A reference instead of a copy: every kind of the document shares one ObjectMeta schema.
    own["metadata"] = {
        "description": _HEADERS["metadata"],
        "default": {},
        "allOf": [{"$ref": f"#/components/schemas/{_META}"}],
    }
    return {**schema, "properties": own, _GVK: [_gvk(resource)]}


_HEADERS: Final = {
    "apiVersion": "Group and version of the kind.",
    "kind": "The kind of object.",
    "metadata": "Name, labels, annotations and the rest of what every object has.",
}


def _paths(resource: Resource) -> JsonObject:
    """The paths of the collection and the object, with the operations that clients look for."""
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else "/api/v1"
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    collection = f"{root}{scope}/{resource.plural}"
    paths: JsonObject = {
        collection: {
            "get": _operation(resource, "list"),
            "post": _operation(resource, "post", parameters=_WRITE_PARAMETERS),
        },
        f"{collection}/{{name}}": {
            "get": _operation(resource, "get"),
            "put": _operation(resource, "put", parameters=_WRITE_PARAMETERS),
            "patch": _patch_operation(resource),
            "delete": _operation(resource, "delete"),
        },
    }
    if resource.namespaced:
        paths[f"{root}/{resource.plural}"] = {"get": _operation(resource, "list")}
    return paths


def _parameter(name: str, description: str) -> JsonObject:
    return {
        "name": name,
        "in": "query",
        "description": description,
        "schema": {"type": "string", "uniqueItems": True},
    }


_WRITE_PARAMETERS: Final = [
    _parameter("dryRun", "All: check everything and store nothing."),
    _parameter("fieldManager", "Who writes."),
    _parameter("fieldValidation", "Strict, Warn or Ignore: what to do about unknown fields."),
]


def _operation(
    resource: Resource, action: str, *, parameters: list[JsonObject] | None = None
) -> JsonObject:
    reference = {"$ref": f"#/components/schemas/{schema_name(resource)}"}
    found: JsonObject = {
        "operationId": f"{action}{resource.version.title()}{resource.kind}",
        "parameters": list(parameters or []),
        "responses": {
            "200": {"description": "OK", "content": {"application/json": {"schema": reference}}}
        },
        "x-kubernetes-action": action,
        _GVK: _gvk(resource),
    }
    if action in {"post", "put"}:
        found["requestBody"] = {"content": {"application/json": {"schema": reference}}}
    return found


def _patch_operation(resource: Resource) -> JsonObject:
    force = _parameter("force", "true: take over fields that another manager owns.")
    found = _operation(resource, "patch", parameters=[*_WRITE_PARAMETERS, force])
    found["requestBody"] = {"content": {kind: {"schema": {}} for kind in _PATCH_TYPES}}
    return found


def swagger(accept: str) -> tuple[bytes, str]:
    """The document of `/openapi/v2` and its media type."""
    for accepted in parse_accept(accept):
        if accepted.media_type in _JSON_TYPES:
            document = {"swagger": "2.0", "info": _INFO, "paths": {}, "definitions": {}}
            return msgspec.json.encode(document), "application/json"
        if accepted.media_type in _SWAGGER_PROTOBUF_ASKED:
            info = _text_field(1, _INFO["title"]) + _text_field(2, _INFO["version"])
            return _text_field(1, "2.0") + _field(2, info), SWAGGER_PROTOBUF_TYPE
    raise NotAcceptableError("only application/json is accepted")


def _text_field(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _field(number: int, value: bytes) -> bytes:
    """A length-delimited protobuf field of less than 128 bytes."""
    assert len(value) < _VARINT_BYTE_MAX
    return bytes([number << 3 | 2, len(value)]) + value
