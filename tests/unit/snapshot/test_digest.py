"""The digest covers identity and content, and does not depend on the order of chunks."""

import msgspec
import pytest

from vc.snapshot import digest_of


class Case(msgspec.Struct, frozen=True):
    """A change of the input that must change the digest."""

    id: str
    change: dict[str, object]


BASE: dict[str, object] = {
    "incarnation": "one",
    "epoch": 1,
    "offsets": {"cluster.pods": [1, 2]},
    "chunks": {"a": b"12", "b": b"3"},
}
CASES = [
    Case("another incarnation", {"incarnation": "two"}),
    Case("another epoch", {"epoch": 2}),
    Case("another offset", {"offsets": {"cluster.pods": [1, 3]}}),
    Case("another topic", {"offsets": {"cluster.nodes": [1, 2]}}),
    Case("a byte changed", {"chunks": {"a": b"12", "b": b"4"}}),
    Case("a byte moved to another chunk", {"chunks": {"a": b"1", "b": b"23"}}),
    Case("a chunk is missing", {"chunks": {"a": b"12"}}),
    Case("a chunk has another name", {"chunks": {"a": b"12", "c": b"3"}}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_change_shows(case: Case) -> None:
    changed = {**BASE, **case.change}
    assert digest_of(**changed) != digest_of(**BASE)  # type: ignore[arg-type]


def test_the_order_of_chunks_does_not_show() -> None:
    turned = {**BASE, "chunks": {"b": b"3", "a": b"12"}}
    assert digest_of(**turned) == digest_of(**BASE)  # type: ignore[arg-type]
