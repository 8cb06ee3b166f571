"""Keeps a checkpoint of a view in the snapshot cache.

Once in a period, by whoever leads, and only when there is something to write: the view read on, the
cache lost what we wrote, or the checkpoint grows too old to be believed. The view's state is copied
at once and encoded in pieces, between which everybody else may run. A cache that is away is told of
once, and the next period tries again.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from vc_messages.checkpoints import Chunker, offsets_of, row_counts_of
from vc_messages.view import View, ViewState
from vc_runtime.context import Context
from vc_snapshot import Checkpoint, SnapshotUnavailableError, chunk_digest, digest_of_digests
from vc_snapshot.validity import AGE_SECONDS_MAX

CHECKPOINT_PERIOD_SECONDS: Final = 10.0
"""Between two checkpoints: a warm start reads at most so many seconds of the logs."""

CHECKPOINT_REFRESH_SECONDS: Final = AGE_SECONDS_MAX / 2
"""A checkpoint of a cluster in which nothing happens is still written this often."""


class _Written(msgspec.Struct, frozen=True, kw_only=True):
    """What we know to be in the cache."""

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
        """`may_write`: leading, and the view is complete."""
        self._context = context
        self._name = name
        self._view = view
        self._may_write = may_write
        self._away = False
        self._forget()

    def _forget(self) -> None:
        """Who does not write keeps no chunks in memory."""
        self._chunker = Chunker(self._view().kinds)
        self._digests: dict[str, tuple[bytes, str]] = {}
        """Chunk name to the chunk and its digest, so that only changed ones are read again."""
        self._written: _Written | None = None

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._context.clock.sleep(CHECKPOINT_PERIOD_SECONDS)
            if not self._may_write():
                self._forget()
                continue
            try:
                await self.write_if_due()
            except SnapshotUnavailableError as error:
                if not self._away:
                    self._context.log.warning("no checkpoint is written: %s", error)
                self._away = True

    async def write_if_due(self) -> None:
        """Once; raises what the cache raises."""
        state = self._view().state()
        if state is None or not await self._is_due(state):
            return
        checkpoint = await self._checkpoint(state)
        if not self._may_write():  # encoding took a while
            return
        self._written = None  # until we know: a save that broke off may have happened
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
        if (written.incarnation, written.offsets) != (state.incarnation, offsets_of(state)):
            return True
        if self._context.clock.now() - written.written_at >= CHECKPOINT_REFRESH_SECONDS:
            return True
        kept = await self._context.snapshot.digest(self._name)
        if kept != written.digest:
            self._context.log.info("the cache lost checkpoint %s: writing it again", self._name)
        return kept != written.digest

    async def _checkpoint(self, state: ViewState) -> Checkpoint:
        written_at = self._context.clock.now()
        chunks: dict[str, bytes] = {}
        for name, chunk in self._chunker.chunks(state):
            chunks[name] = chunk
            if name not in self._digests or self._digests[name][0] is not chunk:
                self._digests[name] = (chunk, chunk_digest(chunk))
            await self._context.clock.sleep(0)
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
