"""Hostile bytes and headers: a CodecError or a struct, and never anything else."""

import contextlib

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vc.messages.codec import CodecError, decode, encode, wire_headers
from vc.messages.dead_letters import DeadLetter
from vc.messages.facts import identity_of, object_of
from vc.messages.plugins import PluginAnnouncement, PluginReply, PluginRequest
from vc.messages.progress import Progress, progress_of
from vc.messages.record import Record
from vc.messages.topics import PROGRESS
from vc.messages.view import IncarnationChanged, View
from vc.model.api.kinds import PODS, WATCHED

TYPES = [kind.type for kind in WATCHED] + [
    Progress,
    PluginRequest,
    PluginReply,
    PluginAnnouncement,
    DeadLetter,
]
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
FIELDS = st.sampled_from(["metadata", "spec", "status", "name", "labels", "tasks", "stamp", "kind"])
SHAPED = st.recursive(
    PLAIN, lambda inner: st.dictionaries(FIELDS, inner, max_size=4), max_leaves=10
).map(msgspec.msgpack.encode)
HEADERS = st.dictionaries(
    st.sampled_from(["schema", "uid", "resource-version", "epoch", "incarnation", "x"]),
    st.text(max_size=20) | st.just("1"),
)


@given(data=st.binary(max_size=200) | SHAPED, into=st.sampled_from(TYPES))
@example(data=b"\xd9\x04\xff\xff\xff\xff", into=DeadLetter)
@example(data=b"\xdf\xff\xff\xff\xff", into=DeadLetter)
def test_any_bytes_give_a_struct_or_a_codec_error(data: bytes, into: type[msgspec.Struct]) -> None:
    with contextlib.suppress(CodecError):
        assert isinstance(decode(data, into=into, headers=wire_headers()), into)


@given(
    topic=st.sampled_from([PODS.topic, PROGRESS.name, "cluster.unknown"]),
    value=st.none() | st.binary(max_size=60) | SHAPED,
    headers=HEADERS,
)
def test_a_view_survives_any_record(
    topic: str, value: bytes | None, headers: dict[str, str]
) -> None:
    record = Record(topic=topic, partition=0, offset=0, key="k", value=value, headers=headers)
    for read in (identity_of, object_of, progress_of):
        with contextlib.suppress(CodecError):
            read(record)
    view = View([PODS])
    with contextlib.suppress(CodecError, IncarnationChanged):
        view.apply(record, received_at=0.0, live=True)
    assert view.unready(0.0) != ""


@pytest.mark.parametrize("kind", WATCHED, ids=lambda kind: kind.short)
def test_an_empty_object_survives_the_wire(kind: object) -> None:
    into = kind.type  # type: ignore[attr-defined]
    assert decode(encode(into()), into=into, headers=wire_headers()) == into()
