"""Bodies that kubectl sends only as protobuf."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vc.cluster.errors import BadRequestError, UnsupportedMediaTypeError
from vc.simcluster.http.protobuf import decode_object
from vc.simcluster.http.protobuf_kinds import KINDS, MESSAGES


def _varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def _text(number: int, value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _body(api_version: str, kind: str, raw: bytes) -> bytes:
    type_meta = _text(1, api_version) + _text(2, kind)
    return b"k8s\x00" + _text(1, type_meta) + _text(2, raw) + _text(3, "") + _text(4, "")


def test_a_config_map_is_read() -> None:
    labels = _text(11, _text(1, "a") + _text(2, "b"))
    metadata = _text(1, "c") + _text(2, "") + _number(7, 0) + _text(8, b"") + labels
    data = _text(2, _text(1, "x") + _text(2, "1")) + _text(2, _text(1, "y") + _text(2, ""))
    binary = _text(3, _text(1, "z") + _text(2, b"\x00\xff"))
    body = _body("v1", "ConfigMap", _text(1, metadata) + data + binary + _number(4, 0))
    assert decode_object(body) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "labels": {"a": "b"}},
        "data": {"x": "1", "y": ""},
        "binaryData": {"z": "AP8="},
        "immutable": False,
    }


def test_an_eviction_keeps_a_grace_period_of_zero() -> None:
    options = _text(2, _number(1, 0) + _text(2, _text(1, "uid-1")) + _text(5, "All"))
    body = _body("policy/v1", "Eviction", _text(1, _text(1, "p")) + options)
    assert decode_object(body)["deleteOptions"] == {
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "uid-1"},
        "dryRun": ["All"],
    }


def test_times_quantities_and_negative_numbers_are_read() -> None:
    quota = _text(2, _text(1, _text(1, "cpu") + _text(2, _text(1, "500m"))))
    created = _text(1, _text(8, _number(1, 60)))
    body = _body("v1", "ResourceQuota", created + quota)
    found = decode_object(body)
    assert found["metadata"] == {"creationTimestamp": "1970-01-01T00:01:00Z"}
    assert found["spec"] == {"hard": {"cpu": "500m"}}
    priority = _body("scheduling.k8s.io/v1", "PriorityClass", _number(2, (1 << 64) - 5))
    assert decode_object(priority)["value"] == -5


def test_a_kind_we_do_not_read_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedMediaTypeError, match="apps/v1, Kind=Deployment"):
        decode_object(_body("apps/v1", "Deployment", b""))


def test_a_field_we_do_not_read_is_refused_unless_it_is_empty() -> None:
    assert "spec" not in decode_object(_body("v1", "ServiceAccount", _text(2, b"")))
    with pytest.raises(UnsupportedMediaTypeError, match="field 2 of a protobuf ServiceAccount"):
        decode_object(_body("v1", "ServiceAccount", _text(2, "secret")))


@given(st.binary(max_size=200))
def test_rubbish_is_refused_and_never_breaks(raw: bytes) -> None:
    for body in (raw, b"k8s\x00" + raw, _body("v1", "Secret", raw)):
        try:
            decode_object(body)
        except (BadRequestError, UnsupportedMediaTypeError):
            continue


def test_every_message_that_is_named_is_described() -> None:
    plain = {"string", "bytes", "int", "bool", "time", "quantity", "ignored"}
    for fields in MESSAGES.values():
        for field in fields.values():
            kind = field.partition(": ")[2].removesuffix("[]").removesuffix("*")
            assert kind.removeprefix("map ") in plain | MESSAGES.keys()
    assert set(KINDS.values()) <= MESSAGES.keys()
