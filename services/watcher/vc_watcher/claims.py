"""Whose the topics are, and what was told of progress there, before a term begins.

A watcher tells the progress of every kind within a second. So the newest records of all kinds decide, by
their majority: one record that somebody else wrote neither takes the topics away from us nor has them
begin anew. Topics of another cluster are refused, and nothing is written to them. Only a person can say
that the other cluster is gone (`KAFKA_TAKE_OVER_FROM`), and even then it must be silent: a cluster that
is merely down for a while would find its topics taken.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from vc_messages.codec import CodecError, NewerSchemaError
from vc_messages.facts import HEADER_INCARNATION
from vc_messages.incarnations import cluster_of, foreign_owner, foreign_topics
from vc_messages.progress import PROGRESS_PERIOD_SECONDS, PROGRESS_STALE_SECONDS, progress_of
from vc_messages.record import Record
from vc_messages.topics import PROGRESS
from vc_model.kinds import WATCHED
from vc_runtime.context import Context
from vc_watcher.outbox import TermOverError
from vc_watcher.reading import read_to_end

SILENCE_SECONDS: Final = 3 * PROGRESS_STALE_SECONDS
"""Of a cluster whose topics are taken over."""

KINDS_TOLD: Final = frozenset(kind.short for kind in WATCHED)


class ForeignTopicsError(TermOverError):
    """The topics are another cluster's; says what to do."""


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """What `cluster.progress` says before we write to it."""

    incarnation: str = ""
    """Ours, to go on with; empty when the topics begin anew."""
    epoch: int = -1
    """The highest that was told under it."""
    foreign: str = ""
    """The other cluster that they belong to."""
    strangers: tuple[str, ...] = ()
    """Keys that are no kind's, to be buried."""
    read_to: int = 0
    """The offset of the first record that was not looked at."""


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    """One record, as far as it can be read."""

    incarnation: str
    epoch: int
    readable: bool


def claims_of(records: Iterable[Record], *, own: str) -> Claims:
    """From all that is in the topic; `own` is the uid of our cluster."""
    newest: dict[str, _Told] = {}
    highest: Counter[str] = Counter()
    strangers: dict[str, bool] = {}
    for record in records:
        if record.key not in KINDS_TOLD:
            strangers[record.key] = record.value is not None
        told = _told(record)
        if told is None:
            continue
        newest[record.key] = told
        highest[told.incarnation] = max(highest[told.incarnation], told.epoch)
    foreign = foreign_owner((told.incarnation for told in newest.values()), own=own)
    if foreign:
        return Claims(foreign=foreign)
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
    """None for what says nothing: unknown kinds, tombstones, and what nobody can read."""
    if record.value is None or record.key not in KINDS_TOLD:
        return None
    try:
        stamp = progress_of(record).stamp
    except NewerSchemaError:
        # What a newer release wrote our readers cannot read, deletions included: all is told anew.
        incarnation = record.headers.get(HEADER_INCARNATION, "")
        return _Told(incarnation=incarnation, epoch=-1, readable=False)
    except CodecError:
        return None
    return _Told(incarnation=stamp.incarnation, epoch=stamp.epoch, readable=True)


class Claiming:
    """Reads the claims, and takes the topics over when it was told to."""

    def __init__(self, context: Context, *, take_over_from: str) -> None:
        self._context = context
        self._take_over_from = take_over_from

    async def settle(self, own: str) -> Claims:
        """The claims; ForeignTopicsError when the topics are another cluster's, and stay so."""
        claims = await self._read(own)
        if not claims.foreign:
            return claims
        if claims.foreign != self._take_over_from:
            raise ForeignTopicsError(foreign_topics(own=own, owner=claims.foreign))
        await self._check_silent(claims.foreign)
        self._context.log.warning("the topics are taken over from cluster %s", claims.foreign)
        return Claims(read_to=claims.read_to)

    async def _read(self, own: str) -> Claims:
        bus = self._context.bus
        if await bus.missing_topics([PROGRESS]):
            return Claims()
        records: list[Record] = []
        ends = await bus.end_offsets(PROGRESS.name)
        async for batch in read_to_end(bus, PROGRESS.name, ends):
            records += batch
        return msgspec.structs.replace(claims_of(records, own=own), read_to=ends[0])

    async def _check_silent(self, owner: str) -> None:
        """Asked again and again: whoever is killed meanwhile has taken nothing."""
        before = await self._context.bus.end_offsets(PROGRESS.name)
        for _ in range(int(SILENCE_SECONDS / PROGRESS_PERIOD_SECONDS)):
            await self._context.clock.sleep(PROGRESS_PERIOD_SECONDS)
            if await self._context.bus.end_offsets(PROGRESS.name) != before:
                raise ForeignTopicsError(
                    f"cluster {owner} still writes to the topics that KAFKA_TAKE_OVER_FROM names: "
                    f"stop its watcher first"
                )
