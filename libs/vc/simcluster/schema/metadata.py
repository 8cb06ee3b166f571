"""Names, labels and other metadata of objects: shape checks and validation rules."""

import re
from typing import Final

import msgspec

from vc.cluster.errors import TooLargeError
from vc.model.api.graft import strip_nulls
from vc.model.api.struct import Json, JsonObject
from vc.simcluster.store.failures import FieldFault, bad_request, invalid_value, required
from vc.simcluster.store.resource import Resource

REQUEST_BYTES_MAX: Final = 3 * 1024 * 1024
NESTING_DEPTH_MAX: Final = 128
"""Deeper than any real object. The recursive functions below must not hit Python's limit."""
ANNOTATIONS_BYTES_MAX: Final = 256 * 1024
_NAME_LENGTH_MAX: Final = 253
_LABEL_LENGTH_MAX: Final = 63

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_PATTERN: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_LABEL_PATTERN: Final = re.compile(_LABEL)
_VALUE_PATTERN: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_KEY_NAME_PATTERN: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
    rf"validation is '{_LABEL}(\.{_LABEL})*')"
)
_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
    "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
    f"validation is '{_LABEL}')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_KEY_RULE: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_LABEL_NAMED: Final = frozenset({("", "namespaces"), ("", "services")})


class _OwnerShape(msgspec.Struct):
    apiVersion: str  # noqa: N815  the API's own spelling
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    blockOwnerDeletion: bool | None = None  # noqa: N815


class _MetaShape(msgspec.Struct):
    """The types of metadata fields. Rules about values are checked later."""

    name: str | None = None
    generateName: str | None = None  # noqa: N815
    namespace: str | None = None
    uid: str | None = None
    resourceVersion: str | None = None  # noqa: N815
    creationTimestamp: str | None = None  # noqa: N815
    deletionTimestamp: str | None = None  # noqa: N815
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    ownerReferences: list[_OwnerShape] | None = None  # noqa: N815
    managedFields: list[JsonObject] | None = None  # noqa: N815


def take_body(body: Json, *, without_nulls: bool = False) -> JsonObject:
    """A private copy of a request's object, after the checks that do not depend on its kind."""
    # The depth is checked first: encoding a deeply nested body would exhaust the stack.
    check_nesting(body)
    raw = msgspec.json.encode(body)
    if len(raw) > REQUEST_BYTES_MAX:
        raise TooLargeError(f"Request entity too large: limit is {REQUEST_BYTES_MAX}")
    obj = msgspec.json.decode(raw)
    if not isinstance(obj, dict):
        raise bad_request("the request's body is not an object")
    # The bytes are searched first, because walking every body for nulls would be slow.
    if without_nulls and b"null" in raw:
        obj = strip_nulls(obj)
    taken: JsonObject = obj
    check_shape(taken)
    return taken


def check_nesting(body: Json) -> None:
    """Reject a body that is nested too deeply, without recursion."""
    level: list[Json] = [body]
    for _ in range(NESTING_DEPTH_MAX):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise bad_request(f"the object is nested deeper than {NESTING_DEPTH_MAX} levels")


def check_shape(obj: JsonObject) -> None:
    """Check the types of metadata and drop null and empty fields, so that readers need not."""
    meta = obj.setdefault("metadata", {})
    if not isinstance(meta, dict):
        raise bad_request("json: cannot unmarshal metadata: it is not an object")
    # Go clients send empty maps and null timestamps for unset fields.
    for name in [name for name, value in meta.items() if value in (None, {}, [])]:
        del meta[name]
    try:
        msgspec.convert(meta, _MetaShape)
    except msgspec.ValidationError as error:
        raise bad_request(f"json: cannot unmarshal metadata: {error}") from None


def check_type(resource: Resource, obj: JsonObject) -> None:
    """Check that apiVersion and kind of the body, if set, match the URL, and set them."""
    kind, version = obj.get("kind"), obj.get("apiVersion")
    if kind not in (None, "", resource.kind) or version not in (None, "", resource.api_version):
        raise bad_request(
            f"the object provided is {version}, Kind={kind}, but this address takes "
            f"{resource.api_version}, Kind={resource.kind}"
        )
    obj["apiVersion"], obj["kind"] = resource.api_version, resource.kind


def metadata_faults(resource: Resource, meta: JsonObject) -> list[FieldFault]:
    """The faults of metadata by the rules that all kinds share."""
    faults: list[FieldFault] = []
    name = meta.get("name", "")
    if not name:
        faults.append(required("metadata.name", "name or generateName is required"))
    elif fault := _name_fault(resource, name):
        faults.append(fault)
    for key, value in (meta.get("labels") or {}).items():
        faults += _label_faults(key, value)
    annotations = meta.get("annotations") or {}
    # The limit holds for all annotations together, as in the API server.
    size = sum(len(key) + len(value) for key, value in annotations.items())
    if size > ANNOTATIONS_BYTES_MAX:
        message = f"Too long: may not be more than {ANNOTATIONS_BYTES_MAX} bytes"
        faults.append(
            FieldFault(field="metadata.annotations", message=message, reason="FieldValueTooLong")
        )
    return faults


def _name_fault(resource: Resource, name: str) -> FieldFault | None:
    field = "metadata.name"
    # RBAC names may be any path segment, for example `system:node`.
    if resource.group == "rbac.authorization.k8s.io":
        bad = name in (".", "..") or "/" in name or "%" in name
        return invalid_value(field, name, "may not contain '/' or '%'") if bad else None
    # These names become single labels of DNS names, so dots are not allowed.
    if resource.storage in _LABEL_NAMED:
        if len(name) <= _LABEL_LENGTH_MAX and _LABEL_PATTERN.fullmatch(name):
            return None
        return invalid_value(field, name, _LABEL_RULE)
    if len(name) > _NAME_LENGTH_MAX:
        return invalid_value(field, name, f"must be no more than {_NAME_LENGTH_MAX} characters")
    return (
        None if _SUBDOMAIN_PATTERN.fullmatch(name) else invalid_value(field, name, _SUBDOMAIN_RULE)
    )


def _label_faults(key: str, value: str) -> list[FieldFault]:
    prefix, slash, name = key.rpartition("/")
    good_key = (
        len(name) <= _LABEL_LENGTH_MAX
        and _KEY_NAME_PATTERN.fullmatch(name)
        and (not slash or _SUBDOMAIN_PATTERN.fullmatch(prefix))
    )
    faults = [] if good_key else [invalid_value("metadata.labels", key, _KEY_RULE)]
    if len(value) > _LABEL_LENGTH_MAX:
        why = f"must be no more than {_LABEL_LENGTH_MAX} characters"
        faults.append(invalid_value("metadata.labels", value, why))
    elif not _VALUE_PATTERN.fullmatch(value):
        faults.append(invalid_value("metadata.labels", value, _VALUE_RULE))
    return faults


def is_label(name: Json) -> bool:
    """Whether the name is valid for a container, volume or task."""
    fits = isinstance(name, str) and len(name) <= _LABEL_LENGTH_MAX
    return fits and _LABEL_PATTERN.fullmatch(name) is not None


LABEL_RULE: Final = _LABEL_RULE
