"""Writes checkpoints of a view to the snapshot cache.

The leader writes once per period, and only if there is a reason: the view has advanced, the cache
lost our checkpoint, or the checkpoint becomes too old to be valid. The view's state is copied at
once and encoded in pieces, between which other tasks may run. An unreachable cache is logged once,
and the next period tries again.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from vc.messages.checkpoints import Chunker, offsets_of, row_counts_of
from vc.messages.view import View, ViewState
from vc.runtime.hosting.context import Context
from vc.snapshot import Checkpoint, SnapshotUnavailableError, chunk_digest, digest_of_digests
from vc.snapshot.validity import AGE_SECONDS_MAX

CHECKPOINT_PERIOD_SECONDS: Final = 10.0
"""Interval between checkpoints; a warm start reads at most this many seconds of the logs."""

CHECKPOINT_REFRESH_SECONDS: Final = AGE_SECONDS_MAX / 2
"""Interval at which a checkpoint is written even if the cluster does not change."""


class _Written(msgspec.Struct, frozen=True, kw_only=True):
    """The checkpoint that is known to be in the cache."""

    incarnation: str
    offsets: dict[str, list[int]]
    digest: str
    written_at: float


class CheckpointWriter:
    """Writes the checkpoint of one name."""

    def __init__(
        self,
        context: Context,
        name: str,
        *,
        view: Callable[[], View],
        may_write: Callable[[], bool],
    ) -> None:
        """`may_write` returns whether we lead and the view is complete."""
        self._context = context
        self._name = name
        self._view = view
        self._may_write = may_write
        self._away = False
        self._forget()

    def _forget(self) -> None:
        """Reset the state, so that a replica that does not write keeps no chunks in memory."""
        self._chunker = Chunker(self._view().kinds)
        self._digests: dict[str, tuple[bytes, str]] = {}
        """Chunk and digest by chunk name, so that only changed chunks are hashed again."""
        self._written: _Written | None = None

    async def run(self) -> None:
        """Write checkpoints until cancelled."""
        while True:
            await self._context.clock.sleep(CHECKPOINT_PERIOD_SECONDS)
            if not self._may_write():
                self._forget()
                continue
            try:
                await self.write_if_due()
            except SnapshotUnavailableError as error:
                if not self._away:
                    self._context.log.warning("checkpoint not written error=%s", error)
                self._away = True

    async def write_if_due(self) -> None:
        """Write one checkpoint if there is a reason; raises what the cache raises."""
        state = self._view().state()
        if state is None or not await self._is_due(state):
            return
        checkpoint = await self._checkpoint(state)
        if not self._may_write():  # leadership may have been lost during the encoding
            return
        # Unknown until the save returns: a save that fails may still have been stored.
        self._written = None
        await self._context.snapshot.save(self._name, checkpoint)
        self._away = False
        self._written = _Written(
            incarnation=checkpoint.incarnation,
            offsets=checkpoint.offsets,
            digest=checkpoint.digest,
            written_at=checkpoint.written_at,
        )

    async def _is_due(self, state: ViewState) -> bool:
        written = self._written
        if written is None:
            return True
        # Equal offsets of the same incarnation mean equal rows.
        if (written.incarnation, written.offsets) != (state.incarnation, offsets_of(state)):
            return True
        if self._context.clock.now() - written.written_at >= CHECKPOINT_REFRESH_SECONDS:
            return True
        # Redis may have been flushed or may have evicted a key since our save.
        kept = await self._context.snapshot.digest(self._name)
        if kept != written.digest:
            self._context.log.info("checkpoint lost, writing it again name=%s", self._name)
        return kept != written.digest

    async def _checkpoint(self, state: ViewState) -> Checkpoint:
        # The age counts from the state, which was copied before the encoding begins.
        written_at = self._context.clock.now()
        chunks: dict[str, bytes] = {}
        for name, chunk in self._chunker.chunks(state):
            chunks[name] = chunk
            # The chunker returns the same object for an unchanged chunk, so identity is enough.
            if name not in self._digests or self._digests[name][0] is not chunk:
                self._digests[name] = (chunk, chunk_digest(chunk))
            # Let other tasks run between two chunks.
            await self._context.clock.sleep(0)
        # A chunk that no longer exists must not be part of the digest below.
        self._digests = {name: self._digests[name] for name in chunks}
        offsets = offsets_of(state)
        return Checkpoint(
            incarnation=state.incarnation,
            epoch=state.epoch,
            offsets=offsets,
            row_counts=row_counts_of(state),
            chunks=chunks,
            digest=digest_of_digests(
                incarnation=state.incarnation,
                epoch=state.epoch,
                offsets=offsets,
                digests={name: digest for name, (_, digest) in self._digests.items()},
            ),
            written_at=written_at,
        )
