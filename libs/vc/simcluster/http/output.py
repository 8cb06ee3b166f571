"""Responses with objects and lists in the requested shape, built from stored bytes.

Stored objects are not encoded again. A list joins the bytes of its items, and a watch event wraps
them. Only Tables decode them.
"""

from typing import Final

import msgspec
from aiohttp import web

from vc.model.api.struct import JsonObject
from vc.simcluster.http.accept import OBJECT_SHAPES, choose_shape
from vc.simcluster.http.errors import JSON_TYPE, json_response
from vc.simcluster.printing.table import TABLE_TYPE, Tables
from vc.simcluster.store.resource import Resource
from vc.simcluster.verbs.api import ObjectPage

_PARTIAL: Final = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":'


class _Identity(msgspec.Struct):
    """The part of an object that metadata-only clients read."""

    metadata: msgspec.Raw = msgspec.Raw(b"{}")


_identity: Final = msgspec.json.Decoder(_Identity)


class Output:
    """The response format of one request."""

    def __init__(self, request: web.Request, resource: Resource, *, now: float) -> None:
        accepted = choose_shape(request.headers.get("Accept", ""), known=OBJECT_SHAPES)
        self.resource = resource
        self._now = now
        self.is_partial = accepted.shape.startswith("PartialObjectMetadata")
        self.tables: Tables | None = None
        if accepted.shape == "Table":
            include = request.query.get("includeObject", "")
            self.tables = Tables(resource, include_object=include, version=accepted.version)

    @property
    def content_type(self) -> str:
        return TABLE_TYPE if self.tables else JSON_TYPE

    def object(self, obj: JsonObject, *, status: int = 200) -> web.Response:
        """A response with one object. A Status is never converted to a Table."""
        # Deletions answer with a Status; kubectl expects it as it is, whatever it accepts.
        if obj.get("kind") == "Status" and obj.get("apiVersion") == "v1":
            return json_response(obj, status=status)
        if self.tables:
            metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
            table = self.tables.table([obj], now=self._now, metadata=metadata)
            return json_response(table, status=status, content_type=TABLE_TYPE)
        if self.is_partial:
            return json_response(partial_bytes(msgspec.json.encode(obj)), status=status)
        return json_response(obj, status=status)

    def page(self, page: ObjectPage) -> web.Response:
        """A response with one page of a list."""
        metadata: JsonObject = {"resourceVersion": page.resource_version}
        if page.continue_token:
            metadata["continue"] = page.continue_token
            metadata["remainingItemCount"] = page.remaining
        if self.tables:
            # Decoded one at a time: most tables keep only the metadata of each object.
            objects = (msgspec.json.decode(item) for item in page.items)
            table = self.tables.table(objects, now=self._now, metadata=metadata)
            return json_response(table, content_type=TABLE_TYPE)
        return json_response(self._list_body(page.items, metadata))

    def _list_body(self, items: list[bytes], metadata: JsonObject) -> bytes:
        """`{"kind": ..., "metadata": ..., "items": [...]}`, joined from encoded items."""
        kind, api_version = f"{self.resource.kind}List", self.resource.api_version
        if self.is_partial:
            kind, api_version = "PartialObjectMetadataList", "meta.k8s.io/v1"
            items = [partial_bytes(item) for item in items]
        # Only the head is encoded; the items are already JSON.
        head = msgspec.json.encode({"kind": kind, "apiVersion": api_version, "metadata": metadata})
        return b'%b,"items":[%b]}' % (head[:-1], b",".join(items))


def partial_bytes(item: bytes) -> bytes:
    """The metadata of an encoded object, copied without decoding it."""
    return b"%b%b}" % (_PARTIAL, bytes(_identity.decode(item).metadata))
