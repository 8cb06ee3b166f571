"""Errors with the messages of a real API server, so that kubectl's users recognise them."""

from collections.abc import Sequence
from typing import Final

import msgspec

from vc.cluster.errors import (
    AlreadyExistsError,
    BadRequestError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)
from vc.model.api.struct import Json
from vc.simcluster.store.resource import Resource

_MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
SHOWN_VALUE_LENGTH_MAX: Final = 200
"""Longest value shown in a message. Longer values are shortened so that they cannot fill the log.
"""


class FieldFault(msgspec.Struct, frozen=True, kw_only=True):
    """One violated validation rule of an object."""

    field: str
    message: str
    """The text that kubectl shows after the field's name."""
    reason: str = "FieldValueInvalid"

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def shown(value: Json) -> str:
    """Format a value as Go's messages do: strings quoted, objects as JSON, long values cut."""
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
    # The core group is left out, as in the Status objects of a real server.
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
    """One InvalidError for all faults, with one cause per fault in its details."""
    # kubectl prints one fault as it is and several as a bracketed list.
    said = [str(fault) for fault in faults]
    text = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    causes = [
        {"reason": fault.reason, "message": fault.message, "field": fault.field} for fault in faults
    ]
    # The details of an invalid object name the kind; those of the other errors name the plural.
    details = _details(resource, name) | {"kind": resource.kind, "causes": causes}
    return InvalidError(f'{resource.qualified_kind} "{name}" is invalid: {text}', details=details)


def bad_request(why: str) -> BadRequestError:
    return BadRequestError(why)
