"""The API server's own words for what went wrong, so that kubectl's users recognise them."""

from collections.abc import Sequence
from typing import Final

import msgspec

from vc_cluster.errors import (
    AlreadyExistsError,
    BadRequestError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)
from vc_model.struct import Json
from vc_simcluster.resource import Resource

_MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
SHOWN_VALUE_LENGTH_MAX: Final = 200
"""Values are shown in messages, but a hostile one must not fill the log."""


class FieldFault(msgspec.Struct, frozen=True, kw_only=True):
    """One rule that an object breaks."""

    field: str
    message: str
    """What kubectl shows after the field's name."""
    reason: str = "FieldValueInvalid"

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def shown(value: Json) -> str:
    """A value as Go's messages write it: strings quoted, objects as JSON, shortened."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= SHOWN_VALUE_LENGTH_MAX else text[:SHOWN_VALUE_LENGTH_MAX] + "…"


def invalid_value(field: str, value: Json, why: str) -> FieldFault:
    return FieldFault(field=field, message=f"Invalid value: {shown(value)}: {why}")


def required(field: str, why: str = "") -> FieldFault:
    message = f"Required value: {why}" if why else "Required value"
    return FieldFault(field=field, message=message, reason="FieldValueRequired")


def forbidden_field(field: str, why: str) -> FieldFault:
    return FieldFault(field=field, message=f"Forbidden: {why}", reason="FieldValueForbidden")


def unsupported_value(field: str, value: Json, allowed: Sequence[Json]) -> FieldFault:
    choices = ", ".join(shown(choice) for choice in allowed)
    return FieldFault(
        field=field,
        message=f"Unsupported value: {shown(value)}: supported values: {choices}",
        reason="FieldValueNotSupported",
    )


def _details(resource: Resource, name: str) -> dict[str, object]:
    details: dict[str, object] = {"name": name, "kind": resource.plural}
    return details | ({"group": resource.group} if resource.group else {})


def not_found(resource: Resource, name: str) -> NotFoundError:
    return NotFoundError(
        f'{resource.qualified} "{name}" not found', details=_details(resource, name)
    )


def already_exists(resource: Resource, name: str) -> AlreadyExistsError:
    return AlreadyExistsError(
        f'{resource.qualified} "{name}" already exists', details=_details(resource, name)
    )


def conflict(resource: Resource, name: str, why: str = _MODIFIED) -> ConflictError:
    return ConflictError(
        f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}',
        details=_details(resource, name),
    )


def forbidden(resource: Resource, name: str, why: str) -> ForbiddenError:
    return ForbiddenError(
        f'{resource.qualified} "{name}" is forbidden: {why}', details=_details(resource, name)
    )


def invalid(resource: Resource, name: str, faults: Sequence[FieldFault]) -> InvalidError:
    """All faults in one answer, each also as a cause of its own."""
    said = [str(fault) for fault in faults]
    text = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    causes = [
        {"reason": fault.reason, "message": fault.message, "field": fault.field} for fault in faults
    ]
    details = _details(resource, name) | {"kind": resource.kind, "causes": causes}
    return InvalidError(f'{resource.qualified_kind} "{name}" is invalid: {text}', details=details)


def bad_request(why: str) -> BadRequestError:
    return BadRequestError(why)
