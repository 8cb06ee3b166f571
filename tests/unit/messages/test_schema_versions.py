"""Two releases on one bus: the newer one reads what the older one writes, the older one refuses the rest.

The older release is in the golden files; the newer one is today's code with a version that is one
higher, and structs that have grown a field.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
import pytest

from tests.unit.messages.golden import FOLDER, from_text
from tests.unit.messages.samples import SAMPLES
from tests.unit.messages.test_wire_format import as_record
from vc.messages import codec
from vc.messages.codec import (
    HEADER_SCHEMA,
    SCHEMA_VERSION,
    SCHEMA_VERSION_READ_MAX,
    CodecError,
    NewerSchemaError,
    decode,
    encode,
    wire_headers,
)
from vc.messages.dead_letters import DeadLetter
from vc.messages.facts import Identity, identity_of, object_of
from vc.messages.plugins import PluginAnnouncement, PluginReply, PluginRequest
from vc.messages.progress import Progress, progress_of
from vc.messages.record import Record
from vc.messages.sessions import SessionRecord, session_of
from vc.messages.topics import ALL, PLUGINS
from vc.messages.usage import UsageRow, usage_of
from vc.model.api.kinds import BY_TOPIC, WATCHED

Read = Callable[[Record], Any]


def into(kind: type[msgspec.Struct]) -> Read:
    return lambda record: decode(record.value or b"", into=kind, headers=record.headers)


READERS: Final[dict[str, Read]] = {
    "fact-job": object_of,
    "fact-pod": object_of,
    "fact-queue": object_of,
    "tombstone-pod": identity_of,
    "fence": identity_of,
    "progress": progress_of,
    "plugin-request": into(PluginRequest),
    "plugin-reply": into(PluginReply),
    "plugin-announcement": into(PluginAnnouncement),
    "session": session_of,
    "usage-row": usage_of,
    "dead-letter": into(DeadLetter),
}
"""How services read each sort of message."""

TYPES: Final[tuple[type[msgspec.Struct], ...]] = (
    Progress,
    PluginRequest,
    PluginReply,
    PluginAnnouncement,
    SessionRecord,
    UsageRow,
    DeadLetter,
    *(kind.type for kind in WATCHED),
)


def written_by_an_older_release(name: str) -> Record:
    return as_record(from_text((FOLDER / f"{name}.txt").read_text()))


@pytest.fixture
def next_release(monkeypatch: pytest.MonkeyPatch) -> None:
    readable = frozenset(str(n) for n in range(1, SCHEMA_VERSION + 2))
    monkeypatch.setattr(codec, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    monkeypatch.setattr(codec, "_READABLE_SCHEMAS", readable)


def test_this_release_reads_what_it_writes_and_may_read_one_version_more() -> None:
    assert SCHEMA_VERSION_READ_MAX in (SCHEMA_VERSION, SCHEMA_VERSION + 1)


def test_every_sort_of_message_and_every_topic_is_among_the_samples() -> None:
    assert set(READERS) == set(SAMPLES)
    covered = {message.topic for message in SAMPLES.values()} | set(BY_TOPIC)
    covered |= {f"plugin.{plugin}.requests" for plugin in PLUGINS}  # one type for all
    assert {topic.name for topic in ALL} <= covered


@pytest.mark.usefixtures("next_release")
@pytest.mark.parametrize("name", SAMPLES)
def test_the_next_release_reads_what_this_one_wrote(name: str) -> None:
    assert wire_headers()[HEADER_SCHEMA] == str(SCHEMA_VERSION + 1), "the fixture works"
    old = written_by_an_older_release(name)
    assert old.headers[HEADER_SCHEMA] == str(SCHEMA_VERSION)
    read = READERS[name](old)
    assert read == READERS[name](as_record(SAMPLES[name]))
    if not isinstance(read, Identity):
        assert encode(read) == old.value, "nothing of it got lost"


@pytest.mark.parametrize("name", SAMPLES)
def test_this_release_refuses_what_the_next_one_writes(name: str) -> None:
    message = SAMPLES[name]
    headers = {**message.headers, HEADER_SCHEMA: str(SCHEMA_VERSION_READ_MAX + 1)}
    record = as_record(msgspec.structs.replace(message, headers=headers))
    with pytest.raises(NewerSchemaError, match="upgrade it first"):
        READERS[name](record)


@pytest.mark.parametrize("version", ["", "0", "-1", "latest", "١", "9" * 7])
def test_only_a_version_that_a_release_could_have_is_a_newer_one(version: str) -> None:
    record = as_record(SAMPLES["progress"])
    broken = msgspec.structs.replace(record, headers={HEADER_SCHEMA: version})
    with pytest.raises(CodecError) as error:
        progress_of(broken)
    assert not isinstance(error.value, NewerSchemaError)


def grown(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """The type as a later release of the same version may have it: one field more, with a default."""
    return msgspec.defstruct(
        kind.__name__, [("added_later", str, "new")], bases=(kind,), frozen=True, kw_only=True
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("progress", Progress),
        ("plugin-request", PluginRequest),
        ("plugin-reply", PluginReply),
        ("plugin-announcement", PluginAnnouncement),
        ("session", SessionRecord),
        ("usage-row", UsageRow),
        ("dead-letter", DeadLetter),
        *((f"fact-{topic.short.rstrip('s')}", topic.type) for topic in WATCHED if f"fact-{topic.short.rstrip('s')}" in SAMPLES),
    ],
)  # fmt: skip
def test_a_field_may_be_added_within_a_version(name: str, kind: type[msgspec.Struct]) -> None:
    old = written_by_an_older_release(name)
    later = decode(old.value or b"", into=grown(kind), headers=old.headers)
    assert later.added_later == "new"  # type: ignore[attr-defined]
    again = decode(encode(later), into=kind, headers=old.headers)
    assert encode(again) == old.value, "the older release reads the newer one's, without the field"


def structs_in(kind: Any, seen: set[type]) -> Iterator[msgspec.inspect.StructType]:
    """Every struct that can be inside a message."""
    if isinstance(kind, msgspec.inspect.StructType):
        if kind.cls in seen:
            return
        seen.add(kind.cls)
        yield kind
        for field in kind.fields:
            yield from structs_in(field.type, seen)
        return
    for part in ("item_type", "value_type", "key_type"):
        if hasattr(kind, part):
            yield from structs_in(getattr(kind, part), seen)
    for each in (*getattr(kind, "types", ()), *getattr(kind, "item_types", ())):
        yield from structs_in(each, seen)


def test_no_struct_inside_a_message_refuses_fields_it_does_not_know() -> None:
    seen: set[type] = set()
    found = [each for kind in TYPES for each in structs_in(msgspec.inspect.type_info(kind), seen)]
    assert len(found) > len(TYPES)
    strict = [each.cls.__name__ for each in found if each.forbid_unknown_fields]
    assert strict == []
