"""Checkpoints: whole or not at all, the last one counts, and losing one is only a cold start."""

import asyncio

import msgspec
import pytest

from tests.contracts.snapshot.backends import Backend
from vc.snapshot import Checkpoint, SnapshotStore, SnapshotUnavailableError, digest_of


def checkpoint(*, epoch: int = 1, chunks: dict[str, bytes] | None = None) -> Checkpoint:
    """A valid one."""
    content = {"pods.cpu": b"\x00\x01", "nodes.idle": b"\xff" * 10} if chunks is None else chunks
    offsets = {"cluster.pods": [1, 2, 3], "cluster.nodes": [0] * 12}
    return Checkpoint(
        incarnation="one",
        epoch=epoch,
        offsets=offsets,
        row_counts={"pods": 2},
        chunks=content,
        digest=digest_of(incarnation="one", epoch=epoch, offsets=offsets, chunks=content),
        written_at=12.5,
    )


async def test_what_was_saved_is_loaded(store: SnapshotStore) -> None:
    saved = checkpoint()
    assert saved.valid
    await store.save("scheduler", saved)
    assert await store.load("scheduler") == saved


async def test_nothing_saved_is_none(store: SnapshotStore) -> None:
    assert await store.load("scheduler") is None


async def test_names_do_not_share(store: SnapshotStore) -> None:
    await store.save("one", checkpoint(epoch=1))
    await store.save("other", checkpoint(epoch=2))
    one, other = await store.load("one"), await store.load("other")
    assert one is not None
    assert other is not None
    assert (one.epoch, other.epoch) == (1, 2)


async def test_the_last_checkpoint_counts_and_leaves_nothing_of_the_one_before(
    store: SnapshotStore,
) -> None:
    await store.save("scheduler", checkpoint(chunks={"a": b"1", "gone": b"2"}))
    await store.save("scheduler", checkpoint(epoch=2, chunks={"a": b"3"}))
    assert await store.load("scheduler") == checkpoint(epoch=2, chunks={"a": b"3"})


async def test_a_checkpoint_without_chunks_is_one(store: SnapshotStore) -> None:
    await store.save("scheduler", checkpoint(chunks={}))
    assert await store.load("scheduler") == checkpoint(chunks={})


async def test_large_chunks_arrive_whole(store: SnapshotStore) -> None:
    large = checkpoint(chunks={f"column-{n}": bytes([n]) * 3_000_000 for n in range(5)})
    await store.save("scheduler", large)
    assert await store.load("scheduler") == large


async def test_a_damaged_checkpoint_counts_as_none(backend: Backend) -> None:
    await backend.store.save("scheduler", checkpoint())
    await backend.damage("scheduler")
    assert await backend.store.load("scheduler") is None
    await backend.store.save("scheduler", checkpoint())
    assert await backend.store.load("scheduler") == checkpoint()


async def test_one_that_lies_about_its_content_counts_as_none(store: SnapshotStore) -> None:
    await store.save("scheduler", msgspec.structs.replace(checkpoint(), epoch=7))
    assert await store.load("scheduler") is None


async def test_a_flush_leaves_none_and_a_save_mends_it(backend: Backend) -> None:
    await backend.store.save("scheduler", checkpoint())
    await backend.flush()
    assert await backend.store.load("scheduler") is None
    await backend.store.save("scheduler", checkpoint())
    assert await backend.store.load("scheduler") == checkpoint()


async def test_a_loss_can_be_noticed_without_reading_everything(backend: Backend) -> None:
    assert await backend.store.digest("scheduler") is None
    await backend.store.save("scheduler", checkpoint())
    assert await backend.store.digest("scheduler") == checkpoint().digest
    await backend.damage("scheduler")
    assert await backend.store.digest("scheduler") is None
    await backend.store.save("scheduler", checkpoint(epoch=2))
    assert await backend.store.digest("scheduler") == checkpoint(epoch=2).digest
    await backend.flush()
    assert await backend.store.digest("scheduler") is None


async def test_nothing_is_handed_over_by_reference(store: SnapshotStore) -> None:
    saved = checkpoint()
    await store.save("scheduler", saved)
    saved.chunks.clear()
    loaded = await store.load("scheduler")
    assert loaded == checkpoint()
    assert loaded is not None
    loaded.offsets.clear()
    assert await store.load("scheduler") == checkpoint()


async def test_who_loads_while_another_saves_gets_a_whole_one(store: SnapshotStore) -> None:
    versions = [checkpoint(epoch=n, chunks={"c": bytes([n]) * 200_000}) for n in range(10)]
    await store.save("scheduler", versions[0])

    async def writer() -> None:
        for version in versions[1:]:
            await store.save("scheduler", version)

    writing = asyncio.ensure_future(writer())
    loaded = 0
    while not writing.done():
        assert await store.load("scheduler") in versions
        loaded += 1
        await asyncio.sleep(0)
    await writing
    assert loaded > 0
    assert await store.load("scheduler") == versions[-1]


async def test_a_cancelled_save_leaves_the_old_or_the_new(store: SnapshotStore) -> None:
    old, new = checkpoint(epoch=1), checkpoint(epoch=2, chunks={"c": b"x" * 3_000_000})
    await store.save("scheduler", old)
    for ticks in range(0, 12, 3):
        saving = asyncio.ensure_future(store.save("scheduler", new))
        for _ in range(ticks):
            await asyncio.sleep(0)
        saving.cancel()
        await asyncio.gather(saving, return_exceptions=True)
        assert await store.load("scheduler") in (old, new)


async def test_a_cache_that_is_away_says_so_and_comes_back(backend: Backend) -> None:
    await backend.stop_server()
    with pytest.raises(SnapshotUnavailableError):
        await backend.store.load("scheduler")
    with pytest.raises(SnapshotUnavailableError):
        await backend.store.digest("scheduler")
    with pytest.raises(SnapshotUnavailableError):
        await backend.store.save("scheduler", checkpoint())
    with pytest.raises(SnapshotUnavailableError):
        await backend.store.append_session("s", b"r")
    await backend.start_server()
    await backend.store.save("scheduler", checkpoint())
    assert await backend.store.load("scheduler") == checkpoint()


async def test_of_two_who_save_at_once_one_is_there(store: SnapshotStore) -> None:
    both = [checkpoint(epoch=1), checkpoint(epoch=2)]
    await asyncio.gather(*(store.save("scheduler", each) for each in both))
    assert await store.load("scheduler") in both
