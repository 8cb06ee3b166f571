"""The ring of sessions: the newest first, bounded in number and in bytes."""

import pytest

from tests.contracts.snapshot.backends import SESSION_BYTES_MAX, SESSIONS_MAX, Backend
from vc.snapshot import SnapshotStore


async def test_a_session_is_kept_by_its_id(store: SnapshotStore) -> None:
    await store.append_session("s1", b"\x00one")
    assert await store.session("s1") == b"\x00one"
    assert await store.session("other") is None


async def test_ids_come_newest_first_and_no_more_than_asked_for(store: SnapshotStore) -> None:
    for number in range(4):
        await store.append_session(f"s{number}", b"r")
    assert await store.session_ids(limit=10) == ["s3", "s2", "s1", "s0"]
    assert await store.session_ids(limit=2) == ["s3", "s2"]
    assert await store.session_ids(limit=0) == []


async def test_the_ring_is_bounded_in_number(store: SnapshotStore) -> None:
    for number in range(SESSIONS_MAX + 3):
        await store.append_session(f"s{number}", b"r")
    assert len(await store.session_ids(limit=100)) == SESSIONS_MAX
    assert await store.session("s2") is None
    assert await store.session("s3") == b"r"


async def test_the_ring_is_bounded_in_bytes(store: SnapshotStore) -> None:
    for number in range(4):
        await store.append_session(f"s{number}", b"x" * (SESSION_BYTES_MAX // 2))
    assert await store.session_ids(limit=100) == ["s3", "s2"]


async def test_a_record_above_the_whole_bound_is_not_kept(store: SnapshotStore) -> None:
    await store.append_session("small", b"r")
    await store.append_session("huge", b"x" * (SESSION_BYTES_MAX + 1))
    assert await store.session("huge") is None
    assert await store.session_ids(limit=100) in ([], ["small"])


async def test_the_same_session_again_replaces_its_record(store: SnapshotStore) -> None:
    for _ in range(3):
        await store.append_session("s1", b"x" * (SESSION_BYTES_MAX // 2))
    await store.append_session("s2", b"r")
    await store.append_session("s1", b"again")
    assert await store.session("s1") == b"again"
    assert await store.session_ids(limit=100) == ["s1", "s2"]


async def test_a_flush_leaves_an_empty_ring_that_fills_again(backend: Backend) -> None:
    for number in range(SESSIONS_MAX):
        await backend.store.append_session(f"old{number}", b"x" * 150)
    await backend.flush()
    assert await backend.store.session_ids(limit=10) == []
    assert await backend.store.session("old1") is None
    await backend.store.append_session("new", b"x" * 900)
    assert await backend.store.session_ids(limit=10) == ["new"]


async def test_a_sum_that_was_evicted_is_counted_again(backend: Backend) -> None:
    """From nothing it would become negative, and the bound would have no effect."""
    record = b"x" * (SESSION_BYTES_MAX // 4)
    for number in range(4):
        await backend.store.append_session(f"old{number}", record)
    await backend.evict("bytes")
    for number in range(8):
        await backend.store.append_session(f"new{number}", record)
        kept = await backend.store.session_ids(limit=100)
        found = [await backend.store.session(session_id) for session_id in kept]
        assert sum(len(one or b"") for one in found) == SESSION_BYTES_MAX
    assert kept == ["new7", "new6", "new5", "new4"]


@pytest.mark.parametrize("part", ["ids", "records", "sizes"])
async def test_a_ring_that_lost_a_part_starts_over_within_its_bounds(
    backend: Backend, part: str
) -> None:
    record = b"x" * (SESSION_BYTES_MAX // 2)
    for number in range(2):
        await backend.store.append_session(f"old{number}", record)
    await backend.evict(part)
    for number in range(3):
        await backend.store.append_session(f"new{number}", record)
    assert await backend.store.session_ids(limit=100) == ["new2", "new1"]
    assert await backend.store.session("old1") is None
    assert await backend.store.session("new2") == record


@pytest.mark.parametrize("session_id", ["2026/7", "a b:c", "ünïcode", "s" * 200])
async def test_any_text_is_an_id(store: SnapshotStore, session_id: str) -> None:
    await store.append_session(session_id, b"r")
    assert await store.session(session_id) == b"r"
    assert await store.session_ids(limit=1) == [session_id]
