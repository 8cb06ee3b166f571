"""Content negotiation: the client may want the object, a Table, or metadata only.

Kubernetes clients choose by parameters of the media type (`as=Table;v=v1;g=meta.k8s.io`), in order
of preference. The first supported type is used. A client that accepts only protobuf gets 406 and
then falls back to JSON.
"""

from typing import Final

import msgspec

from vc.simcluster.http.errors import NotAcceptableError

META_GROUP: Final = "meta.k8s.io"
DISCOVERY_GROUP: Final = "apidiscovery.k8s.io"
_JSON_TYPES: Final = frozenset({"application/json", "*/*", "application/*", ""})
_ACCEPT_LENGTH_MAX: Final = 4096


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """One media type of an Accept header."""

    media_type: str
    shape: str = ""
    """The `as` parameter: Table, PartialObjectMetadata, APIGroupDiscoveryList …"""
    group: str = ""
    version: str = ""


def parse_accept(header: str) -> list[Accepted]:
    """The media types in the given order.

    Quality values are ignored, because clients do not use them.
    """
    return [_parse_one(part) for part in header[:_ACCEPT_LENGTH_MAX].split(",")]


def _parse_one(text: str) -> Accepted:
    media_type, *parameters = (part.strip() for part in text.split(";"))
    values = dict(p.split("=", 1) for p in parameters if "=" in p)
    return Accepted(
        media_type=media_type,
        shape=values.get("as", ""),
        group=values.get("g", ""),
        version=values.get("v", ""),
    )


def choose_shape(header: str, *, known: frozenset[tuple[str, str, str]]) -> Accepted:
    """The first supported media type. `known` has tuples of shape, group and version."""
    for accepted in parse_accept(header):
        # Clients list protobuf first and JSON as an alternative.
        if accepted.media_type not in _JSON_TYPES:
            continue
        if not accepted.shape or (accepted.shape, accepted.group, accepted.version) in known:
            return accepted
    raise NotAcceptableError("only the following media types are accepted: application/json")


OBJECT_SHAPES: Final = frozenset(
    (shape, META_GROUP, version)
    for shape in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
    for version in ("v1", "v1beta1")
)
DISCOVERY_SHAPES: Final = frozenset(
    ("APIGroupDiscoveryList", DISCOVERY_GROUP, version) for version in ("v2", "v2beta1")
)
