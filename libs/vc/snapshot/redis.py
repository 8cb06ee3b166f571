"""The snapshot cache in Redis.

A checkpoint has one key with a head (identity, digest, list of chunks) and one hash per version
with the chunks. A save writes the chunks under a new version. It then switches the head and lets
the old version expire in one transaction. The transaction fails if another writer has switched the
head meanwhile, and is then repeated on the new state. A reader, a crash or a flush in between sees
the old checkpoint, the new one or none, never a mixture, and concurrent saves leave one checkpoint.
An old version is kept longer than a load that began with it takes. Versions that a crash left
behind expire too.

Sessions are a list of ids, newest first, with a hash of records and a hash of sizes. One script
adds a record and removes the oldest until both limits hold, so the total stays exact. A server that
runs out of memory may drop any of these keys. A missing total is counted again; if another key is
missing, the ring is cleared.

RESP2 is used on purpose: redis-py 8.1 has a reported regression with idle RESP3 connections.
"""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Self

import msgspec
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, WatchError

from vc.model.faults import describe
from vc.snapshot.interface import (
    SESSION_RING_BYTES_MAX,
    SESSION_RING_COUNT_MAX,
    Checkpoint,
    SnapshotUnavailableError,
)

NAMESPACE_DEFAULT: Final = "pyroclast"
"""Prefix of every key, so that a Redis server can be shared."""
ANSWER_SECONDS_MAX: Final = 5.0
"""Time limit of an answer; a slower cache is of no use."""
COMMAND_BYTES_MAX: Final = 8 * 1024 * 1024
"""Size limit of one command;
larger chunks are written in pieces, so that other clients are served.
"""
ORPHAN_SECONDS: Final = 600
"""A version that never became the head expires after this time."""
REPLACED_SECONDS: Final = 8
"""A replaced version expires after this time. It is longer than a load and shorter than the
interval between two saves, so that at most two versions exist.
"""
SWITCH_ATTEMPTS_MAX: Final = 5
"""Attempts to switch the head.
A writer that loses this often is probably not the leader any more.
"""
PIECES_MAX: Final = 1_000_000
"""Limit of pieces of one checkpoint; a head with more was not written by us."""
LOAD_ATTEMPTS_MAX: Final = 5
"""Attempts to load, because the head may be switched while its chunks are read."""

