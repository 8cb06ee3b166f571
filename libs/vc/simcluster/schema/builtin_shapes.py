"""Type checks of built-in kinds: an object that an API server cannot decode is not stored.

Readers of stored objects (tables, kubelets, garbage collection, the services) may rely on the types
of fields. The types are the structs into which the services decode objects; fields that these
structs do not have are not checked.
"""

from typing import Final

import msgspec

from vc.model.api import kinds
from vc.model.api.meta import ApiObject
from vc.model.api.struct import JsonObject
from vc.model.faults import describe
from vc.simcluster.store.failures import bad_request
from vc.simcluster.store.resource import Resource

_TYPES: Final[dict[tuple[str, str], type[ApiObject]]] = {
    (kind.group, kind.plural): kind.type for kind in (*kinds.WATCHED, kinds.LEASES)
}
_ERROR_CHARACTERS_MAX: Final = 300


def check_types(resource: Resource, obj: JsonObject) -> None:
    """Reject an object with a field of the wrong type, as a decoder in Go does."""
    if resource.custom:
        return  # custom resources are checked by their schema
    for part in ("spec", "status"):
        if not isinstance(obj.get(part, {}), dict):
            raise _refusal(resource, f"{part} is not an object")
    shape = _TYPES.get(resource.storage)
    if shape is None:
        return
    try:
        msgspec.convert(obj, shape)
    except Exception as error:  # noqa: BLE001 - of one object, whatever it is
        raise _refusal(resource, describe(error)) from None


def _refusal(resource: Resource, why: str) -> Exception:
    return bad_request(
        f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
        f"json: cannot unmarshal: {why[:_ERROR_CHARACTERS_MAX]}"
    )
