"""Stores the decisions and the input of sessions, so that any of them can be replayed.

The record is published to `scheduling.sessions`. Record and input are stored in the ring of the
snapshot store. This happens concurrently with sessions: a snapshot is immutable, so a worker thread
encodes and compresses its difference to the previous one. The number of queued inputs is bounded.
When the recorder is behind, a record is stored without its input, and says so. An unavailable store
loses records, but never a decision.

A frame is a difference to the previous frame. A new chain begins when that frame is no longer the
newest one in the ring (the ring was flushed, another leader wrote, or the write failed), when the
chain is larger than its base, or after `CHAIN_ENTRIES_MAX` frames. Reading a session back therefore
needs at most that many reads.
"""

import asyncio
import time
from importlib.metadata import version
from typing import Final, NamedTuple

import msgspec

from vc.clock import VirtualLoop
from vc.messages.codec import CodecError
from vc.messages.effects import PublishMessage
from vc.messages.sessions import SessionEntry, SessionRecord, entry_bytes, session_message
from vc.runtime.applying.effects import EffectApplier, OutcomeStatus
from vc.runtime.hosting.context import Context
from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.conf.model import Conf
from vc.scheduling.model.decisions import Decisions
from vc.scheduling.record import frames
from vc.scheduling.record.frame_writer import FrameTooLargeError, FrameWriter
from vc.scheduling.record.replay import digest_of
from vc.snapshot import SnapshotUnavailableError

RECORDS_QUEUED_MAX: Final = 1_000
"""Maximum number of queued records; a session waits when the queue is full."""
INPUTS_QUEUED_MAX: Final = 16
"""Maximum number of queued snapshots; further sessions are stored without their input."""
FRAME_BYTES_MAX: Final = 8 * 1024 * 1024
CHAIN_ENTRIES_MAX: Final = 100
CHAIN_BYTES_MIN: Final = 256 * 1024
"""Size to which a chain may grow in any case; otherwise it may grow to the size of its base."""

PAUSE_PIECES: Final = 8
PAUSE_SECONDS: Final = 0.003
"""Pause after every `PAUSE_PIECES` pieces, which are about a millisecond of work.

The pause leaves the interpreter to sessions. Otherwise a large frame would delay them, and no
reader waits for a frame.
"""

BEHIND: Final = "the scheduler had no time to write it down"
"""Reason that a record has no input: the recorder was behind."""


class RecordedSession(NamedTuple):
    """A session that is to be stored."""

    record: SessionRecord
    decisions: Decisions
    snapshot: Snapshot
    conf: Conf
    now: float
    epoch: int
    """Lease epoch under which the session decided."""


class _Chain(msgspec.Struct):
    """The frames since the last base."""

    newest: str = ""
    """Session of the previous frame; empty when the next frame must be a base."""
    entries: int = 0
    base_bytes: int = 0
    bytes: int = 0
    """Size of the frames after the base."""

    @property
    def full(self) -> bool:
        """Whether the next frame must begin a new chain."""
        most = max(self.base_bytes, CHAIN_BYTES_MIN)
        return self.entries >= CHAIN_ENTRIES_MAX or self.bytes > most


class SessionRecorder:
    """Stores sessions one after another."""

    def __init__(self, context: Context, applier: EffectApplier, *, threads: bool) -> None:
        self._context = context
        self._applier = applier
        self._threads = threads
        self._queue: asyncio.Queue[tuple[RecordedSession, bool]] = asyncio.Queue(RECORDS_QUEUED_MAX)
        self._inputs = 0
        """Queued sessions with input. Invariant: at most `INPUTS_QUEUED_MAX`."""
        self._writer = FrameWriter(FRAME_BYTES_MAX, pause=self._pause)
        self._pieces = 0
        self._in_thread = False
        self._chain = _Chain()
        self._release = version("pyroclast")

    async def keep(self, session: RecordedSession) -> None:
        """Queue a session; waits only when the queue is full."""
        # A queued snapshot keeps its arrays in memory, so their number has a smaller bound than
        # records.
        with_input = self._inputs < INPUTS_QUEUED_MAX
        self._inputs += with_input
        await self._queue.put((session, with_input))

    async def run(self) -> None:
        """Store sessions until cancelled."""
        while True:
            session, with_input = await self._queue.get()
            try:
                # The record is published before it is stored: readers of the topic must not depend
                # on the store.
                published = PublishMessage(message=session_message(session.record))
                (outcome,) = await self._applier.apply([published], epoch=session.epoch)
                if outcome.status is OutcomeStatus.SKIPPED:  # another replica leads
                    self._chain = _Chain()
                    continue
                await self._append(session, with_input=with_input)
            except (SnapshotUnavailableError, CodecError) as error:
                # Whether the entry was stored is unknown, so the next frame must not refer to it.
                self._chain = _Chain()
                session_id = session.record.session_id
                self._context.log.info(
                    "session not recorded session=%s error=%s", session_id, error
                )
            finally:
                # Counted until the entry is stored, because the snapshot is in memory until then.
                self._inputs -= with_input

    async def _append(self, session: RecordedSession, *, with_input: bool) -> None:
        """Encode one session and append it to the ring."""
        store = self._context.snapshot
        newest = await store.session_ids(limit=1)
        # A reader follows the chain in the ring, so the difference must be to the newest entry
        # there.
        if self._chain.full or newest != [self._chain.newest]:
            self._chain = _Chain()
        virtual = isinstance(asyncio.get_running_loop(), VirtualLoop)
        self._in_thread = self._threads and not virtual
        if self._in_thread:
            entry, data = await asyncio.to_thread(self._write, session, with_input=with_input)
        else:
            entry, data = self._write(session, with_input=with_input)
        await store.append_session(session.record.session_id, data)
        self._extend(entry)

    def _write(self, session: RecordedSession, *, with_input: bool) -> tuple[SessionEntry, bytes]:
        """Encode one session; runs in a worker thread, one call at a time."""
        previous, frame, left_out = self._chain.newest, b"", ""
        # A base must not refer to a snapshot of the previous chain.
        if not previous:
            self._writer.forget()
        try:
            if with_input:
                frame = self._writer.frame(session.snapshot)
            else:
                left_out = BEHIND
        except (FrameTooLargeError, OverflowError, NotImplementedError) as error:
            left_out = str(error)
        entry = SessionEntry(
            record=session.record,
            now=session.now,
            digest=digest_of(session.decisions),
            conf=frames.encoder.encode(session.conf),
            # An entry without a frame belongs to no chain.
            previous=previous if frame else "",
            frame=frame,
            types=frames.types_digest(),
            release=self._release,
            left_out=left_out,
        )
        return entry, entry_bytes(entry)

    def _pause(self) -> None:
        """Pause after some pieces, if the encoding runs in a worker thread."""
        self._pieces += 1
        if self._in_thread and self._pieces % PAUSE_PIECES == 0:
            time.sleep(PAUSE_SECONDS)

    def _extend(self, entry: SessionEntry) -> None:
        """Update the chain after a stored entry; an entry without input ends it."""
        if entry.left_out:
            self._chain = _Chain()
            # Under load many sessions in a row are stored without input, and would fill the log.
            if entry.left_out != BEHIND:
                session_id = entry.record.session_id
                self._context.log.info(
                    "session recorded without input session=%s reason=%s",
                    session_id,
                    entry.left_out,
                )
            return
        chain, size = self._chain, len(entry.frame)
        chain.newest = entry.record.session_id
        chain.entries += 1
        if entry.previous:
            chain.bytes += size
        else:
            chain.base_bytes = size
