"""The face an object shows: the same storage may be served under another version or group.

Almost always the stored bytes are served as they are. Only a CRD's second version (same shape,
another apiVersion) and `events.k8s.io` (other field names) need a decoded copy.
"""

from typing import Final

import msgspec

from vc_model.struct import JsonObject
from vc_simcluster.resource import EVENTS_GROUP, Resource

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


def is_stored_face(resource: Resource) -> bool:
    """Whether the stored bytes are what this resource serves."""
    return resource.group != EVENTS_GROUP and resource.version == resource.storage_version


def serve(resource: Resource, raw: bytes) -> bytes:
    """Stored bytes as this resource shows them."""
    if is_stored_face(resource):
        return raw
    return msgspec.json.encode(served_object(resource, msgspec.json.decode(raw)))


def served_object(resource: Resource, obj: JsonObject) -> JsonObject:
    """A stored object as this resource shows it."""
    if is_stored_face(resource):
        return obj
    if resource.group == EVENTS_GROUP:
        obj = {_CORE_TO_EVENTS.get(key, key): value for key, value in obj.items()}
    return obj | {"apiVersion": resource.api_version}


def stored_object(resource: Resource, obj: JsonObject) -> JsonObject:
    """An object as written through this resource, in the stored shape."""
    if is_stored_face(resource):
        return obj
    if resource.group == EVENTS_GROUP:
        obj = {_EVENTS_TO_CORE.get(key, key): value for key, value in obj.items()}
        return obj | {"apiVersion": "v1"}
    return obj | {"apiVersion": f"{resource.group}/{resource.storage_version}"}
