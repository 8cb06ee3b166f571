"""Reads our own topics while we write them: the truth is written over whatever is not ours.

A record of a higher epoch under our incarnation ends the term: readers believe nothing of ours in that
log until the next term has outgrown it. So does progress that is ahead of ours under our own stamp.
Everything else that somebody wrote there is counted and overwritten: facts with the truth, progress with
our next, and keys of progress that are no kind's with a tombstone.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from vc_bus import BusUnavailableError
from vc_messages.codec import CodecError, NewerSchemaError
from vc_messages.facts import FENCE_KEY, Stamp, identity_of
from vc_messages.incarnations import cluster_of
from vc_messages.progress import PROGRESS_PERIOD_SECONDS, forgotten_message, progress_of
from vc_messages.record import Record, TopicPartition
from vc_messages.topics import PROGRESS
from vc_runtime.context import Context
from vc_watcher.claims import KINDS_TOLD
from vc_watcher.logic import Index
from vc_watcher.meters import Meters
from vc_watcher.outbox import Publisher, TermOverError
from vc_watcher.reading import READ_BACK_RECORDS_MAX

OWN_TOPICS_REST_SECONDS: Final = 0.1
"""Between two looks at what we wrote ourselves: each costs a request that names every log."""


class OvertakenError(TermOverError):
    """Somebody tells progress under our own stamp, ahead of us: the stamp is spent."""


class Settles(Protocol):
    """Whoever writes the truth of one kind."""

    def settle(self, key: str) -> None: ...


class TopicsGuard:
    """Of one term."""

    def __init__(
        self,
        context: Context,
        *,
        stamp: Stamp,
        indices: Mapping[str, Index],
        watches: Mapping[str, Settles],
        publisher: Publisher,
        meters: Meters,
        sequence: int,
    ) -> None:
        """`indices` by topic, `watches` by kind."""
        self._context = context
        self._stamp = stamp
        self._indices = indices
        self._watches = watches
        self._publisher = publisher
        self._meters = meters
        self.sequence = sequence
        """Of the last progress that we began to tell."""

    async def run(
        self, positions: Mapping[TopicPartition, int], *, strangers: Sequence[str]
    ) -> None:
        """Until cancelled or the term is over; from these positions on all is ours.

        `strangers` are keys that stand in the progress topic already.
        """
        if strangers:
            await self._publisher.publish([forgotten_message(key) for key in strangers])
        reader = await self._context.bus.reader(positions)
        try:
            while True:
                try:
                    records = await reader.poll(
                        max_records=READ_BACK_RECORDS_MAX, wait_seconds=PROGRESS_PERIOD_SECONDS
                    )
                except BusUnavailableError as error:
                    self._context.log.warning("own topics cannot be read: %s", error)
                    await self._context.clock.sleep(PROGRESS_PERIOD_SECONDS)
                    continue
                for record in records:
                    await self._check(record)
                if records:
                    await self._context.clock.sleep(OWN_TOPICS_REST_SECONDS)
        finally:
            await reader.close()

    async def _check(self, record: Record) -> None:
        if record.topic == PROGRESS.name:
            await self._check_progress(record)
        else:
            self._check_fact(record, self._indices[record.topic])

    def _check_fact(self, record: Record, index: Index) -> None:
        try:
            identity = identity_of(record)
        except CodecError as error:
            if record.key != FENCE_KEY:
                self._overwritten(record, error.code, str(error))
                index.note_unreadable(record)
                self._watches[index.kind.short].settle(record.key)
            elif isinstance(error, NewerSchemaError):  # our next term, if any, fences again
                raise TermOverError(f"a newer release writes to {record.topic}") from None
            return
        self._check_epoch(identity.stamp, record)
        if identity.stamp == self._stamp or record.key == FENCE_KEY:
            return
        self._overwritten(record, "foreign", f"of epoch {identity.stamp.epoch}")
        index.note_foreign(record.key, uid=identity.uid, partition=record.partition)
        self._watches[index.kind.short].settle(record.key)

    async def _check_progress(self, record: Record) -> None:
        if record.value is None:
            return
        try:
            progress = progress_of(record)
        except CodecError as error:
            self._overwritten(record, error.code, str(error))
            if record.key not in KINDS_TOLD:
                await self._publisher.publish([forgotten_message(record.key)])
            return
        self._check_epoch(progress.stamp, record)
        if progress.stamp != self._stamp:
            self._overwritten(record, "foreign", f"of epoch {progress.stamp.epoch}")
        elif progress.sequence > self.sequence:
            raise OvertakenError(
                f"somebody told progress {progress.sequence} of {progress.kind} in our name"
            )

    def _check_epoch(self, stamp: Stamp, record: Record) -> None:
        """Of another incarnation only our own cluster's watchers are heeded."""
        ours = cluster_of(stamp.incarnation) == cluster_of(self._stamp.incarnation)
        if ours and stamp.epoch > self._stamp.epoch:
            raise TermOverError(f"epoch {stamp.epoch} writes to {record.topic}")

    def _overwritten(self, record: Record, reason: str, why: str) -> None:
        self._meters.overwritten(record.topic, reason)
        self._context.log.warning(
            "foreign record %s %r is overwritten: %s", record.topic, record.key[:200], why
        )
