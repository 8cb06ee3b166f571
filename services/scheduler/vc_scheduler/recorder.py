"""Keeps what sessions decided, and what they saw, so that any of them can be run again.

The record goes to `scheduling.sessions`; record and input go to the ring of the snapshot store. All of
it happens beside the sessions: a snapshot is immutable, so its difference to the one before is written
in a worker thread, and compressed there. Inputs that wait are bounded: when the writer is behind, a
session's record is kept without its input, and says so. A cache that is away loses records, never a
decision.

A frame builds on the one before it, so a new chain begins when that is not the newest in the ring any
more (flushed, another leader's, not written), when the chain has grown past its base, or after
`CHAIN_ENTRIES_MAX`: reading a session back never takes more than that many reads.
"""

import asyncio
import time
from importlib.metadata import version
from typing import Final, NamedTuple

import msgspec

from vc_clock import VirtualLoop
from vc_messages.codec import CodecError
from vc_messages.effects import PublishMessage
from vc_messages.sessions import SessionEntry, SessionRecord, entry_bytes, session_message
from vc_runtime.context import Context
from vc_runtime.effects import EffectApplier, OutcomeStatus
from vc_scheduler.logic import frames
from vc_scheduler.logic.conf import Conf
from vc_scheduler.logic.decisions import Decisions
from vc_scheduler.logic.frame_writer import FrameTooLargeError, FrameWriter
from vc_scheduler.logic.replaying import digest_of
from vc_scheduler.logic.snapshot import Snapshot
from vc_snapshot import SnapshotUnavailableError

RECORDS_QUEUED_MAX: Final = 1_000
"""A session waits when so many records could not be kept yet."""
INPUTS_QUEUED_MAX: Final = 16
"""Snapshots that wait to be written; a session beyond is kept without its input."""
FRAME_BYTES_MAX: Final = 8 * 1024 * 1024
CHAIN_ENTRIES_MAX: Final = 100
CHAIN_BYTES_MIN: Final = 256 * 1024
"""A chain may grow to the size of its base, and at least to this."""

BREATH_PIECES: Final = 8
BREATH_SECONDS: Final = 0.003
"""After so many pieces (a millisecond of work) the writer lets sessions have the interpreter: they
would take longer by what a large frame costs, and nobody waits for a frame."""

BEHIND: Final = "the scheduler had no time to write it down"


class Held(NamedTuple):
    """A session to be kept."""

    record: SessionRecord
    decisions: Decisions
    snapshot: Snapshot
    conf: Conf
    now: float
    epoch: int
    """Of the lease under which it decided."""


class _Chain(msgspec.Struct):
    """The frames since the last base."""

    newest: str = ""
    """The session whose frame the next one builds on; empty when it must be a base."""
    entries: int = 0
    base_bytes: int = 0
    bytes: int = 0
    """Of the frames after the base."""

    @property
    def full(self) -> bool:
        most = max(self.base_bytes, CHAIN_BYTES_MIN)
        return self.entries >= CHAIN_ENTRIES_MAX or self.bytes > most


class SessionRecorder:
    """Writes sessions down, one after the other."""

    def __init__(self, context: Context, applier: EffectApplier, *, threads: bool) -> None:
        self._context = context
        self._applier = applier
        self._threads = threads
        self._queue: asyncio.Queue[tuple[Held, bool]] = asyncio.Queue(RECORDS_QUEUED_MAX)
        self._inputs = 0
        """Queued with their input. Invariant: at most `INPUTS_QUEUED_MAX`."""
        self._writer = FrameWriter(FRAME_BYTES_MAX, breathe=self._breathe)
        self._pieces = 0
        self._in_thread = False
        self._chain = _Chain()
        self._release = version("pyroclast")

    async def keep(self, held: Held) -> None:
        """To be written soon; the session goes on."""
        with_input = self._inputs < INPUTS_QUEUED_MAX
        self._inputs += with_input
        await self._queue.put((held, with_input))

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            held, with_input = await self._queue.get()
            try:
                told = PublishMessage(message=session_message(held.record))
                (outcome,) = await self._applier.apply([told], epoch=held.epoch)
                if outcome.status is OutcomeStatus.SKIPPED:  # somebody else leads, and records
                    self._chain = _Chain()
                    continue
                await self._append(held, with_input=with_input)
            except (SnapshotUnavailableError, CodecError) as error:
                self._chain = _Chain()
                session_id = held.record.session_id
                self._context.log.info("session %s not kept: %s", session_id, error)
            finally:
                self._inputs -= with_input

    async def _append(self, held: Held, *, with_input: bool) -> None:
        store = self._context.snapshot
        newest = await store.session_ids(limit=1)
        if self._chain.full or newest != [self._chain.newest]:
            self._chain = _Chain()
        virtual = isinstance(asyncio.get_running_loop(), VirtualLoop)
        self._in_thread = self._threads and not virtual
        if self._in_thread:
            entry, data = await asyncio.to_thread(self._write, held, with_input=with_input)
        else:
            entry, data = self._write(held, with_input=with_input)
        await store.append_session(held.record.session_id, data)
        self._extend(entry)

    def _write(self, held: Held, *, with_input: bool) -> tuple[SessionEntry, bytes]:
        """Called in a worker thread, by one at a time."""
        previous, frame, left_out = self._chain.newest, b"", ""
        if not previous:
            self._writer.forget()
        try:
            if with_input:
                frame = self._writer.frame(held.snapshot)
            else:
                left_out = BEHIND
        except (FrameTooLargeError, OverflowError, NotImplementedError) as error:
            left_out = str(error)
        entry = SessionEntry(
            record=held.record,
            now=held.now,
            digest=digest_of(held.decisions),
            conf=frames.encoder.encode(held.conf),
            previous=previous if frame else "",
            frame=frame,
            types=frames.types_digest(),
            release=self._release,
            left_out=left_out,
        )
        return entry, entry_bytes(entry)

    def _breathe(self) -> None:
        self._pieces += 1
        if self._in_thread and self._pieces % BREATH_PIECES == 0:
            time.sleep(BREATH_SECONDS)

    def _extend(self, entry: SessionEntry) -> None:
        if entry.left_out:
            self._chain = _Chain()
            if entry.left_out != BEHIND:
                session_id = entry.record.session_id
                self._context.log.info(
                    "session %s without its input: %s", session_id, entry.left_out
                )
            return
        chain, size = self._chain, len(entry.frame)
        chain.newest = entry.record.session_id
        chain.entries += 1
        if entry.previous:
            chain.bytes += size
        else:
            chain.base_bytes = size
