"""The types of built-in kinds' fields: what an API server cannot decode it does not store.

Whoever reads objects later (tables, kubelets, garbage collection, our own services) may rely on it that a list is a
list and a text is a text. The types are those that our services read objects into; fields that they do not know
are left as they are.
"""

from typing import Final

import msgspec

from vc_model import kinds
from vc_model.faults import describe
from vc_model.meta import ApiObject
from vc_model.struct import JsonObject
from vc_simcluster.failures import bad_request
from vc_simcluster.resource import Resource

_TYPES: Final[dict[tuple[str, str], type[ApiObject]]] = {
    (kind.group, kind.plural): kind.type for kind in (*kinds.WATCHED, kinds.LEASES)
}
_ERROR_CHARACTERS_MAX: Final = 300


def check_types(resource: Resource, obj: JsonObject) -> None:
    """Refuse an object with a field of another type, as a decoder in Go does."""
    if resource.custom:
        return  # its schema is asked
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
