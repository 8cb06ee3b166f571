"""Session ids in Redis that we did not write are ignored, and hide no other."""

from typing import Any

from redis.asyncio import Redis

from vc.snapshot.redis import RedisSnapshot


class Answering(Redis):
    """Redis as far as a list is read from it; no server is asked."""

    def __init__(self, ids: list[bytes]) -> None:
        super().__init__()
        self._ids = ids

    async def lrange(self, name: Any, start: int, end: int) -> Any:
        return self._ids[start : end + 1]


async def test_an_id_that_is_no_text_is_left_out() -> None:
    store = RedisSnapshot(Answering([b"s2", b"\xff\xfe", b"", "ü".encode(), b"s1"]))
    assert await store.session_ids(limit=10) == ["s2", "", "ü", "s1"]
    await store.close()