_APPEND_SESSION: Final = """
local ids, records, sizes, total = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, record = ARGV[1], ARGV[2]
local count_max, bytes_max = tonumber(ARGV[3]), tonumber(ARGV[4])
local function forget(gone)
  redis.call('HDEL', records, gone)
  local size = redis.call('HGET', sizes, gone)
  if size then
    redis.call('HDEL', sizes, gone)
    redis.call('DECRBY', total, size)
  end
end
if redis.call('EXISTS', ids, records, sizes) < 3 then
  redis.call('DEL', ids, records, sizes, total)
elseif redis.call('EXISTS', total) == 0 then
  local sum = 0
  for _, size in ipairs(redis.call('HVALS', sizes)) do
    sum = sum + tonumber(size)
  end
  redis.call('SET', total, string.format('%d', sum))
end
redis.call('LREM', ids, 0, id)
forget(id)
redis.call('LPUSH', ids, id)
redis.call('HSET', records, id, record)
redis.call('HSET', sizes, id, #record)
redis.call('INCRBY', total, #record)
while redis.call('LLEN', ids) > count_max or tonumber(redis.call('GET', total)) > bytes_max do
  local oldest = redis.call('RPOP', ids)
  if not oldest then
    redis.call('DEL', records, sizes, total)
    break
  end
  forget(oldest)
end
"""


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint without its chunks."""

    version: str
    incarnation: str
    epoch: int
    offsets: dict[str, list[int]]
    row_counts: dict[str, int]
    digest: str
    written_at: float
    pieces: dict[str, int]
    """The number of pieces of each chunk."""


class RedisSnapshot:
    """The store in Redis, with the contract of `vc.snapshot.interface.SnapshotStore`."""

    def __init__(
        self,
        client: Redis,
        *,
        namespace: str = NAMESPACE_DEFAULT,
        sessions_max: int = SESSION_RING_COUNT_MAX,
        session_bytes_max: int = SESSION_RING_BYTES_MAX,
    ) -> None:
        """The client must not decode responses."""
        self._client = client
        self._namespace = namespace
        self._bounds = (sessions_max, session_bytes_max)
        self._append = client.register_script(_APPEND_SESSION)
        self._session_keys = [
            self._key("sessions", part) for part in ("ids", "records", "sizes", "bytes")
        ]

    @classmethod
    def from_url(cls, url: str, **options: Any) -> Self:
        """A client for `redis://`, `rediss://` (TLS) or `unix://`,
        with user, password and database in the URL.
        """
        client = Redis.from_url(
            url,
            protocol=2,
            decode_responses=False,
            socket_timeout=ANSWER_SECONDS_MAX,
            socket_connect_timeout=ANSWER_SECONDS_MAX,
            retry=Retry(NoBackoff(), 1),  # one reconnect after a restart, then an error
        )
        return cls(client, **options)

    def _key(self, *parts: str) -> str:
        return ":".join((self._namespace, *parts))

    # -- checkpoints -----------------------------------------------------------------------------

    async def save(self, name: str, checkpoint: Checkpoint) -> None:
        head = _head_of(checkpoint)
        chunks_key = self._chunks_key(name, head.version)
        with _answered():
            # Chunks first: a head must never refer to chunks that do not exist.
            for fields in _commands_of(checkpoint.chunks):
                await self._write_chunks(chunks_key, fields)
            await self._switch(name, head)

    async def _switch(self, name: str, head: _Head) -> None:
        """Make this version the head and let the previous one expire, whichever writer made it."""
        head_key, chunks_key = self._key("checkpoint", name), self._chunks_key(name, head.version)
        for attempt in range(1, SWITCH_ATTEMPTS_MAX + 1):
            async with self._client.pipeline(transaction=True) as switch:
                # The transaction fails if another writer changes the head after this read.
                await switch.watch(head_key)
                old = _read_head(await switch.get(head_key))
                switch.multi()  # type: ignore[no-untyped-call]  # redis-py has no types for it
                switch.set(head_key, msgspec.msgpack.encode(head))
                # The chunks were written with an expiry, in case we crashed before the switch.
                switch.persist(chunks_key)
                # Expired and not deleted, because a load may be reading the old chunks.
                if old is not None:
                    switch.expire(self._chunks_key(name, old.version), REPLACED_SECONDS)
                try:
                    await switch.execute()
                except WatchError:
                    if attempt == SWITCH_ATTEMPTS_MAX:
                        raise
                else:
                    return

    async def _write_chunks(self, key: str, fields: Mapping[Any, bytes]) -> None:
        """Write chunks that expire unless a head is switched to them."""
        async with self._client.pipeline(transaction=True) as write:
            write.hset(key, mapping=fields)
            # In the same transaction: a crash between the two would leave chunks that no head
            # refers to and that never expire.
            write.expire(key, ORPHAN_SECONDS)
            await write.execute()

    async def load(self, name: str) -> Checkpoint | None:
        head_key = self._key("checkpoint", name)
        with _answered():
            for _ in range(LOAD_ATTEMPTS_MAX):
                head = _read_head(await self._client.get(head_key))
                if head is None:
                    return None
                chunks = await self._chunks(name, head)
                checkpoint = _checkpoint_of(head, chunks) if chunks is not None else None
                if checkpoint is not None and checkpoint.valid:
                    return checkpoint
                # The chunks of a replaced version may have expired; then try the new head.
                newer = _read_head(await self._client.get(head_key))
                if newer is None or newer.version == head.version:
                    return None  # damaged, and not replaced meanwhile
        return None

    async def digest(self, name: str) -> str | None:
        with _answered():
            head = _read_head(await self._client.get(self._key("checkpoint", name)))
            if head is None:
                return None
            # Counting is enough here; `load` verifies the content.
            kept = await self._client.hlen(self._chunks_key(name, head.version))
        return head.digest if kept == sum(head.pieces.values()) else None

    async def _chunks(self, name: str, head: _Head) -> dict[str, bytes] | None:
        """All chunks, or None if a piece is missing."""
        key = self._chunks_key(name, head.version)
        chunks: dict[str, bytes] = {}
        for column, count in head.pieces.items():
            fields = [_field(column, number) for number in range(count)]
            found = await self._client.hmget(key, fields) if fields else []
            # The server may drop the hash between two reads, and a part of a checkpoint would look
            # like a cluster with fewer objects.
            if any(piece is None for piece in found):
                return None
            chunks[column] = b"".join(_raw(piece) for piece in found)
        return chunks

    def _chunks_key(self, name: str, version: str) -> str:
        return self._key("checkpoint", name, version)

    # -- sessions --------------------------------------------------------------------------------

    async def append_session(self, session_id: str, record: bytes) -> None:
        with _answered():
            await self._append(
                keys=self._session_keys, args=[session_id.encode(), record, *self._bounds]
            )

    async def session(self, session_id: str) -> bytes | None:
        with _answered():
            found = await self._client.hget(self._session_keys[1], session_id)
        return None if found is None else _raw(found)

    async def session_ids(self, *, limit: int) -> list[str]:
        # LRANGE counts an end of -1 from the tail, so a limit of 0 would return the whole ring.
        if limit <= 0:
            return []
        with _answered():
            found = await self._client.lrange(self._session_keys[0], 0, limit - 1)
        ids = (_text(_raw(one)) for one in found)
        return [one for one in ids if one is not None]

    async def close(self) -> None:
        await self._client.aclose()


def _head_of(checkpoint: Checkpoint) -> _Head:
    return _Head(
        # Random, so that two writers that save at once never write into the same hash.
        version=secrets.token_hex(8),
        incarnation=checkpoint.incarnation,
        epoch=checkpoint.epoch,
        offsets=checkpoint.offsets,
        row_counts=checkpoint.row_counts,
        digest=checkpoint.digest,
        written_at=checkpoint.written_at,
        pieces={name: _count_of(chunk) for name, chunk in checkpoint.chunks.items()},
    )


def _checkpoint_of(head: _Head, chunks: dict[str, bytes]) -> Checkpoint:
    return Checkpoint(
        incarnation=head.incarnation,
        epoch=head.epoch,
        offsets=head.offsets,
        row_counts=head.row_counts,
        chunks=chunks,
        digest=head.digest,
        written_at=head.written_at,
    )


def _raw(answer: bytes | str | None) -> bytes:
    """Checks that the answer is bytes:
    the client does not decode, which its types cannot express.
    """
    if not isinstance(answer, bytes):
        raise RedisError(f"an answer of type {type(answer).__name__}")
    return answer


def _read_head(answer: bytes | str | None) -> _Head | None:
    """The head; None if it is missing, or damaged, or has another format."""
    if answer is None:
        return None
    try:
        head = msgspec.msgpack.decode(_raw(answer), type=_Head)
    except Exception:  # noqa: BLE001 - of damaged bytes, whatever it is
        return None
    pieces = head.pieces.values()
    # A damaged count would make a load request any number of fields.
    bounded = all(0 <= count <= PIECES_MAX for count in pieces) and sum(pieces) <= PIECES_MAX
    return head if bounded else None


def _text(raw: bytes) -> str | None:
    """A session id; None for bytes that we cannot have written."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _count_of(chunk: bytes) -> int:
    return -(-len(chunk) // COMMAND_BYTES_MAX)


def _field(column: str, number: int) -> str:
    return f"{column}#{number}"


def _pieces_of(chunks: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    for column, chunk in chunks.items():
        for number in range(_count_of(chunk)):
            begin = number * COMMAND_BYTES_MAX
            yield _field(column, number), chunk[begin : begin + COMMAND_BYTES_MAX]


def _commands_of(chunks: Mapping[str, bytes]) -> Iterator[dict[Any, bytes]]:
    """Groups pieces into commands of bounded size."""
    fields: dict[Any, bytes] = {}
    size = 0
    for field, piece in _pieces_of(chunks):
        if fields and size + len(piece) > COMMAND_BYTES_MAX:
            yield fields
            fields, size = {}, 0
        fields[field] = piece
        size += len(piece)
    if fields:
        yield fields


@contextmanager
def _answered() -> Iterator[None]:
    """Raises every failure of Redis as SnapshotUnavailableError."""
    try:
        yield
    except (RedisError, OSError, TimeoutError) as error:
        raise SnapshotUnavailableError(
            f"Redis: {type(error).__name__}: {describe(error)}"
        ) from error
