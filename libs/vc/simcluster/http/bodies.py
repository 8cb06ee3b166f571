"""Parsing of request bodies: JSON or YAML, of bounded size.

Protobuf is supported for the few kinds that kubectl never sends as JSON (`protobuf`). An unreadable
body is an error of the client; the response says what is wrong.
"""

from typing import Final

import msgspec
from aiohttp import web

from vc.cluster.errors import BadRequestError, TooLargeError, UnsupportedMediaTypeError
from vc.model.api.struct import Json, JsonObject
from vc.model.faults import describe
from vc.model.values import bounded_yaml
from vc.model.values.bounded import read_integer
from vc.simcluster.http.protobuf import PROTOBUF_TYPE, decode_object

BODY_BYTES_MAX: Final = 3 * 1024 * 1024
"""The same limit as in a real API server."""
_DISCARDED_BYTES_MAX: Final = 64 * 1024 * 1024
_CHUNK_BYTES: Final = 64 * 1024
_MANAGER_LENGTH_MAX: Final = 128
"""Longest name of a field manager, as in the API server."""

_JSON_TYPES: Final = frozenset({"", "application/json", "application/octet-stream"})
_OBJECT_TYPES: Final = _JSON_TYPES | {"application/yaml", PROTOBUF_TYPE}
_YAML_TYPES: Final = frozenset({"application/yaml", "application/apply-patch+yaml"})
PATCH_TYPES: Final = frozenset(
    {
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    }
)


async def read_object(request: web.Request) -> JsonObject:
    """Read the body as an object."""
    body = await _read_value(request, allowed=_OBJECT_TYPES)
    if not isinstance(body, dict):
        raise BadRequestError("the request body must be an object with apiVersion and kind")
    return body


async def read_options(request: web.Request) -> JsonObject:
    """Read DeleteOptions or similar options, which are optional. The query may set them, too."""
    options: JsonObject = {}
    if request.can_read_body:
        body = await _read_value(request, allowed=_OBJECT_TYPES)
        options = body if isinstance(body, dict) else {}
    if "gracePeriodSeconds" in request.query:
        options["gracePeriodSeconds"] = query_int(request, "gracePeriodSeconds")
    if "propagationPolicy" in request.query:
        options["propagationPolicy"] = request.query["propagationPolicy"]
    return options


async def read_patch(request: web.Request) -> tuple[Json, str]:
    """Read the patch and its media type."""
    kind = content_type(request)
    if kind not in PATCH_TYPES:
        known = ", ".join(sorted(PATCH_TYPES))
        raise UnsupportedMediaTypeError(
            f"the body of the request was in an unknown format - accepted media types include: {known}"
        )
    return await _read_value(request, allowed=PATCH_TYPES), kind


def content_type(request: web.Request) -> str:
    """The media type without parameters."""
    return request.headers.get("Content-Type", "").split(";")[0].strip().lower()


async def _read_value(request: web.Request, *, allowed: frozenset[str]) -> Json:
    kind = content_type(request)
    if kind not in allowed:
        raise UnsupportedMediaTypeError(
            "the body of the request was in an unknown format - "
            "accepted media types include: application/json, application/yaml"
        )
    raw = await _read_bounded(request)
    # Only a few kinds can be decoded; the others are answered with 415.
    if kind == PROTOBUF_TYPE:
        return decode_object(raw)
    return _parse(raw, is_yaml=kind in _YAML_TYPES)


async def _read_bounded(request: web.Request) -> bytes:
    """Read the whole body.

    A body that is too large is read up to a second limit and discarded. Otherwise a client that is
    still sending would see a broken connection instead of the error message.
    """
    kept: list[bytes] = []
    total = 0
    async for chunk in request.content.iter_chunked(_CHUNK_BYTES):
        total += len(chunk)
        # Chunks beyond the limit are read but not stored, so memory stays bounded.
        if total <= BODY_BYTES_MAX:
            kept.append(chunk)
        elif total > _DISCARDED_BYTES_MAX:
            break
    if total > BODY_BYTES_MAX:
        raise TooLargeError(f"Request entity too large: limit is {BODY_BYTES_MAX}")
    return b"".join(kept)


def _parse(raw: bytes, *, is_yaml: bool) -> Json:
    """Parse the body. JSON is tried first even for YAML, because most YAML bodies are JSON."""
    try:
        return msgspec.json.decode(raw)
    except Exception as error:  # noqa: BLE001 - of one body, whatever it is
        if not is_yaml:
            raise BadRequestError(
                f"the body of the request is not JSON: {describe(error)}"
            ) from None
    try:
        return _plain(bounded_yaml.load(raw))
    except Exception as error:  # noqa: BLE001 - of one body, whatever it is
        raise BadRequestError(f"the body of the request is not YAML: {describe(error)}") from None


def _plain(value: Json) -> Json:
    """Convert YAML values to what JSON would have: dates become strings, keys must be strings."""
    return msgspec.json.decode(msgspec.json.encode(value))


def query_int(request: web.Request, name: str, default: int = 0) -> int:
    """An integer parameter of the query."""
    text = request.query.get(name, "")
    if not text:
        return default
    number = read_integer(text)
    if number is None:
        raise BadRequestError(f"{name}: {text[:40]!r} is not a whole number")
    return number


def query_bool(request: web.Request, name: str) -> bool:
    """A boolean parameter of the query, with the spellings that Go accepts."""
    return request.query.get(name, "").lower() in {"1", "t", "true"}


class WriteParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The query parameters of a write."""

    dry_run: bool
    field_manager: str

    @classmethod
    def of(cls, request: web.Request) -> "WriteParameters":
        # Without a fieldManager parameter the API server uses the name of the client program.
        agent = request.headers.get("User-Agent", "").split("/")[0]
        manager = request.query.get("fieldManager", "") or agent
        dry_run = request.query.getall("dryRun", [])
        if any(value != "All" for value in dry_run):
            raise BadRequestError(f"dryRun: {dry_run[0][:40]!r} is not supported; use All")
        return cls(dry_run=bool(dry_run), field_manager=manager[:_MANAGER_LENGTH_MAX])
