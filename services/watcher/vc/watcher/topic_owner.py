"""Determines, before a term begins, which cluster owns the topics and what progress they hold.

A watcher publishes the progress of every kind within a second. The majority of the newest records
of all kinds decides. A single record of another writer can neither take the topics away from this
cluster nor force a new incarnation. Topics of another cluster are refused, and nothing is written
to them. Only an administrator can declare the other cluster as gone (`KAFKA_TAKE_OVER_FROM`). Even
then it must be silent, because a cluster that is only down for a while must not lose its topics.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from vc.messages.codec import CodecError, NewerSchemaError
from vc.messages.facts import HEADER_INCARNATION
from vc.messages.incarnations import cluster_of, foreign_owner, foreign_topics
from vc.messages.progress import PROGRESS_PERIOD_SECONDS, PROGRESS_STALE_SECONDS, progress_of
from vc.messages.record import Record
from vc.messages.topics import PROGRESS
from vc.model.api.kinds import WATCHED
from vc.runtime.hosting.context import Context
from vc.watcher.outbox import TermOverError
from vc.watcher.topic_reader import read_to_end

SILENCE_SECONDS: Final = 3 * PROGRESS_STALE_SECONDS
"""Time without progress after which the topics of another cluster may be taken over."""

PROGRESS_KEYS: Final = frozenset(kind.short for kind in WATCHED)
"""Keys of the progress topic: the watched kinds."""


class ForeignTopicsError(TermOverError):
    """The topics belong to another cluster; the message says what to do."""


class TopicOwnership(msgspec.Struct, frozen=True, kw_only=True):
    """Who owns the topics, from `cluster.progress` before this process writes to it."""

    incarnation: str = ""
    """Our incarnation, to be continued; empty when the topics need a new one."""
    epoch: int = -1
    """Highest epoch in progress records of this incarnation."""
    foreign: str = ""
    """The other cluster that owns the topics; empty for none."""
    unknown_keys: tuple[str, ...] = ()
    """Keys that are not kinds, to be deleted with tombstones."""
    read_to: int = 0
    """Offset of the first record that was not read."""


class _StampSeen(msgspec.Struct, frozen=True, kw_only=True):
    """Stamp of one progress record, as far as it can be decoded."""

    incarnation: str
    epoch: int
    readable: bool


def ownership_of(records: Iterable[Record], *, own: str) -> TopicOwnership:
    """Evaluate all records of the topic; `own` is the uid of our cluster."""
    newest: dict[str, _StampSeen] = {}
    highest: Counter[str] = Counter()
    unknown_keys: dict[str, bool] = {}
    for record in records:
        if record.key not in PROGRESS_KEYS:
            # The last record of a key decides: a later tombstone has already deleted it.
            unknown_keys[record.key] = record.value is not None
        seen = _stamp_of(record)
        if seen is None:
            continue
        newest[record.key] = seen
        highest[seen.incarnation] = max(highest[seen.incarnation], seen.epoch)
    foreign = foreign_owner((seen.incarnation for seen in newest.values()), own=own)
    if foreign:
        return TopicOwnership(foreign=foreign)
    # Records of a newer release vote for a new incarnation. Ties are broken by name, so that
    # the result does not depend on the order of records.
    votes: Counter[str] = Counter()
    for seen in newest.values():
        if not seen.readable:
            votes[""] += 1
        elif cluster_of(seen.incarnation) == own:
            votes[seen.incarnation] += 1
    incarnation = max(votes, key=lambda each: (votes[each], each), default="")
    return TopicOwnership(
        incarnation=incarnation,
        epoch=highest[incarnation] if incarnation else -1,
        unknown_keys=tuple(key for key, stands in unknown_keys.items() if stands),
    )


def _stamp_of(record: Record) -> _StampSeen | None:
    """Return the stamp of a record.

    None for records that say nothing about the owner: unknown kinds, tombstones, undecodable ones.
    """
    if record.value is None or record.key not in PROGRESS_KEYS:
        return None
    try:
        stamp = progress_of(record).stamp
    except NewerSchemaError:
        # Readers of this release cannot decode facts of a newer one, deletions included, so
        # everything has to be published again under a new incarnation.
        incarnation = record.headers.get(HEADER_INCARNATION, "")
        return _StampSeen(incarnation=incarnation, epoch=-1, readable=False)
    except CodecError:
        return None
    return _StampSeen(incarnation=stamp.incarnation, epoch=stamp.epoch, readable=True)


class OwnershipCheck:
    """Reads who owns the topics, and takes them over if the configuration permits it."""

    def __init__(self, context: Context, *, take_over_from: str) -> None:
        self._context = context
        self._take_over_from = take_over_from

    async def check(self, own: str) -> TopicOwnership:
        """Return the ownership; raises ForeignTopicsError when another cluster owns the topics."""
        found = await self._read(own)
        if not found.foreign:
            return found
        if found.foreign != self._take_over_from:
            raise ForeignTopicsError(foreign_topics(own=own, owner=found.foreign))
        await self._check_silent(found.foreign)
        self._context.log.warning("topics taken over from_cluster=%s", found.foreign)
        return TopicOwnership(read_to=found.read_to)

    async def _read(self, own: str) -> TopicOwnership:
        """Read the whole progress topic; no owner when it does not exist."""
        bus = self._context.bus
        if await bus.missing_topics([PROGRESS]):
            return TopicOwnership()
        records: list[Record] = []
        ends = await bus.end_offsets(PROGRESS.name)
        async for batch in read_to_end(bus, PROGRESS.name, ends):
            records += batch
        return msgspec.structs.replace(ownership_of(records, own=own), read_to=ends[0])

    async def _check_silent(self, owner: str) -> None:
        """Wait, and raise when the other cluster writes progress.

        Nothing is written during the wait, so a process that is stopped meanwhile has changed
        nothing.
        """
        before = await self._context.bus.end_offsets(PROGRESS.name)
        for _ in range(int(SILENCE_SECONDS / PROGRESS_PERIOD_SECONDS)):
            await self._context.clock.sleep(PROGRESS_PERIOD_SECONDS)
            if await self._context.bus.end_offsets(PROGRESS.name) != before:
                raise ForeignTopicsError(
                    f"cluster {owner} still writes to the topics that KAFKA_TAKE_OVER_FROM names: "
                    f"stop its watcher first"
                )
