"""Decoding of the protobuf bodies that some kubectl commands always send.

`kubectl create namespace`, `create configmap`, `auth can-i`, `drain` and a few others send protobuf
and do not fall back to JSON. A body has four magic bytes and an envelope that names the kind and
contains the object. Field numbers are those of the public .proto files. The supported kinds are
listed in `protobuf_kinds`; any other kind is answered with 415.
"""

import base64
from collections.abc import Iterator
from typing import Final

from vc.cluster.errors import BadRequestError, UnsupportedMediaTypeError
from vc.model.api.struct import Json, JsonObject
from vc.model.values.times import format_time
from vc.simcluster.http.protobuf_kinds import IGNORED, KINDS, MESSAGES

PROTOBUF_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
_DEPTH_MAX: Final = 40
_VARINT_BITS_MAX: Final = 64
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def decode_object(body: bytes) -> JsonObject:
    """Decode the object in the body to its JSON form."""
    if not body.startswith(_MAGIC):
        raise BadRequestError("the body of the request is not Kubernetes protobuf")
    envelope = _message(body[len(_MAGIC) :], "Unknown", 0)
    kind = envelope.get("typeMeta", {})
    api_version, name = kind.get("apiVersion", ""), kind.get("kind", "")
    # Without a table of field numbers the object would be decoded incompletely.
    message = KINDS.get((api_version, name))
    if message is None:
        raise UnsupportedMediaTypeError(
            f"protobuf bodies of {api_version}, Kind={name} are not read here - "
            "accepted media types include: application/json, application/yaml"
        )
    raw = base64.b64decode(envelope.get("raw", ""))
    return {"apiVersion": api_version, "kind": name, **_message(raw, message, 0)}


def _message(raw: bytes, name: str, depth: int) -> JsonObject:
    """Decode one message. An unknown, non-empty field is rejected, so that no data is lost."""
    # Hostile nesting must not exhaust the stack.
    if depth > _DEPTH_MAX:
        raise BadRequestError("the body of the request is nested too deeply")
    fields = MESSAGES[name]
    found: JsonObject = {}
    for number, value in _fields(raw):
        key, _, kind = fields.get(number, "").partition(": ")
        if kind and kind != IGNORED:
            _add(found, key, kind=kind, value=_value(value, kind, depth))
        elif not kind and value not in (0, b""):
            raise UnsupportedMediaTypeError(
                f"field {number} of a protobuf {name} is not read here - "
                "accepted media types include: application/json, application/yaml"
            )
    return found


def _add(found: JsonObject, key: str, *, kind: str, value: Json) -> None:
    """Add a field to the message. Values that mean "unset" in protobuf are left out."""
    if kind.endswith("[]"):
        found.setdefault(key, []).append(value)
    elif kind.startswith("map "):
        found.setdefault(key, {}).update(value)
    elif kind.endswith("*") or value not in ("", 0, None, {}):  # 0 also matches False
        found[key] = value


def _value(value: int | bytes, kind: str, depth: int) -> Json:
    plain = kind.removesuffix("[]").removesuffix("*")
    if plain in {"int", "bool"}:
        if not isinstance(value, int):
            raise BadRequestError("the body of the request has a text where a number belongs")
        return bool(value) if plain == "bool" else _signed(value)
    if not isinstance(value, bytes):
        raise BadRequestError("the body of the request has a number where a text belongs")
    if plain == "string":
        return value.decode(errors="replace")
    if plain == "bytes":
        return base64.b64encode(value).decode()
    if plain.startswith("map "):
        return _entry(value, plain.removeprefix("map "), depth)
    if plain == "time":
        return _time(value)
    if plain == "quantity":
        return next((_text(v) for n, v in _fields(value) if n == 1), "0")
    return _message(value, plain, depth + 1)


def _entry(raw: bytes, kind: str, depth: int) -> JsonObject:
    parts = dict(_fields(raw))
    # A map entry is a message with the key in field 1 and the value in field 2.
    return {_text(parts.get(1, b"")): _value(parts.get(2, b""), kind, depth)}


def _text(value: int | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _time(raw: bytes) -> str | None:
    seconds = dict(_fields(raw)).get(1)
    return format_time(_signed(seconds)) if isinstance(seconds, int) else None


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The number and value of every field on the wire."""
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(raw, at)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            length, at = _varint(raw, at)
        # Fixed-width values are yielded as bytes; no supported message has such a field.
        elif kind in {_FIXED64, _FIXED32}:
            length = 8 if kind == _FIXED64 else 4
        else:
            raise BadRequestError("the body of the request is not protobuf")
        if at + length > len(raw):
            raise BadRequestError("the body of the request is cut off")
        yield tag >> 3, raw[at : at + length]
        at += length


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = 0
    # The loop is bounded: a varint has at most ten bytes, and a hostile one could be endless.
    for shift in range(0, _VARINT_BITS_MAX + 6, 7):
        if at >= len(raw):
            break
        value |= (raw[at] & 0x7F) << shift
        at += 1
        if raw[at - 1] < 0x80:
            return value, at
    raise BadRequestError("the body of the request is cut off")
