"""Conversion between the stored form of an object and the form that a resource serves.

In most cases the stored bytes are served unchanged. Only another version of a CRD (same shape,
other apiVersion) and `events.k8s.io` (other field names) need a decoded copy.
"""

from typing import Final

import msgspec

from vc.model.api.struct import JsonObject
from vc.simcluster.store.resource import EVENTS_GROUP, Resource

_CORE_TO_EVENTS: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_EVENTS_TO_CORE: Final = {new: old for old, new in _CORE_TO_EVENTS.items()}


def is_stored_form(resource: Resource) -> bool:
    """Whether the stored bytes can be served unchanged by this resource."""
    return resource.group != EVENTS_GROUP and resource.version == resource.storage_version


def serve(resource: Resource, raw: bytes) -> bytes:
    """Convert stored bytes to the form that this resource serves."""
    if is_stored_form(resource):
        return raw
    return msgspec.json.encode(served_object(resource, msgspec.json.decode(raw)))


def served_object(resource: Resource, obj: JsonObject) -> JsonObject:
    """Convert a stored object to the form that this resource serves."""
    if is_stored_form(resource):
        return obj
    # `events.k8s.io` only renames fields of the core Event, so both groups show the same events.
    if resource.group == EVENTS_GROUP:
        obj = {_CORE_TO_EVENTS.get(key, key): value for key, value in obj.items()}
    return obj | {"apiVersion": resource.api_version}


def stored_object(resource: Resource, obj: JsonObject) -> JsonObject:
    """Convert an object written through this resource to the stored form."""
    if is_stored_form(resource):
        return obj
    if resource.group == EVENTS_GROUP:
        obj = {_EVENTS_TO_CORE.get(key, key): value for key, value in obj.items()}
        return obj | {"apiVersion": "v1"}
    # Without a conversion webhook only the apiVersion differs between versions of a CRD.
    return obj | {"apiVersion": f"{resource.group}/{resource.storage_version}"}
