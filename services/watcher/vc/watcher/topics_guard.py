"""Reads the watcher's own topics and overwrites records of other writers.

A record with a higher epoch under our incarnation ends the term: readers drop our records in that
partition until the next term has a higher epoch. Progress ahead of ours under our own stamp ends
the term, too. All other foreign records are counted and overwritten: facts with the current state,
progress with our next record, and progress keys that are not kinds with a tombstone.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from vc.bus import BusUnavailableError
from vc.messages.codec import CodecError, NewerSchemaError
from vc.messages.facts import FENCE_KEY, Stamp, identity_of
from vc.messages.incarnations import cluster_of
from vc.messages.progress import PROGRESS_PERIOD_SECONDS, forgotten_message, progress_of
from vc.messages.record import Record, TopicPartition
from vc.messages.topics import PROGRESS
from vc.runtime.hosting.context import Context
from vc.watcher.logic import Index
from vc.watcher.metrics import WatcherMetrics
from vc.watcher.outbox import Publisher, TermOverError
from vc.watcher.topic_owner import PROGRESS_KEYS
from vc.watcher.topic_reader import READ_BACK_RECORDS_MAX

OWN_TOPICS_REST_SECONDS: Final = 0.1
"""Pause between two reads of our own topics; each read is a request that lists every partition."""


class StampReusedError(TermOverError):
    """Another writer publishes progress ahead of ours under our stamp, so the stamp cannot be used."""


class OverwritesRecords(Protocol):
    """Overwrites foreign records of one kind with the current state."""

    def overwrite(self, key: str) -> None: ...


class TopicsGuard:
    """Guards the topics during one term."""

    def __init__(
        self,
        context: Context,
        *,
        stamp: Stamp,
        indices: Mapping[str, Index],
        watches: Mapping[str, OverwritesRecords],
        publisher: Publisher,
        metrics: WatcherMetrics,
        sequence: int,
    ) -> None:
        """Prepare the guard; `indices` are by topic, `watches` by kind."""
        self._context = context
        self._stamp = stamp
        self._indices = indices
        self._watches = watches
        self._publisher = publisher
        self._metrics = metrics
        self.sequence = sequence
        """Sequence number of the last progress that this process began to publish."""

    async def run(
        self, positions: Mapping[TopicPartition, int], *, unknown_keys: Sequence[str]
    ) -> None:
        """Check records until cancelled or the term ends.

        From these positions on, all records must be ours. `unknown_keys` are keys that the progress
        topic already contains.
        """
        if unknown_keys:
            await self._publisher.publish([forgotten_message(key) for key in unknown_keys])
        reader = await self._context.bus.reader(positions)
        try:
            while True:
                try:
                    records = await reader.poll(
                        max_records=READ_BACK_RECORDS_MAX, wait_seconds=PROGRESS_PERIOD_SECONDS
                    )
                except BusUnavailableError as error:
                    self._context.log.warning(
                        "own topics cannot be read, will retry error=%s", error
                    )
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
        """Check the record of a fact; a foreign one is noted and overwritten."""
        try:
            identity = identity_of(record)
        except CodecError as error:
            # An undecodable record is overwritten, but a fence cannot be. A fence of a newer release
            # may invalidate our records, so it ends the term.
            if record.key != FENCE_KEY:
                self._overwritten(record, error.code, str(error))
                index.note_unreadable(record)
                self._watches[index.kind.short].overwrite(record.key)
            elif isinstance(error, NewerSchemaError):  # the next term fences again
                raise TermOverError(f"a newer release writes to {record.topic}") from None
            return
        self._check_epoch(identity.stamp, record)
        # Fences that do not end the term have no effect on readers of our incarnation.
        if identity.stamp == self._stamp or record.key == FENCE_KEY:
            return
        self._overwritten(record, "foreign", f"of epoch {identity.stamp.epoch}")
        index.note_foreign(record.key, uid=identity.uid, partition=record.partition)
        self._watches[index.kind.short].overwrite(record.key)

    async def _check_progress(self, record: Record) -> None:
        """Check a progress record."""
        if record.value is None:
            return
        try:
            progress = progress_of(record)
        except CodecError as error:
            self._overwritten(record, error.code, str(error))
            # Our next progress overwrites the keys of kinds. Other keys would stay in the compacted
            # topic.
            if record.key not in PROGRESS_KEYS:
                await self._publisher.publish([forgotten_message(record.key)])
            return
        self._check_epoch(progress.stamp, record)
        if progress.stamp != self._stamp:
            self._overwritten(record, "foreign", f"of epoch {progress.stamp.epoch}")
        elif progress.sequence > self.sequence:
            raise StampReusedError(
                f"another writer published progress {progress.sequence} of {progress.kind} under our stamp"
            )

    def _check_epoch(self, stamp: Stamp, record: Record) -> None:
        """End the term on a higher epoch; other incarnations count only if they are of our cluster."""
        ours = cluster_of(stamp.incarnation) == cluster_of(self._stamp.incarnation)
        if ours and stamp.epoch > self._stamp.epoch:
            raise TermOverError(f"epoch {stamp.epoch} writes to {record.topic}")

    def _overwritten(self, record: Record, reason: str, why: str) -> None:
        """Count and log a record of another writer."""
        self._metrics.overwritten(record.topic, reason)
        self._context.log.warning(
            "foreign record overwritten topic=%s key=%r why=%s",
            record.topic,
            record.key[:200],
            why,
        )
