"""Sessions with what they build on, read back from the ring."""

import pytest

from tests.contracts.snapshot.backends import SESSIONS_MAX
from vc.messages.sessions import SessionEntry, SessionRecord, entry_bytes
from vc.snapshot import SnapshotStore
from vc.snapshot.chains import ChainBrokenError, load_chain, load_entry


def entry(number: int, *, base: bool = False) -> SessionEntry:
    record = SessionRecord(
        session_id=f"s{number}", started_at=0.0, took_ms=0.0, nodes=0, groups=0, enqueued=[],
        bound_pods=0, placements=[], released=[], waiting=0, reasons=[], resolved=[], queues=[],
    )  # fmt: skip
    previous = "" if base else f"s{number - 1}"
    return SessionEntry(record=record, now=0.0, digest="d", previous=previous, frame=b"\x00f")


async def fill(store: SnapshotStore, numbers: range, *, base: int) -> None:
    for number in numbers:
        made = entry(number, base=number == base)
        await store.append_session(made.record.session_id, entry_bytes(made))


async def test_a_chain_goes_from_its_base_to_the_session(store: SnapshotStore) -> None:
    await fill(store, range(3), base=0)
    chain = await load_chain(store, "s2")
    assert [each.record.session_id for each in chain] == ["s0", "s1", "s2"]
    assert chain[1] == entry(1)
    assert [each.record.session_id for each in await load_chain(store, "s0")] == ["s0"]


async def test_a_session_that_is_not_there_has_no_chain(store: SnapshotStore) -> None:
    assert await load_chain(store, "ghost") == []
    await store.append_session("odd", b"\xc1 not an entry")
    assert await load_entry(store, "odd") is None


async def test_a_base_that_has_left_the_ring_is_told(store: SnapshotStore) -> None:
    count = SESSIONS_MAX + 1
    await fill(store, range(count), base=0)
    with pytest.raises(ChainBrokenError, match="which has left the ring"):
        await load_chain(store, f"s{count - 1}")
    assert await load_entry(store, f"s{count - 1}") is not None, "it can still be shown"
