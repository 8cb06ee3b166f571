"""The codec rejects what it does not know, with one line that gives the reason."""

import msgspec
import pytest

from vc.messages.codec import (
    SCHEMA_VERSION,
    CodecError,
    MessageTooLargeError,
    decode,
    encode,
    wire_headers,
)
from vc.messages.dead_letters import DeadLetter, dead_letter_message
from vc.messages.facts import HEADER_EPOCH, HEADER_UID, fact_message, identity_of, object_of
from vc.messages.progress import progress_of
from vc.messages.record import Record
from vc.messages.topics import DEAD_LETTERS, MESSAGE_BYTES_MAX
from vc.model.api.kinds import PODS
from vc.model.api.kubernetes import ConfigMap
from vc.model.api.meta import ObjectMeta
from vc.model.api.pod import Pod

from .samples import POD, SAMPLES, STAMP


class SchemaCase(msgspec.Struct, frozen=True):
    """A schema header that is refused."""

    id: str
    headers: dict[str, str]


REFUSED = [
    SchemaCase("no schema at all", {}),
    SchemaCase("an empty one", {"schema": ""}),
    SchemaCase("a newer one", {"schema": str(SCHEMA_VERSION + 1)}),
    SchemaCase("zero", {"schema": "0"}),
    SchemaCase("a negative one", {"schema": "-1"}),
    SchemaCase("a word", {"schema": "latest"}),
    SchemaCase("digits of another script", {"schema": "١"}),
    SchemaCase("more digits than an integer takes", {"schema": "1" * 10_000}),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.id)
def test_an_unknown_schema_is_refused_before_decoding(case: SchemaCase) -> None:
    with pytest.raises(CodecError, match="schema version") as error:
        decode(b"\xc1 not even msgpack", into=Pod, headers=case.headers)
    assert len(str(error.value)) < 200


def test_fields_of_a_later_minor_release_are_ignored() -> None:
    data = msgspec.msgpack.encode({"metadata": {"name": "p"}, "laterField": [1, 2]})
    assert decode(data, into=Pod, headers=wire_headers()).metadata.name == "p"


def test_malformed_bytes_name_what_was_wanted() -> None:
    with pytest.raises(CodecError, match="not a Pod"):
        decode(b"\x81", into=Pod, headers=wire_headers())
    with pytest.raises(CodecError, match="not a Pod"):
        decode(msgspec.msgpack.encode({"spec": 5}), into=Pod, headers=wire_headers())


def test_a_struct_at_the_bound_is_written_and_above_it_refused() -> None:
    empty = len(encode(ConfigMap(data={"k": ""})))
    fits = ConfigMap(data={"k": "x" * (MESSAGE_BYTES_MAX - empty - 4)})
    assert MESSAGE_BYTES_MAX - 5 <= len(encode(fits)) <= MESSAGE_BYTES_MAX
    with pytest.raises(MessageTooLargeError, match="ConfigMap takes"):
        encode(ConfigMap(data={"k": "x" * MESSAGE_BYTES_MAX}))


def test_bytes_above_the_bound_are_not_even_looked_at() -> None:
    with pytest.raises(MessageTooLargeError):
        decode(b"\x00" * (MESSAGE_BYTES_MAX + 1), into=Pod, headers=wire_headers())


def test_a_number_msgpack_cannot_hold_is_refused() -> None:
    with pytest.raises(CodecError, match="cannot be written"):
        encode(Pod(spec=msgspec.structs.replace(POD.spec, affinity={"weight": 2**70})))


def test_nesting_without_end_is_refused_both_ways() -> None:
    deep: dict[str, object] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(CodecError):
        encode(Pod(spec=msgspec.structs.replace(POD.spec, affinity=deep)))
    nested = b"\x81\xa4spec\x81\xa8affinity" + b"\x81\xa1a" * 200_000 + b"\xc0"
    with pytest.raises(CodecError):
        decode(nested, into=Pod, headers=wire_headers())
    while deep:  # without recursion in the destructor
        deep = deep["a"]  # type: ignore[assignment]


def record(headers: dict[str, str], value: bytes | None = b"") -> Record:
    return Record(topic=PODS.topic, partition=0, offset=3, key="ns/p", value=value, headers=headers)


@pytest.mark.parametrize("missing", ["uid", "resource-version", "epoch", "incarnation", "schema"])
def test_a_fact_without_a_header_is_refused(missing: str) -> None:
    headers = dict(fact_message(PODS, POD, stamp=STAMP).headers)
    del headers[missing]
    with pytest.raises(CodecError):
        identity_of(record(headers))


def test_a_fact_whose_epoch_is_no_number_is_refused() -> None:
    headers = {**fact_message(PODS, POD, stamp=STAMP).headers, HEADER_EPOCH: "first"}
    with pytest.raises(CodecError, match="headers"):
        identity_of(record(headers))


def test_a_tombstone_carries_no_object() -> None:
    message = SAMPLES["tombstone-pod"]
    assert message.headers[HEADER_UID] == "pod-uid"
    with pytest.raises(CodecError, match="carries no object"):
        object_of(record(message.headers, None))


def test_progress_must_name_every_partition() -> None:
    message = SAMPLES["progress"]
    value = msgspec.msgpack.decode(message.value or b"")
    value["end_offsets"] = [1, 2]
    broken = record(message.headers, msgspec.msgpack.encode(value))
    with pytest.raises(CodecError, match="names 2 partitions, not 12"):
        progress_of(broken)
    with pytest.raises(CodecError):
        progress_of(record(message.headers, None))


def test_a_dead_letter_holds_the_original_and_its_place() -> None:
    bad = record({"schema": "9"}, b"\xc1")
    message = dead_letter_message(bad, service="scheduler", error="e" * 10_000)
    letter = decode(message.value or b"", into=DeadLetter, headers=message.headers)
    assert message.topic == DEAD_LETTERS.name
    assert (letter.topic, letter.offset, letter.key) == (PODS.topic, 3, "ns/p")
    assert (letter.value, letter.truncated, letter.headers) == (b"\xc1", False, {"schema": "9"})
    assert len(letter.error) == 2000


def test_a_dead_letter_about_a_message_at_the_bound_still_fits() -> None:
    message = dead_letter_message(
        record({}, b"x" * MESSAGE_BYTES_MAX), service="scheduler", error="e"
    )
    letter = decode(message.value or b"", into=DeadLetter, headers=message.headers)
    assert letter.truncated
    assert letter.value == b"x" * (MESSAGE_BYTES_MAX // 2)


def test_a_dead_letter_about_a_tombstone_has_no_value() -> None:
    message = dead_letter_message(record({}, None), service="scheduler", error="e")
    letter = decode(message.value or b"", into=DeadLetter, headers=message.headers)
    assert letter.value is None


def test_equal_objects_give_equal_bytes_whatever_the_order_of_their_labels() -> None:
    one = Pod(metadata=ObjectMeta(labels={"a": "1", "b": "2"}))
    other = Pod(metadata=ObjectMeta(labels={"b": "2", "a": "1"}))
    assert encode(one) == encode(other)
