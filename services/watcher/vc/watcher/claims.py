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
from vc.watcher.reading import read_to_end

SILENCE_SECONDS: Final = 3 * PROGRESS_STALE_SECONDS
"""Time without progress after which the topics of another cluster may be taken over."""

KINDS_TOLD: Final = frozenset(kind.short for kind in WATCHED)
"""Keys of the progress topic: the watched kinds."""


class ForeignTopicsError(TermOverError):
    """The topics belong to another cluster; the message says what to do."""


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `cluster.progress` before this process writes to it."""

    incarnation: str = ""
    """Our incarnation, to be continued; empty when the topics need a new one."""
    epoch: int = -1
    """Highest epoch in progress records of this incarnation."""
    foreign: str = ""
    """The other cluster that owns the topics; empty for none."""
    strangers: tuple[str, ...] = ()
    """Keys that are not kinds, to be deleted with tombstones."""
    read_to: int = 0
    """Offset of the first record that was not read."""


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    """Stamp of one progress record, as far as it can be decoded."""

    incarnation: str
    epoch: int
    readable: bool


def claims_of(records: Iterable[Record], *, own: str) -> Claims:
    """Evaluate all records of the topic; `own` is the uid of our cluster."""
    newest: dict[str, _Told] = {}
    highest: Counter[str] = Counter()
    strangers: dict[str, bool] = {}
    for record in records:
        if record.key not in KINDS_TOLD:
            # The last record of a key decides: a later tombstone has already deleted it.
            strangers[record.key] = record.value is not None
        told = _told(record)
        if told is None:
            continue
        newest[record.key] = told
        highest[told.incarnation] = max(highest[told.incarnation], told.epoch)
    foreign = foreign_owner((told.incarnation for told in newest.values()), own=own)
    if foreign:
        return Claims(foreign=foreign)
    # Records of a newer release vote for a new incarnation. Ties are broken by name, so that
    # the result does not depend on the order of records.
    votes: Counter[str] = Counter()
    for told in newest.values():
        if not told.readable:
            votes[""] += 1
        elif cluster_of(told.incarnation) == own:
            votes[told.incarnation] += 1
    incarnation = max(votes, key=lambda each: (votes[each], each), default="")
    return Claims(
        incarnation=incarnation,
        epoch=highest[incarnation] if incarnation else -1,
        strangers=tuple(key for key, stands in strangers.items() if stands),
    )


def _told(record: Record) -> _Told | None:
    """Return the stamp of a record.

    None for records that carry no claim: unknown kinds, tombstones, and undecodable ones.
    """
    if record.value is None or record.key not in KINDS_TOLD:
        return None
    try:
        stamp = progress_of(record).stamp
    except NewerSchemaError:
        # Readers of this release cannot decode facts of a newer one, deletions included, so
        # everything has to be published again under a new incarnation.
        incarnation = record.headers.get(HEADER_INCARNATION, "")
        return _Told(incarnation=incarnation, epoch=-1, readable=False)
    except CodecError:
        return None
    return _Told(incarnation=stamp.incarnation, epoch=stamp.epoch, readable=True)


class Claiming:
    """Reads the claims, and takes the topics over if the configuration permits it."""

    def __init__(self, context: Context, *, take_over_from: str) -> None:
        self._context = context
        self._take_over_from = take_over_from

    async def settle(self, own: str) -> Claims:
        """Return the claims; raises ForeignTopicsError when another cluster owns the topics."""
        claims = await self._read(own)
        if not claims.foreign:
            return claims
        if claims.foreign != self._take_over_from:
            raise ForeignTopicsError(foreign_topics(own=own, owner=claims.foreign))
        await self._check_silent(claims.foreign)
        self._context.log.warning("the topics are taken over from cluster %s", claims.foreign)
        return Claims(read_to=claims.read_to)

    async def _read(self, own: str) -> Claims:
        """Read the whole progress topic; empty claims when it does not exist."""
        bus = self._context.bus
        if await bus.missing_topics([PROGRESS]):
            return Claims()
        records: list[Record] = []
        ends = await bus.end_offsets(PROGRESS.name)
        async for batch in read_to_end(bus, PROGRESS.name, ends):
            records += batch
        return msgspec.structs.replace(claims_of(records, own=own), read_to=ends[0])

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
